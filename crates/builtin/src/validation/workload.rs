//! Validation of workload kinds.

use cambium_schema::FieldError;
use serde_json::Value;

use super::at::At;
use super::rule::{self, Errors};
use super::selector::{self, json_text};
use super::{pod, storage};

pub(super) fn deployment(new: &At, old: Option<&At>, errors: &mut Errors) {
    let spec = new.field("spec");
    rule::at_least_zero(&spec.field("replicas"), errors);
    selected_template(&spec, "deployment", &[], errors);
    restarts_always(&spec, "ReplicaSet", errors);
    let strategy = spec.field("strategy");
    let rolling = strategy.field("rollingUpdate");
    match strategy.field("type").text() {
        "Recreate" if rolling.is_set() => {
            let detail = "may not be specified when strategy `type` is 'Recreate'";
            rule::forbidden(&rolling, detail, errors);
        }
        "Recreate" => {}
        "RollingUpdate" => {
            let (unavailable, surge) = (rolling.field("maxUnavailable"), rolling.field("maxSurge"));
            rule::number_or_percent(&unavailable, errors);
            rule::number_or_percent(&surge, errors);
            if rule::percent_or_number(&unavailable) == 0 && rule::percent_or_number(&surge) == 0 {
                rule::invalid(&unavailable, "may not be 0 when `maxSurge` is 0", errors);
            }
            rule::at_most_all(&unavailable, errors);
        }
        _ => unsupported_strategy(&strategy, &["Recreate", "RollingUpdate"], errors),
    }
    rule::at_least_zero(&spec.field("minReadySeconds"), errors);
    rule::at_least_zero(&spec.field("revisionHistoryLimit"), errors);
    let deadline = spec.field("progressDeadlineSeconds");
    rule::at_least_zero(&deadline, errors);
    let ready = spec.field("minReadySeconds").integer().unwrap_or_default();
    if deadline.integer().is_some_and(|deadline| deadline <= ready) {
        rule::invalid(&deadline, "must be greater than minReadySeconds", errors);
    }
    if let Some(old) = old {
        selector::immutable(
            &spec.field("selector"),
            &old.field("spec").field("selector"),
            errors,
        );
    }
}

pub(super) fn replica_set(new: &At, old: Option<&At>, errors: &mut Errors) {
    let spec = new.field("spec");
    rule::at_least_zero(&spec.field("replicas"), errors);
    rule::at_least_zero(&spec.field("minReadySeconds"), errors);
    selected_template(&spec, "deployment", &[], errors);
    restarts_always(&spec, "ReplicaSet", errors);
    if let Some(old) = old {
        selector::immutable(
            &spec.field("selector"),
            &old.field("spec").field("selector"),
            errors,
        );
    }
}

pub(super) fn daemon_set(new: &At, old: Option<&At>, errors: &mut Errors) {
    let spec = new.field("spec");
    let selected = spec.field("selector");
    selector::check(&selected, errors);
    let labels = spec.field("template").field("metadata").field("labels");
    if selector::matches(selected.value, labels.value) == Some(false) {
        rule::invalid(&labels, "`selector` does not match template `labels`", errors);
    }
    if selected.is_set() && selector::is_empty(&selected) {
        let detail = "empty selector is invalid for daemonset";
        rule::invalid_shown(&selected, selector::shown(selected.value), detail, errors);
    }
    pod::template(&spec.field("template"), &[], errors);
    restarts_always(&spec, "DaemonSet", errors);
    rule::at_least_zero(&spec.field("minReadySeconds"), errors);
    rule::at_least_zero(&spec.field("revisionHistoryLimit"), errors);
    let strategy = spec.field("updateStrategy");
    match strategy.field("type").text() {
        "OnDelete" => {}
        "RollingUpdate" => daemon_rolling_update(&strategy.field("rollingUpdate"), errors),
        _ => unsupported_strategy(&strategy, &["RollingUpdate", "OnDelete"], errors),
    }
    if let Some(old) = old {
        selector::immutable(&selected, &old.field("spec").field("selector"), errors);
    }
}

fn daemon_rolling_update(at: &At, errors: &mut Errors) {
    let (unavailable, surge) = (at.field("maxUnavailable"), at.field("maxSurge"));
    rule::number_or_percent(&unavailable, errors);
    rule::number_or_percent(&surge, errors);
    let (has_unavailable, has_surge) = (
        rule::percent_or_number(&unavailable) != 0,
        rule::percent_or_number(&surge) != 0,
    );
    match (has_unavailable, has_surge) {
        (true, true) => rule::invalid(&surge, "may not be set when maxUnavailable is non-zero", errors),
        (false, false) => rule::required_because(&unavailable, "cannot be 0 when maxSurge is 0", errors),
        _ => {}
    }
    rule::at_most_all(&unavailable, errors);
    rule::at_most_all(&surge, errors);
}

