//! Device kinds (`resource.k8s.io`).

use jiff::Timestamp;
use serde_json::{Value, json};

use super::age::age;
use super::read::{count, name, text};

pub(crate) fn resource_claim(object: &Value, now: Timestamp) -> Vec<Value> {
    let deleted = !object["metadata"]["deletionTimestamp"].is_null();
    let allocated = !object["status"]["allocation"].is_null();
    let reserved = count(&object["status"]["reservedFor"]) > 0;
    let states = [
        ("deleted", deleted),
        ("pending", !deleted && !allocated),
        ("allocated", allocated),
        ("reserved", allocated && reserved),
    ];
    let states: Vec<&str> = states
        .iter()
        .filter(|(_, holds)| *holds)
        .map(|(state, _)| *state)
        .collect();
    vec![name(object), json!(states.join(",")), age(object, now)]
}

pub(crate) fn resource_slice(object: &Value, now: Timestamp) -> Vec<Value> {
    let spec = &object["spec"];
    vec![
        name(object),
        json!(text(&spec["nodeName"])),
        json!(text(&spec["driver"])),
        json!(text(&spec["pool"]["name"])),
        age(object, now),
    ]
}
