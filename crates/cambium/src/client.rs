//! The client of commands: kubeconfig, in-cluster configuration, or a running `cambium up`, found as kubectl does.

use anyhow::Context as _;
use kube::config::{KubeConfigOptions, Kubeconfig, KubeconfigError};
use kube::{Client, Config};

use crate::cli::Cluster;
use crate::up::default_directory;

/// No cluster can be reached with what was given.
#[derive(Debug, thiserror::Error)]
#[error("cannot reach a cluster: {reason}")]
pub(crate) struct Unreachable {
    reason: String,
}

/// A client for the cluster that the command line, the environment or the default kubeconfig names.
pub(crate) async fn connect(cluster: &Cluster) -> anyhow::Result<Client> {
    let config = match (&cluster.kubeconfig, &cluster.context) {
        (None, None) => match Config::from_kubeconfig(&KubeConfigOptions::default()).await {
            Ok(config) => config,
            Err(error) => match of_a_running_up().await {
                Some(config) => config,
                None => Config::incluster().map_err(|_| Unreachable {
                    reason: format!(
                        "{}, and this does not run in a cluster; set KUBECONFIG or use --kubeconfig",
                        reason(&error)
                    ),
                })?,
            },
        },
        (file, context) => {
            let options = KubeConfigOptions {
                context: context.clone(),
                ..Default::default()
            };
            match file {
                Some(path) => {
                    let kubeconfig = Kubeconfig::read_from(path).map_err(|error| unreachable(&error))?;
                    Config::from_custom_kubeconfig(kubeconfig, &options).await
                }
                None => Config::from_kubeconfig(&options).await,
            }
            .map_err(|error| unreachable(&error))?
        }
    };
    let url = config.cluster_url.clone();
    let client = Client::try_from(config).context("invalid kubeconfig")?;
    match client.apiserver_version().await {
        Err(error @ (kube::Error::HyperError(_) | kube::Error::Service(_))) => {
            let address = url.to_string();
            let address = address.trim_end_matches('/');
            let here = url
                .host()
                .is_some_and(|host| host == "127.0.0.1" || host == "localhost");
            let hint = if here { "; is `cambium up` running?" } else { "" };
            let reason = match tls_failure(&error) {
                Some(failure) => format!(
                    "the server at {address} is not the one that this kubeconfig is for: {failure}; \
                     set KUBECONFIG to the kubeconfig of that server (`cambium up` prints its name), or use --kubeconfig"
                ),
                None => format!("failed to connect to {address}{hint}"),
            };
            Err(Unreachable { reason }.into())
        }
        // Whoever answers is asked for what is wanted.
        _ => Ok(client),
    }
}

/// What TLS has against whoever answers, if somebody does.
fn tls_failure(error: &kube::Error) -> Option<String> {
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(error) = cause {
        // An I/O error does not show what it wraps as its source.
        let wrapped = error
            .downcast_ref::<std::io::Error>()
            .and_then(std::io::Error::get_ref);
        let failure = wrapped.and_then(|wrapped| wrapped.downcast_ref::<rustls::Error>());
        if let Some(failure) = failure.or_else(|| error.downcast_ref()) {
            return Some(failure.to_string());
        }
        cause = match wrapped {
            Some(wrapped) => Some(wrapped),
            None => error.source(),
        };
    }
    None
}

/// The cluster of a running `cambium up` on this machine, from the kubeconfig in its default data directory.
async fn of_a_running_up() -> Option<Config> {
    if std::env::var_os("KUBECONFIG").is_some_and(|value| !value.is_empty()) {
        return None;
    }
    let kubeconfig = Kubeconfig::read_from(default_directory().ok()?.join("kubeconfig")).ok()?;
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await;
    config.ok()
}

fn unreachable(error: &KubeconfigError) -> Unreachable {
    Unreachable {
        reason: reason(error),
    }
}

fn reason(error: &KubeconfigError) -> String {
    match error {
        KubeconfigError::LoadContext(name) => format!("the kubeconfig has no context {name:?}"),
        KubeconfigError::ReadConfig(source, path) => format!("cannot read {}: {source}", path.display()),
        other => other.to_string(),
    }
}
