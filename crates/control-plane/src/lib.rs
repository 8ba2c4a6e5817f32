//! Configuration of a real Kubernetes control plane on loopback: etcd, kube-apiserver, kube-controller-manager.
//!
//! [`ControlPlane::prepare`] writes keys, tokens and a kubeconfig into a directory, and returns the programs to run with
//! their arguments. Callers add arguments and manage the processes: tests tie them to their own process, the load program
//! measures their memory, and conformance keeps their logs.

mod ports;

use std::path::{Path, PathBuf};

use anyhow::Result;
use serde_json::{Value, json};

pub use ports::free_ports;

/// The programs of a control plane.
#[derive(Debug)]
pub struct ControlPlane {
    /// The TLS port of kube-apiserver.
    pub port: u16,
    /// etcd, to be started first.
    pub etcd: Program,
    /// kube-apiserver, to be started second.
    pub apiserver: Program,
    /// kube-controller-manager, for ServiceAccounts, garbage collection and so on; needs a running kube-apiserver.
    pub controller_manager: Program,
}

/// A program with its arguments.
#[derive(Debug)]
pub struct Program {
    /// The path of the executable.
    pub path: PathBuf,
    /// Its arguments; the last of equal flags counts.
    pub arguments: Vec<String>,
}

/// A user of kube-apiserver's token file.
#[derive(Debug, Clone, Copy)]
pub struct User<'a> {
    /// The bearer token.
    pub token: &'a str,
    /// The user name.
    pub name: &'a str,
    /// The group, or empty; `system:masters` has all rights.
    pub group: &'a str,
}

impl<'a> User<'a> {
    /// A user in `system:masters`.
    pub fn admin(token: &'a str) -> Self {
        Self {
            token,
            name: "admin",
            group: "system:masters",
        }
    }
}

impl Program {
    /// Adds an argument.
    pub fn argument(&mut self, argument: impl Into<String>) -> &mut Self {
        self.arguments.push(argument.into());
        self
    }
}

impl ControlPlane {
    /// Prepares a control plane in an empty directory, with the programs of `binaries`. The kubeconfig, which
    /// kube-controller-manager uses as well, is that of the first user.
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

/// A kubeconfig for a server on loopback with this token; anonymous if it is empty.
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
