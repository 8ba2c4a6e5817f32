//! ConfigMaps and Secrets.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::age::age;
use super::read::{count, name, text};

pub(crate) fn config_map(object: &Value, now: Timestamp) -> Vec<Value> {
    let keys = count(&object["data"]) + count(&object["binaryData"]);
    vec![name(object), json!(keys), age(object, now)]
}

pub(crate) fn secret(object: &Value, now: Timestamp) -> Vec<Value> {
    vec![
        name(object),
        json!(text(&object["type"])),
        json!(count(&object["data"])),
        age(object, now),
    ]
}
