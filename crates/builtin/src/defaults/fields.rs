//! Helpers for writing defaults.

use serde_json::{Map, Value};

/// Whether a field is absent, null or an empty string.
pub(super) fn is_unset(fields: &Map<String, Value>, name: &str) -> bool {
    match fields.get(name) {
        None | Some(Value::Null) => true,
        Some(Value::String(text)) => text.is_empty(),
        _ => false,
    }
}

/// Whether a field is absent, empty or zero.
pub(super) fn is_empty(fields: &Map<String, Value>, name: &str) -> bool {
    match fields.get(name) {
        Some(Value::Array(items)) => items.is_empty(),
        Some(Value::Object(entries)) => entries.is_empty(),
        Some(Value::Number(number)) => number.as_i64() == Some(0),
        _ => is_unset(fields, name),
    }
}

/// Sets a field if it is unset.
pub(super) fn set(fields: &mut Map<String, Value>, name: &str, value: impl Into<Value>) {
    if is_unset(fields, name) {
        fields.insert(name.to_owned(), value.into());
    }
}

/// Sets a field if it is absent; an empty string counts as set.
pub(super) fn set_absent(fields: &mut Map<String, Value>, name: &str, value: impl Into<Value>) {
    if fields.get(name).is_none_or(Value::is_null) {
        fields.insert(name.to_owned(), value.into());
    }
}

/// Sets a number if it is zero.
pub(super) fn set_zero(fields: &mut Map<String, Value>, name: &str, value: i64) {
    if is_empty(fields, name) {
        fields.insert(name.to_owned(), value.into());
    }
}

/// A string field; empty when it is missing.
pub(super) fn text<'f>(fields: &'f Map<String, Value>, name: &str) -> &'f str {
    fields.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// An object field, created if it is absent; `None` if it has another type.
pub(super) fn object<'f>(
    fields: &'f mut Map<String, Value>,
    name: &str,
) -> Option<&'f mut Map<String, Value>> {
    set(fields, name, Map::new());
    fields.get_mut(name).and_then(Value::as_object_mut)
}

/// An object field, if it exists.
pub(super) fn inside<'f>(
    fields: &'f mut Map<String, Value>,
    name: &str,
) -> Option<&'f mut Map<String, Value>> {
    fields.get_mut(name).and_then(Value::as_object_mut)
}

/// The objects of a list.
pub(super) fn objects<'f>(
    fields: &'f mut Map<String, Value>,
    name: &str,
) -> impl Iterator<Item = &'f mut Map<String, Value>> {
    fields
        .get_mut(name)
        .and_then(Value::as_array_mut)
        .into_iter()
        .flatten()
        .filter_map(Value::as_object_mut)
}
