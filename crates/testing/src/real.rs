//! A real control plane on loopback: etcd, kube-apiserver, kube-controller-manager.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use cambium_control_plane::{Program, User, kubeconfig};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::rights;

/// Number of control planes for exclusive use.
const ALONE: usize = 3;

/// The shared control plane.
static SHARED: Starting = Starting(Mutex::new(None));

/// The control planes for exclusive use.
static OWN: [Starting; ALONE] = [const { Starting(Mutex::new(None)) }; ALONE];

/// The free ones, and permits for waiting tests.
static FREE: Mutex<Vec<usize>> = Mutex::new(Vec::new());
static TURNS: LazyLock<Arc<Semaphore>> = LazyLock::new(|| {
    *lock(&FREE) = (0..ALONE).rev().collect();
    Arc::new(Semaphore::new(ALONE))
});

/// A control plane that is started on first use, or the error.
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

/// A control plane, with the permit of an exclusive test.
pub(crate) struct Plane {
    running: Arc<ControlPlane>,
    _turn: Option<Turn>,
}

/// Returns an exclusive control plane on drop.
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
    /// The shared control plane.
    pub(crate) async fn shared() -> Result<Self> {
        let running = SHARED.get().await?;
        Ok(Self { running, _turn: None })
    }

    /// A control plane for exclusive use. It may contain objects of earlier tests.
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
        client_with(self.running.kubeconfig_of(&self.running.token)?).await
    }

    /// A client of the manager's user.
    pub(crate) async fn manager(&self) -> Result<Client> {
        self.client_as(&manager_token(&self.running.token)).await
    }

    /// A client without credentials.
    pub(crate) async fn stranger(&self) -> Result<Client> {
        self.client_as("").await
    }

    async fn client_as(&self, token: &str) -> Result<Client> {
        let kubeconfig = self.running.kubeconfig_of(token)?;
        let mut config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?;
        config.default_retry = false;
        Ok(Client::try_from(config)?)
    }
}

/// The manager's token, derived from the administrator's.
fn manager_token(token: &str) -> String {
    format!("{token}-manager")
}

/// Writes a kubeconfig of the shared control plane, for programs under test.
pub async fn kubernetes_kubeconfig(directory: &Path) -> Result<PathBuf> {
    let plane = Plane::shared().await?;
    // Ready once the default namespace exists.
    plane.client().await?;
    let path = directory.join("kubeconfig");
    std::fs::write(
        &path,
        kubeconfig(plane.running.port, &plane.running.token).to_string(),
    )?;
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

/// A separate control plane, stopped on drop.
pub struct Kubernetes(ControlPlane);

impl Kubernetes {
    /// Starts a control plane.
    pub async fn start() -> Result<Self> {
        Ok(Self(tokio::task::spawn_blocking(ControlPlane::start).await??))
    }

    /// A client with all rights.
    pub async fn client(&self) -> Result<Client> {
        client_with(self.0.kubeconfig_of(&self.0.token)?).await
    }

    /// Its directory, with the `kubeconfig`.
    pub fn directory(&self) -> &Path {
        &self.0.directory
    }
}

struct ControlPlane {
    port: u16,
    token: String,
    directory: PathBuf,
    /// Child processes that exit when our end of their pipe is closed, and remove the directory.
    _children: Vec<Child>,
}

impl ControlPlane {
    fn start() -> Result<Self> {
        let assets = std::env::var_os("KUBEBUILDER_ASSETS").map(PathBuf::from);
        let assets =
            assets.context("KUBEBUILDER_ASSETS is not set (`cargo xtask kubernetes` prints a value)")?;
        // Nothing static is dropped when a process ends: those we start remove it.
        let root = tempfile::tempdir()?.keep();
        let token = format!("test-{}", std::process::id());
        let manager = User {
            token: &manager_token(&token),
            name: rights::MANAGER,
            group: "",
        };
        let mut plane =
            cambium_control_plane::ControlPlane::prepare(&assets, &root, &[User::admin(&token), manager])?;
        plane.etcd.argument("--unsafe-no-fsync");
        let log = root.join("kube-apiserver.log");
        let mut children = vec![
            spawn(&plane.etcd, &root.join("etcd.log"), None)?,
            spawn(&plane.apiserver, &log, None)?,
        ];
        wait_for(plane.port, &mut children, &log)?;
        children.push(spawn(&plane.controller_manager, &root.join("kcm.log"), None)?);
        Ok(Self {
            port: plane.port,
            token,
            directory: root,
            _children: children,
        })
    }

    /// A kubeconfig with this token.
    fn kubeconfig_of(&self, token: &str) -> Result<Kubeconfig> {
        Ok(serde_json::from_value(kubeconfig(self.port, token))?)
    }
}

/// Starts a program under a shell that waits for our end of its pipe to close, then stops the program and removes its
/// files: nothing outlives the test binary, even if that is killed.
pub(crate) fn spawn(program: &Program, log: &Path, kubeconfig: Option<&Path>) -> Result<Child> {
    const SCRIPT: &str = "exec 3<&0; \"$0\" \"$@\" < /dev/null & child=$!; \
                          (read -r _ <&3; kill -9 $child; sleep 1; rm -rf \"$DIRECTORY\") & wait $child";
    let path = &program.path;
    if !path.exists() {
        bail!("{} does not exist", path.display());
    }
    let output = std::fs::File::create(log)?;
    let mut shell = Command::new("sh");
    if let Some(kubeconfig) = kubeconfig {
        shell.env("KUBECONFIG", kubeconfig);
    }
    let child = shell
        .arg("-c")
        .arg(SCRIPT)
        .arg(path)
        .args(&program.arguments)
        .env("DIRECTORY", log.parent().context("a log is in a directory")?)
        .stdin(Stdio::piped())
        .stdout(output.try_clone()?)
        .stderr(output)
        .spawn();
    child.with_context(|| path.display().to_string())
}

/// Waits until the port accepts connections, or a child process has exited.
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
