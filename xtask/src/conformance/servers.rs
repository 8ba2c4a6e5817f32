//! The servers that specs run against, as child processes.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use cambium_control_plane::{ControlPlane, User, free_ports};
use clap::ValueEnum;
use serde_json::json;

use crate::cargo::cargo;
use crate::kubernetes;

/// The server.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(super) enum Backend {
    /// `cambium up`.
    Embedded,
    /// etcd, kube-apiserver and kube-controller-manager, with a fake node.
    Kubernetes,
}

impl Backend {
    /// Its name on the command line.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Embedded => "embedded",
            Self::Kubernetes => "kubernetes",
        }
    }

    /// The directory of its reports, logs and results.
    pub(super) fn directory(self) -> Result<PathBuf> {
        let directory = kubernetes::directory()?.join("conformance").join(self.name());
        std::fs::create_dir_all(&directory)?;
        Ok(directory)
    }

    /// Starts an empty server.
    pub(super) fn start(self, program: Option<PathBuf>) -> Result<Server> {
        let mut server = Server {
            backend: self,
            directory: tempfile::tempdir()?,
            children: Vec::new(),
        };
        match self {
            Self::Embedded => server.start_embedded(program)?,
            Self::Kubernetes => server.start_kubernetes()?,
        }
        Ok(server)
    }
}

/// A running server, stopped on drop.
pub(super) struct Server {
    backend: Backend,
    directory: tempfile::TempDir,
    children: Vec<Child>,
}

impl Drop for Server {
    fn drop(&mut self) {
        for child in &mut self.children {
            // Gone already is as good as gone now.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

impl Server {
    /// The administrator's kubeconfig.
    pub(super) fn kubeconfig(&self) -> PathBuf {
        self.file("kubeconfig")
    }

    /// The directory of logs and results.
    pub(super) fn records(&self) -> Result<PathBuf> {
        self.backend.directory()
    }

    fn file(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn start_embedded(&mut self, program: Option<PathBuf>) -> Result<()> {
        let program = match program {
            Some(program) => program,
            None => build()?,
        };
        let [port] = free_ports()?;
        let arguments = [
            "up".to_owned(),
            format!("--listen=127.0.0.1:{port}"),
            format!("--data-dir={}", self.file("data").display()),
            format!("--kubeconfig={}", self.kubeconfig().display()),
        ];
        // It starts in a directory of its own.
        self.spawn(&program.canonicalize()?, &arguments)?;
        self.wait()
    }

    fn start_kubernetes(&mut self) -> Result<()> {
        let bin = kubernetes::servers()?;
        let users = [User::admin("conformance")];
        let mut plane = ControlPlane::prepare(&bin, self.directory.path(), &users)?;
        plane.etcd.argument("--unsafe-no-fsync");
        plane
            .apiserver
            // One spec waits for a compaction.
            .argument("--etcd-compaction-interval=20s")
            .argument("--allow-privileged=true")
            // The node below has no kubelet to vouch for it.
            .argument("--disable-admission-plugins=TaintNodesByCondition");
        plane
            .controller_manager
            .argument("--controllers=*,-node-lifecycle-controller");
        for program in [&plane.etcd, &plane.apiserver, &plane.controller_manager] {
            self.spawn(&program.path, &program.arguments)?;
        }
        self.wait()?;
        self.create_node()
    }

    /// Creates a fake ready node: specs count nodes before they start.
    fn create_node(&self) -> Result<()> {
        let node = json!({
            "apiVersion": "v1", "kind": "Node", "metadata": {"name": "hollow"},
            "status": {
                "capacity": {"cpu": "8", "memory": "16Gi", "pods": "110"},
                "allocatable": {"cpu": "8", "memory": "16Gi", "pods": "110"},
                "conditions": [{"type": "Ready", "status": "True", "reason": "Hollow"}],
            },
        });
        let file = self.file("node.json");
        std::fs::write(&file, node.to_string())?;
        let mut kubectl = self.kubectl()?;
        kubectl.args(["create", "--filename"]).arg(file);
        match kubectl.stdout(Stdio::null()).status()?.success() {
            true => Ok(()),
            false => bail!("the node was not created"),
        }
    }

    fn kubectl(&self) -> Result<Command> {
        let mut kubectl = Command::new(kubernetes::specs()?.join("kubectl"));
        kubectl.arg("--kubeconfig").arg(self.kubeconfig());
        Ok(kubectl)
    }

    fn spawn(&mut self, program: &Path, arguments: &[String]) -> Result<()> {
        let name = program.file_name().context("a program has a name")?;
        let log = self.records()?.join(name).with_extension("log");
        let output = File::create(log)?;
        let child = Command::new(program)
            .args(arguments)
            .current_dir(self.directory.path())
            .stdin(Stdio::null())
            .stdout(output.try_clone()?)
            .stderr(output)
            .spawn()
            .with_context(|| program.display().to_string())?;
        self.children.push(child);
        Ok(())
    }

    /// Waits for the Service `kubernetes`, which specs look up first.
    fn wait(&mut self) -> Result<()> {
        self.wait_until("it does not answer", |server| {
            let mut kubectl = server.kubectl()?;
            kubectl.args(["get", "service", "kubernetes", "--namespace=default"]);
            let answered = kubectl.stdout(Stdio::null()).stderr(Stdio::null()).status()?;
            Ok(server.kubeconfig().exists() && answered.success())
        })
    }

    /// Waits up to a minute, or until a process has exited.
    fn wait_until(&mut self, trouble: &str, done: impl Fn(&Self) -> Result<bool>) -> Result<()> {
        for _ in 0..600 {
            if done(self)? {
                return Ok(());
            }
            for child in &mut self.children {
                if let Some(status) = child.try_wait()? {
                    let logs = self.backend.directory()?;
                    bail!(
                        "the server did not start ({status}); its logs are in {}",
                        logs.display()
                    );
                }
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        bail!("the server did not start: {trouble} after a minute")
    }
}

/// Builds the current `cambium`.
fn build() -> Result<PathBuf> {
    let build = ["build", "--package", "cambium"];
    if !cargo().args(build).status()?.success() {
        bail!("the build failed");
    }
    let target = std::env::var("CARGO_TARGET_DIR").unwrap_or_else(|_| "target".to_owned());
    Ok(Path::new(&target).join("debug/cambium"))
}
