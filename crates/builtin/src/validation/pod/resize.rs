//! Validation of `resize`: only CPU and memory of containers may change.

use serde_json::{Value, json};

use super::super::at::At;
use super::super::rule::{self, Errors};
use super::{Home, spec_of};
use crate::quality_of_service;

const LISTS: [&str; 2] = ["containers", "initContainers"];

pub(super) fn check(new: &Value, old: &Value, errors: &mut Errors) {
    let (spec, before) = (At::root(new).field("spec"), At::root(old).field("spec"));
    spec_of(&spec, Home::Pod, errors);
    let class = quality_of_service(before.value);
    if class != quality_of_service(spec.value) {
        let detail = "Pod QOS Class may not change as a result of resizing";
        rule::invalid_as(&spec, &json!(class), detail, errors);
    }
    if !in_order(&spec, &before, errors) {
        return;
    }
    for list in ["initContainers", "containers"] {
        for (now, before) in spec.field(list).items().zip(before.field(list).items()) {
            let (now, before) = (now.field("resources"), before.field("resources"));
            for list in ["requests", "limits"] {
                let (now, before) = (now.field(list), before.field(list));
                if before.entries().any(|(name, _)| now.value.get(name).is_none()) {
                    rule::forbidden(&now, format!("resource {list} cannot be removed"), errors);
                }
            }
        }
    }
    for list in LISTS {
        for (now, before) in spec.field(list).items().zip(before.field(list).items()) {
            if resized(now.value, before.value) == *before.value {
                continue;
            }
            match list {
                "containers" => rule::forbidden(&spec, "only cpu and memory resources are mutable", errors),
                _ => {
                    let detail = "only cpu and memory resources for init or sidecar containers are mutable";
                    rule::forbidden(&now, detail, errors);
                }
            }
        }
    }
}

fn in_order(spec: &At, before: &At, errors: &mut Errors) -> bool {
    let found = errors.len();
    for list in LISTS {
        let (now, before) = (spec.field(list), before.field(list));
        if now.items().count() != before.items().count() {
            let detail = format!("{list} may not be added or removed on resize");
            rule::forbidden(&now, detail, errors);
            continue;
        }
        for (now, before) in now.items().zip(before.items()) {
            if now.field("name").text() != before.field("name").text() {
                let detail = format!("{list} may not be renamed or reordered on resize");
                rule::forbidden(&now.field("name"), detail, errors);
            }
        }
    }
    errors.len() == found
}

/// The new container with the old CPU and memory.
fn resized(now: &Value, before: &Value) -> Value {
    let mut container = now.clone();
    for list in ["requests", "limits"] {
        for name in ["cpu", "memory"] {
            let path = format!("/resources/{list}");
            let amount = before.pointer(&format!("{path}/{name}")).cloned();
            let Some(Value::Object(amounts)) = container.pointer_mut(&path) else {
                continue;
            };
            match amount {
                Some(amount) => amounts.insert(name.to_owned(), amount),
                None => amounts.remove(name),
            };
            if amounts.is_empty()
                && before.pointer(&path).is_none()
                && let Some(Value::Object(resources)) = container.get_mut("resources")
            {
                resources.remove(list);
            }
        }
    }
    container
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pod(resources: Value) -> Value {
        json!({"spec": {"restartPolicy": "Always", "dnsPolicy": "ClusterFirst", "terminationGracePeriodSeconds": 30,
            "containers": [{"name": "a", "image": "i", "resources": resources, "imagePullPolicy": "Always",
            "terminationMessagePath": "/t", "terminationMessagePolicy": "File"}]}})
    }

    fn problems(now: Value, before: Value) -> Vec<String> {
        let mut errors = Vec::new();
        check(&pod(now), &pod(before), &mut errors);
        errors.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn cpu_and_memory_may_change_and_nothing_else() {
        let before = json!({"requests": {"cpu": "1"}});
        let more = json!({"requests": {"cpu": "2"}, "limits": {"memory": "1Gi"}});
        assert_eq!(problems(more, before.clone()), Vec::<String>::new());
        for (now, complaint) in [
            (
                json!({"requests": {"memory": "1"}}),
                "resource requests cannot be removed",
            ),
            (
                json!({"requests": {"cpu": "1", "ephemeral-storage": "1Gi"}}),
                "only cpu and memory resources are mutable",
            ),
            (
                json!({"requests": {"cpu": "1", "memory": "1"}, "limits": {"cpu": "1", "memory": "1"}}),
                "Pod QOS Class may not change as a result of resizing",
            ),
        ] {
            let found = problems(now, before.clone());
            assert!(found.len() == 1 && found[0].ends_with(complaint), "{found:?}");
        }
    }

    #[test]
    fn containers_stay_where_they_are() {
        let mut renamed = pod(json!({}));
        renamed["spec"]["containers"][0]["name"] = json!("b");
        let mut errors = Vec::new();
        check(&renamed, &pod(json!({})), &mut errors);
        assert_eq!(
            errors[0].to_string(),
            "spec.containers[0].name: Forbidden: containers may not be renamed or reordered on resize"
        );
    }
}
