//! `/metrics` in Prometheus' text format.

use std::fmt::Write as _;
use std::sync::atomic::Ordering;

use http::StatusCode;
use http::header::{CONTENT_TYPE, HeaderValue};

use crate::server::Server;
use crate::wire::{Response, text_response};

/// Labels and value of one sample.
type Sample = (Vec<(&'static str, String)>, usize);

/// The current metrics, under kube-apiserver's names where it has them.
pub(crate) fn serve(server: &Server) -> Response {
    let level = |figure: fn(&crate::fairness::Occupancy) -> usize| -> Vec<Sample> {
        let levels = server.fairness.occupancy();
        let sample = |level: crate::fairness::Occupancy| {
            let value = figure(&level);
            (vec![("priority_level", level.name)], value)
        };
        levels.into_iter().map(sample).collect()
    };
    let stored = server.store.buckets().into_iter().filter_map(|bucket| {
        let (group, resource) = bucket.split_once('/')?;
        let labels = vec![("group", group.to_owned()), ("resource", resource.to_owned())];
        Some((labels, server.store.bucket(&bucket).len()))
    });
    let watches = server.watches.load(Ordering::Acquire);
    let mut text = String::new();
    for (name, help, samples) in [
        (
            "apiserver_flowcontrol_nominal_limit_seats",
            "Seats that a priority level has of its own.",
            level(|level| level.nominal),
        ),
        (
            "apiserver_flowcontrol_current_executing_seats",
            "Seats that requests of a priority level hold.",
            level(|level| level.executing),
        ),
        (
            "apiserver_flowcontrol_current_inqueue_requests",
            "Requests of a priority level that wait.",
            level(|level| level.waiting),
        ),
        (
            "apiserver_resource_objects",
            "Objects that are stored.",
            stored.collect(),
        ),
        (
            "apiserver_longrunning_requests",
            "Watches that are open.",
            vec![(vec![("verb", "WATCH".to_owned())], watches)],
        ),
    ] {
        write(&mut text, name, help, &samples);
    }
    let mut response = text_response(StatusCode::OK, text);
    let media = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
    response.headers_mut().insert(CONTENT_TYPE, media);
    response
}

fn write(text: &mut String, name: &str, help: &str, samples: &[Sample]) {
    // Writing into a String cannot fail.
    let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} gauge");
    for (labels, value) in samples {
        let labels: Vec<String> = labels
            .iter()
            .map(|(key, value)| format!("{key}={value:?}"))
            .collect();
        let _ = writeln!(text, "{name}{{{}}} {value}", labels.join(","));
    }
}
