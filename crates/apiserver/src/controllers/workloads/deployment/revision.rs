//! Revision numbers of a Deployment's ReplicaSets.

use serde_json::{Value, json};

use super::super::conditions::Condition;
use super::super::template::{self, TEMPLATE_HASH};
use super::progress::Progress;
use super::set::{DESIRED, HISTORY, MOST, REVISION};
use super::{Limits, Set, rolling};
use crate::controllers::workloads::read;
use crate::object;

/// Annotations that are not copied from a Deployment to its ReplicaSets.
const OWN: [&str; 6] = [
    "kubectl.kubernetes.io/last-applied-configuration",
    REVISION,
    HISTORY,
    DESIRED,
    MOST,
    "deprecated.deployment.rollback.to",
];
const LONGEST_HISTORY: usize = 2000;
const LONGEST_NAME: usize = 253;

/// Updates the annotations of the new ReplicaSet: it gets the highest revision number.
pub(super) fn keep(deployment: &Value, sets: &mut [Set], new: usize, progress: &mut Progress<'_>) {
    let next = next(sets, Some(new));
    hand_down(deployment, &mut sets[new]);
    let set = &mut sets[new];
    let before = set.annotation(REVISION).map(str::to_owned);
    let number: i64 = before
        .as_deref()
        .and_then(|revision| revision.parse().ok())
        .unwrap_or_default();
    if number < next {
        set.annotate(REVISION, &next.to_string());
        if let Some(before) = before {
            let history = history(set.annotation(HISTORY).unwrap_or_default(), &before);
            set.annotate(HISTORY, &history);
        }
    }
    let min_ready = read::number(deployment, "spec.minReadySeconds", 0);
    if read::number(&set.value, "spec.minReadySeconds", 0) != min_ready {
        object::set_at(&mut set.value, "spec.minReadySeconds", json!(min_ready));
    }
    progress.revision = set.annotation(REVISION).map(str::to_owned);
    let message = format!("Found new replica set {:?}", set.name);
    progress.set_condition_if_absent(&Condition::new(
        "Progressing",
        "True",
        "FoundNewReplicaSet",
        message,
    ));
}

/// Adds a ReplicaSet for the current template; returns its index, or `None` on a hash collision.
pub(super) fn create(
    deployment: &Value,
    limits: &Limits,
    sets: &mut Vec<Set>,
    progress: &mut Progress<'_>,
    refusal: Option<&str>,
) -> Option<usize> {
    let template = object::at(deployment, "spec.template").unwrap_or(&Value::Null);
    let collisions = read::number(deployment, "status.collisionCount", 0);
    let hash = template::hash(template, collisions);
    let name: String = object::name(deployment)
        .chars()
        .take(LONGEST_NAME - 1 - hash.len())
        .collect();
    let name = format!("{name}-{hash}");
    let mut labelled = template.clone();
    object::set_at(
        &mut labelled,
        "metadata.labels",
        with(object::at(template, "metadata.labels"), &hash),
    );
    let mut selector = object::at(deployment, "spec.selector")
        .cloned()
        .unwrap_or_else(|| json!({}));
    selector["matchLabels"] = with(selector.get("matchLabels"), &hash);
    let recreate = read::text(deployment, "spec.strategy.type") == "Recreate";
    let replicas = if recreate {
        limits.replicas
    } else {
        rolling::room(limits, sets, 0)
    };
    let mut spec = json!({"replicas": replicas, "selector": selector, "template": labelled});
    if let Some(min_ready) = object::at(deployment, "spec.minReadySeconds") {
        spec["minReadySeconds"] = min_ready.clone();
    }
    let mut set = Set::new(json!({"apiVersion": "apps/v1", "kind": "ReplicaSet",
        "metadata": {"name": name, "namespace": object::namespace(deployment), "labels": labelled["metadata"]["labels"],
            "ownerReferences": [template::controller_reference(deployment)]},
        "spec": spec}));
    let revision = next(sets, None).to_string();
    hand_down(deployment, &mut set);
    set.annotate(REVISION, &revision);
    set.annotate(DESIRED, &limits.replicas.to_string());
    set.annotate(MOST, &limits.most().to_string());
    match refusal {
        None => {
            progress.revision = Some(revision);
            let message = format!("Created new replica set {name:?}");
            progress.set_condition(&Condition::new(
                "Progressing",
                "True",
                "NewReplicaSetCreated",
                message,
            ));
        }
        // A hash collision with another ReplicaSet: `collisionCount` changes the next hash.
        Some(why) if why.contains(&format!("{name:?} already exists")) => {
            progress.collisions = collisions + 1;
            return None;
        }
        Some(why) => {
            let message = format!("Failed to create new replica set {name:?}: {why}");
            progress.set_condition(&Condition::new(
                "Progressing",
                "False",
                "ReplicaSetCreateError",
                message,
            ));
        }
    }
    sets.push(set);
    Some(sets.len() - 1)
}

fn next(sets: &[Set], new: Option<usize>) -> i64 {
    let old = sets.iter().enumerate().filter(|(index, _)| Some(*index) != new);
    1 + old.map(|(_, set)| set.revision()).max().unwrap_or_default()
}

fn with(labels: Option<&Value>, hash: &str) -> Value {
    let mut labels = labels
        .cloned()
        .filter(Value::is_object)
        .unwrap_or_else(|| json!({}));
    labels[TEMPLATE_HASH] = json!(hash);
    labels
}

fn hand_down(deployment: &Value, set: &mut Set) {
    let annotations = object::metadata(deployment)
        .get("annotations")
        .and_then(Value::as_object);
    for (name, value) in annotations
        .into_iter()
        .flatten()
        .filter(|(name, _)| !OWN.contains(&name.as_str()))
    {
        let value = value.as_str().unwrap_or_default();
        if set.annotation(name) != Some(value) {
            set.annotate(name, value);
        }
    }
}

/// The annotation `revision-history` with one more revision; the oldest are dropped when it gets too long.
fn history(before: &str, last: &str) -> String {
    let mut revisions: Vec<&str> = before
        .split(',')
        .filter(|revision| !revision.is_empty())
        .collect();
    revisions.push(last);
    while revisions.len() > 1 && revisions.join(",").len() > LONGEST_HISTORY {
        revisions.remove(0);
    }
    revisions.join(",")
}
