//! `cambium up`: one process with one or more embedded clusters and one kubeconfig.

mod cluster;
mod demo;
mod kubeconfig;

use std::io::Write as _;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use cambium_api::names::{CROSSPLANE_NAMESPACE, FIELD_MANAGER, SYSTEM_NAMESPACE};
use cambium_api::rbac;
use cambium_apiserver::private;
use cambium_apiserver::store::OpenError;
use cambium_controllers::Settings;
use cambium_metrics::Metrics;
use cambium_webhooks::server::Clients;
use futures::future::try_join_all;
use kube::api::{ApiResource, DynamicObject, Patch, PatchParams};
use kube::{Api, Client, ResourceExt as _};

use crate::cli::Up;
use crate::manager::settings;
use crate::platform::{Plan, Platform, Served, ensure_namespace};
use crate::probes::Probes;
use cluster::Cluster;

/// Errors that a user can correct.
#[derive(Debug, thiserror::Error)]
pub(crate) enum UpError {
    #[error("{}", store_message(path, source))]
    Store { path: PathBuf, source: OpenError },
    #[error("cannot listen on {address}: {source}; choose another with --listen")]
    Listen {
        address: SocketAddr,
        source: std::io::Error,
    },
    #[error("cannot use {}: {source}", path.display())]
    Directory { path: PathBuf, source: std::io::Error },
    #[error("{} exists and was not written by cambium; choose another file with --kubeconfig", path.display())]
    ForeignKubeconfig { path: PathBuf },
    #[error(
        "neither XDG_DATA_HOME nor HOME is set; say where to keep data with --data-dir, or use --ephemeral"
    )]
    NoHome,
}

fn store_message(path: &Path, source: &OpenError) -> String {
    match source {
        OpenError::InUse => format!(
            "{} is in use by another cambium; stop it, or use another --data-dir",
            path.display()
        ),
        other => format!("{}: {other}", path.display()),
    }
}

/// Runs until it is told to stop.
pub(crate) fn run(options: &Up) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let result = runtime.block_on(up(options));
    // Connections that will not end are not waited for; what was answered is on disk already.
    runtime.shutdown_timeout(std::time::Duration::from_millis(200));
    result
}

async fn up(options: &Up) -> anyhow::Result<()> {
    let home = Home::prepare(options)?;
    let mut clusters = vec![Cluster::start("cambium", home.data(""), listen_on(options)).await?];
    for number in 1..=options.clusters {
        let name = format!("member-{number}");
        let address = SocketAddr::new(clusters[0].address.ip(), 0);
        let data = home.data(&name);
        clusters.push(Cluster::start(&name, data, Listen::Exactly(address)).await?);
    }
    // The API servers answer; the line that says `ready` waits for the rest.
    let not_written = match kubeconfig::write(&home.kubeconfig, &clusters) {
        // Deleting objects is what makes space, and one that was written before may still be good.
        Err(error) if kubeconfig::disk_is_full(&error) => {
            let why = kubeconfig::not_written(&error);
            tracing::warn!("{why}");
            Some(why)
        }
        written => {
            written?;
            None
        }
    };
    // Those of the first cluster.
    let metrics = Metrics::default();
    let probes = match options.work.metrics_bind_address {
        Some(address) => Some(Probes::start(address, metrics.clone()).await?),
        None => None,
    };
    let mut platforms = Vec::new();
    for cluster in clusters.iter().filter(|_| !options.bare) {
        let metrics = match platforms.is_empty() {
            true => metrics.clone(),
            false => Metrics::default(),
        };
        platforms.push(platform(cluster, options, metrics).await?);
    }
    probes.iter().for_each(Probes::set_ready);
    if options.demo
        && let Err(error) = demo::run(&clusters[0]).await
    {
        // Somebody may have changed what the story is about. The clusters are what they came for.
        tracing::error!("the demo ended early: {error:#}");
    }
    announce(&ready(&home.kubeconfig, not_written.as_deref()))?;

    stop_signal().await?;
    tracing::info!("stopping");
    for platform in platforms {
        platform.stop().await;
    }
    for cluster in clusters {
        cluster.stop().await;
    }
    Ok(())
}

