//! Simulated nodes and scheduling: node selection, affinity, taints.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::conditions::{self, Condition};
use super::index::Pod;
use super::kubelet::HOST;
use super::read;
use super::write::{Plan, Write};
use crate::object;

/// Creates the default node.
pub(super) fn make(name: &str, now: Timestamp) -> Plan {
    let mut plan = Plan::default();
    let labels = json!({"kubernetes.io/hostname": name, "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64",
        "cambium.dev/simulated": "true"});
    let node =
        json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}, "spec": {}});
    let mut conditions = Vec::new();
    for (kind, status, reason, message) in [
        (
            "MemoryPressure",
            "False",
            "KubeletHasSufficientMemory",
            "kubelet has sufficient memory available",
        ),
        (
            "DiskPressure",
            "False",
            "KubeletHasNoDiskPressure",
            "kubelet has no disk pressure",
        ),
        (
            "PIDPressure",
            "False",
            "KubeletHasSufficientPID",
            "kubelet has sufficient PID available",
        ),
        ("Ready", "True", "KubeletReady", "kubelet is posting ready status"),
    ] {
        conditions::set(
            &mut conditions,
            &Condition::new(kind, status, reason, message),
            now,
        );
    }
    let resources = json!({"cpu": "64", "memory": "256Gi", "pods": "100000", "ephemeral-storage": "1Ti"});
    let mut with_status = node.clone();
    with_status["status"] = json!({"conditions": conditions, "capacity": resources, "allocatable": resources,
        "addresses": [{"type": "InternalIP", "address": HOST}, {"type": "Hostname", "address": name}],
        "nodeInfo": {"kubeletVersion": "v1.36.0-cambium", "operatingSystem": "linux", "architecture": "amd64",
            "osImage": "Simulated", "containerRuntimeVersion": "simulated://1", "kernelVersion": "", "kubeProxyVersion": "",
            "machineID": "", "systemUUID": "", "bootID": ""}});
    plan.writes = vec![Write::Ensure(node), Write::Status(with_status)];
    plan
}

/// Selects the node for a pod; returns it and the number of nodes. Pods are spread over feasible nodes by UID.
pub(super) fn choose(pod: &Pod, nodes: &[Value]) -> (Option<String>, usize) {
    let fitting: Vec<&str> = nodes
        .iter()
        .filter(|node| fits(&pod.value, node))
        .map(object::name)
        .collect();
    let spread = pod.uid.bytes().fold(0_usize, |sum, byte| {
        sum.wrapping_mul(31).wrapping_add(usize::from(byte))
    });
    let chosen = (!fitting.is_empty()).then(|| fitting[spread % fitting.len()].to_owned());
    (chosen, nodes.len())
}

/// Whether a pod may be scheduled to a node.
pub(super) fn fits(pod: &Value, node: &Value) -> bool {
    let schedulable = !read::is_true(node, "spec.unschedulable") || is_for_daemon(pod);
    let ready = conditions::holds(read::list(node, "status.conditions"), "Ready");
    schedulable && ready && tolerates(pod, node) && is_selected(pod, node)
}

fn is_for_daemon(pod: &Value) -> bool {
    read::list(pod, "metadata.ownerReferences")
        .iter()
        .any(|owner| read::text(owner, "kind") == "DaemonSet")
}

/// Whether a node matches `nodeSelector` and the required node affinity.
pub(super) fn is_selected(pod: &Value, node: &Value) -> bool {
    let labels = object::metadata(node).get("labels");
    let label = |name: &str| labels.and_then(|labels| labels.get(name)?.as_str());
    let selector = object::at(pod, "spec.nodeSelector").and_then(Value::as_object);
    if !selector
        .into_iter()
        .flatten()
        .all(|(name, value)| label(name) == value.as_str())
    {
        return false;
    }
    let terms = "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms";
    let terms = read::list(pod, terms);
    let field = |name: &str| (name == "metadata.name").then(|| object::name(node));
    let holds = |term: &Value| {
        read::list(term, "matchExpressions")
            .iter()
            .all(|one| expression(one, &label))
            && read::list(term, "matchFields")
                .iter()
                .all(|one| expression(one, &field))
    };
    terms.is_empty() || terms.iter().any(holds)
}

fn expression<'a>(expression: &Value, value: &impl Fn(&str) -> Option<&'a str>) -> bool {
    let value = value(read::text(expression, "key"));
    let values = read::list(expression, "values");
    let among = value.is_some_and(|value| values.iter().any(|one| one == value));
    let number = |value: Option<&str>| value.and_then(|value| value.parse::<i64>().ok());
    let limit = number(values.first().and_then(Value::as_str));
    match read::text(expression, "operator") {
        "In" => among,
        "NotIn" => !among,
        "Exists" => value.is_some(),
        "DoesNotExist" => value.is_none(),
        "Gt" => number(value)
            .zip(limit)
            .is_some_and(|(value, limit)| value > limit),
        "Lt" => number(value)
            .zip(limit)
            .is_some_and(|(value, limit)| value < limit),
        _ => false,
    }
}

/// Whether the pod tolerates all `NoSchedule` and `NoExecute` taints.
pub(super) fn tolerates(pod: &Value, node: &Value) -> bool {
    let taints = read::list(node, "spec.taints").iter();
    let mut hard = taints.filter(|taint| matches!(read::text(taint, "effect"), "NoSchedule" | "NoExecute"));
    hard.all(|taint| {
        read::list(pod, "spec.tolerations")
            .iter()
            .any(|toleration| tolerated(toleration, taint))
    })
}

fn tolerated(toleration: &Value, taint: &Value) -> bool {
    let (key, effect) = (read::text(toleration, "key"), read::text(toleration, "effect"));
    if !effect.is_empty() && effect != read::text(taint, "effect") {
        return false;
    }
    match read::text(toleration, "operator") {
        "Exists" => key.is_empty() || key == read::text(taint, "key"),
        _ => key == read::text(taint, "key") && read::text(toleration, "value") == read::text(taint, "value"),
    }
}
