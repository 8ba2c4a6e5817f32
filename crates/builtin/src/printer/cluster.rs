//! Cluster kinds: namespaces, leases, classes, quotas and others.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::age::{age, human_duration};
use super::read::{NONE, boolean, integer, list, name, scalar, text, text_or};

pub(crate) fn namespace(object: &Value, now: Timestamp) -> Vec<Value> {
    vec![
        name(object),
        json!(text(&object["status"]["phase"])),
        age(object, now),
    ]
}

pub(crate) fn resource_quota(object: &Value, now: Timestamp) -> Vec<Value> {
    let status = &object["status"];
    let mut resources: Vec<&String> = status["hard"]
        .as_object()
        .into_iter()
        .flatten()
        .map(|(key, _)| key)
        .collect();
    resources.sort_unstable();
    let (mut requests, mut limits) = (Vec::new(), Vec::new());
    for resource in resources {
        let used = match &status["used"][resource] {
            Value::Null => "0".to_owned(),
            used => scalar(used),
        };
        let text = format!("{resource}: {used}/{}", scalar(&status["hard"][resource]));
        if resource.starts_with("limits.") {
            limits.push(text)
        } else {
            requests.push(text)
        }
    }
    vec![
        name(object),
        json!(requests.join(", ")),
        json!(limits.join(", ")),
        age(object, now),
    ]
}

pub(crate) fn lease(object: &Value, now: Timestamp) -> Vec<Value> {
    vec![
        name(object),
        json!(text(&object["spec"]["holderIdentity"])),
        age(object, now),
    ]
}

pub(crate) fn priority_class(object: &Value, now: Timestamp) -> Vec<Value> {
    vec![
        name(object),
        json!(integer(&object["value"])),
        json!(boolean(&object["globalDefault"])),
        age(object, now),
        json!(text(&object["preemptionPolicy"])),
    ]
}

pub(crate) fn runtime_class(object: &Value, now: Timestamp) -> Vec<Value> {
    vec![name(object), json!(text(&object["handler"])), age(object, now)]
}

pub(crate) fn certificate_signing_request(object: &Value, now: Timestamp) -> Vec<Value> {
    let (spec, status) = (&object["spec"], &object["status"]);
    let has = |kind: &str| {
        list(&status["conditions"])
            .iter()
            .any(|condition| condition["type"] == kind)
    };
    let mut words = vec![match () {
        () if has("Denied") => "Denied",
        () if has("Approved") => "Approved",
        () => "Pending",
    }];
    words.extend(has("Failed").then_some("Failed"));
    words.extend((!text(&status["certificate"]).is_empty()).then_some("Issued"));
    let duration = spec["expirationSeconds"]
        .as_i64()
        .map_or_else(|| NONE.to_owned(), human_duration);
    vec![
        name(object),
        age(object, now),
        json!(text_or(&spec["signerName"], NONE)),
        json!(text(&spec["username"])),
        json!(duration),
        json!(words.join(",")),
    ]
}
