//! Priority and fairness.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::age::age;
use super::read::{NONE, integer, list, name, set_or, text};

pub(crate) fn flow_schema(object: &Value, now: Timestamp) -> Vec<Value> {
    let spec = &object["spec"];
    let mut conditions = list(&object["status"]["conditions"]).iter();
    let dangling = conditions.find(|condition| condition["type"] == "Dangling");
    vec![
        name(object),
        json!(text(&spec["priorityLevelConfiguration"]["name"])),
        json!(integer(&spec["matchingPrecedence"])),
        json!(set_or(&spec["distinguisherMethod"]["type"], NONE)),
        age(object, now),
        json!(dangling.map_or("?", |condition| text(&condition["status"]))),
    ]
}

pub(crate) fn priority_level_configuration(object: &Value, now: Timestamp) -> Vec<Value> {
    let limited = &object["spec"]["limited"];
    let queuing = &limited["limitResponse"]["queuing"];
    let number = |parent: &Value, field: &str| match parent {
        Value::Null => json!(NONE),
        parent => json!(integer(&parent[field])),
    };
    vec![
        name(object),
        json!(text(&object["spec"]["type"])),
        number(limited, "nominalConcurrencyShares"),
        number(queuing, "queues"),
        number(queuing, "handSize"),
        number(queuing, "queueLengthLimit"),
        age(object, now),
    ]
}
