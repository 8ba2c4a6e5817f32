//! Nodes.

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::age::age;
use super::read::{NONE, UNKNOWN, boolean, list, name, text, text_or};

pub(crate) fn node(object: &Value, now: Timestamp) -> Vec<Value> {
    let info = &object["status"]["nodeInfo"];
    let mut kernel = text_or(&info["kernelVersion"], UNKNOWN).to_owned();
    if let architecture @ [_, ..] = text(&info["architecture"]).as_bytes() {
        kernel.push_str(&format!(" ({})", String::from_utf8_lossy(architecture)));
    }
    vec![
        name(object),
        json!(status(object)),
        json!(roles(object)),
        age(object, now),
        json!(text(&info["kubeletVersion"])),
        json!(address(object, "InternalIP")),
        json!(address(object, "ExternalIP")),
        json!(text_or(&info["osImage"], UNKNOWN)),
        json!(kernel),
        json!(text_or(&info["containerRuntimeVersion"], UNKNOWN)),
    ]
}

fn status(object: &Value) -> String {
    let conditions = list(&object["status"]["conditions"]);
    let ready = match conditions.iter().rfind(|condition| condition["type"] == "Ready") {
        Some(ready) if ready["status"] == "True" => "Ready",
        Some(_) => "NotReady",
        None => "Unknown",
    };
    match boolean(&object["spec"]["unschedulable"]) {
        true => format!("{ready},SchedulingDisabled"),
        false => ready.to_owned(),
    }
}

fn roles(object: &Value) -> String {
    let mut roles = BTreeSet::new();
    for (label, value) in object["metadata"]["labels"].as_object().into_iter().flatten() {
        match label.strip_prefix("node-role.kubernetes.io/") {
            Some(role) => roles.insert(role),
            None if label == "kubernetes.io/role" => roles.insert(text(value)),
            None => continue,
        };
    }
    roles.remove("");
    let roles: Vec<&str> = roles.into_iter().collect();
    if roles.is_empty() {
        NONE.to_owned()
    } else {
        roles.join(",")
    }
}

fn address<'a>(object: &'a Value, kind: &str) -> &'a str {
    let mut addresses = list(&object["status"]["addresses"]).iter();
    addresses
        .find(|address| address["type"] == kind)
        .map_or(NONE, |address| text(&address["address"]))
}
