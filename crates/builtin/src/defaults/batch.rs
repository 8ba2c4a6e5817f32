//! Jobs.

use serde_json::{Map, Value};

use super::fields::{is_empty, set, set_absent};
use super::workload::label_like;

pub(super) fn of_type(name: &str, fields: &mut Map<String, Value>) {
    match name {
        "Job" => {
            let labels = fields
                .get("spec")
                .and_then(|spec| spec.pointer("/template/metadata/labels"))
                .cloned();
            if let Some(labels) = labels {
                label_like(fields, labels);
            }
            if let Some(spec) = super::fields::object(fields, "spec") {
                job(spec);
            }
        }
        "CronJobSpec" => {
            set(fields, "concurrencyPolicy", "Allow");
            set_absent(fields, "suspend", false);
            set_absent(fields, "successfulJobsHistoryLimit", 3);
            set_absent(fields, "failedJobsHistoryLimit", 1);
        }
        "PodFailurePolicyOnPodConditionsPattern" => set(fields, "status", "True"),
        _ => {}
    }
}

/// Only of Jobs themselves: the template of a CronJob is filled in when a Job is made of it.
fn job(spec: &mut Map<String, Value>) {
    if is_absent(spec, "parallelism") {
        if is_absent(spec, "completions") {
            spec.insert("completions".to_owned(), 1.into());
        }
        spec.insert("parallelism".to_owned(), 1.into());
    }
    let limit = match is_absent(spec, "backoffLimitPerIndex") {
        true => 6,
        false => i32::MAX,
    };
    set_absent(spec, "backoffLimit", limit);
    set(spec, "completionMode", "NonIndexed");
    set_absent(spec, "suspend", false);
    let replacement = match is_empty(spec, "podFailurePolicy") {
        true => "TerminatingOrFailed",
        false => "Failed",
    };
    set(spec, "podReplacementPolicy", replacement);
    set_absent(spec, "manualSelector", false);
}

fn is_absent(fields: &Map<String, Value>, name: &str) -> bool {
    fields.get(name).is_none_or(Value::is_null)
}
