//! DaemonSet controller: one pod on every eligible node.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::history::{self, REVISION_HASH};
use super::index::Pod;
use super::read::{self, Round};
use super::write::{Level, Plan, Write};
use super::{node, template};
use crate::object;

/// A DaemonSet, the nodes, its pods and its revisions.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Observed {
    pub(super) set: Value,
    pub(super) nodes: Vec<Value>,
    pub(super) pods: Vec<Arc<Pod>>,
    pub(super) revisions: Vec<Value>,
}

/// Tolerations that every DaemonSet pod gets.
const TOLERATED: [(&str, &str); 6] = [
    ("node.kubernetes.io/not-ready", "NoExecute"),
    ("node.kubernetes.io/unreachable", "NoExecute"),
    ("node.kubernetes.io/disk-pressure", "NoSchedule"),
    ("node.kubernetes.io/memory-pressure", "NoSchedule"),
    ("node.kubernetes.io/pid-pressure", "NoSchedule"),
    ("node.kubernetes.io/unschedulable", "NoSchedule"),
];

/// Decides which pods to create, delete and replace.
pub(super) fn plan(observed: &Observed, now: Timestamp) -> Plan {
    let set = &observed.set;
    let mut plan = Plan::default();
    let revision = history::current(set, &observed.revisions, &mut plan);
    let hash = object::metadata(&revision)
        .get("labels")
        .and_then(|labels| labels.get(REVISION_HASH)?.as_str())
        .unwrap_or_default()
        .to_owned();
    let sample = pod(set, &hash);
    let takes = |node: &&Value| {
        node::is_selected(&with_node(sample.clone(), object::name(node)), node)
            && node::tolerates(&sample, node)
    };
    let wanted: BTreeMap<&str, &Value> = observed
        .nodes
        .iter()
        .filter(takes)
        .map(|node| (object::name(node), node))
        .collect();
    let mut on_node: BTreeMap<String, Vec<&Arc<Pod>>> = BTreeMap::new();
    for pod in &observed.pods {
        on_node.entry(target(pod)).or_default().push(pod);
    }
    status(observed, &wanted, &on_node, &hash, now, &mut plan);
    let used: HashSet<&str> = observed.pods.iter().map(|pod| pod.label(REVISION_HASH)).collect();
    let is_used = |one: &Value| {
        let label = object::metadata(one)
            .get("labels")
            .and_then(|labels| labels.get(REVISION_HASH)?.as_str());
        object::name(one) == object::name(&revision) || label.is_some_and(|label| used.contains(label))
    };
    history::clean_up(set, &observed.revisions, is_used, &mut plan);
    if object::is_deleting(set) {
        return plan;
    }
    for (node, pods) in &on_node {
        let surplus = if wanted.contains_key(node.as_str()) { 1 } else { 0 };
        let ended = pods.iter().filter(|pod| pod.is_finished() && !pod.deleting);
        let active = pods.iter().filter(|pod| pod.is_active()).skip(surplus);
        for pod in ended.chain(active) {
            delete(set, pod, &mut plan);
        }
    }
    for name in wanted
        .keys()
        .filter(|name| on_node.get(**name).is_none_or(Vec::is_empty))
    {
        plan.writes.push(Write::Create(with_node(sample.clone(), name)));
        plan.emit(
            set,
            Level::Normal,
            "SuccessfulCreate",
            format!("Created pod on node {name}"),
        );
    }
    if read::text(set, "spec.updateStrategy.type") != "OnDelete" {
        replace(observed, &wanted, &on_node, &hash, now, &mut plan);
    }
    plan
}

fn delete(set: &Value, pod: &Pod, plan: &mut Plan) {
    plan.writes.push(Write::Delete((*pod.value).clone()));
    plan.emit(
        set,
        Level::Normal,
        "SuccessfulDelete",
        format!("Deleted pod: {}", object::name(&pod.value)),
    );
}

