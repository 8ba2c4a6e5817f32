//! Validation of scheduling fields: node selectors, affinity, tolerations, topology spread.

use cambium_schema::names;
use serde_json::Value;

use super::super::at::At;
use super::super::rule::{self, Errors};
use super::super::selector;

pub(super) fn check(spec: &At, errors: &mut Errors) {
    rule::labels(&spec.field("nodeSelector"), errors);
    for toleration in spec.field("tolerations").items() {
        self::toleration(&toleration, errors);
    }
    affinity(&spec.field("affinity"), errors);
    for constraint in spec.field("topologySpreadConstraints").items() {
        let skew = constraint.field("maxSkew");
        if skew.integer().unwrap_or_default() <= 0 {
            rule::invalid(&skew, "must be greater than zero", errors);
        }
        let key = constraint.field("topologyKey");
        match key.is_empty() {
            true => rule::required_because(&key, "can not be empty", errors),
            false => rule::labels_key(&key, errors),
        }
        let action = constraint.field("whenUnsatisfiable");
        rule::one_of(&action, &["DoNotSchedule", "ScheduleAnyway"], errors);
        selector::check(&constraint.field("labelSelector"), errors);
    }
}

fn toleration(at: &At, errors: &mut Errors) {
    let (key, operator, effect, value) = (
        at.field("key"),
        at.field("operator"),
        at.field("effect"),
        at.field("value"),
    );
    if !key.is_empty() {
        rule::labels_key(&key, errors);
    } else if operator.text() != "Exists" {
        let detail =
            "operator must be Exists when `key` is empty, which means \"match all values and all keys\"";
        rule::invalid_as(&operator, &Value::from(operator.text()), detail, errors);
    }
    if at.field("tolerationSeconds").is_set() && effect.text() != "NoExecute" {
        let detail = "effect must be 'NoExecute' when `tolerationSeconds` is set";
        rule::invalid_as(&effect, &Value::from(effect.text()), detail, errors);
    }
    match operator.text() {
        "" | "Equal" => {
            let complaints = names::label_value(value.text());
            if let Some(complaint) = complaints.into_iter().next() {
                rule::invalid_as(&operator, value.value, complaint, errors);
            }
        }
        "Exists" if !value.is_empty() => {
            rule::invalid_as(
                &operator,
                value.value,
                "value must be empty when `operator` is 'Exists'",
                errors,
            );
        }
        "Exists" => {}
        _ => rule::one_of(&operator, &["Equal", "Exists"], errors),
    }
    if !effect.is_empty() {
        rule::one_of(&effect, &["NoSchedule", "PreferNoSchedule", "NoExecute"], errors);
    }
}

fn affinity(at: &At, errors: &mut Errors) {
    let node = at.field("nodeAffinity");
    let needed = node.field("requiredDuringSchedulingIgnoredDuringExecution");
    if needed.is_set() {
        node_selector(&needed, errors);
    }
    for preferred in node
        .field("preferredDuringSchedulingIgnoredDuringExecution")
        .items()
    {
        weight(&preferred, errors);
        node_selector_term(&preferred.field("preference"), errors);
    }
    for kind in ["podAffinity", "podAntiAffinity"] {
        let pod = at.field(kind);
        for term in pod
            .field("requiredDuringSchedulingIgnoredDuringExecution")
            .items()
        {
            pod_term(&term, errors);
        }
        for preferred in pod
            .field("preferredDuringSchedulingIgnoredDuringExecution")
            .items()
        {
            weight(&preferred, errors);
            pod_term(&preferred.field("podAffinityTerm"), errors);
        }
    }
}

fn weight(at: &At, errors: &mut Errors) {
    let weight = at.field("weight");
    if !(1..=100).contains(&weight.integer().unwrap_or_default()) {
        rule::invalid(&weight, "must be in the range 1-100", errors);
    }
}

fn pod_term(at: &At, errors: &mut Errors) {
    for name in ["labelSelector", "namespaceSelector"] {
        selector::check(&at.field(name), errors);
    }
    for namespace in at.field("namespaces").items() {
        let blamed = At {
            value: namespace.value,
            path: at.path.child("namespace"),
        };
        rule::label_name(&blamed, errors);
    }
    let key = at.field("topologyKey");
    if key.is_empty() {
        rule::required_because(&key, "can not be empty", errors);
    }
    rule::labels_key(&key, errors);
}

/// Validates a node selector.
pub(in super::super) fn node_selector(at: &At, errors: &mut Errors) {
    let terms = at.field("nodeSelectorTerms");
    if terms.is_empty() {
        rule::required_because(&terms, "must have at least one node selector term", errors);
    }
    for term in terms.items() {
        node_selector_term(&term, errors);
    }
}

fn node_selector_term(at: &At, errors: &mut Errors) {
    for requirement in at.field("matchExpressions").items() {
        let (operator, values) = (requirement.field("operator"), requirement.field("values"));
        let count = values.items().count();
        match operator.text() {
            "In" | "NotIn" if count == 0 => {
                rule::required_because(
                    &values,
                    "must be specified when `operator` is 'In' or 'NotIn'",
                    errors,
                );
            }
            "Exists" | "DoesNotExist" if count > 0 => {
                let detail = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
                rule::forbidden(&values, detail, errors);
            }
            "Gt" | "Lt" if count != 1 => {
                let detail = "must be specified single value when `operator` is 'Lt' or 'Gt'";
                rule::required_because(&values, detail, errors);
            }
            "In" | "NotIn" | "Exists" | "DoesNotExist" | "Gt" | "Lt" => {}
            other => rule::invalid_as(
                &operator,
                &Value::from(other),
                "not a valid selector operator",
                errors,
            ),
        }
        rule::labels_key(&requirement.field("key"), errors);
    }
}
