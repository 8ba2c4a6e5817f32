//! The names, types, labels and help texts of all metrics. docs/reference/metrics.md is generated from this table.

/// Bounds of histograms, in seconds: controller-runtime's, from a millisecond to a minute.
pub(crate) const BUCKETS: [f64; 14] = [
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 60.0,
];

/// Each metric: its name without what Prometheus adds, its type, its labels, and what it means.
pub const METRICS: [(&str, &str, &str, &str); 16] = [
    (
        "workqueue_depth",
        "gauge",
        "name",
        "Keys that are ready to be reconciled",
    ),
    (
        "workqueue_adds",
        "counter",
        "name",
        "Keys that were added to a queue",
    ),
    (
        "workqueue_retries",
        "counter",
        "name",
        "Keys that were added again with a back-off, because reconciling them had failed",
    ),
    (
        "workqueue_queue_duration_seconds",
        "histogram",
        "name",
        "How long a key was ready before it was reconciled",
    ),
    (
        "workqueue_work_duration_seconds",
        "histogram",
        "name",
        "How long reconciling a key took",
    ),
    (
        "controller_runtime_reconcile",
        "counter",
        "controller, result",
        "Reconciles by how they ended: success, error, requeue or requeue_after",
    ),
    (
        "controller_runtime_reconcile_time_seconds",
        "histogram",
        "controller",
        "How long a reconcile took",
    ),
    (
        "controller_runtime_max_concurrent_reconciles",
        "gauge",
        "controller",
        "How many keys are reconciled at the same time at most",
    ),
    (
        "controller_runtime_active_workers",
        "gauge",
        "controller",
        "How many keys are being reconciled",
    ),
    (
        "controller_runtime_reconcile_panics",
        "counter",
        "controller",
        "Reconciles that panicked, which is a bug",
    ),
    (
        "controller_runtime_webhook_requests",
        "counter",
        "code, webhook",
        "Requests to webhooks by path and HTTP status",
    ),
    (
        "controller_runtime_webhook_latency_seconds",
        "histogram",
        "webhook",
        "How long a webhook took to answer",
    ),
    (
        "rest_client_requests",
        "counter",
        "code, method",
        "Requests to the API server by method and HTTP status; <error> if there was no answer",
    ),
    (
        "leader_election_master_status",
        "gauge",
        "name",
        "Whether this process holds the lease: 1 if it does",
    ),
    (
        "cambium_events_dropped",
        "counter",
        "",
        "Events that were not recorded, because they came faster than they could be sent",
    ),
    (
        "cambium_moves",
        "counter",
        "kind, result",
        "Moves of consumers to another revision, by kind (Application or CompositeResource) and result: upgraded, downgraded, moved (to a revision of another Composition, or from one that is gone), or failed (Applications only)",
    ),
];

/// The help text of a metric.
pub(crate) fn help(name: &str) -> &'static str {
    let known = METRICS.iter().find(|(known, ..)| *known == name);
    known.map_or("", |(.., help)| help)
}
