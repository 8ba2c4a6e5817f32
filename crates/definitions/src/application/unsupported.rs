//! Fields of an Application that are not supported: policies, workflows, values passed by a workflow.
//!
//! None of it is ignored, because its author relies on it: an application that asks for it is not applied, and what runs stays as it
//! is. The annotation `app.oam.dev/ignore-unsupported` is the way around.

use crate::Refused;
use crate::resolve::place;
use cambium_api::names::{annotation, reason};
use serde_json::Value;

/// All unsupported fields of an Application.
pub(super) fn unsupported(application: &Value) -> Vec<Refused> {
    let spec = &application["spec"];
    let mut unsupported: Vec<Refused> = items(&spec["policies"])
        .enumerate()
        .map(|(index, policy)| {
            let type_ = policy["type"].as_str().unwrap_or_default();
            let place = place("policies", policy, index);
            not_supported(
                reason::POLICY_NOT_SUPPORTED,
                &format!("{place}: policy type {type_:?} is not supported"),
            )
        })
        .collect();
    if !spec["workflow"].is_null() {
        unsupported.push(not_supported(
            reason::WORKFLOW_NOT_SUPPORTED,
            "spec.workflow: workflows are not supported",
        ));
    }
    for (index, component) in items(&spec["components"]).enumerate() {
        for field in passed(component) {
            let place = place("components", component, index);
            unsupported.push(not_supported(
                reason::WORKFLOW_NOT_SUPPORTED,
                &format!(
                    "{place}.{field}: values that a workflow passes between components are not supported"
                ),
            ));
        }
    }
    unsupported
}

/// Whether components get values from a workflow, so that their properties may not be complete without it.
pub(super) fn passes_values(application: &Value) -> bool {
    items(&application["spec"]["components"]).any(|component| passed(component).next().is_some())
}

/// Whether an application says that it is to be applied without what is not supported.
pub(super) fn is_ignoring(application: &Value) -> bool {
    application["metadata"]["annotations"][annotation::IGNORE_UNSUPPORTED] == "true"
}

fn not_supported(reason: &'static str, what: &str) -> Refused {
    Refused {
        reason,
        message: format!(
            "{what}; remove it, or set the annotation {}: \"true\" to deploy without it",
            annotation::IGNORE_UNSUPPORTED
        ),
    }
}

fn passed(component: &Value) -> impl Iterator<Item = &'static str> {
    let given = |field: &&str| component[*field].as_array().is_some_and(|list| !list.is_empty());
    ["inputs", "outputs"].into_iter().filter(given)
}

fn items(list: &Value) -> impl Iterator<Item = &Value> {
    list.as_array().into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn told(spec: Value) -> Vec<(&'static str, String)> {
        let refused = unsupported(&json!({"spec": spec})).into_iter();
        refused
            .map(|one| {
                (
                    one.reason,
                    one.message.split(';').next().unwrap_or_default().to_owned(),
                )
            })
            .collect()
    }

    #[test]
    fn everything_that_nobody_carries_out_is_told() {
        assert_eq!(told(json!({"components": [{"name": "a", "type": "b"}]})), []);
        let spec = json!({
            "components": [{"name": "a", "type": "b", "inputs": [{"from": "x"}], "outputs": []}],
            "policies": [{"name": "where", "type": "topology"}, {"type": "read-only@1"}],
            "workflow": {"steps": []},
        });
        let expected = [
            (
                "PolicyNotSupported",
                "policies[where]: policy type \"topology\" is not supported",
            ),
            (
                "PolicyNotSupported",
                "policies[1]: policy type \"read-only@1\" is not supported",
            ),
            (
                "WorkflowNotSupported",
                "spec.workflow: workflows are not supported",
            ),
            (
                "WorkflowNotSupported",
                "components[a].inputs: values that a workflow passes between components are not supported",
            ),
        ];
        assert_eq!(
            told(spec),
            expected.map(|(reason, text)| (reason, text.to_owned()))
        );
    }
}
