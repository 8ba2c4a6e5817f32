//! A real control plane on loopback: etcd, kube-apiserver, kube-controller-manager.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use kube::config::{
    AuthInfo, Cluster, Context, KubeConfigOptions, Kubeconfig, NamedAuthInfo, NamedCluster, NamedContext,
};
use kube::{Client, Config};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::rights;

/// How many control planes tests may have for themselves at once.
const ALONE: usize = 3;

/// A control plane for tests that share one.
static SHARED: Starting = Starting(Mutex::new(None));

/// Those for tests that need one for themselves.
static OWN: [Starting; ALONE] = [const { Starting(Mutex::new(None)) }; ALONE];

/// Which of those nobody has now, and the turns of those who wait.
static FREE: Mutex<Vec<usize>> = Mutex::new(Vec::new());
static TURNS: LazyLock<Arc<Semaphore>> = LazyLock::new(|| {
    *lock(&FREE) = (0..ALONE).rev().collect();
    Arc::new(Semaphore::new(ALONE))
});

/// A control plane that is started by the first who asks, or why there is none.
struct Starting(Mutex<Option<Result<Arc<ControlPlane>, String>>>);

impl Starting {
    async fn get(&'static self) -> Result<Arc<ControlPlane>> {
        tokio::task::spawn_blocking(|| {
            let mut running = lock(&self.0);
            let start = || ControlPlane::start().map(Arc::new);
            let started = running.get_or_insert_with(|| start().map_err(|error| format!("{error:#}")));
            started.clone().map_err(anyhow::Error::msg)
        })
        .await?
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A control plane, and the turn of a test that has it for itself.
pub(crate) struct Plane {
    running: Arc<ControlPlane>,
    _turn: Option<Turn>,
}

/// What a test had for itself is another's when this is dropped.
struct Turn {
    which: usize,
    _permit: OwnedSemaphorePermit,
}

impl Drop for Turn {
    fn drop(&mut self) {
        lock(&FREE).push(self.which);
    }
}

impl Plane {
    /// The one that tests share.
    pub(crate) async fn shared() -> Result<Self> {
        let running = SHARED.get().await?;
        Ok(Self { running, _turn: None })
    }

    /// One that no other test uses now. What the test before has left is still there.
    pub(crate) async fn alone() -> Result<Self> {
        let permit = TURNS.clone().acquire_owned().await?;
        let which = lock(&FREE).pop().context("a turn for each control plane")?;
        let turn = Turn {
            which,
            _permit: permit,
        };
        Ok(Self {
            running: OWN[which].get().await?,
            _turn: Some(turn),
        })
    }

    /// A client with all rights.
    pub(crate) async fn client(&self) -> Result<Client> {
        client_with(self.running.kubeconfig()).await
    }

    /// A client that is the manager's user.
    pub(crate) async fn manager(&self) -> Result<Client> {
        let token = format!("{}-manager", self.running.token);
        self.client_as(AuthInfo {
            token: Some(token.into()),
            ..AuthInfo::default()
        })
        .await
    }

    /// A client that shows no credentials of its own.
    pub(crate) async fn stranger(&self) -> Result<Client> {
        self.client_as(AuthInfo::default()).await
    }

    async fn client_as(&self, who: AuthInfo) -> Result<Client> {
        let mut kubeconfig = self.running.kubeconfig();
        for user in &mut kubeconfig.auth_infos {
            user.auth_info = Some(who.clone());
        }
        let mut config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?;
        config.default_retry = false;
        Ok(Client::try_from(config)?)
    }
}

/// A kubeconfig for a real control plane, for programs under test; an error says why there is none.
pub async fn kubernetes_kubeconfig(directory: &Path) -> Result<PathBuf> {
    let plane = Plane::shared().await?;
    // It is there when the default namespace is.
    plane.client().await?;
    let text = kubeconfig_text(plane.running.port, &plane.running.token);
    let path = directory.join("kubeconfig");
    std::fs::write(&path, text)?;
    Ok(path)
}

async fn client_with(kubeconfig: Kubeconfig) -> Result<Client> {
    let mut config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?;
    // A test wants to see the refusal, not what comes of asking again for minutes.
    config.default_retry = false;
    let client = Client::try_from(config)?;
    crate::eventually(
        "the default namespace and the standard roles are there",
        || async {
            let namespaces: kube::Api<k8s_openapi::api::core::v1::Namespace> = kube::Api::all(client.clone());
            let present = namespaces.get_opt("default").await.unwrap_or_default().is_some();
            let ready = http::Request::get("/readyz").body(Vec::new())?;
            Ok(present && client.request_text(ready).await.is_ok())
        },
    )
    .await?;
    Ok(client)
}

/// A real control plane of one's own, for a test that compares two. It ends with this value.
pub struct Kubernetes(ControlPlane);

impl Kubernetes {
    /// Starts one; an error says why there is none.
    pub async fn start() -> Result<Self> {
        Ok(Self(tokio::task::spawn_blocking(ControlPlane::start).await??))
    }

    /// A client with all rights.
    pub async fn client(&self) -> Result<Client> {
        client_with(self.0.kubeconfig()).await
    }

    /// Where it keeps its things; `kubeconfig` among them.
    pub fn directory(&self) -> &Path {
        &self.0.directory
    }
}

struct ControlPlane {
    port: u16,
    token: String,
    directory: PathBuf,
    /// Ended when this process ends: each waits on a pipe from us, and takes the directory with it.
    _children: Vec<Child>,
}

impl ControlPlane {
    fn start() -> Result<Self> {
        let assets = std::env::var_os("KUBEBUILDER_ASSETS").map(PathBuf::from);
        let assets =
            assets.context("KUBEBUILDER_ASSETS is not set (`cargo xtask kubernetes` prints a value)")?;
        // Nothing static is dropped when a process ends: those we start remove it.
        let root = tempfile::tempdir()?.keep();
        let [etcd, peer, api] = free_ports()?;
        let token = format!("test-{}", std::process::id());
        std::fs::write(
            root.join("tokens.csv"),
            format!(
                "{token},admin,admin,\"system:masters\"\n{token}-manager,{manager},{manager}\n",
                manager = rights::MANAGER
            ),
        )?;
        let now = jiff::Timestamp::now();
        let authority = cambium_apiserver::pki::Authority::generate(now)?;
        let signing = authority.client("service-accounts", &[], now)?;
        std::fs::write(root.join("sa.key"), &signing.key)?;
        std::fs::write(root.join("sa.crt"), &signing.certificate)?;
        std::fs::write(root.join("kubeconfig"), kubeconfig_text(api, &token))?;
        let path = |name: &str| root.join(name).display().to_string();
        let etcd_url = format!("http://127.0.0.1:{etcd}");
        let peer_url = format!("http://127.0.0.1:{peer}");
        let etcd_arguments = [
            format!("--data-dir={}", path("etcd")),
            format!("--listen-client-urls={etcd_url}"),
            format!("--advertise-client-urls={etcd_url}"),
            format!("--listen-peer-urls={peer_url}"),
            format!("--initial-advertise-peer-urls={peer_url}"),
            format!("--initial-cluster=default={peer_url}"),
            "--unsafe-no-fsync".to_owned(),
        ];
        let api_arguments = [
            format!("--etcd-servers={etcd_url}"),
            "--bind-address=127.0.0.1".to_owned(),
            format!("--secure-port={api}"),
            format!("--cert-dir={}", path("certs")),
            "--service-account-issuer=https://kubernetes.default.svc".to_owned(),
            format!("--service-account-key-file={}", path("sa.crt")),
            format!("--service-account-signing-key-file={}", path("sa.key")),
            format!("--token-auth-file={}", path("tokens.csv")),
            "--authorization-mode=RBAC".to_owned(),
            "--service-cluster-ip-range=10.96.0.0/16".to_owned(),
        ];
        let manager_arguments = [
            format!("--kubeconfig={}", path("kubeconfig")),
            format!("--service-account-private-key-file={}", path("sa.key")),
            // What the API server has made for itself at its start.
            format!("--root-ca-file={}", path("certs/apiserver.crt")),
            "--leader-elect=false".to_owned(),
            "--bind-address=127.0.0.1".to_owned(),
            "--secure-port=0".to_owned(),
        ];
        let mut children = vec![
            spawn(
                &assets.join("etcd"),
                &etcd_arguments,
                &root.join("etcd.log"),
                None,
            )?,
            spawn(
                &assets.join("kube-apiserver"),
                &api_arguments,
                &root.join("kube-apiserver.log"),
                None,
            )?,
        ];
        wait_for(api, &mut children, &root.join("kube-apiserver.log"))?;
        children.push(spawn(
            &assets.join("kube-controller-manager"),
            &manager_arguments,
            &root.join("kcm.log"),
            None,
        )?);
        Ok(Self {
            port: api,
            token,
            directory: root,
            _children: children,
        })
    }

    fn kubeconfig(&self) -> Kubeconfig {
        let name = "real".to_owned();
        let cluster = Cluster {
            server: Some(format!("https://127.0.0.1:{}", self.port)),
            insecure_skip_tls_verify: Some(true),
            ..Cluster::default()
        };
        let auth_info = AuthInfo {
            token: Some(self.token.clone().into()),
            ..AuthInfo::default()
        };
        let context = Context {
            cluster: name.clone(),
            user: Some(name.clone()),
            ..Context::default()
        };
        Kubeconfig {
            current_context: Some(name.clone()),
            clusters: vec![NamedCluster {
                name: name.clone(),
                cluster: Some(cluster),
                ..NamedCluster::default()
            }],
            auth_infos: vec![NamedAuthInfo {
                name: name.clone(),
                auth_info: Some(auth_info),
                ..NamedAuthInfo::default()
            }],
            contexts: vec![NamedContext {
                name,
                context: Some(context),
                ..NamedContext::default()
            }],
            ..Kubeconfig::default()
        }
    }
}

/// A shell waits for our end of its pipe to close, then ends the program and removes what it wrote:
/// nothing outlives the test binary, even if that is killed.
pub(crate) fn spawn(
    program: &Path,
    arguments: &[String],
    log: &Path,
    kubeconfig: Option<&Path>,
) -> Result<Child> {
    const SCRIPT: &str = "exec 3<&0; \"$0\" \"$@\" < /dev/null & child=$!; \
                          (read -r _ <&3; kill -9 $child; sleep 1; rm -rf \"$DIRECTORY\") & wait $child";
    if !program.exists() {
        bail!("{} does not exist", program.display());
    }
    let output = std::fs::File::create(log)?;
    let mut shell = Command::new("sh");
    if let Some(kubeconfig) = kubeconfig {
        shell.env("KUBECONFIG", kubeconfig);
    }
    let child = shell
        .arg("-c")
        .arg(SCRIPT)
        .arg(program)
        .args(arguments)
        .env("DIRECTORY", log.parent().context("a log is in a directory")?)
        .stdin(Stdio::piped())
        .stdout(output.try_clone()?)
        .stderr(output)
        .spawn();
    child.with_context(|| program.display().to_string())
}

/// Waits until somebody listens, or until one of those who should has given up.
fn wait_for(port: u16, children: &mut [Child], log: &Path) -> Result<()> {
    for _ in 0..300 {
        if std::net::TcpStream::connect(("127.0.0.1", port)).is_ok() {
            return Ok(());
        }
        for child in children.iter_mut() {
            if child.try_wait()?.is_some() {
                let text = std::fs::read_to_string(log).unwrap_or_default();
                bail!(
                    "the control plane did not start: {}",
                    text.lines().last().unwrap_or_default()
                );
            }
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    bail!("kube-apiserver does not listen after 30 s")
}

/// Ports that were free a moment ago: below those that connections take for themselves, where nobody comes in between by chance.
pub(crate) fn free_ports<const N: usize>() -> Result<[u16; N]> {
    static ASKED: AtomicU32 = AtomicU32::new(0);
    const RANGE: std::ops::Range<u32> = 10_000..32_000;
    let asked = ASKED.fetch_add(1, Ordering::Relaxed);
    // Processes side by side begin at different places.
    let begin = std::process::id().wrapping_mul(101).wrapping_add(asked * 10);
    let ports: Vec<u16> = (0..RANGE.end - RANGE.start)
        .map(|step| RANGE.start + begin.wrapping_add(step) % (RANGE.end - RANGE.start))
        .filter_map(|port| u16::try_from(port).ok())
        .filter(|port| TcpListener::bind(("127.0.0.1", *port)).is_ok())
        .take(N)
        .collect();
    ports
        .try_into()
        .map_err(|_| anyhow::anyhow!("no ports are free from {} to {}", RANGE.start, RANGE.end))
}

fn kubeconfig_text(port: u16, token: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Config\ncurrent-context: real\n\
         clusters: [{{name: real, cluster: {{server: \"https://127.0.0.1:{port}\", insecure-skip-tls-verify: true}}}}]\n\
         users: [{{name: real, user: {{token: {token}}}}}]\n\
         contexts: [{{name: real, context: {{cluster: real, user: real}}}}]\n"
    )
}
