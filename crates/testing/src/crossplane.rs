//! Crossplane's controllers, for comparison.

use cambium_control_plane::{Program, free_ports};
use std::path::{Path, PathBuf};
use std::process::Child;

use anyhow::{Context as _, Result};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;

use crate::peer::cache;
use crate::real::{Kubernetes, spawn};

/// The version that `cargo xtask peers` builds.
const VERSION: &str = "v1.20.11";

/// A built Crossplane: program and CRDs.
#[derive(Debug, Clone)]
pub struct Crossplane {
    /// The program.
    pub binary: PathBuf,
    /// The directory of its CRDs.
    pub crds: PathBuf,
}

/// A running Crossplane, stopped on drop.
pub struct RunningCrossplane {
    /// Exits when our end of its pipe is closed.
    _child: Child,
}

impl Crossplane {
    /// Finds Crossplane as built by `cargo xtask peers`.
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

    /// The arguments to run it outside of a cluster (`KUBECONFIG`), without webhooks and packages. It does not start without
    /// a client certificate for functions: one is written into the directory.
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

    /// Its CRDs.
    pub fn crds(&self) -> Result<Vec<CustomResourceDefinition>> {
        let mut crds = Vec::new();
        for entry in std::fs::read_dir(&self.crds)? {
            let text = std::fs::read_to_string(entry?.path())?;
            crds.extend(serde_saphyr::from_multiple::<CustomResourceDefinition>(&text)?);
        }
        Ok(crds)
    }

    /// Starts it on a cluster with its CRDs.
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
