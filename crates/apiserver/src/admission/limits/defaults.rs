//! Defaults of a LimitRange for containers.

use serde_json::{Map, Value, json};

use super::about;
use crate::object;

/// Lists the defaults that were set, for people who read the pod.
const ANNOTATION: &str = "kubernetes.io/limit-ranger";

/// Sets default requests and limits of containers, and lists them in an annotation.
pub(super) fn fill_in(range: &Value, pod: &mut Value) {
    let (limits, requests) = (merged(range, "default"), merged(range, "defaultRequest"));
    let mut told = Vec::new();
    for (list, kind) in [("containers", "container"), ("initContainers", "init container")] {
        let containers = pod.pointer_mut(&format!("/spec/{list}"));
        for container in containers.and_then(Value::as_array_mut).into_iter().flatten() {
            let name = container["name"].as_str().unwrap_or_default().to_owned();
            let set_limits = fill(container, "limits", &limits);
            let set_requests = fill(container, "requests", &requests);
            for (set, what) in [(set_requests, "request"), (set_limits, "limit")] {
                if !set.is_empty() {
                    told.push(format!("{} {what} for {kind} {name}", set.join(", ")));
                }
            }
        }
    }
    if !told.is_empty() {
        let text = format!("LimitRanger plugin set: {}", told.join("; "));
        let metadata = object::metadata_mut(pod);
        metadata.entry("annotations").or_insert_with(|| json!({}))[ANNOTATION] = json!(text);
    }
}

fn merged(range: &Value, list: &str) -> Map<String, Value> {
    let lists = about(range, "Container").filter_map(|limit| limit.get(list)?.as_object());
    lists
        .flatten()
        .map(|(name, amount)| (name.clone(), amount.clone()))
        .collect()
}

/// Adds the amounts that are missing; returns their names.
fn fill(container: &mut Value, list: &str, amounts: &Map<String, Value>) -> Vec<String> {
    let mut set = Vec::new();
    for (name, amount) in amounts {
        let said = container["resources"][list].get(name);
        if said.is_none_or(Value::is_null) {
            container["resources"][list][name] = amount.clone();
            set.push(name.clone());
        }
    }
    set.sort();
    set
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn containers_get_what_they_do_not_ask_for() {
        let range = json!({"spec": {"limits": [
            {"type": "Container", "default": {"cpu": "1", "memory": "1Gi"}, "defaultRequest": {"cpu": "100m"}},
            {"type": "Pod", "max": {"cpu": "9"}}]}});
        let mut pod = json!({"metadata": {}, "spec": {
            "containers": [{"name": "a", "resources": {"limits": {"cpu": "2"}}}],
            "initContainers": [{"name": "i"}]}});
        fill_in(&range, &mut pod);
        assert_eq!(
            pod["spec"]["containers"][0]["resources"],
            json!({"limits": {"cpu": "2", "memory": "1Gi"}, "requests": {"cpu": "100m"}})
        );
        assert_eq!(
            pod["metadata"]["annotations"][ANNOTATION],
            "LimitRanger plugin set: cpu request for container a; memory limit for container a; \
             cpu request for init container i; cpu, memory limit for init container i"
        );
        let before = pod.clone();
        fill_in(&range, &mut pod);
        assert_eq!(pod, before);
    }

    #[test]
    fn a_range_without_defaults_says_nothing() {
        let mut pod = json!({"spec": {"containers": [{"name": "a"}]}});
        let before = pod.clone();
        fill_in(
            &json!({"spec": {"limits": [{"type": "Container", "max": {"cpu": "1"}}]}}),
            &mut pod,
        );
        assert_eq!(pod, before);
    }
}
