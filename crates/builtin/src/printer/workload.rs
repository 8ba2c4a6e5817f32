//! Workload kinds.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::age::age;
use super::read::{NONE, boolean, integer, list, name, scalar, text};
use super::selector::{containers, label_selector, label_selector_cell, labels};

pub(crate) fn pod_template(object: &Value, _now: Timestamp) -> Vec<Value> {
    let template = &object["template"];
    let (names, images) = containers(&template["spec"]);
    vec![
        name(object),
        json!(names),
        json!(images),
        json!(labels(&template["metadata"]["labels"])),
    ]
}

pub(crate) fn pod_disruption_budget(object: &Value, now: Timestamp) -> Vec<Value> {
    let limit = |field: &str| match &object["spec"][field] {
        Value::Null => json!("N/A"),
        value => json!(scalar(value)),
    };
    vec![
        name(object),
        limit("minAvailable"),
        limit("maxUnavailable"),
        json!(integer(&object["status"]["disruptionsAllowed"])),
        age(object, now),
    ]
}

pub(crate) fn replication_controller(object: &Value, now: Timestamp) -> Vec<Value> {
    replicas(object, now, labels(&object["spec"]["selector"]))
}

pub(crate) fn replica_set(object: &Value, now: Timestamp) -> Vec<Value> {
    replicas(object, now, label_selector_cell(&object["spec"]["selector"]))
}

pub(crate) fn daemon_set(object: &Value, now: Timestamp) -> Vec<Value> {
    let status = &object["status"];
    let template = &object["spec"]["template"]["spec"];
    let (names, images) = containers(template);
    vec![
        name(object),
        json!(integer(&status["desiredNumberScheduled"])),
        json!(integer(&status["currentNumberScheduled"])),
        json!(integer(&status["numberReady"])),
        json!(integer(&status["updatedNumberScheduled"])),
        json!(integer(&status["numberAvailable"])),
        json!(labels(&template["nodeSelector"])),
        age(object, now),
        json!(names),
        json!(images),
        json!(label_selector_cell(&object["spec"]["selector"])),
    ]
}

pub(crate) fn deployment(object: &Value, now: Timestamp) -> Vec<Value> {
    let status = &object["status"];
    let (names, images) = containers(&object["spec"]["template"]["spec"]);
    let selector = label_selector(&object["spec"]["selector"]).unwrap_or_else(|| "<invalid>".to_owned());
    vec![
        name(object),
        ready(object),
        json!(integer(&status["updatedReplicas"])),
        json!(integer(&status["availableReplicas"])),
        age(object, now),
        json!(names),
        json!(images),
        json!(selector),
    ]
}

pub(crate) fn stateful_set(object: &Value, now: Timestamp) -> Vec<Value> {
    let (names, images) = containers(&object["spec"]["template"]["spec"]);
    vec![
        name(object),
        ready(object),
        age(object, now),
        json!(names),
        json!(images),
    ]
}

pub(crate) fn controller_revision(object: &Value, now: Timestamp) -> Vec<Value> {
    let mut owners = list(&object["metadata"]["ownerReferences"]).iter();
    let controller = owners.find(|owner| boolean(&owner["controller"])).map(|owner| {
        let group = text(&owner["apiVersion"])
            .split_once('/')
            .map(|(group, _)| format!(".{group}"));
        let kind = format!("{}{}", text(&owner["kind"]), group.unwrap_or_default());
        format!("{}/{}", kind.to_lowercase(), text(&owner["name"]))
    });
    vec![
        name(object),
        json!(controller.unwrap_or_else(|| NONE.to_owned())),
        json!(integer(&object["revision"])),
        age(object, now),
    ]
}

fn replicas(object: &Value, now: Timestamp, selector: String) -> Vec<Value> {
    let (names, images) = containers(&object["spec"]["template"]["spec"]);
    vec![
        name(object),
        json!(integer(&object["spec"]["replicas"])),
        json!(integer(&object["status"]["replicas"])),
        json!(integer(&object["status"]["readyReplicas"])),
        age(object, now),
        json!(names),
        json!(images),
        json!(selector),
    ]
}

fn ready(object: &Value) -> Value {
    let (ready, wanted) = (
        integer(&object["status"]["readyReplicas"]),
        integer(&object["spec"]["replicas"]),
    );
    json!(format!("{ready}/{wanted}"))
}