pub(super) fn stateful_set(new: &At, old: Option<&At>, errors: &mut Errors) {
    let spec = new.field("spec");
    let policy = spec.field("podManagementPolicy");
    if !matches!(policy.text(), "OrderedReady" | "Parallel") {
        rule::invalid(&policy, "must be 'OrderedReady' or 'Parallel'", errors);
    }
    let strategy = spec.field("updateStrategy");
    let rolling = strategy.field("rollingUpdate");
    match strategy.field("type").text() {
        "OnDelete" if rolling.is_set() => {
            let partition = rolling.field("partition").integer().unwrap_or_default();
            let shown = format!("{{\"Partition\":{partition},\"MaxUnavailable\":null}}");
            let detail = "only allowed for updateStrategy 'RollingUpdate'";
            rule::invalid_shown(&rolling, shown, detail, errors);
        }
        "OnDelete" => {}
        "RollingUpdate" => {
            rule::at_least_zero(&rolling.field("partition"), errors);
            rule::number_or_percent(&rolling.field("maxUnavailable"), errors);
        }
        _ => {
            let detail = "must be 'RollingUpdate' or 'OnDelete'";
            rule::invalid_shown(&strategy, shown_strategy(&strategy), detail, errors);
        }
    }
    let retention = spec.field("persistentVolumeClaimRetentionPolicy");
    for name in ["whenDeleted", "whenScaled"] {
        rule::one_of_if_set(&retention.field(name), &["Retain", "Delete"], errors);
    }
    let claims = spec.field("volumeClaimTemplates");
    if old.is_none() {
        for claim in claims.items() {
            storage::claim_spec(&claim.field("spec"), errors);
        }
        let service = spec.field("serviceName");
        if !service.is_empty() {
            rule::label_name(&service, errors);
        }
    }
    rule::at_least_zero(&spec.field("replicas"), errors);
    rule::at_least_zero(&spec.field("minReadySeconds"), errors);
    rule::at_least_zero(&spec.field("ordinals").field("start"), errors);
    let names: Vec<Value> = claims
        .items()
        .map(|claim| claim.field("metadata").field("name").value.clone())
        .collect();
    let names: Vec<&str> = names.iter().filter_map(Value::as_str).collect();
    selected_template(&spec, "statefulset", &names, errors);
    restarts_always(&spec, "StatefulSet", errors);
    if let Some(old) = old {
        stateful_set_update(&spec, &old.field("spec"), errors);
    }
}

fn stateful_set_update(new: &At, old: &At, errors: &mut Errors) {
    const MUTABLE: [&str; 7] = [
        "replicas",
        "ordinals",
        "template",
        "updateStrategy",
        "revisionHistoryLimit",
        "persistentVolumeClaimRetentionPolicy",
        "minReadySeconds",
    ];
    let fixed = |spec: &At| {
        let mut fixed = spec.value.clone();
        if let Value::Object(fields) = &mut fixed {
            fields.retain(|name, _| !MUTABLE.contains(&name.as_str()));
        }
        fixed
    };
    if fixed(new) != fixed(old) {
        let detail = "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', \
                      'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and \
                      'minReadySeconds' are forbidden";
        rule::forbidden(new, detail, errors);
    }
}

pub(super) fn replication_controller(new: &At, errors: &mut Errors) {
    let spec = new.field("spec");
    rule::at_least_zero(&spec.field("minReadySeconds"), errors);
    let (selected, template) = (spec.field("selector"), spec.field("template"));
    rule::required(&selected, errors);
    rule::at_least_zero(&spec.field("replicas"), errors);
    if !template.is_set() {
        return rule::required_because(&template, "", errors);
    }
    let labels = template.field("metadata").field("labels");
    let is_chosen = selected
        .entries()
        .all(|(key, value)| labels.value.get(key) == Some(value.value));
    if !is_chosen {
        rule::invalid(&labels, "`selector` does not match template `labels`", errors);
    }
    pod::template(&template, &[], errors);
    restarts_always(&spec, "ReplicationController", errors);
}

/// Requires a selector that matches the template's labels, and validates the template.
fn selected_template(spec: &At, kind: &str, claims: &[&str], errors: &mut Errors) {
    let (selected, template) = (spec.field("selector"), spec.field("template"));
    match selected.is_set() {
        false => rule::required_because(&selected, "", errors),
        true => {
            selector::check(&selected, errors);
            if selector::is_empty(&selected) {
                let detail = format!("empty selector is invalid for {kind}");
                rule::invalid_shown(&selected, selector::shown(selected.value), detail, errors);
            }
        }
    }
    let labels = template.field("metadata").field("labels");
    match selector::matches(selected.value, labels.value) {
        None => {
            let detail = if kind == "statefulset" {
                ""
            } else {
                "invalid label selector"
            };
            return rule::invalid_shown(&selected, selector::shown(selected.value), detail, errors);
        }
        Some(false) => rule::invalid(&labels, "`selector` does not match template `labels`", errors),
        Some(true) => {}
    }
    pod::template(&template, claims, errors);
}

fn restarts_always(spec: &At, kind: &str, errors: &mut Errors) {
    let template = spec.field("template").field("spec");
    let policy = template.field("restartPolicy");
    if matches!(policy.text(), "OnFailure" | "Never") {
        errors.push(FieldError::not_supported(policy.path, policy.value, &["Always"]));
    }
    let deadline = template.field("activeDeadlineSeconds");
    if deadline.is_set() && kind != "ReplicationController" {
        let detail = format!("activeDeadlineSeconds in {kind} is not Supported");
        rule::forbidden(&deadline, detail, errors);
    }
}

fn shown_strategy(at: &At) -> String {
    format!(
        "{{\"Type\":{},\"RollingUpdate\":null}}",
        json_text(at.field("type").value)
    )
}

fn unsupported_strategy(at: &At, supported: &[&str], errors: &mut Errors) {
    let mut error = FieldError::not_supported(at.path.clone(), &Value::Null, supported);
    error.shown = shown_strategy(at);
    errors.push(error);
}
