//! Starts the webhooks: certificates, HTTPS server, registration, and the reconciler that keeps all of it.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use cambium_api::crds::{self, Committed};
use cambium_convert::Registry;
use cambium_metrics::Metrics;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use kube::Client;
use tokio::net::TcpListener;
use tokio::sync::Notify;
use tokio::task::JoinHandle;

use crate::admission::Admission;
use crate::certificates::{Lifetimes, Resolver};
use crate::reconciler::{Clock, Extent, ReconcileError, Reconciler};
use crate::registration::{Reach, ReachError, Registration};
use crate::server::{Clients, Hooks, Limits, Server};

/// Options of the webhooks.
#[derive(Clone)]
pub struct Options {
    /// The namespace of the Secret with the authority.
    pub namespace: String,
    /// The name of that Secret.
    pub secret: String,
    /// The name of the `ValidatingWebhookConfiguration` and of the `MutatingWebhookConfiguration`.
    pub configuration: String,
    /// The Service or URL at which the API server calls the webhooks. The same for all replicas: a CRD has one client configuration.
    pub reach: Reach,
    /// The CRDs to install and to convert.
    pub crds: Vec<Committed>,
    /// Validators and mutators see only objects in these namespaces. All, if there is none.
    pub namespace_selector: Option<LabelSelector>,
    /// The timeout of webhook calls. More than [`Limits::validation`], so that a validator's own timeout answers first.
    pub timeout_seconds: i32,
    /// The lifetimes of certificates.
    pub lifetimes: Lifetimes,
    /// Limits of connections and requests.
    pub limits: Limits,
    /// The clients that are answered.
    pub clients: Clients,
    /// Converters by group and kind.
    pub converters: Registry,
    /// Metrics of webhook calls.
    pub metrics: Metrics,
    /// What time it is.
    pub clock: Clock,
    /// The start timeout: how long errors of the API server are retried, and CRDs may take to be established.
    pub start_timeout: Duration,
}

impl Options {
    /// Defaults, with the CRDs of Cambium.
    pub fn new(namespace: impl Into<String>, reach: Reach) -> Self {
        Self {
            namespace: namespace.into(),
            secret: "cambium-webhooks".to_owned(),
            configuration: "cambium".to_owned(),
            reach,
            crds: crds::committed(),
            namespace_selector: None,
            timeout_seconds: 10,
            lifetimes: Lifetimes::default(),
            limits: Limits::default(),
            clients: Clients::Anybody,
            converters: Registry::of_cambium(),
            metrics: Metrics::default(),
            clock: Arc::new(jiff::Timestamp::now),
            start_timeout: Duration::from_secs(60),
        }
    }
}

