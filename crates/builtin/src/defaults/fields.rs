//! The words that defaults are written in.

use serde_json::{Map, Value};

/// Whether a field has no value, or an empty one that is left out.
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

/// Gives a field a value if it has none.
pub(super) fn set(fields: &mut Map<String, Value>, name: &str, value: impl Into<Value>) {
    if is_unset(fields, name) {
        fields.insert(name.to_owned(), value.into());
    }
}

/// Gives a field a value if it has none; the empty text counts as one.
pub(super) fn set_absent(fields: &mut Map<String, Value>, name: &str, value: impl Into<Value>) {
    if fields.get(name).is_none_or(Value::is_null) {
        fields.insert(name.to_owned(), value.into());
    }
}

/// Gives a number a value if it is zero.
pub(super) fn set_zero(fields: &mut Map<String, Value>, name: &str, value: i64) {
    if is_empty(fields, name) {
        fields.insert(name.to_owned(), value.into());
    }
}

/// A field's text; empty when there is none.
pub(super) fn text<'f>(fields: &'f Map<String, Value>, name: &str) -> &'f str {
    fields.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// An object inside, made if it is not there; nothing if something else is.
pub(super) fn object<'f>(
    fields: &'f mut Map<String, Value>,
    name: &str,
) -> Option<&'f mut Map<String, Value>> {
    set(fields, name, Map::new());
    fields.get_mut(name).and_then(Value::as_object_mut)
}

/// An object inside, if it is there.
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
