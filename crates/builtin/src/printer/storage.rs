//! Volumes, claims and storage classes.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::age::age;
use super::read::{NONE, UNSET, boolean, count, joined, list, name, scalar, set_or, text};

pub(crate) fn persistent_volume(object: &Value, now: Timestamp) -> Vec<Value> {
    let (spec, status) = (&object["spec"], &object["status"]);
    let claim = match &spec["claimRef"] {
        Value::Null => String::new(),
        claim => format!("{}/{}", text(&claim["namespace"]), text(&claim["name"])),
    };
    vec![
        name(object),
        json!(quantity(&spec["capacity"]["storage"])),
        json!(access_modes(&spec["accessModes"])),
        json!(text(&spec["persistentVolumeReclaimPolicy"])),
        json!(phase(object)),
        json!(claim),
        json!(storage_class_of(object)),
        json!(set_or(&spec["volumeAttributesClassName"], UNSET)),
        json!(text(&status["reason"])),
        age(object, now),
        json!(set_or(&spec["volumeMode"], UNSET)),
    ]
}

pub(crate) fn persistent_volume_claim(object: &Value, now: Timestamp) -> Vec<Value> {
    let (spec, status) = (&object["spec"], &object["status"]);
    let (capacity, modes) = match text(&spec["volumeName"]) {
        "" => (String::new(), String::new()),
        _ => (
            quantity(&status["capacity"]["storage"]),
            access_modes(&status["accessModes"]),
        ),
    };
    vec![
        name(object),
        json!(phase(object)),
        json!(text(&spec["volumeName"])),
        json!(capacity),
        json!(modes),
        json!(storage_class_of(object)),
        json!(set_or(&spec["volumeAttributesClassName"], UNSET)),
        age(object, now),
        json!(set_or(&spec["volumeMode"], UNSET)),
    ]
}

pub(crate) fn storage_class(object: &Value, now: Timestamp) -> Vec<Value> {
    let annotations = &object["metadata"]["annotations"];
    let default = annotations["storageclass.kubernetes.io/is-default-class"] == "true"
        || annotations["storageclass.beta.kubernetes.io/is-default-class"] == "true";
    vec![
        json!(format!(
            "{}{}",
            text(&object["metadata"]["name"]),
            if default { " (default)" } else { "" }
        )),
        json!(text(&object["provisioner"])),
        json!(set_or(&object["reclaimPolicy"], "Delete")),
        json!(set_or(&object["volumeBindingMode"], "Immediate")),
        json!(boolean(&object["allowVolumeExpansion"])),
        age(object, now),
    ]
}

pub(crate) fn csi_storage_capacity(object: &Value, _now: Timestamp) -> Vec<Value> {
    let capacity = match &object["capacity"] {
        Value::Null => UNSET.to_owned(),
        capacity => quantity(capacity),
    };
    vec![
        name(object),
        json!(text(&object["storageClassName"])),
        json!(capacity),
    ]
}

pub(crate) fn volume_attributes_class(object: &Value, now: Timestamp) -> Vec<Value> {
    vec![name(object), json!(text(&object["driverName"])), age(object, now)]
}

pub(crate) fn volume_attachment(object: &Value, now: Timestamp) -> Vec<Value> {
    let spec = &object["spec"];
    vec![
        name(object),
        json!(text(&spec["attacher"])),
        json!(text(&spec["source"]["persistentVolumeName"])),
        json!(text(&spec["nodeName"])),
        json!(boolean(&object["status"]["attached"])),
        age(object, now),
    ]
}

pub(crate) fn csi_node(object: &Value, now: Timestamp) -> Vec<Value> {
    vec![
        name(object),
        json!(count(&object["spec"]["drivers"])),
        age(object, now),
    ]
}

pub(crate) fn csi_driver(object: &Value, now: Timestamp) -> Vec<Value> {
    let spec = &object["spec"];
    let audiences = match &spec["tokenRequests"] {
        Value::Null => UNSET.to_owned(),
        requests => list(requests)
            .iter()
            .map(|request| text(&request["audience"]))
            .collect::<Vec<_>>()
            .join(","),
    };
    let modes = match joined(&spec["volumeLifecycleModes"], ",") {
        modes if modes.is_empty() => NONE.to_owned(),
        modes => modes,
    };
    vec![
        name(object),
        json!(spec["attachRequired"].as_bool().unwrap_or(true)),
        json!(boolean(&spec["podInfoOnMount"])),
        json!(boolean(&spec["storageCapacity"])),
        json!(audiences),
        json!(boolean(&spec["requiresRepublish"])),
        json!(modes),
        age(object, now),
    ]
}

fn phase(object: &Value) -> &str {
    match object["metadata"]["deletionTimestamp"].is_null() {
        true => text(&object["status"]["phase"]),
        false => "Terminating",
    }
}

/// The storage class; the beta annotation takes precedence over the field.
fn storage_class_of(object: &Value) -> &str {
    let annotation = &object["metadata"]["annotations"]["volume.beta.kubernetes.io/storage-class"];
    set_or(annotation, text(&object["spec"]["storageClassName"]))
}

fn quantity(value: &Value) -> String {
    if value.is_null() {
        "0".to_owned()
    } else {
        scalar(value)
    }
}

fn access_modes(modes: &Value) -> String {
    let short = [
        ("ReadWriteOnce", "RWO"),
        ("ReadOnlyMany", "ROX"),
        ("ReadWriteMany", "RWX"),
        ("ReadWriteOncePod", "RWOP"),
    ];
    let has = |long: &str| list(modes).iter().any(|mode| mode == long);
    short
        .iter()
        .filter(|(long, _)| has(long))
        .map(|(_, short)| *short)
        .collect::<Vec<_>>()
        .join(",")
}
