//! ReplicaSet and ReplicationController controller: keeps the desired number of pods.

use std::collections::HashMap;
use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::conditions::{self, Condition};
use super::index::{Phase, Pod};
use super::write::{Level, Plan, Write};
use super::{read, template};
use crate::object;
use crate::selector::LabelSelector;

/// At most this many pods are created or deleted per reconcile, as upstream.
const BURST: usize = 500;

/// A ReplicaSet or ReplicationController, and its pods.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Observed {
    pub(super) set: Value,
    /// Its pods.
    pub(super) pods: Vec<Arc<Pod>>,
    /// Pods in its namespace without a controller.
    pub(super) orphans: Vec<Arc<Pod>>,
    /// The error of the last failed creation of pods.
    pub(super) refusal: Option<String>,
}

/// The label selector of a workload; `None` when it has none.
pub(super) fn selector(set: &Value) -> Option<LabelSelector> {
    let selector = match set["kind"].as_str() {
        Some("ReplicationController") => {
            let labels = object::at(set, "spec.selector")
                .filter(|selector| selector.as_object().is_some_and(|map| !map.is_empty()));
            json!({"matchLabels": labels.or_else(|| object::at(set, "spec.template.metadata.labels"))?})
        }
        _ => object::at(set, "spec.selector")?.clone(),
    };
    LabelSelector::from_json(&selector).filter(|selector| !selector.is_empty())
}

/// Decides which pods to adopt, release, create and delete, and the status.
pub(super) fn plan(observed: &Observed, now: Timestamp) -> Plan {
    let set = &observed.set;
    let mut plan = Plan::default();
    let Some(selector) = selector(set) else {
        return plan;
    };
    let deleting = object::is_deleting(set);
    let (mine, strangers): (Vec<_>, Vec<_>) = observed
        .pods
        .iter()
        .partition(|pod| selector.matches_object(&pod.value));
    let mut active: Vec<&Arc<Pod>> = mine.iter().copied().filter(|pod| pod.is_active()).collect();
    let terminating = mine
        .iter()
        .filter(|pod| pod.deleting && !pod.is_finished())
        .count();
    let wanted = usize::try_from(read::number(set, "spec.replicas", 1)).unwrap_or_default();

    let mut adopted = Vec::new();
    if !deleting {
        adopted.extend(
            observed
                .orphans
                .iter()
                .filter(|pod| pod.is_active() && selector.matches_object(&pod.value)),
        );
    }
    active.extend(&adopted);
    status(observed, &active, terminating, wanted, now, &mut plan);
    if deleting {
        return plan;
    }
    for pod in strangers.iter().filter(|pod| !pod.deleting) {
        plan.writes.push(Write::Patch(
            (*pod.value).clone(),
            json!({"metadata": {"ownerReferences": without(&pod.value, set)}}),
        ));
    }
    for pod in adopted {
        let mut owners = object::metadata(&pod.value)
            .get("ownerReferences")
            .and_then(Value::as_array)
            .cloned()
            .unwrap_or_default();
        owners.push(template::controller_reference(set));
        plan.writes.push(Write::Patch(
            (*pod.value).clone(),
            json!({"metadata": {"ownerReferences": owners}}),
        ));
    }
    let template = object::at(set, "spec.template").unwrap_or(&Value::Null);
    for _ in active.len()..wanted.min(active.len() + BURST) {
        let mut pod = template::pod(set, template);
        object::metadata_mut(&mut pod).insert(
            "generateName".to_owned(),
            json!(template::generate_name(object::name(set))),
        );
        plan.writes.push(Write::Create(pod));
    }
    if active.len() < wanted {
        let message = format!("Created {} pods", wanted.min(active.len() + BURST) - active.len());
        plan.emit(set, Level::Normal, "SuccessfulCreate", message);
    }
    let surplus = active.len().saturating_sub(wanted).min(BURST);
    if surplus > 0 {
        rank(&mut active, &mine);
        for pod in active.iter().take(surplus) {
            plan.writes.push(Write::Delete((*pod.value).clone()));
        }
        let names: Vec<&str> = active
            .iter()
            .take(surplus)
            .map(|pod| object::name(&pod.value))
            .collect();
        plan.emit(
            set,
            Level::Normal,
            "SuccessfulDelete",
            format!("Deleted pods: {}", names.join(", ")),
        );
    }
    plan
}

