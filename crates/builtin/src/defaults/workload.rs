//! Defaults of workload kinds.

use serde_json::{Map, Value, json};

use super::fields::{inside, is_empty, object, objects, set, set_absent, text};

pub(super) fn of_type(name: &str, fields: &mut Map<String, Value>) {
    match name {
        "DeploymentSpec" => deployment(fields),
        "DaemonSetSpec" => daemon_set(fields),
        "StatefulSetSpec" => stateful_set(fields),
        "ReplicaSetSpec" => set_absent(fields, "replicas", 1),
        "ReplicationController" => replication_controller(fields),
        _ => {}
    }
}

fn deployment(spec: &mut Map<String, Value>) {
    set_absent(spec, "replicas", 1);
    set_absent(spec, "revisionHistoryLimit", 10);
    set_absent(spec, "progressDeadlineSeconds", 600);
    if let Some(rolling) = rolling_update(spec, "strategy") {
        set_absent(rolling, "maxUnavailable", "25%");
        set_absent(rolling, "maxSurge", "25%");
    }
}

fn daemon_set(spec: &mut Map<String, Value>) {
    set_absent(spec, "revisionHistoryLimit", 10);
    if let Some(rolling) = rolling_update(spec, "updateStrategy") {
        set_absent(rolling, "maxUnavailable", 1);
        set_absent(rolling, "maxSurge", 0);
    }
}

/// The parameters of a rolling update, which is the default strategy.
fn rolling_update<'s>(
    spec: &'s mut Map<String, Value>,
    strategy: &str,
) -> Option<&'s mut Map<String, Value>> {
    let strategy = object(spec, strategy)?;
    set(strategy, "type", "RollingUpdate");
    match text(strategy, "type") {
        "RollingUpdate" => object(strategy, "rollingUpdate"),
        _ => None,
    }
}

fn stateful_set(spec: &mut Map<String, Value>) {
    set(spec, "podManagementPolicy", "OrderedReady");
    set_absent(spec, "replicas", 1);
    set_absent(spec, "revisionHistoryLimit", 10);
    if let Some(strategy) = object(spec, "updateStrategy") {
        if is_empty(strategy, "type") {
            set(strategy, "type", "RollingUpdate");
            object(strategy, "rollingUpdate");
        }
        if text(strategy, "type") == "RollingUpdate"
            && let Some(rolling) = inside(strategy, "rollingUpdate")
        {
            set_absent(rolling, "partition", 0);
        }
    }
    if let Some(policy) = object(spec, "persistentVolumeClaimRetentionPolicy") {
        set(policy, "whenDeleted", "Retain");
        set(policy, "whenScaled", "Retain");
    }
    for claim in objects(spec, "volumeClaimTemplates") {
        claim.insert("apiVersion".to_owned(), json!("v1"));
        claim.insert("kind".to_owned(), json!("PersistentVolumeClaim"));
    }
}

/// Selector and labels default to the labels of the template.
fn replication_controller(fields: &mut Map<String, Value>) {
    let labels = fields
        .get("spec")
        .and_then(|spec| spec.pointer("/template/metadata/labels"))
        .cloned();
    let Some(labels) = labels else { return };
    if let Some(spec) = object(fields, "spec")
        && is_empty(spec, "selector")
    {
        spec.insert("selector".to_owned(), labels.clone());
    }
    label_like(fields, labels);
}

/// Labels default to those of the template.
pub(super) fn label_like(fields: &mut Map<String, Value>, labels: Value) {
    if let Some(metadata) = object(fields, "metadata")
        && is_empty(metadata, "labels")
    {
        metadata.insert("labels".to_owned(), labels);
    }
}
