//! Validation of ResourceQuotas: resource names, quantities, and matching scopes.

use std::collections::BTreeSet;

use serde_json::Value;

use super::at::At;
use super::pod::{integer_resource, qualified_resource};
use super::rule::{self, Errors};
use crate::quantity::Quantity;

const EXISTS_ONLY: &str = "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, \
                           ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, \
                           ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity";

pub(super) fn check(new: &At, old: Option<&At>, errors: &mut Errors) {
    let (spec, status) = (new.field("spec"), new.field("status"));
    for map in [spec.field("hard"), status.field("hard"), status.field("used")] {
        amounts(&map, errors);
    }
    scopes(&spec, errors);
    scope_selector(&spec, errors);
    let Some(old) = old else { return };
    let (now, before) = (spec.field("scopes"), old.field("spec").field("scopes"));
    let set = |scopes: &At| -> BTreeSet<String> { scopes.items().map(|one| one.text().to_owned()).collect() };
    if set(&now) != set(&before) {
        let none = Value::Array(vec![]);
        let shown = if now.is_set() { now.value } else { &none };
        rule::invalid_as(&now, shown, "field is immutable", errors);
    }
}

fn amounts(map: &At, errors: &mut Errors) {
    for (name, amount) in map.entries() {
        qualified_resource(name, &amount, errors);
        if !name.contains('/') && !is_standard(name) {
            let detail = "must be a standard resource for quota";
            rule::invalid_as(&amount, &Value::from(name), detail, errors);
        }
        let Ok(quantity) = Quantity::parse(amount.text()) else {
            continue;
        };
        if quantity.is_negative() {
            rule::invalid(&amount, "must be greater than or equal to 0", errors);
        }
        if integer_resource(name) && !quantity.is_whole() {
            rule::invalid(&amount, "must be an integer", errors);
        }
    }
}

/// Whether it is a standard quota resource name.
fn is_standard(name: &str) -> bool {
    let unprefixed = name
        .strip_prefix("requests.")
        .or(name.strip_prefix("limits."))
        .unwrap_or(name);
    matches!(unprefixed, "cpu" | "memory" | "ephemeral-storage")
        || matches!(
            name,
            "pods"
                | "resourcequotas"
                | "services"
                | "replicationcontrollers"
                | "secrets"
                | "persistentvolumeclaims"
                | "configmaps"
                | "services.nodeports"
                | "services.loadbalancers"
                | "requests.storage"
        )
        || name
            .strip_prefix("requests.")
            .unwrap_or(name)
            .starts_with("hugepages-")
}

fn is_scope(name: &str) -> bool {
    is_about_pods(name) || name == "VolumeAttributesClass"
}

fn is_about_pods(scope: &str) -> bool {
    matches!(
        scope,
        "Terminating"
            | "NotTerminating"
            | "BestEffort"
            | "NotBestEffort"
            | "PriorityClass"
            | "CrossNamespacePodAffinity"
    )
}

/// Whether a scope supports a resource.
fn fits(scope: &str, resource: &str) -> bool {
    match scope {
        "BestEffort" => resource == "pods",
        "VolumeAttributesClass" => matches!(resource, "persistentvolumeclaims" | "requests.storage"),
        scope if is_about_pods(scope) => matches!(
            resource,
            "pods" | "cpu" | "memory" | "limits.cpu" | "limits.memory" | "requests.cpu" | "requests.memory"
        ),
        _ => true,
    }
}

/// The number of a quota's resources that a scope does not support.
fn misfits(spec: &At, scope: &str) -> usize {
    let hard = spec.field("hard");
    hard.entries()
        .filter(|(name, _)| is_standard(name) && !fits(scope, name))
        .count()
}

fn scopes(spec: &At, errors: &mut Errors) {
    let scopes = spec.field("scopes");
    for scope in scopes.items() {
        if !is_scope(scope.text()) {
            rule::invalid(&scopes, "unsupported scope", errors);
        }
        for _ in 0..misfits(spec, scope.text()) {
            rule::invalid(&scopes, "unsupported scope applied to resource", errors);
        }
    }
    let all = scopes.items().map(|scope| scope.text()).collect();
    conflicts(&all, &scopes, scopes.value, errors);
}