/// Sorts pods by deletion preference, as upstream's `ActivePodsWithRanks`.
fn rank(active: &mut [&Arc<Pod>], all: &[&Arc<Pod>]) {
    let mut on_node: HashMap<&str, usize> = HashMap::new();
    for pod in all.iter().filter(|pod| pod.is_active() && pod.ready) {
        *on_node.entry(pod.node()).or_default() += 1;
    }
    let cost = |pod: &Pod| -> i64 {
        object::annotation(&pod.value, "controller.kubernetes.io/pod-deletion-cost")
            .and_then(|cost| cost.parse().ok())
            .unwrap_or(0)
    };
    let key = |pod: &Arc<Pod>| {
        let doubled = on_node.get(pod.node()).copied().unwrap_or_default();
        let ready_since = if pod.ready {
            pod.ready_since
        } else {
            Timestamp::UNIX_EPOCH
        };
        (
            !pod.node().is_empty(),
            pod.phase != Phase::Pending,
            pod.ready,
            cost(pod),
            std::cmp::Reverse(doubled),
            std::cmp::Reverse(ready_since),
            std::cmp::Reverse(pod.restarts),
            std::cmp::Reverse(pod.created),
            pod.uid.clone(),
        )
    };
    active.sort_by_cached_key(|pod| key(pod));
}

fn without(pod: &Value, set: &Value) -> Value {
    let uid = object::meta_text(set, "uid");
    let owners = object::metadata(pod)
        .get("ownerReferences")
        .and_then(Value::as_array);
    let kept: Vec<&Value> = owners
        .into_iter()
        .flatten()
        .filter(|owner| read::text(owner, "uid") != uid)
        .collect();
    if kept.is_empty() { Value::Null } else { json!(kept) }
}

