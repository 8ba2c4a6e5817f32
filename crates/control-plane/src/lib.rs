//! How a real Kubernetes control plane is started on loopback: etcd, kube-apiserver, kube-controller-manager.
//!
//! [`ControlPlane::prepare`] writes keys, tokens and a kubeconfig into a directory, and says which programs to run with which arguments. Who runs
//! them adds what is special, and decides how they end: tests tie them to their own process, the load program measures their memory, and
//! conformance keeps their logs.

mod ports;

use std::path::{Path, PathBuf};

use anyhow::Result;
use serde_json::{Value, json};

pub use ports::free_ports;

/// Programs that become a control plane when they run.
#[derive(Debug)]
pub struct ControlPlane {
    /// Where kube-apiserver listens, with TLS.
    pub port: u16,
    /// The first to start.
    pub etcd: Program,
    /// The second.
    pub apiserver: Program,
    /// For those who need service accounts, garbage collection and the like; it wants kube-apiserver to listen.
    pub controller_manager: Program,
}

/// A program with its arguments.
#[derive(Debug)]
pub struct Program {
    /// Where it is.
    pub path: PathBuf,
    /// Its arguments; the last one of a name wins.
    pub arguments: Vec<String>,
}

/// Somebody whom kube-apiserver knows by a token.
#[derive(Debug, Clone, Copy)]
pub struct User<'a> {
    /// What they show.
    pub token: &'a str,
    /// Who they are.
    pub name: &'a str,
    /// Their group, empty if they have none: `system:masters` may do everything.
    pub group: &'a str,
}

impl<'a> User<'a> {
    /// One who may do everything.
    pub fn admin(token: &'a str) -> Self {
        Self {
            token,
            name: "admin",
            group: "system:masters",
        }
    }
}

impl Program {
    /// With one more argument.
    pub fn argument(&mut self, argument: impl Into<String>) -> &mut Self {
        self.arguments.push(argument.into());
        self
    }
}

impl ControlPlane {
    /// Prepares one in an empty directory, of the programs in another. The kubeconfig there, which kube-controller-manager uses, too, is the first
    /// user's.
    pub fn prepare(binaries: &Path, directory: &Path, users: &[User<'_>]) -> Result<Self> {
        let [etcd, peer, port] = free_ports()?;
        let keys = rcgen::KeyPair::generate()?;
        std::fs::write(directory.join("sa.key"), keys.serialize_pem())?;
        std::fs::write(directory.join("sa.pub"), keys.public_key_pem())?;
        let lines = users.iter().map(|user| {
            let User { token, name, group } = user;
            match group.is_empty() {
                true => format!("{token},{name},{name}\n"),
                false => format!("{token},{name},{name},\"{group}\"\n"),
            }
        });
        std::fs::write(directory.join("tokens.csv"), lines.collect::<String>())?;
        let token = users.first().map_or("", |user| user.token);
        std::fs::write(directory.join("kubeconfig"), kubeconfig(port, token).to_string())?;

        let path = |name: &str| directory.join(name).display().to_string();
        let program = |name: &str, arguments: &[String]| Program {
            path: binaries.join(name),
            arguments: arguments.to_vec(),
        };
        let client = format!("http://127.0.0.1:{etcd}");
        let peers = format!("http://127.0.0.1:{peer}");
        Ok(Self {
            port,
            etcd: program(
                "etcd",
                &[
                    format!("--data-dir={}", path("etcd")),
                    format!("--listen-client-urls={client}"),
                    format!("--advertise-client-urls={client}"),
                    format!("--listen-peer-urls={peers}"),
                    format!("--initial-advertise-peer-urls={peers}"),
                    format!("--initial-cluster=default={peers}"),
                ],
            ),
            apiserver: program(
                "kube-apiserver",
                &[
                    format!("--etcd-servers={client}"),
                    "--bind-address=127.0.0.1".to_owned(),
                    format!("--secure-port={port}"),
                    format!("--cert-dir={}", path("certs")),
                    "--service-account-issuer=https://kubernetes.default.svc".to_owned(),
                    format!("--service-account-key-file={}", path("sa.pub")),
                    format!("--service-account-signing-key-file={}", path("sa.key")),
                    format!("--token-auth-file={}", path("tokens.csv")),
                    "--authorization-mode=RBAC".to_owned(),
                    "--service-cluster-ip-range=10.96.0.0/16".to_owned(),
                ],
            ),
            controller_manager: program(
                "kube-controller-manager",
                &[
                    format!("--kubeconfig={}", path("kubeconfig")),
                    format!("--service-account-private-key-file={}", path("sa.key")),
                    // kube-apiserver makes it for itself when it starts.
                    format!("--root-ca-file={}", path("certs/apiserver.crt")),
                    "--leader-elect=false".to_owned(),
                    "--bind-address=127.0.0.1".to_owned(),
                    "--secure-port=0".to_owned(),
                ],
            ),
        })
    }
}

/// A kubeconfig for a server on loopback, and one who shows this token; none is shown if it is empty.
pub fn kubeconfig(port: u16, token: &str) -> Value {
    let user = match token {
        "" => json!({}),
        token => json!({"token": token}),
    };
    json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "local",
        "clusters": [{"name": "local", "cluster": {
            "server": format!("https://127.0.0.1:{port}"), "insecure-skip-tls-verify": true,
        }}],
        "users": [{"name": "local", "user": user}],
        "contexts": [{"name": "local", "context": {"cluster": "local", "user": "local", "namespace": "default"}}],
    })
}