fn scope_selector(spec: &At, errors: &mut Errors) {
    let selector = spec.field("scopeSelector");
    let list = selector.field("matchExpressions");
    let mut all = BTreeSet::new();
    for requirement in list.items() {
        // Upstream names the fields of the list, not of its items.
        let at = |field: &str| At {
            value: requirement.field(field).value,
            path: list.path.child(field),
        };
        let (scope, operator, values) = (at("scopeName"), at("operator"), at("values"));
        if !is_scope(scope.text()) {
            rule::invalid(&scope, "unsupported scope", errors);
        }
        for _ in 0..misfits(spec, scope.text()) {
            rule::invalid_as(
                &list,
                selector.value,
                "unsupported scope applied to resource",
                errors,
            );
        }
        let takes_values = scope.text() == "PriorityClass" || scope.text() == "VolumeAttributesClass";
        if is_scope(scope.text()) && !takes_values && operator.text() != "Exists" {
            rule::invalid(&operator, EXISTS_ONLY, errors);
        }
        match operator.text() {
            "In" | "NotIn" if values.is_empty() => {
                let detail =
                    "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector";
                rule::required_because(&values, detail, errors);
            }
            "In" | "NotIn" => {}
            "Exists" | "DoesNotExist" if !values.is_empty() => {
                let detail =
                    "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector";
                rule::invalid(&values, detail, errors);
            }
            "Exists" | "DoesNotExist" => {}
            _ => rule::invalid(&operator, "not a valid selector operator", errors),
        }
        all.insert(scope.text());
    }
    conflicts(&all, &list, spec.field("scopes").value, errors);
}

fn conflicts(all: &BTreeSet<&str>, at: &At, shown: &Value, errors: &mut Errors) {
    for pair in [["BestEffort", "NotBestEffort"], ["Terminating", "NotTerminating"]] {
        if pair.iter().all(|scope| all.contains(scope)) {
            rule::invalid_as(at, shown, "conflicting scopes", errors);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn problems(spec: Value, old: Option<Value>) -> Vec<String> {
        let new = json!({"spec": spec});
        let old = old.map(|spec| json!({"spec": spec}));
        let mut errors = Vec::new();
        check(&At::root(&new), old.as_ref().map(At::root).as_ref(), &mut errors);
        errors.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn scopes_fit_their_resources_and_each_other() {
        let spec = |scope: &str, resource: &str| json!({"hard": {resource: "1"}, "scopes": [scope]});
        assert_eq!(problems(spec("BestEffort", "pods"), None), Vec::<String>::new());
        assert_eq!(
            problems(spec("NotBestEffort", "limits.cpu"), None),
            Vec::<String>::new()
        );
        assert_eq!(
            problems(spec("Terminating", "count/pods"), None),
            Vec::<String>::new()
        );
        for (scope, resource, complaint) in [
            ("BestEffort", "cpu", "unsupported scope applied to resource"),
            ("Terminating", "secrets", "unsupported scope applied to resource"),
            (
                "VolumeAttributesClass",
                "pods",
                "unsupported scope applied to resource",
            ),
            ("Sometimes", "pods", "unsupported scope"),
        ] {
            let found = problems(spec(scope, resource), None);
            assert!(
                found.len() == 1 && found[0].ends_with(complaint),
                "{scope} {resource}: {found:?}"
            );
        }
        let both = json!({"hard": {"pods": "1"}, "scopes": ["Terminating", "NotTerminating"]});
        assert!(problems(both, None)[0].contains("conflicting scopes"));
    }

    #[test]
    fn a_scope_selector_says_what_its_operator_needs() {
        let with = |scope: &str, operator: &str, values: Value| {
            let requirement = json!({"scopeName": scope, "operator": operator, "values": values});
            problems(
                json!({"hard": {"pods": "1"}, "scopeSelector": {"matchExpressions": [requirement]}}),
                None,
            )
        };
        assert_eq!(with("PriorityClass", "In", json!(["high"])), Vec::<String>::new());
        assert_eq!(with("BestEffort", "Exists", json!([])), Vec::<String>::new());
        for (scope, operator, values) in [
            ("PriorityClass", "In", json!([])),
            ("PriorityClass", "Exists", json!(["high"])),
            ("PriorityClass", "Near", json!([])),
            ("BestEffort", "DoesNotExist", json!([])),
        ] {
            assert_eq!(with(scope, operator, values).len(), 1, "{scope} {operator}");
        }
    }

    #[test]
    fn scopes_stay() {
        let spec = |scopes: Value| json!({"hard": {"pods": "1"}, "scopes": scopes});
        let same = problems(
            spec(json!(["BestEffort", "Terminating"])),
            Some(spec(json!(["Terminating", "BestEffort"]))),
        );
        assert_eq!(same, Vec::<String>::new());
        let changed = problems(spec(json!([])), Some(spec(json!(["Terminating"]))));
        assert!(changed[0].ends_with("field is immutable"), "{changed:?}");
    }
}