/// Our kinds, controllers and webhooks, in a cluster of this process.
async fn platform(cluster: &Cluster, options: &Up, metrics: Metrics) -> anyhow::Result<Platform> {
    let client = Client::new(cluster.server.clone(), "default");
    let plan = Plan {
        namespace: SYSTEM_NAMESPACE.to_owned(),
        settings: Settings {
            metrics,
            ..settings(&options.work)
        },
        webhooks: Some(Served {
            listen: (Ipv4Addr::LOCALHOST, 0).into(),
            reach: None,
            clients: Clients::Anybody,
        }),
        // Nobody else has the data.
        identity: None,
    };
    // Side by side, so that they wait for the disk together.
    let ((), (), platform) = tokio::try_join!(
        ensure_namespace(&client, CROSSPLANE_NAMESPACE),
        install_roles(&client),
        async {
            let started = Platform::start(client.clone(), plan).await;
            started.with_context(|| format!("the controllers of {} did not start", cluster.name))
        },
    )?;
    Ok(platform)
}

/// Rights on our kinds for those who have Kubernetes' own roles, and on shared definitions for everybody. What is as it should be is not written.
async fn install_roles(client: &Client) -> anyhow::Result<()> {
    // The namespace first, then what is in it.
    for document in rbac::documents(rbac::SHARED) {
        install(client, document).await?;
    }
    try_join_all(rbac::documents(rbac::PEOPLE).map(|document| install(client, document))).await?;
    Ok(())
}

async fn install(client: &Client, document: &str) -> anyhow::Result<()> {
    let object: DynamicObject = serde_saphyr::from_str(document)?;
    let types = object.types.as_ref().context("a document without a kind")?;
    let resource = ApiResource::from_gvk(&types.try_into()?);
    let api: Api<DynamicObject> = match &object.metadata.namespace {
        Some(namespace) => Api::namespaced_with(client.clone(), namespace, &resource),
        None => Api::all_with(client.clone(), &resource),
    };
    let name = object.name_any();
    let params = PatchParams::apply(FIELD_MANAGER).force();
    api.patch(&name, &params, &Patch::Apply(&object))
        .await
        .with_context(|| format!("failed to install {} {name}", resource.kind))?;
    Ok(())
}

/// The address to listen on, and whether another may be taken if it is in use.
pub(crate) enum Listen {
    Exactly(SocketAddr),
    /// There if it is free, elsewhere if not.
    Preferably(SocketAddr),
}

fn listen_on(options: &Up) -> Listen {
    match options.listen {
        Some(address) => Listen::Exactly(address),
        None => Listen::Preferably((Ipv4Addr::LOCALHOST, 6443).into()),
    }
}

/// The one line that a script waits for. It names no file that is not there, or is for an earlier run.
fn ready(kubeconfig: &Path, not_written: Option<&str>) -> String {
    match not_written {
        None => format!("ready: export KUBECONFIG={}", kubeconfig.display()),
        Some(why) => format!("ready: {why}"),
    }
}

fn announce(line: &str) -> anyhow::Result<()> {
    let mut output = std::io::stdout();
    writeln!(output, "{line}")?;
    output.flush()?;
    Ok(())
}

pub(crate) async fn stop_signal() -> anyhow::Result<()> {
    use tokio::signal::unix::{SignalKind, signal};
    let (mut interrupt, mut terminate) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
    }
    Ok(())
}

/// The directories and files of one run.
struct Home {
    /// `None` when nothing is kept.
    data: Option<PathBuf>,
    kubeconfig: PathBuf,
    /// A directory that goes when the run ends.
    temporary: Option<PathBuf>,
}

