//! Crossplane's own controllers, to compare with.

use cambium_control_plane::{Program, free_ports};
use std::path::{Path, PathBuf};
use std::process::Child;

use anyhow::{Context as _, Result};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;

use crate::peer::cache;
use crate::real::{Kubernetes, spawn};

/// The version that `cargo xtask peers` builds.
const VERSION: &str = "v1.20.11";

/// Crossplane as it was built: a program, and its kinds.
#[derive(Debug, Clone)]
pub struct Crossplane {
    /// The program.
    pub binary: PathBuf,
    /// The directory of its CRDs.
    pub crds: PathBuf,
}

/// Crossplane at work on a cluster; it ends with this value.
pub struct RunningCrossplane {
    /// Waits on a pipe from us.
    _child: Child,
}

impl Crossplane {
    /// Where `cargo xtask peers` has put it; an error says that it has not.
    pub fn built() -> Result<Self> {
        let root = cache()
            .context("no cache directory")?
            .join("crossplane")
            .join(VERSION);
        let (binary, crds) = (root.join("bin/crossplane"), root.join("crds"));
        let complete = binary.is_file() && crds.is_dir();
        complete.then_some(Self { binary, crds }).with_context(|| {
            format!(
                "no Crossplane in {} (`cargo xtask peers` builds it)",
                root.display()
            )
        })
    }

    /// The arguments with which it runs outside of a cluster, without webhooks and packages. Its `KUBECONFIG` says where to.
    /// It does not start without a certificate to call functions with: one is written into the directory.
    pub fn arguments(&self, directory: &Path) -> Result<Vec<String>> {
        let [metrics, health] = free_ports()?;
        let now = jiff::Timestamp::now();
        let authority = cambium_apiserver::pki::Authority::generate(now)?;
        let client = authority.client("crossplane", &[], now)?;
        std::fs::create_dir_all(directory)?;
        std::fs::write(directory.join("ca.crt"), authority.certificate())?;
        std::fs::write(directory.join("tls.crt"), &client.certificate)?;
        std::fs::write(directory.join("tls.key"), &client.key)?;
        Ok(vec![
            "core".to_owned(),
            "start".to_owned(),
            "--enable-webhooks=false".to_owned(),
            "--package-runtime=External".to_owned(),
            format!("--metrics-port={metrics}"),
            format!("--health-probe-port={health}"),
            format!("--xpkg-cache-dir={}", directory.join("packages").display()),
            format!("--tls-client-certs-dir={}", directory.display()),
        ])
    }

    /// Its kinds.
    pub fn crds(&self) -> Result<Vec<CustomResourceDefinition>> {
        let mut crds = Vec::new();
        for entry in std::fs::read_dir(&self.crds)? {
            let text = std::fs::read_to_string(entry?.path())?;
            crds.extend(serde_saphyr::from_multiple::<CustomResourceDefinition>(&text)?);
        }
        Ok(crds)
    }

    /// Starts it on a cluster that has its kinds.
    pub fn start(&self, cluster: &Kubernetes) -> Result<RunningCrossplane> {
        let directory = cluster.directory().join("crossplane");
        let program = Program {
            path: self.binary.clone(),
            arguments: self.arguments(&directory)?,
        };
        let kubeconfig = cluster.directory().join("kubeconfig");
        let log = cluster.directory().join("crossplane.log");
        let child = spawn(&program, &log, Some(&kubeconfig))?;
        Ok(RunningCrossplane { _child: child })
    }
}
