//! Metrics of a manager, for Prometheus.
//!
//! Names are those of controller-runtime and client-go where they have one, so that dashboards and alerts for controllers fit as they are.
//! [`Metrics`] is handed to whoever counts; clones count together. Nothing here listens: [`Metrics::encode`] is what `/metrics` answers.

mod names;

pub use names::METRICS;

use names::{BUCKETS, help};
use prometheus_client::encoding::{EncodeLabelSet, text::encode};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Metric, Registry};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// The content type of `/metrics`.
pub const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// The metrics of a manager. Clones count together.
#[derive(Clone)]
pub struct Metrics(Arc<Inner>);

struct Inner {
    registry: Registry,
    depth: Family<Queue, Gauge>,
    adds: Family<Queue, Counter>,
    retries: Family<Queue, Counter>,
    waited: Family<Queue, Histogram, fn() -> Histogram>,
    worked: Family<Queue, Histogram, fn() -> Histogram>,
    reconciles: Family<Reconcile, Counter>,
    reconciling: Family<Controller, Histogram, fn() -> Histogram>,
    workers: Family<Controller, Gauge>,
    active: Family<Controller, Gauge>,
    panics: Family<Controller, Counter>,
    asked: Family<Webhook, Counter>,
    answering: Family<Hook, Histogram, fn() -> Histogram>,
    requests: Family<Request, Counter>,
    leading: Family<Lease, Gauge>,
    events_lost: Counter,
    moves: Family<Move, Counter>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Queue {
    name: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Controller {
    controller: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Reconcile {
    controller: &'static str,
    result: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Hook {
    webhook: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Webhook {
    code: u16,
    webhook: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Request {
    code: String,
    method: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Lease {
    name: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Move {
    kind: &'static str,
    result: &'static str,
}

/// How a reconcile ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// Nothing is left to do.
    Success,
    /// It is tried again, later and later.
    Error,
    /// It runs again at once, because it changed what it depends on.
    Requeue,
    /// It runs again at a time.
    RequeueAfter,
}

impl Ended {
    fn result(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Error => "error",
            Self::Requeue => "requeue",
            Self::RequeueAfter => "requeue_after",
        }
    }
}

impl Default for Metrics {
    fn default() -> Self {
        let mut registry = Registry::default();
        let histogram: fn() -> Histogram = || Histogram::new(BUCKETS);
        let inner = Inner {
            depth: register(&mut registry, "workqueue_depth", Family::default()),
            adds: register(&mut registry, "workqueue_adds", Family::default()),
            retries: register(&mut registry, "workqueue_retries", Family::default()),
            waited: register(
                &mut registry,
                "workqueue_queue_duration_seconds",
                Family::new_with_constructor(histogram),
            ),
            worked: register(
                &mut registry,
                "workqueue_work_duration_seconds",
                Family::new_with_constructor(histogram),
            ),
            reconciles: register(&mut registry, "controller_runtime_reconcile", Family::default()),
            reconciling: register(
                &mut registry,
                "controller_runtime_reconcile_time_seconds",
                Family::new_with_constructor(histogram),
            ),
            workers: register(
                &mut registry,
                "controller_runtime_max_concurrent_reconciles",
                Family::default(),
            ),
            active: register(
                &mut registry,
                "controller_runtime_active_workers",
                Family::default(),
            ),
            panics: register(
                &mut registry,
                "controller_runtime_reconcile_panics",
                Family::default(),
            ),
            asked: register(
                &mut registry,
                "controller_runtime_webhook_requests",
                Family::default(),
            ),
            answering: register(
                &mut registry,
                "controller_runtime_webhook_latency_seconds",
                Family::new_with_constructor(histogram),
            ),
            requests: register(&mut registry, "rest_client_requests", Family::default()),
            leading: register(&mut registry, "leader_election_master_status", Family::default()),
            events_lost: register(&mut registry, "cambium_events_dropped", Counter::default()),
            moves: register(&mut registry, "cambium_moves", Family::default()),
            registry,
        };
        Self(Arc::new(inner))
    }
}

fn register<M: Metric + Clone>(registry: &mut Registry, name: &'static str, metric: M) -> M {
    registry.register(name, help(name), metric.clone());
    metric
}

impl fmt::Debug for Metrics {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Metrics")
    }
}

impl Metrics {
    /// Everything, as Prometheus reads it.
    pub fn encode(&self) -> String {
        let mut text = String::new();
        // Writing to a string does not fail.
        let _ = encode(&mut text, &self.0.registry);
        text
    }

    /// The metrics of one work queue and its reconciler, under the name of the reconciler.
    pub fn queue(&self, controller: &'static str) -> QueueMetrics {
        let (inner, name) = (&self.0, Queue { name: controller });
        let who = Controller { controller };
        QueueMetrics {
            controller,
            metrics: self.clone(),
            depth: inner.depth.get_or_create_owned(&name),
            adds: inner.adds.get_or_create_owned(&name),
            retries: inner.retries.get_or_create_owned(&name),
            waited: inner.waited.get_or_create_owned(&name),
            worked: inner.worked.get_or_create_owned(&name),
            reconciling: inner.reconciling.get_or_create_owned(&who),
            workers: inner.workers.get_or_create_owned(&who),
            active: inner.active.get_or_create_owned(&who),
            panics: inner.panics.get_or_create_owned(&who),
        }
    }

    /// A webhook has answered.
    pub fn answered(&self, webhook: &str, code: u16, took: Duration) {
        let hook = webhook.to_owned();
        let asked = Webhook {
            code,
            webhook: hook.clone(),
        };
        self.0.asked.get_or_create(&asked).inc();
        let hook = Hook { webhook: hook };
        self.0.answering.get_or_create(&hook).observe(took.as_secs_f64());
    }

    /// The API server has answered a request; `<error>` stands for no answer.
    pub fn requested(&self, method: &str, code: Option<u16>) {
        let request = Request {
            code: code.map_or_else(|| "<error>".to_owned(), |code| code.to_string()),
            method: method.to_owned(),
        };
        self.0.requests.get_or_create(&request).inc();
    }

    /// Whether this process holds a lease.
    pub fn leads(&self, lease: &str, leads: bool) {
        let lease = Lease {
            name: lease.to_owned(),
        };
        self.0.leading.get_or_create(&lease).set(leads.into());
    }

    /// An event was dropped, because too many waited.
    pub fn event_dropped(&self) {
        self.0.events_lost.inc();
    }

    /// Counts a consumer of this kind that was moved to another revision, or that could not be.
    pub fn moved(&self, kind: &'static str, result: &'static str) {
        self.0.moves.get_or_create(&Move { kind, result }).inc();
    }
}

/// The metrics of one work queue and its reconciler.
#[derive(Clone)]
pub struct QueueMetrics {
    controller: &'static str,
    metrics: Metrics,
    depth: Gauge,
    adds: Counter,
    retries: Counter,
    waited: Histogram,
    worked: Histogram,
    reconciling: Histogram,
    workers: Gauge,
    active: Gauge,
    panics: Counter,
}

impl QueueMetrics {
    /// A key was added; so many are ready now.
    pub fn added(&self, ready: usize) {
        self.adds.inc();
        self.has(ready);
    }

    /// A key was added after a failure.
    pub fn retried(&self) {
        self.retries.inc();
    }

    /// A key is taken, after it was ready for so long; so many are left.
    pub fn taken(&self, waited: Duration, ready: usize) {
        self.waited.observe(waited.as_secs_f64());
        self.has(ready);
    }

    fn has(&self, ready: usize) {
        self.depth.set(i64::try_from(ready).unwrap_or(i64::MAX));
    }

    /// So many workers are there.
    pub fn starts(&self, workers: usize) {
        self.workers.set(i64::try_from(workers).unwrap_or(i64::MAX));
    }

    /// A reconcile begins.
    pub fn begins(&self) {
        self.active.inc();
    }

    /// A reconcile has ended.
    pub fn ends(&self, ended: Ended, took: Duration) {
        self.active.dec();
        self.worked.observe(took.as_secs_f64());
        self.reconciling.observe(took.as_secs_f64());
        let reconcile = Reconcile {
            controller: self.controller,
            result: ended.result(),
        };
        self.metrics.0.reconciles.get_or_create(&reconcile).inc();
    }

    /// A reconcile has panicked.
    pub fn panicked(&self) {
        self.panics.inc();
    }
}
