//! Everything together: one cluster, and who works on it.

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

/// The controllers of definitions and applications, of compositions and composite resources.
pub struct Manager {
    metrics: Metrics,
    definitions: Arc<definitions::Context>,
    compositions: Arc<compositions::Context>,
}

impl Manager {
    /// A manager that knows nothing yet, and does nothing.
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

    /// What is asked at admission.
    pub fn admission(&self) -> Admission {
        let mut validators = definitions::validators(&self.definitions);
        validators.extend(compositions::validators(&self.compositions));
        Admission {
            mutators: definitions::mutators(),
            validators,
        }
    }

    /// Begins to watch, unless it does already, and waits until everything has been seen once.
    pub async fn synced(&self) {
        tokio::join!(self.definitions.synced(), self.compositions.synced());
    }

    /// Works until it is dropped.
    pub async fn run(&self) {
        self.synced().await;
        tokio::join!(
            kinds::follow(&self.definitions, &self.compositions),
            self.definitions.run(),
            self.compositions.run(),
        );
    }

    /// Works whenever it leads, until the election is over.
    pub async fn run_while_leading(&self, leadership: watch::Receiver<Leadership>) {
        self.metrics.leads(LEASE, false);
        run_while_leader(leadership, || async {
            let _leading = Leading::with(&self.metrics);
            self.run().await;
        })
        .await;
    }

    /// Whether there is nothing left to do, as far as it knows.
    pub fn is_idle(&self) -> bool {
        self.definitions.is_idle() && self.compositions.is_idle()
    }
}

/// The lease that managers compete for.
pub const LEASE: &str = "cambium";

/// Counts as leading until it is dropped, which is how work ends when the lease is lost.
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
