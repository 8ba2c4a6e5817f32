//! Validation of pod updates: the mutable fields.

use serde_json::Value;

use super::super::at::At;
use super::super::rule::{self, Errors};

const UPDATABLE: &str = "`spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,\
                         `spec.tolerations` (only additions to existing tolerations),\
                         `spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)";

pub(super) fn check(new: &At, old: &At, errors: &mut Errors) {
    let (new, old) = (new.field("spec"), old.field("spec"));
    for list in ["containers", "initContainers"] {
        let (new, old) = (new.field(list), old.field(list));
        if new.items().count() != old.items().count() {
            return rule::forbidden(&new, "pod updates may not add or remove containers", errors);
        }
    }
    let (deadline, before) = (
        new.field("activeDeadlineSeconds"),
        old.field("activeDeadlineSeconds"),
    );
    match (deadline.integer(), before.integer()) {
        (Some(now), Some(before)) if before < now => {
            return rule::invalid(&deadline, "must be less than or equal to previous value", errors);
        }
        (None, Some(_)) => {
            rule::invalid(
                &deadline,
                "must not update from a positive integer to nil value",
                errors,
            );
        }
        _ => {}
    }
    let tolerations = new.field("tolerations");
    let is_kept = |before: At| {
        tolerations
            .items()
            .any(|toleration| is_same_toleration(&toleration, &before))
    };
    if !old.field("tolerations").items().all(is_kept) {
        let detail = "existing toleration can not be modified except its tolerationSeconds";
        rule::forbidden(&tolerations, detail, errors);
    }
    let gates = new.field("schedulingGates");
    for gate in gates.items() {
        if !old
            .field("schedulingGates")
            .items()
            .any(|before| before.value == gate.value)
        {
            let detail = format!(
                "only deletion is allowed, but found new scheduling gate '{}'",
                gate.field("name").text()
            );
            rule::forbidden(&gate, detail, errors);
        }
    }
    let is_gated = !old.field("schedulingGates").is_empty();
    if without_updatable(new.value, old.value, is_gated) != *old.value {
        rule::forbidden(
            &new,
            format!("pod updates may not change fields other than {UPDATABLE}"),
            errors,
        );
    }
}

fn is_same_toleration(new: &At, old: &At) -> bool {
    ["key", "operator", "value", "effect"]
        .iter()
        .all(|name| new.field(name).value == old.field(name).value)
}

/// The new spec with the old values of all mutable fields.
fn without_updatable(new: &Value, old: &Value, is_gated: bool) -> Value {
    let mut munged = new.clone();
    let Some(fields) = munged.as_object_mut() else {
        return munged;
    };
    for list in ["containers", "initContainers"] {
        let Some(Value::Array(containers)) = fields.get_mut(list) else {
            continue;
        };
        for (index, container) in containers.iter_mut().enumerate() {
            let before = old.get(list).and_then(|list| list.get(index)?.get("image"));
            if let (Value::Object(container), Some(image)) = (container, before) {
                container.insert("image".to_owned(), image.clone());
            }
        }
    }
    let mut restored = vec!["activeDeadlineSeconds", "tolerations", "schedulingGates"];
    if old.get("nodeName").is_none() {
        // A pod is bound by a request of its own, which only gives it a node.
        restored.push("nodeName");
    }
    if is_gated {
        restored.extend(["nodeSelector", "affinity"]);
    }
    let grace = |spec: &Value| spec.get("terminationGracePeriodSeconds").and_then(Value::as_i64);
    if grace(old).is_some_and(|seconds| seconds < 0) && grace(new) == Some(1) {
        restored.push("terminationGracePeriodSeconds");
    }
    // These have endpoints of their own.
    restored.push("ephemeralContainers");
    for name in restored {
        match old.get(name) {
            Some(value) => fields.insert(name.to_owned(), value.clone()),
            None => fields.remove(name),
        };
    }
    munged
}
