//! Servers under test.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use bytes::Bytes;
use cambium_control_plane::{ControlPlane, Program, User, free_ports};
use serde_json::{Value, json};

use crate::wire::Address;

/// A running server.
pub(crate) struct Target {
    pub(crate) address: Address,
    /// From the start of the first process until readiness.
    pub(crate) start: Duration,
    children: Vec<Child>,
    directory: tempfile::TempDir,
}

/// The user whose requests are counted.
pub(crate) const PEER: &str = "peer";

impl Target {
    /// Resident memory of all its processes, in bytes.
    pub(crate) fn memory(&self) -> Result<u64> {
        self.children.iter().map(|child| resident(child.id())).sum()
    }

    /// The path of a file in its directory.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// A kubeconfig for one of its users.
    pub(crate) fn kubeconfig(&self, user: &str) -> Result<PathBuf> {
        let server = format!("https://127.0.0.1:{}", self.address.port);
        let config = json!({
            "apiVersion": "v1", "kind": "Config", "current-context": user,
            "clusters": [{"name": "one", "cluster": {"server": server, "insecure-skip-tls-verify": true}}],
            "users": [{"name": user, "user": {"token": user}}],
            "contexts": [{"name": user, "context": {"cluster": "one", "user": user, "namespace": "default"}}],
        });
        let path = self.file(&format!("{user}.kubeconfig"));
        std::fs::write(&path, config.to_string())?;
        Ok(path)
    }

    /// A client whose requests are not counted.
    pub(crate) async fn client(&self) -> Result<kube::Client> {
        let kubeconfig = kube::config::Kubeconfig::read_from(self.kubeconfig("bench")?)?;
        let config = kube::Config::from_custom_kubeconfig(kubeconfig, &Default::default()).await?;
        Ok(kube::Client::try_from(config)?)
    }
}

/// Resident memory of a process, in bytes.
pub(crate) fn resident(process: u32) -> Result<u64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status"))?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))
        .context("VmRSS")?;
    let kilobytes: u64 = line.trim().trim_end_matches(" kB").parse()?;
    Ok(kilobytes * 1024)
}

impl Drop for Target {
    fn drop(&mut self) {
        for child in &mut self.children {
            // Gone already is as good as gone now.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// `cambium up` with an empty data directory.
pub(crate) async fn cambium(binary: &Path) -> Result<Target> {
    let directory = tempfile::tempdir()?;
    let [port] = free_ports()?;
    let kubeconfig = directory.path().join("kubeconfig");
    let begin = Instant::now();
    let child = Command::new(binary)
        .args(["up", "--listen", &format!("127.0.0.1:{port}")])
        .arg("--data-dir")
        .arg(directory.path().join("data"))
        .arg("--kubeconfig")
        .arg(&kubeconfig)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    let text = loop {
        match std::fs::read_to_string(&kubeconfig) {
            Ok(text) => break text,
            Err(_) if begin.elapsed() > Duration::from_secs(30) => bail!("cambium did not start"),
            Err(_) => tokio::time::sleep(Duration::from_millis(1)).await,
        }
    };
    let config: Value = serde_saphyr::from_str(&text)?;
    let decode = |field: &str| -> Result<String> {
        use base64::Engine as _;
        let text = config["users"][0]["user"][field]
            .as_str()
            .context("a credential")?;
        Ok(String::from_utf8(
            base64::engine::general_purpose::STANDARD.decode(text)?,
        )?)
    };
    let identity = Some((decode("client-certificate-data")?, decode("client-key-data")?));
    let address = Address {
        port,
        identity,
        token: None,
    };
    until_ready(&address).await?;
    Ok(Target {
        address,
        start: begin.elapsed(),
        children: vec![child],
        directory,
    })
}

/// etcd and kube-apiserver, as `cargo xtask kubernetes` builds them.
pub(crate) async fn kubernetes(assets: &Path) -> Result<Target> {
    start_kubernetes(assets, Audit::Off).await
}

/// The same, and every request is written into `audit.log`.
pub(crate) async fn kubernetes_with_audit(assets: &Path) -> Result<Target> {
    start_kubernetes(assets, Audit::On).await
}

#[derive(PartialEq)]
enum Audit {
    On,
    Off,
}

async fn start_kubernetes(assets: &Path, audit: Audit) -> Result<Target> {
    let directory = tempfile::tempdir()?;
    let root = directory.path();
    let peer = User {
        name: PEER,
        ..User::admin(PEER)
    };
    let mut plane = ControlPlane::prepare(assets, root, &[User::admin("bench"), peer])?;
    plane
        .apiserver
        .argument("--disable-admission-plugins=ServiceAccount");
    if audit == Audit::On {
        let policy = json!({
            "apiVersion": "audit.k8s.io/v1", "kind": "Policy",
            "omitStages": ["RequestReceived"], "rules": [{"level": "Metadata"}],
        });
        std::fs::write(root.join("audit.json"), policy.to_string())?;
        plane
            .apiserver
            .argument(format!(
                "--audit-policy-file={}",
                root.join("audit.json").display()
            ))
            .argument(format!("--audit-log-path={}", root.join("audit.log").display()))
            .argument("--audit-log-mode=blocking");
    }
    let begin = Instant::now();
    let quiet = |program: &Program| {
        let mut command = Command::new(&program.path);
        command.args(&program.arguments);
        command.stdout(Stdio::null()).stderr(Stdio::null()).spawn()
    };
    let store = quiet(&plane.etcd)?;
    let server = quiet(&plane.apiserver)?;
    let address = Address {
        port: plane.port,
        identity: None,
        token: Some("bench".to_owned()),
    };
    until_ready(&address).await?;
    Ok(Target {
        address,
        start: begin.elapsed(),
        children: vec![server, store],
        directory,
    })
}

async fn until_ready(address: &Address) -> Result<()> {
    let begin = Instant::now();
    while begin.elapsed() < Duration::from_secs(60) {
        if let Ok(mut connection) = address.connect().await
            && let Ok((200, _)) = connection.send("GET", "/readyz", "", &Bytes::new()).await
        {
            return Ok(());
        }
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    bail!("the server did not become ready")
}
