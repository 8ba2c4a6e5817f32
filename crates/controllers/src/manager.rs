//! The manager: all controllers on one cluster, and their admission webhooks.

use crate::cluster::Cluster;
use crate::runtime::{Leadership, Pool, run_while_leader};
use crate::settings::Settings;
use crate::{compositions, definitions, kinds};
use cambium_definitions_render::ClusterVersion;
use cambium_metrics::Metrics;
use cambium_webhooks::admission::Admission;
use kube::Client;
use std::sync::Arc;
use tokio::sync::watch;

/// A manager of all controllers.
pub struct Manager {
    metrics: Metrics,
    definitions: Arc<definitions::Context>,
    compositions: Arc<compositions::Context>,
}

impl Manager {
    /// A manager that does not watch or write yet.
    pub async fn new(client: Client, settings: Settings) -> kube::Result<Self> {
        let cluster = Cluster::new(&client, &settings);
        let version = cluster.version().await?;
        let version = ClusterVersion {
            major: version.major,
            minor: version.minor,
            git_version: version.git_version,
            platform: version.platform,
        };
        let rendering = Arc::new(Pool::for_this_machine(settings.template_time_limit));
        let (also_cluster, also_rendering) = (cluster.clone(), rendering.clone());
        let compositions = compositions::Context::new(also_cluster, also_rendering, settings.clone());
        Ok(Self {
            metrics: settings.metrics.clone(),
            definitions: Arc::new(definitions::Context::new(cluster, version, rendering, settings)),
            compositions: Arc::new(compositions),
        })
    }

    /// The validators and mutators of all kinds.
    pub fn admission(&self) -> Admission {
        let mut validators = definitions::validators(&self.definitions);
        validators.extend(compositions::validators(&self.compositions));
        Admission {
            mutators: definitions::mutators(),
            validators,
        }
    }

    /// Starts the watches, unless they are started, and waits until all caches are synced.
    pub async fn synced(&self) {
        tokio::join!(self.definitions.synced(), self.compositions.synced());
    }

    /// Runs the controllers until it is dropped.
    pub async fn run(&self) {
        self.synced().await;
        tokio::join!(
            kinds::follow(&self.definitions, &self.compositions),
            self.definitions.run(),
            self.compositions.run(),
        );
    }

    /// Runs the controllers while this replica leads, until the election ends.
    pub async fn run_while_leading(&self, leadership: watch::Receiver<Leadership>) {
        self.metrics.leads(LEASE, false);
        run_while_leader(leadership, || async {
            let _leading = Leading::with(&self.metrics);
            self.run().await;
        })
        .await;
    }

    /// Whether all queues are empty.
    pub fn is_idle(&self) -> bool {
        self.definitions.is_idle() && self.compositions.is_idle()
    }
}

/// The name of the Lease for leader election.
pub const LEASE: &str = "cambium";

/// Sets the leadership metric until it is dropped: work is dropped when the lease is lost.
struct Leading<'a>(&'a Metrics);

impl<'a> Leading<'a> {
    fn with(metrics: &'a Metrics) -> Self {
        metrics.leads(LEASE, true);
        Self(metrics)
    }
}

impl Drop for Leading<'_> {
    fn drop(&mut self) {
        self.0.leads(LEASE, false);
    }
}
