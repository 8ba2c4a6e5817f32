//! Cambium beside KubeVela and Crossplane, one after the other, each on its own Kubernetes.
//!
//! Requests are counted from the API server's audit log, by user.
//!
//! ```text
//! applications   beside KubeVela: a version is published that all applications follow
//! composites     beside Crossplane: a composition is edited that all composite resources follow
//! requests       requests from the audit log
//! beside         output
//! ```

pub(crate) mod applications;
mod beside;
pub(crate) mod composites;
mod requests;

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result};
use cambium_testing::Crossplane;
use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::Client;
use kube::api::{Api, PostParams};
use serde_json::json;

use crate::definitions::{DEPLOYER, empower};
use crate::target::{self, PEER, Target};

/// The controllers under test.
pub(crate) enum Rival {
    /// `cambium manager`.
    Cambium {
        /// The program.
        binary: PathBuf,
    },
    /// `vela-core`, as its chart runs it, without webhooks.
    KubeVela {
        /// The program.
        binary: PathBuf,
        /// The directory of its CRDs.
        crds: PathBuf,
    },
    /// `crossplane core start`, without webhooks.
    Crossplane(Crossplane),
}

/// Duration of the idle phase.
const IDLE: Duration = Duration::from_secs(60);

/// The feature gates that KubeVela's chart opens.
const GATES: [&str; 7] = [
    "ZstdResourceTracker",
    "MultiStageComponentApply",
    "ZstdApplicationRevision",
    "PreDispatchDryRun",
    "InformerCacheFilterUnnecessaryFields",
    "SharedDefinitionStorageForApplicationRevision",
    "DisableWorkflowContextConfigMapCache",
];

impl Rival {
    fn name(&self) -> &'static str {
        match self {
            Self::Cambium { .. } => "cambium",
            Self::KubeVela { .. } => "vela-core",
            Self::Crossplane(_) => "crossplane",
        }
    }

    /// Creates its prerequisites: namespaces, and CRDs that it does not install itself.
    async fn prepare(&self, client: &Client) -> Result<()> {
        let namespaces: Api<Namespace> = Api::all(client.clone());
        for name in ["vela-system", "crossplane-system"] {
            let namespace = serde_json::from_value(json!({"metadata": {"name": name}}))?;
            namespaces.create(&PostParams::default(), &namespace).await?;
        }
        match self {
            Self::Cambium { .. } => empower(client).await,
            Self::KubeVela { crds, .. } | Self::Crossplane(Crossplane { crds, .. }) => {
                install(client, crds).await
            }
        }
    }

    fn start(&self, target: &Target) -> Result<Running> {
        let kubeconfig = target.kubeconfig(PEER)?;
        let [metrics, health] = cambium_control_plane::free_ports()?;
        let mut command = match self {
            Self::Cambium { binary } => {
                let mut command = Command::new(binary);
                command.args(["manager", "--no-webhooks", "--no-leader-election"]);
                command.args(["--default-service-account", DEPLOYER, "--kubeconfig"]);
                command.arg(&kubeconfig);
                command
            }
            Self::KubeVela { binary, .. } => {
                let mut command = Command::new(binary);
                command.env("KUBECONFIG", &kubeconfig).args([
                    format!("--metrics-addr=127.0.0.1:{metrics}"),
                    format!("--health-addr=127.0.0.1:{health}"),
                    "--enable-leader-election=false".to_owned(),
                    "--optimize-disable-component-revision".to_owned(),
                    "--application-revision-limit=2".to_owned(),
                    "--definition-revision-limit=2".to_owned(),
                    "--application-re-sync-period=5m".to_owned(),
                    "--concurrent-reconciles=4".to_owned(),
                    "--kube-api-qps=400".to_owned(),
                    "--kube-api-burst=600".to_owned(),
                    "--optimize-mark-with-prob=0.1".to_owned(),
                ]);
                // As its chart has them.
                command.args(GATES.map(|gate| format!("--feature-gates={gate}=true")));
                command
            }
            Self::Crossplane(crossplane) => {
                let mut command = Command::new(&crossplane.binary);
                command
                    .env("KUBECONFIG", &kubeconfig)
                    .args(crossplane.arguments(&target.file("crossplane"))?);
                command
            }
        };
        let log = target.file("peer.log");
        let child = command
            .stdout(Stdio::null())
            .stderr(std::fs::File::create(&log)?)
            .spawn()
            .with_context(|| format!("{} did not start", self.name()))?;
        Ok(Running {
            child,
            name: self.name(),
            log,
        })
    }
}

/// Installs the CRDs of a directory, and waits until they are served.
async fn install(client: &Client, crds: &Path) -> Result<()> {
    let api: Api<CustomResourceDefinition> = Api::all(client.clone());
    for entry in std::fs::read_dir(crds)? {
        let text = std::fs::read_to_string(entry?.path())?;
        for crd in serde_saphyr::from_multiple::<CustomResourceDefinition>(&text)? {
            api.create(&PostParams::default(), &crd).await?;
        }
    }
    let established = |crd: &CustomResourceDefinition| {
        let conditions = crd
            .status
            .iter()
            .flat_map(|status| status.conditions.iter().flatten());
        conditions
            .into_iter()
            .any(|known| known.type_ == "Established" && known.status == "True")
    };
    while !api.list(&Default::default()).await?.iter().all(established) {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    Ok(())
}

/// A running rival, stopped on drop.
struct Running {
    child: Child,
    name: &'static str,
    log: PathBuf,
}

impl Running {
    /// Its resident memory, in bytes.
    fn memory(&self) -> Result<u64> {
        target::resident(self.child.id())
            .with_context(|| format!("{} has ended; its log ends with {}", self.name, end_of(&self.log)))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Gone already is as good as gone now.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The end of a log.
fn end_of(log: &Path) -> String {
    let text = std::fs::read_to_string(log).unwrap_or_default();
    let lines: Vec<&str> = text.lines().rev().take(5).collect();
    lines.into_iter().rev().collect::<Vec<_>>().join("\n")
}
