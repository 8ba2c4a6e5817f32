//! Values that are set on creation only.

use serde_json::{Map, Value, json};

use super::fields::{is_empty, object, text};
use super::{batch, cluster, fill_in, storage};
use crate::Resource;
use crate::decode::decode_part;
use crate::quantity::Quantity;

/// The initial status of a new object.
pub fn initial_status(resource: &Resource, new: &mut Value) {
    let (Some(property), Some(fields)) = (resource.schema.property("status"), new.as_object_mut()) else {
        return;
    };
    // Decoding writes what a status always has; an empty one fits every type.
    let mut status = json!({});
    let _ = decode_part(&property.schema, &mut status);
    fill_in(&property.schema, &mut status);
    fields.insert("status".to_owned(), status);
    match (resource.group, resource.kind) {
        ("", "Pod") => pod_status(fields),
        ("", kind @ ("PersistentVolume" | "PersistentVolumeClaim")) => storage::of_type(kind, fields),
        _ => {}
    }
}

/// Sets values that depend on the name and UID, which must be set already: the selector of a Job, the finalizer of a
/// Namespace.
pub fn prepare_for_create(resource: &Resource, new: &mut Value) {
    let Some(fields) = new.as_object_mut() else {
        return;
    };
    match (resource.group, resource.kind) {
        ("", "Namespace") => {
            cluster::name_label(fields);
            add_finalizer(fields);
        }
        ("batch", "Job") => {
            generate_selector(fields);
            batch::label_like_template(fields);
        }
        ("apps", "DaemonSet") => {
            let annotations = object(fields, "metadata").and_then(|metadata| object(metadata, "annotations"));
            if let Some(annotations) = annotations {
                annotations.insert("deprecated.daemonset.template.generation".to_owned(), json!("1"));
            }
        }
        _ => {}
    }
}

fn add_finalizer(namespace: &mut Map<String, Value>) {
    let Some(spec) = object(namespace, "spec") else {
        return;
    };
    if is_empty(spec, "finalizers") {
        spec.insert("finalizers".to_owned(), json!([]));
    }
    if let Some(Value::Array(finalizers)) = spec.get_mut("finalizers")
        && !finalizers.contains(&json!("kubernetes"))
    {
        finalizers.push(json!("kubernetes"));
    }
}

/// Generates the selector and the pod labels of a Job, unless `manualSelector` is set.
fn generate_selector(job: &mut Map<String, Value>) {
    let metadata = job.get("metadata").and_then(Value::as_object);
    let of_metadata = |field| {
        metadata
            .map(|metadata| text(metadata, field))
            .unwrap_or_default()
            .to_owned()
    };
    let (name, uid) = (of_metadata("name"), of_metadata("uid"));
    let Some(spec) = object(job, "spec") else {
        return;
    };
    if spec.get("manualSelector") == Some(&Value::Bool(true)) {
        return;
    }
    let labels = object(spec, "template")
        .and_then(|template| object(template, "metadata"))
        .and_then(|metadata| object(metadata, "labels"));
    if let Some(labels) = labels {
        for (label, value) in [
            ("job-name", &name),
            ("batch.kubernetes.io/job-name", &name),
            ("controller-uid", &uid),
            ("batch.kubernetes.io/controller-uid", &uid),
        ] {
            labels.entry(label).or_insert_with(|| json!(value));
        }
    }
    if let Some(labels) = object(spec, "selector").and_then(|selector| object(selector, "matchLabels")) {
        labels
            .entry("batch.kubernetes.io/controller-uid")
            .or_insert_with(|| json!(uid));
    }
}

fn pod_status(pod: &mut Map<String, Value>) {
    let spec = pod.get("spec").cloned().unwrap_or_default();
    let is_gated = spec
        .get("schedulingGates")
        .and_then(Value::as_array)
        .is_some_and(|gates| !gates.is_empty());
    let mut status = json!({"phase": "Pending", "qosClass": quality_of_service(&spec)});
    if is_gated {
        status["conditions"] = json!([{
            "type": "PodScheduled", "status": "False", "lastProbeTime": null, "lastTransitionTime": null,
            "reason": "SchedulingGated",
            "message": "Scheduling is blocked due to non-empty scheduling gates",
        }]);
    }
    pod.insert("status".to_owned(), status);
}

/// The QoS class of a pod: `Guaranteed`, `Burstable` or `BestEffort`.
pub fn quality_of_service(spec: &Value) -> &'static str {
    let amount = |resources: &Value, list: &str, name: &str| {
        let text = resources
            .pointer(&format!("/{list}/{name}"))
            .and_then(Value::as_str)?;
        Quantity::parse(text).ok().filter(|quantity| !quantity.is_zero())
    };
    let mut holders: Vec<&Value> = ["containers", "initContainers"]
        .iter()
        .filter_map(|list| spec.get(list)?.as_array())
        .flatten()
        .collect();
    if spec.get("resources").is_some_and(|resources| {
        ["limits", "requests"]
            .iter()
            .any(|list| resources.get(list).is_some())
    }) {
        holders = vec![spec];
    }
    let (mut is_any, mut is_all) = (false, true);
    for holder in holders {
        let resources = &holder["resources"];
        for name in ["cpu", "memory"] {
            let (request, limit) = (
                amount(resources, "requests", name),
                amount(resources, "limits", name),
            );
            is_any |= request.is_some() || limit.is_some();
            is_all &= limit.is_some() && request == limit;
        }
    }
    match (is_any, is_all) {
        (false, _) => "BestEffort",
        (true, true) => "Guaranteed",
        (true, false) => "Burstable",
    }
}