/// Deletes outdated pods within `maxUnavailable`; pods that are unavailable anyway are deleted at once.
fn replace(
    observed: &Observed,
    wanted: &BTreeMap<&str, &Value>,
    on_node: &BTreeMap<String, Vec<&Arc<Pod>>>,
    hash: &str,
    now: Timestamp,
    plan: &mut Plan,
) {
    let set = &observed.set;
    let min_ready = read::number(set, "spec.minReadySeconds", 0);
    let count = i64::try_from(wanted.len()).unwrap_or_default();
    let most = read::int_or_percent(
        object::at(set, "spec.updateStrategy.rollingUpdate.maxUnavailable"),
        count,
        "1",
        Round::Up,
    )
    .max(1);
    let mut unavailable = 0;
    let mut candidates = Vec::new();
    for name in wanted.keys() {
        let active = on_node
            .get(*name)
            .into_iter()
            .flatten()
            .find(|pod| pod.is_active());
        match active {
            Some(pod) if pod.is_available(min_ready, now) => {
                if pod.label(REVISION_HASH) != hash {
                    candidates.push(*pod);
                }
            }
            Some(pod) if pod.label(REVISION_HASH) != hash => {
                unavailable += 1;
                delete(set, pod, plan);
            }
            _ => unavailable += 1,
        }
    }
    let room = usize::try_from(most - unavailable).unwrap_or_default();
    candidates
        .into_iter()
        .take(room)
        .for_each(|pod| delete(set, pod, plan));
}

/// The node that a pod runs on, or that its affinity names.
fn target(pod: &Pod) -> String {
    if !pod.node().is_empty() {
        return pod.node().to_owned();
    }
    let terms = "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms";
    let fields = read::list(&pod.value, terms)
        .iter()
        .flat_map(|term| read::list(term, "matchFields"));
    let mut names = fields
        .flat_map(|field| read::list(field, "values"))
        .filter_map(Value::as_str);
    names.next().unwrap_or_default().to_owned()
}

fn pod(set: &Value, hash: &str) -> Value {
    let mut pod = template::pod(set, object::at(set, "spec.template").unwrap_or(&Value::Null));
    let metadata = object::metadata_mut(&mut pod);
    metadata.insert(
        "generateName".to_owned(),
        json!(template::generate_name(object::name(set))),
    );
    let labels = metadata.entry("labels").or_insert_with(|| json!({}));
    labels[REVISION_HASH] = json!(hash);
    labels["pod-template-generation"] = json!(object::generation(set).max(1).to_string());
    let mut tolerations = read::list(&pod, "spec.tolerations").to_vec();
    tolerations
        .extend(TOLERATED.map(|(key, effect)| json!({"key": key, "operator": "Exists", "effect": effect})));
    pod["spec"]["tolerations"] = json!(tolerations);
    pod
}

/// Adds a required node affinity for one node to the pod.
fn with_node(mut pod: Value, node: &str) -> Value {
    let path = "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms";
    let field = json!([{"key": "metadata.name", "operator": "In", "values": [node]}]);
    let mut terms = read::list(&pod, path).to_vec();
    if terms.is_empty() {
        terms.push(json!({}));
    }
    for term in &mut terms {
        term["matchFields"] = field.clone();
    }
    object::set_at(&mut pod, path, json!(terms));
    pod
}

fn status(
    observed: &Observed,
    wanted: &BTreeMap<&str, &Value>,
    on_node: &BTreeMap<String, Vec<&Arc<Pod>>>,
    hash: &str,
    now: Timestamp,
    plan: &mut Plan,
) {
    let set = &observed.set;
    let min_ready = read::number(set, "spec.minReadySeconds", 0);
    let daemon = |name: &str| on_node.get(name)?.iter().find(|pod| pod.is_active()).copied();
    let daemons: Vec<&Arc<Pod>> = wanted.keys().filter_map(|name| daemon(name)).collect();
    let misplaced = on_node
        .iter()
        .filter(|(name, pods)| !wanted.contains_key(name.as_str()) && pods.iter().any(|pod| pod.is_active()))
        .count();
    let available = daemons
        .iter()
        .filter(|pod| pod.is_available(min_ready, now))
        .count();
    let waits = daemons
        .iter()
        .filter_map(|pod| read::until(pod.available_at(min_ready)?, now));
    plan.after = if min_ready > 0 { waits.min() } else { None };
    let fields = [
        ("currentNumberScheduled", json!(daemons.len())),
        ("numberMisscheduled", json!(misplaced)),
        ("desiredNumberScheduled", json!(wanted.len())),
        (
            "numberReady",
            json!(daemons.iter().filter(|pod| pod.ready).count()),
        ),
        (
            "updatedNumberScheduled",
            json!(
                daemons
                    .iter()
                    .filter(|pod| pod.label(REVISION_HASH) == hash)
                    .count()
            ),
        ),
        ("numberAvailable", json!(available)),
        ("numberUnavailable", json!(wanted.len() - available)),
        ("observedGeneration", json!(object::generation(set))),
    ];
    let always = [
        "currentNumberScheduled",
        "numberMisscheduled",
        "desiredNumberScheduled",
        "numberReady",
    ];
    plan.status(set, Value::Object(read::status(&fields, &always)));
}
