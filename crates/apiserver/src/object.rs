//! Reading and writing the fields that every Kubernetes object has, on JSON trees.

use serde_json::{Map, Value, json};

use crate::status::Status;

/// How deeply a stored object may be nested. Readers of JSON give up at 128 levels, ours among them, and an
/// object is read inside of lists, events and reviews.
pub(crate) const DEEPEST: usize = 120;

/// Whether a tree has more than so many levels of objects and lists.
pub(crate) fn is_nested_deeper(value: &Value, levels: usize) -> bool {
    let deeper = |inner: &Value| is_nested_deeper(inner, levels.saturating_sub(1));
    match value {
        Value::Object(map) => levels == 0 || map.values().any(deeper),
        Value::Array(list) => levels == 0 || list.iter().any(deeper),
        _ => false,
    }
}

/// 400: the object is nested too deeply to be read back.
pub(crate) fn too_deep() -> Status {
    Status::bad_request(format!(
        "the object is nested too deeply: with its managed fields it may have {DEEPEST} levels"
    ))
}

/// `metadata`, read-only; an empty map when it is missing.
pub(crate) fn metadata(object: &Value) -> &Map<String, Value> {
    static EMPTY: std::sync::LazyLock<Map<String, Value>> = std::sync::LazyLock::new(Map::new);
    object
        .get("metadata")
        .and_then(Value::as_object)
        .unwrap_or(&EMPTY)
}

/// `metadata`, created when it is missing or not an object.
pub(crate) fn metadata_mut(object: &mut Value) -> &mut Map<String, Value> {
    if !object.is_object() {
        *object = json!({});
    }
    let map = object.as_object_mut().expect("made an object just above");
    let metadata = map.entry("metadata").or_insert_with(|| json!({}));
    if !metadata.is_object() {
        *metadata = json!({});
    }
    metadata.as_object_mut().expect("made an object just above")
}

/// A string field of `metadata`; empty when it is missing.
pub(crate) fn meta_text<'a>(object: &'a Value, field: &str) -> &'a str {
    metadata(object)
        .get(field)
        .and_then(Value::as_str)
        .unwrap_or_default()
}

/// `metadata.name`.
pub(crate) fn name(object: &Value) -> &str {
    meta_text(object, "name")
}

/// `metadata.namespace`.
pub(crate) fn namespace(object: &Value) -> &str {
    meta_text(object, "namespace")
}

/// Whether the object has a `deletionTimestamp`.
pub(crate) fn is_deleting(object: &Value) -> bool {
    !meta_text(object, "deletionTimestamp").is_empty()
}

/// `metadata.finalizers`.
pub(crate) fn finalizers(object: &Value) -> Vec<&str> {
    metadata(object)
        .get("finalizers")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect()
}

/// `metadata.generation`; 0 when it is missing.
pub(crate) fn generation(object: &Value) -> i64 {
    metadata(object)
        .get("generation")
        .and_then(Value::as_i64)
        .unwrap_or_default()
}

/// An annotation's value.
pub(crate) fn annotation<'a>(object: &'a Value, key: &str) -> Option<&'a str> {
    metadata(object).get("annotations")?.get(key)?.as_str()
}

/// A string field; empty where there is none.
pub(crate) fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value.get(field).and_then(Value::as_str).unwrap_or_default()
}

/// The items of a field that is a list.
pub(crate) fn items<'a>(value: &'a Value, field: &str) -> &'a [Value] {
    let items = value.get(field).and_then(Value::as_array);
    items.map_or(&[], Vec::as_slice)
}

/// The value at a dotted path (`spec.nodeName`); `None` when any part is missing.
pub(crate) fn at<'a>(object: &'a Value, path: &str) -> Option<&'a Value> {
    path.split('.')
        .filter(|part| !part.is_empty())
        .try_fold(object, |value, part| value.get(part))
}

/// Sets the value at a dotted path, making objects on the way.
pub(crate) fn set_at(object: &mut Value, path: &str, value: Value) {
    let mut place = object;
    for part in path.split('.').filter(|part| !part.is_empty()) {
        if !place.is_object() {
            *place = json!({});
        }
        place = place
            .as_object_mut()
            .expect("made an object just above")
            .entry(part)
            .or_insert(Value::Null);
    }
    *place = value;
}

/// The key under which a bucket holds the object.
pub(crate) fn key(namespace: &str, name: &str) -> String {
    match namespace.is_empty() {
        true => name.to_owned(),
        false => format!("{namespace}/{name}"),
    }
}

/// A timestamp as Kubernetes writes it: RFC 3339, whole seconds, UTC.
pub(crate) fn timestamp(at: jiff::Timestamp) -> String {
    at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// `group/version`, or only the version for the core group.
pub(crate) fn api_version(group: &str, version: &str) -> String {
    match group.is_empty() {
        true => version.to_owned(),
        false => format!("{group}/{version}"),
    }
}
