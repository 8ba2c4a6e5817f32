//! Validation of Jobs and CronJobs.

use serde_json::{Map, Value};

use super::at::At;
use super::rule::{self, Errors};
use super::selector::{self, json_text};
use super::{cron, pod};

const GENERATED: [(&str, &str); 4] = [
    ("batch.kubernetes.io/controller-uid", "uid"),
    ("controller-uid", "uid"),
    ("batch.kubernetes.io/job-name", "name"),
    ("job-name", "name"),
];

pub(super) fn job(new: &At, old: Option<&At>, errors: &mut Errors) {
    let spec = new.field("spec");
    if old.is_none_or(|old| template_labels(old) != template_labels(new)) {
        generated_selector(new, errors);
    }
    job_spec(&spec, errors);
    let selected = spec.field("selector");
    match selected.is_set() {
        true => selector::check(&selected, errors),
        false => rule::required_because(&selected, "", errors),
    }
    let labels = spec.field("template").field("metadata").field("labels");
    if selector::matches(selected.value, labels.value) == Some(false) {
        rule::invalid(&labels, "`selector` does not match template `labels`", errors);
    }
    if let Some(old) = old {
        job_update(&spec, old, errors);
    }
}

fn template_labels<'v>(job: &At<'v>) -> &'v Value {
    let template = job.field("spec").field("template");
    template.field("metadata").field("labels").value
}

/// Without `manualSelector`, selector and labels must be the generated ones.
fn generated_selector(job: &At, errors: &mut Errors) {
    let spec = job.field("spec");
    if spec.field("manualSelector").is_true() {
        return;
    }
    let metadata = job.field("metadata");
    if metadata.field("uid").is_empty() {
        return;
    }
    let labels = spec.field("template").field("metadata").field("labels");
    let mut is_whole = true;
    for (label, field) in GENERATED {
        let expected = metadata.field(field);
        let at = At {
            value: labels.value,
            path: labels.path.key(label),
        };
        match labels.value.get(label) {
            None => rule::required_because(&at, &format!("must be '{}'", expected.text()), errors),
            Some(value) if value != expected.value => {
                rule::invalid(&at, format!("must be '{}'", expected.text()), errors);
            }
            Some(_) => continue,
        }
        is_whole = false;
    }
    let selected = spec.field("selector");
    let uid = metadata.field("uid");
    let expected = serde_json::json!({"matchLabels": {"batch.kubernetes.io/controller-uid": uid.value}});
    let older = serde_json::json!({"matchLabels": {"controller-uid": uid.value}});
    if is_whole && *selected.value != expected && *selected.value != older {
        rule::invalid_shown(
            &selected,
            selector::shown(selected.value),
            "`selector` not auto-generated",
            errors,
        );
    }
}

fn job_spec(spec: &At, errors: &mut Errors) {
    for name in [
        "parallelism",
        "completions",
        "activeDeadlineSeconds",
        "backoffLimit",
        "ttlSecondsAfterFinished",
        "backoffLimitPerIndex",
        "maxFailedIndexes",
    ] {
        rule::at_least_zero(&spec.field(name), errors);
    }
    let (per_index, failed) = (spec.field("backoffLimitPerIndex"), spec.field("maxFailedIndexes"));
    if failed.is_set() && !per_index.is_set() {
        rule::required_because(&per_index, "when maxFailedIndexes is specified", errors);
    }
    let managed = spec.field("managedBy");
    if managed.is_set() {
        rule::domain_path(&managed, errors);
    }
    let mode = spec.field("completionMode");
    rule::one_of_if_set(&mode, &["NonIndexed", "Indexed"], errors);
    match mode.text() {
        "Indexed" => {
            let completions = spec.field("completions");
            if !completions.is_set() {
                rule::required_because(&completions, "when completion mode is Indexed", errors);
            }
            let parallelism = spec.field("parallelism");
            if parallelism.integer().is_some_and(|number| number > 100_000) {
                let detail = "must be less than or equal to 100000 when completion mode is Indexed";
                rule::invalid(&parallelism, detail, errors);
            }
        }
        "" | "NonIndexed" => {
            for at in [&per_index, &failed] {
                if at.is_set() {
                    rule::invalid(at, "requires indexed completion mode", errors);
                }
            }
        }
        _ => {}
    }
    failure_policy(&spec.field("podFailurePolicy"), errors);
    let replacement = spec.field("podReplacementPolicy");
    if spec.field("podFailurePolicy").is_set() {
        rule::one_of_if_set(&replacement, &["Failed"], errors);
    } else {
        rule::one_of_if_set(&replacement, &["Failed", "TerminatingOrFailed"], errors);
    }
    pod::template(&spec.field("template"), &[], errors);
    let restart = spec.field("template").field("spec").field("restartPolicy");
    match restart.text() {
        "Always" | "" => {
            rule::required_because(&restart, "valid values: \"OnFailure\", \"Never\"", errors);
        }
        "OnFailure" if spec.field("podFailurePolicy").is_set() => {
            rule::invalid(
                &restart,
                "only \"Never\" is supported when podFailurePolicy is specified",
                errors,
            );
        }
        "OnFailure" | "Never" => {}
        _ => rule::one_of(&restart, &["OnFailure", "Never"], errors),
    }
}

