//! Reads fields that may be missing.

use serde_json::{Value, json};

pub(super) const NONE: &str = "<none>";
pub(super) const UNSET: &str = "<unset>";
pub(super) const UNKNOWN: &str = "<unknown>";

/// The object's name, as a cell.
pub(super) fn name(object: &Value) -> Value {
    json!(text(&object["metadata"]["name"]))
}

/// The string, or empty.
pub(super) fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// The string, or `otherwise` when it is empty or absent.
pub(super) fn text_or<'a>(value: &'a Value, otherwise: &'a str) -> &'a str {
    value
        .as_str()
        .filter(|text| !text.is_empty())
        .unwrap_or(otherwise)
}

/// The string, or `otherwise` when it is absent.
pub(super) fn set_or<'a>(value: &'a Value, otherwise: &'a str) -> &'a str {
    value.as_str().unwrap_or(otherwise)
}

/// The number, or 0.
pub(super) fn integer(value: &Value) -> i64 {
    value.as_i64().unwrap_or_default()
}

/// The boolean, or false.
pub(super) fn boolean(value: &Value) -> bool {
    value.as_bool().unwrap_or_default()
}

/// The items of a list, if it is one.
pub(super) fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// The number of items or keys.
pub(super) fn count(value: &Value) -> usize {
    value
        .as_array()
        .map(Vec::len)
        .or_else(|| value.as_object().map(|map| map.len()))
        .unwrap_or_default()
}

/// A quantity or an int-or-string, as it is written.
pub(super) fn scalar(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// The strings of a list, joined.
pub(super) fn joined(value: &Value, separator: &str) -> String {
    list(value).iter().map(text).collect::<Vec<_>>().join(separator)
}

/// Whether the first condition of that type is true.
pub(super) fn condition(object: &Value, kind: &str) -> bool {
    let mut conditions = list(&object["status"]["conditions"]).iter();
    conditions
        .find(|condition| condition["type"] == kind)
        .is_some_and(|found| found["status"] == "True")
}

/// The first three items, and how many more there are.
pub(super) fn first_three(items: &[String]) -> String {
    match items.len() {
        0 => NONE.to_owned(),
        count @ ..=3 => items[..count].join(","),
        count => format!("{} + {} more...", items[..3].join(","), count - 3),
    }
}
