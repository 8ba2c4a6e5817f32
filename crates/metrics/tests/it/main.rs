//! What is counted is shown, and documented.

use cambium_metrics::{Ended, METRICS, Metrics};
use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

/// A name as Prometheus shows it.
fn shown(name: &str, type_: &str) -> String {
    match type_ {
        "counter" => format!("{name}_total"),
        _ => name.to_owned(),
    }
}

#[test]
fn everything_that_is_counted_is_shown_with_its_help() {
    let metrics = Metrics::default();
    let queue = metrics.queue("application");
    queue.added(2);
    queue.retried();
    queue.taken(Duration::from_millis(3), 1);
    queue.starts(8);
    queue.begins();
    queue.ends(Ended::Requeue, Duration::from_millis(7));
    queue.panicked();
    metrics.answered("/admit/applications", 200, Duration::from_millis(1));
    metrics.requested("GET", None);
    metrics.requested("PATCH", Some(200));
    metrics.leads("cambium", true);
    metrics.event_dropped();
    metrics.moved("Application", "upgraded");
    // Clones count together.
    metrics.clone().moved("Application", "upgraded");
    metrics.moved("CompositeResource", "downgraded");
    let text = metrics.encode();
    for (name, type_, _, help) in METRICS {
        assert!(text.contains(&format!("# HELP {name} {help}")), "{name}: {text}");
        assert!(text.contains(&format!("# TYPE {name} {type_}")), "{name}: {text}");
    }
    for line in [
        "workqueue_depth{name=\"application\"} 1",
        "workqueue_adds_total{name=\"application\"} 1",
        "controller_runtime_reconcile_total{controller=\"application\",result=\"requeue\"} 1",
        "controller_runtime_active_workers{controller=\"application\"} 0",
        "controller_runtime_max_concurrent_reconciles{controller=\"application\"} 8",
        "controller_runtime_webhook_requests_total{code=\"200\",webhook=\"/admit/applications\"} 1",
        "rest_client_requests_total{code=\"<error>\",method=\"GET\"} 1",
        "leader_election_master_status{name=\"cambium\"} 1",
        "cambium_events_dropped_total 1",
        "cambium_moves_total{kind=\"Application\",result=\"upgraded\"} 2",
        "cambium_moves_total{kind=\"CompositeResource\",result=\"downgraded\"} 1",
    ] {
        assert!(text.contains(line), "{line} is not in {text}");
    }
    let families = text.lines().filter(|line| line.starts_with("# TYPE ")).count();
    assert_eq!(families, METRICS.len(), "{text}");
}

/// `CAMBIUM_WRITE_REFERENCE=1 cargo test -p cambium-metrics` writes it.
#[test]
fn the_reference_of_metrics_is_up_to_date() -> std::io::Result<()> {
    let mut page = String::from(
        "# Metrics\n\n\
         <!-- Generated from crates/metrics by `CAMBIUM_WRITE_REFERENCE=1 cargo test -p cambium-metrics`; do not edit. -->\n\n\
         `cambium manager` and `cambium up` serve them at `/metrics` where `--metrics-bind-address` says, in the OpenMetrics format, beside `/healthz` and `/readyz`. \
         Names are those of controller-runtime and client-go where they have one. With `cambium up --clusters`, they are those of the first cluster.\n\n\
         | metric | type | labels | meaning |\n|---|---|---|---|\n",
    );
    for (name, type_, labels, help) in METRICS {
        let name = shown(name, type_);
        let _ = writeln!(page, "| `{name}` | {type_} | {labels} | {help} |");
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/metrics.md");
    if std::env::var_os("CAMBIUM_WRITE_REFERENCE").is_some() {
        std::fs::write(&path, &page)?;
    }
    assert_eq!(
        std::fs::read_to_string(&path)?,
        page,
        "docs/reference/metrics.md is stale: CAMBIUM_WRITE_REFERENCE=1 cargo test -p cambium-metrics writes it"
    );
    Ok(())
}