fn failure_policy(at: &At, errors: &mut Errors) {
    for policy_rule in at.field("rules").items() {
        let action = policy_rule.field("action");
        rule::one_of(&action, &["Count", "FailIndex", "FailJob", "Ignore"], errors);
        let has = |name| !policy_rule.field(name).is_empty();
        let detail = match (has("onExitCodes"), has("onPodConditions")) {
            (true, true) => "specifying both OnExitCodes and OnPodConditions is not supported",
            (false, false) => "specifying one of OnExitCodes and OnPodConditions is required",
            _ => continue,
        };
        rule::invalid_shown(&policy_rule, String::new(), detail, errors);
    }
}

fn job_update(new: &At, old_job: &At, errors: &mut Errors) {
    let old = &old_job.field("spec");
    if new.field("completionMode").text() == "Indexed" {
        let completions = new.field("completions");
        let is_changed = completions.is_set() && completions.value != old.field("completions").value;
        if is_changed && completions.value != new.field("parallelism").value {
            rule::invalid(
                &completions,
                "can only be modified in tandem with spec.parallelism",
                errors,
            );
        }
    } else {
        rule::immutable(&new.field("completions"), &old.field("completions"), errors);
    }
    selector::immutable(&new.field("selector"), &old.field("selector"), errors);
    let (template, before) = (new.field("template"), old.field("template"));
    // Upstream shows the template in its internal form.
    let mut immutable = |at: &At| rule::invalid_shown(at, json_text(at.value), "field is immutable", errors);
    match rests(old_job) {
        true => {
            let spec = template.field("spec");
            if *spec.value != with_directives(before.field("spec").value, spec.value) {
                immutable(&spec);
            }
        }
        false if template.value != before.value => immutable(&template),
        false => {}
    }
    for name in [
        "completionMode",
        "podFailurePolicy",
        "backoffLimitPerIndex",
        "managedBy",
        "successPolicy",
    ] {
        rule::immutable(&new.field(name), &old.field(name), errors);
    }
}

/// Whether a Job is suspended and has not started: scheduling directives and resources of its template are still mutable.
fn rests(job: &At) -> bool {
    let status = job.field("status");
    let is_stopped = status.field("conditions").items().any(|condition| {
        condition.field("type").text() == "Suspended" && condition.field("status").text() == "True"
    }) && status.field("active").integer().unwrap_or_default() == 0;
    job.field("spec").field("suspend").is_true() && (!status.field("startTime").is_set() || is_stopped)
}

/// The old pod spec with the mutable fields of the new one: scheduling directives and container resources.
fn with_directives(before: &Value, new: &Value) -> Value {
    let mut spec = before.clone();
    for field in ["nodeSelector", "tolerations", "schedulingGates"] {
        copy(&mut spec, new, field);
    }
    if new.get("affinity").is_some() || before.get("affinity").is_some() {
        let nothing = Value::Object(Map::new());
        let mut affinity = before.get("affinity").unwrap_or(&nothing).clone();
        copy(
            &mut affinity,
            new.get("affinity").unwrap_or(&nothing),
            "nodeAffinity",
        );
        let rest = match affinity == nothing && new.get("affinity").is_none() {
            true => nothing,
            false => serde_json::json!({"affinity": affinity}),
        };
        copy(&mut spec, &rest, "affinity");
    }
    for list in ["containers", "initContainers"] {
        let wanted = new.get(list).and_then(Value::as_array).into_iter().flatten();
        let containers = spec
            .get_mut(list)
            .and_then(Value::as_array_mut)
            .into_iter()
            .flatten();
        for (container, wanted) in containers.zip(wanted) {
            copy(container, wanted, "resources");
        }
    }
    spec
}

fn copy(to: &mut Value, from: &Value, field: &str) {
    let Some(fields) = to.as_object_mut() else { return };
    match from.get(field) {
        Some(value) => fields.insert(field.to_owned(), value.clone()),
        None => fields.remove(field),
    };
}

pub(super) fn cron_job(new: &At, errors: &mut Errors) {
    let spec = new.field("spec");
    let schedule = spec.field("schedule");
    if rule::required(&schedule, errors) {
        if schedule.text().contains("TZ") {
            let detail = "cannot use TZ or CRON_TZ in schedule, use timeZone field instead";
            rule::invalid(&schedule, detail, errors);
        } else if let Err(detail) = cron::check(schedule.text()) {
            rule::invalid(&schedule, detail, errors);
        }
    }
    rule::at_least_zero(&spec.field("startingDeadlineSeconds"), errors);
    time_zone(&spec.field("timeZone"), errors);
    let concurrency = spec.field("concurrencyPolicy");
    rule::one_of(&concurrency, &["Allow", "Forbid", "Replace"], errors);
    let template = spec.field("jobTemplate").field("spec");
    if template.field("manualSelector").is_true() {
        rule::one_of(&template.field("manualSelector"), &["nil", "false"], errors);
    }
    job_spec(&template, errors);
    rule::at_least_zero(&spec.field("successfulJobsHistoryLimit"), errors);
    rule::at_least_zero(&spec.field("failedJobsHistoryLimit"), errors);
    let name = new.field("metadata").field("name");
    if name.text().len() > 52 {
        rule::invalid(&name, "must be no more than 52 characters", errors);
    }
}

fn time_zone(at: &At, errors: &mut Errors) {
    let Value::String(name) = at.value else { return };
    if name.is_empty() {
        return rule::invalid(at, "timeZone must be nil or non-empty string", errors);
    }
    if name.eq_ignore_ascii_case("local") {
        let detail = "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones";
        return rule::invalid(at, detail, errors);
    }
    let zones = jiff::tz::db();
    if !zones.is_definitively_empty() && zones.get(name).is_err() {
        rule::invalid(at, format!("unknown time zone {name}"), errors);
    }
}