impl Home {
    fn prepare(options: &Up) -> Result<Self, UpError> {
        let data = match (options.ephemeral, &options.data_dir) {
            (true, _) => None,
            (false, Some(directory)) => Some(directory.clone()),
            (false, None) => Some(default_directory()?),
        };
        if let Some(data) = &data {
            make_private(data)?;
            own_user()
                .and_then(|user| private::check_directory(data, user))
                .map_err(|source| UpError::Directory {
                    path: data.clone(),
                    source,
                })?;
        }
        let (directory, temporary) = match (&data, &options.kubeconfig) {
            (Some(data), _) => (data.clone(), None),
            (None, Some(_)) => (PathBuf::new(), None),
            (None, None) => {
                let parent = std::env::temp_dir();
                let directory = private::create_directory(&parent, "cambium-")
                    .map_err(|source| UpError::Directory { path: parent, source })?;
                (directory.clone(), Some(directory))
            }
        };
        let kubeconfig = options
            .kubeconfig
            .clone()
            .unwrap_or_else(|| directory.join("kubeconfig"));
        let kubeconfig = std::path::absolute(&kubeconfig).unwrap_or(kubeconfig);
        let home = Self {
            data,
            kubeconfig,
            temporary,
        };
        kubeconfig::check(&home.kubeconfig)?;
        Ok(home)
    }

    fn data(&self, cluster: &str) -> Option<PathBuf> {
        self.data.as_ref().map(|data| data.join(cluster))
    }
}

impl Drop for Home {
    /// However the run ends, also if it never began.
    fn drop(&mut self) {
        if let Some(directory) = &self.temporary {
            // Left behind, it is a dead kubeconfig in the temporary directory: no harm.
            let _ = std::fs::remove_dir_all(directory);
        }
    }
}

pub(crate) fn default_directory() -> Result<PathBuf, UpError> {
    let variable = |name: &str| {
        std::env::var_os(name)
            .filter(|value| !value.is_empty())
            .map(PathBuf::from)
    };
    let base = variable("XDG_DATA_HOME").or_else(|| Some(variable("HOME")?.join(".local/share")));
    base.map(|base| base.join("cambium")).ok_or(UpError::NoHome)
}

/// The user that this process runs as. The standard library does not tell; the kernel tells who is at the other end of a
/// socket, and here that is this process.
fn own_user() -> std::io::Result<u32> {
    let (end, _other) = tokio::net::UnixStream::pair()?;
    Ok(end.peer_cred()?.uid())
}

/// Makes a directory that only its owner may enter, unless there is one.
pub(crate) fn make_private(path: &Path) -> Result<(), UpError> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path).map_err(|source| UpError::Directory {
        path: path.to_owned(),
        source,
    })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};

    use clap::Parser as _;

    use super::*;

    fn options(arguments: &[&str]) -> Up {
        #[derive(clap::Parser)]
        struct Program {
            #[command(flatten)]
            up: Up,
        }
        Program::parse_from([&["up"], arguments].concat()).up
    }

    #[tokio::test]
    async fn an_ephemeral_run_has_a_new_directory_of_its_own() {
        let (one, other) = (
            Home::prepare(&options(&["--ephemeral"])).unwrap(),
            Home::prepare(&options(&["--ephemeral"])).unwrap(),
        );
        assert_ne!(one.temporary, other.temporary);
        for home in [one, other] {
            let directory = home.temporary.clone().unwrap();
            let found = std::fs::symlink_metadata(&directory).unwrap();
            assert_eq!(found.mode() & 0o777, 0o700);
            assert_eq!(found.uid(), own_user().unwrap());
            assert!(home.kubeconfig.starts_with(&directory));
            drop(home);
            assert!(!directory.exists());
        }
    }

    #[test]
    fn a_kubeconfig_that_could_not_be_written_is_not_named_as_one_to_use() {
        let path = Path::new("/data/kubeconfig");
        assert_eq!(ready(path, None), "ready: export KUBECONFIG=/data/kubeconfig");
        let line = ready(path, Some("failed to write the kubeconfig: no space"));
        assert_eq!(line, "ready: failed to write the kubeconfig: no space");
    }

    #[tokio::test]
    async fn a_data_directory_that_everybody_may_write_is_refused() {
        let parent = tempfile::tempdir().unwrap();
        let data = parent.path().join("data");
        let options = options(&["--data-dir", data.to_str().unwrap()]);
        assert!(Home::prepare(&options).is_ok());
        std::fs::set_permissions(&data, std::fs::Permissions::from_mode(0o777)).unwrap();
        assert!(matches!(Home::prepare(&options), Err(UpError::Directory { .. })));
    }
}