fn status(
    observed: &Observed,
    active: &[&Arc<Pod>],
    terminating: usize,
    wanted: usize,
    now: Timestamp,
    plan: &mut Plan,
) {
    let set = &observed.set;
    let min_ready = read::number(set, "spec.minReadySeconds", 0);
    let labels = object::at(set, "spec.template.metadata.labels").and_then(Value::as_object);
    let labelled = |pod: &Pod| {
        labels
            .into_iter()
            .flatten()
            .all(|(name, value)| pod.label(name) == value.as_str().unwrap_or_default())
    };
    let mut conditions = read::list(set, "status.conditions").to_vec();
    match &observed.refusal {
        // The first message stays: each attempt would have another, as each pod has another name.
        Some(message) if conditions::find(&conditions, "ReplicaFailure").is_none() => {
            let reason = if active.len() < wanted {
                "FailedCreate"
            } else {
                "FailedDelete"
            };
            let failure = Condition::new("ReplicaFailure", "True", reason, message.clone());
            conditions::set(&mut conditions, &failure, now);
        }
        Some(_) => {}
        None => conditions::remove(&mut conditions, "ReplicaFailure"),
    }
    let waiting = active
        .iter()
        .filter_map(|pod| read::until(pod.available_at(min_ready)?, now));
    plan.after = if min_ready > 0 { waiting.min() } else { None };
    let mut fields = vec![
        ("replicas", json!(active.len())),
        (
            "fullyLabeledReplicas",
            json!(active.iter().filter(|pod| labelled(pod)).count()),
        ),
        (
            "readyReplicas",
            json!(active.iter().filter(|pod| pod.ready).count()),
        ),
        (
            "availableReplicas",
            json!(
                active
                    .iter()
                    .filter(|pod| pod.is_available(min_ready, now))
                    .count()
            ),
        ),
        ("observedGeneration", json!(object::generation(set))),
        ("conditions", json!(conditions)),
    ];
    if set["kind"] == "ReplicaSet" {
        fields.push(("terminatingReplicas", json!(terminating)));
    }
    plan.status(
        set,
        Value::Object(read::status(&fields, &["replicas", "terminatingReplicas"])),
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(replicas: i64) -> Value {
        json!({"apiVersion": "apps/v1", "kind": "ReplicaSet",
            "metadata": {"name": "web", "namespace": "n", "uid": "owner", "generation": 2},
            "spec": {"replicas": replicas, "selector": {"matchLabels": {"app": "web"}},
                "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": []}}}})
    }

    fn pod(name: &str, ready: bool) -> Arc<Pod> {
        let status = if ready { "True" } else { "False" };
        Arc::new(Pod::from_value(json!({"apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": name, "namespace": "n", "uid": name, "labels": {"app": "web"}},
            "spec": {"nodeName": "node"},
            "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": status, "lastTransitionTime": "1970-01-01T00:00:00Z"}]}})))
    }

    fn observed(replicas: i64, pods: Vec<Arc<Pod>>) -> Observed {
        Observed {
            set: set(replicas),
            pods,
            orphans: vec![],
            refusal: None,
        }
    }

    fn deleted(plan: &Plan) -> Vec<&str> {
        let name = |write: &Write| match write {
            Write::Delete(pod) => Some(pod["metadata"]["name"].as_str().map(str::to_owned)),
            _ => None,
        };
        plan.writes
            .iter()
            .filter(|write| name(write).is_some())
            .map(|write| match write {
                Write::Delete(pod) => pod["metadata"]["name"].as_str().unwrap(),
                _ => unreachable!(),
            })
            .collect()
    }

    #[test]
    fn missing_pods_are_made_and_surplus_ones_go_unready_first() {
        let made = plan(&observed(3, vec![pod("a", true)]), Timestamp::UNIX_EPOCH);
        assert_eq!(
            made.writes
                .iter()
                .filter(|write| matches!(write, Write::Create(_)))
                .count(),
            2
        );
        let less = plan(
            &observed(1, vec![pod("a", true), pod("b", false), pod("c", true)]),
            Timestamp::UNIX_EPOCH,
        );
        assert_eq!(deleted(&less)[0], "b");
        assert_eq!(deleted(&less).len(), 2);
    }

    #[test]
    fn a_set_that_is_as_wanted_is_left_alone() {
        let mut observed = observed(1, vec![pod("a", true)]);
        let Some(Write::Status(told)) = plan(&observed, Timestamp::UNIX_EPOCH).writes.pop() else {
            panic!()
        };
        assert_eq!(
            told["status"],
            json!({"replicas": 1, "fullyLabeledReplicas": 1, "readyReplicas": 1, "availableReplicas": 1,
                "observedGeneration": 2, "terminatingReplicas": 0})
        );
        observed.set = told;
        assert_eq!(plan(&observed, Timestamp::UNIX_EPOCH), Plan::default());
    }

    #[test]
    fn a_pod_that_matches_is_adopted_and_one_that_does_not_is_released() {
        let mut other = (*pod("b", true).value).clone();
        other["metadata"]["labels"] = json!({"app": "else"});
        other["metadata"]["ownerReferences"] = json!([template::controller_reference(&set(1))]);
        let observed = Observed {
            orphans: vec![pod("a", true)],
            ..observed(1, vec![Arc::new(Pod::from_value(other.clone()))])
        };
        let plan = plan(&observed, Timestamp::UNIX_EPOCH);
        assert!(plan.writes.contains(&Write::Patch(
            other,
            json!({"metadata": {"ownerReferences": null}})
        )));
        let adopt = json!({"metadata": {"ownerReferences": [template::controller_reference(&set(1))]}});
        assert!(
            plan.writes
                .contains(&Write::Patch((*pod("a", true).value).clone(), adopt))
        );
        assert!(!plan.writes.iter().any(|write| matches!(write, Write::Create(_))));
    }

    #[test]
    fn a_refusal_is_told_once() {
        let mut observed = Observed {
            refusal: Some("no pod-1".to_owned()),
            ..observed(1, vec![])
        };
        let Write::Status(told) = plan(&observed, Timestamp::UNIX_EPOCH).writes.remove(0) else {
            panic!()
        };
        assert_eq!(told["status"]["conditions"][0]["reason"], "FailedCreate");
        observed.set = told;
        observed.refusal = Some("no pod-2".to_owned());
        let again = plan(&observed, Timestamp::UNIX_EPOCH);
        assert!(!again.writes.iter().any(|write| matches!(write, Write::Status(_))));
    }

    #[test]
    fn a_pod_must_be_ready_for_long_enough_to_be_available() {
        let mut observed = observed(1, vec![pod("a", true)]);
        observed.set["spec"]["minReadySeconds"] = json!(10);
        let at = |seconds| read::later(Timestamp::UNIX_EPOCH, std::time::Duration::from_secs(seconds));
        let early = plan(&observed, at(4));
        assert_eq!(early.after, Some(std::time::Duration::from_secs(6)));
        let Write::Status(told) = &early.writes[0] else {
            panic!()
        };
        assert_eq!(told["status"].get("availableReplicas"), None);
        let Write::Status(told) = &plan(&observed, at(10)).writes[0] else {
            panic!()
        };
        assert_eq!(told["status"]["availableReplicas"], 1);
    }
}
