//! Jobs.

use serde_json::{Map, Value};

use super::fields::{inside, is_empty, object, set, set_absent};
use super::workload::label_like;

pub(super) fn of_type(name: &str, fields: &mut Map<String, Value>) {
    match name {
        "Job" => {
            // A new Job is labelled when its template is, in `prepare_for_create`.
            let is_stored = inside(fields, "metadata").is_some_and(|metadata| !is_empty(metadata, "uid"));
            if is_stored {
                label_like_template(fields);
            }
            if let Some(spec) = object(fields, "spec") {
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

/// Gives a Job without labels those of its template.
pub(super) fn label_like_template(job: &mut Map<String, Value>) {
    let labels = job
        .get("spec")
        .and_then(|spec| spec.pointer("/template/metadata/labels"))
        .cloned();
    if let Some(labels) = labels {
        label_like(job, labels);
    }
}

/// Defaults of Jobs only: the template of a CronJob is defaulted when a Job is created from it.
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