/// Why webhooks did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The certificates or the registration.
    #[error("failed to {0}")]
    Keep(#[from] ReconcileError),
    /// The listener.
    #[error("failed to listen: {0}")]
    Listen(#[from] std::io::Error),
    /// The address.
    #[error(transparent)]
    Reach(#[from] ReachError),
    /// A validator's or a mutator's path.
    #[error("the path {path:?} of a webhook is not a DNS label, or not unique")]
    Path {
        /// The path.
        path: &'static str,
    },
    /// The API server accepted the CRDs and does not serve them.
    #[error("CRDs were not established in time: {0:?}; see their conditions")]
    Unserved(Vec<String>),
}

/// Webhooks that are served, registered, and reconciled. They end with the value; better with [`Webhooks::stop`].
pub struct Webhooks {
    server: Option<Server>,
    address: SocketAddr,
    resolver: Arc<Resolver>,
    wake: Arc<Notify>,
    tasks: Vec<JoinHandle<()>>,
}

impl Webhooks {
    /// Creates or reads the certificate authority, serves, and then registers: an API server must never call an address that does not answer. Returns
    /// when all CRDs are established.
    pub async fn start(
        client: Client,
        listener: TcpListener,
        options: Options,
        admission: Admission,
    ) -> Result<Self, StartError> {
        check_paths(admission.validators.iter().map(|one| one.path()))?;
        check_paths(admission.mutators.iter().map(|one| one.path()))?;
        let wake = Arc::new(Notify::new());
        let reconciler = Arc::new(Reconciler {
            client,
            namespace: options.namespace,
            secret: options.secret,
            names: options.reach.names()?,
            registration: Registration {
                reach: options.reach,
                configuration: options.configuration,
                crds: options.crds.into_iter().map(Arc::new).collect(),
                validating: Vec::new(),
                mutating: Vec::new(),
                timeout_seconds: options.timeout_seconds,
                namespace_selector: options.namespace_selector,
            },
            admission: admission.clone(),
            lifetimes: options.lifetimes,
            resolver: Arc::default(),
            clock: options.clock,
            wake: wake.clone(),
            published: Default::default(),
        });
        let deadline = tokio::time::Instant::now() + options.start_timeout;
        let kept = |extent| patiently(&reconciler, extent, deadline);
        kept(Extent::Certificates).await?;
        let hooks = Hooks {
            converters: options.converters,
            admission,
            metrics: options.metrics,
        };
        let resolver = reconciler.resolver.clone();
        let server = Server::start_for(listener, resolver.clone(), hooks, options.limits, options.clients)?;
        let watching = reconciler.clone();
        let mut webhooks = Self {
            address: server.address(),
            server: Some(server),
            resolver,
            wake: wake.clone(),
            tasks: vec![tokio::spawn(async move { watching.watch().await })],
        };
        let look_again = loop {
            let rest = kept(Extent::Everything).await?;
            if rest.unserved.is_empty() {
                break rest.look_again;
            }
            if tokio::time::timeout_at(deadline, wake.notified()).await.is_err() {
                return Err(StartError::Unserved(rest.unserved));
            }
        };
        webhooks
            .tasks
            .push(tokio::spawn(async move { reconciler.run(look_again).await }));
        Ok(webhooks)
    }

    /// The address of the HTTPS server.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The certificate of the moment.
    pub fn resolver(&self) -> &Resolver {
        &self.resolver
    }

    /// Reconciles now, as after a change: for a clock that was set.
    pub fn wake(&self) {
        self.wake.notify_one();
    }

    /// Stops reconciling and accepting connections, and returns when open requests are answered. The registration stays: other replicas may serve it.
    pub async fn stop(mut self) {
        for task in self.tasks.drain(..) {
            task.abort();
            // Cancelled, as it should be.
            let _ = task.await;
        }
        if let Some(server) = self.server.take() {
            server.stop().await;
        }
    }
}

impl Drop for Webhooks {
    fn drop(&mut self) {
        for task in &self.tasks {
            task.abort();
        }
    }
}

/// Retries transient errors with back-off until the deadline.
async fn patiently(
    reconciler: &Reconciler,
    extent: Extent,
    deadline: tokio::time::Instant,
) -> Result<crate::reconciler::Rest, ReconcileError> {
    let mut pause = Duration::from_millis(50);
    loop {
        match reconciler.settle(extent).await {
            Err(error) if error.is_transient() && tokio::time::Instant::now() + pause < deadline => {
                tracing::debug!(%error, "failed to reconcile certificates and webhook configurations; retrying");
                tokio::time::sleep(pause).await;
                pause = (pause * 2).min(Duration::from_secs(2));
            }
            other => return other,
        }
    }
}

fn check_paths(paths: impl Iterator<Item = &'static str>) -> Result<(), StartError> {
    let mut seen = std::collections::BTreeSet::new();
    for path in paths {
        let mut letters = path.chars();
        let is_label = letters.all(|one| one.is_ascii_lowercase() || one.is_ascii_digit() || one == '-')
            && !path.is_empty()
            && path.len() <= 40
            && !path.starts_with('-')
            && !path.ends_with('-');
        if !is_label || !seen.insert(path) {
            return Err(StartError::Path { path });
        }
    }
    Ok(())
}
