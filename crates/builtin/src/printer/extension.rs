//! API extensions: webhooks, admission policies, APIServices.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::age::age;
use super::read::{UNSET, count, list, name, text};
use super::selector::label_selector;

/// Mutating and validating webhook configurations.
pub(crate) fn webhook_configuration(object: &Value, now: Timestamp) -> Vec<Value> {
    vec![name(object), json!(count(&object["webhooks"])), age(object, now)]
}

pub(crate) fn validating_admission_policy(object: &Value, now: Timestamp) -> Vec<Value> {
    admission_policy(object, "validations", now)
}

pub(crate) fn mutating_admission_policy(object: &Value, now: Timestamp) -> Vec<Value> {
    admission_policy(object, "mutations", now)
}

fn admission_policy(object: &Value, rules: &str, now: Timestamp) -> Vec<Value> {
    let spec = &object["spec"];
    let parameters = match &spec["paramKind"] {
        Value::Null => UNSET.to_owned(),
        kind => format!("{}/{}", text(&kind["apiVersion"]), text(&kind["kind"])),
    };
    vec![
        name(object),
        json!(count(&spec[rules])),
        json!(parameters),
        age(object, now),
    ]
}

/// Bindings of validating and mutating policies.
pub(crate) fn admission_policy_binding(object: &Value, now: Timestamp) -> Vec<Value> {
    let spec = &object["spec"];
    let reference = &spec["paramRef"];
    let parameters = match (text(&reference["namespace"]), text(&reference["name"])) {
        (_, "") if reference["selector"].is_object() => {
            label_selector(&reference["selector"]).unwrap_or_default()
        }
        (_, "") => UNSET.to_owned(),
        ("", name) => format!("*/{name}"),
        (namespace, name) => format!("{namespace}/{name}"),
    };
    vec![
        name(object),
        json!(text(&spec["policyName"])),
        json!(parameters),
        age(object, now),
    ]
}

pub(crate) fn api_service(object: &Value, now: Timestamp) -> Vec<Value> {
    let service = match &object["spec"]["service"] {
        Value::Null => "Local".to_owned(),
        service => format!("{}/{}", text(&service["namespace"]), text(&service["name"])),
    };
    let mut conditions = list(&object["status"]["conditions"]).iter();
    let available = match conditions.find(|condition| condition["type"] == "Available") {
        None => "Unknown".to_owned(),
        Some(condition) if condition["status"] == "True" || text(&condition["reason"]).is_empty() => {
            text(&condition["status"]).to_owned()
        }
        Some(condition) => format!("{} ({})", text(&condition["status"]), text(&condition["reason"])),
    };
    vec![name(object), json!(service), json!(available), age(object, now)]
}
