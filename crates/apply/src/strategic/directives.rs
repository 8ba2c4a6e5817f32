//! Patch directives (`$…` keys).

use serde_json::{Map, Value};

use super::errors::StrategicError;

pub(super) const MARKER: &str = "$patch";
pub(super) const RETAIN_KEYS: &str = "$retainKeys";
pub(super) const DELETE_FROM_LIST: &str = "$deleteFromPrimitiveList";
pub(super) const SET_ELEMENT_ORDER: &str = "$setElementOrder";

/// Applies a `$patch` directive of an object, if it has one.
pub(super) fn whole_map(
    patch: &mut Map<String, Value>,
) -> Option<Result<Map<String, Value>, StrategicError>> {
    match patch.get(MARKER)?.as_str() {
        Some("replace") => {
            patch.remove(MARKER);
            Some(Ok(std::mem::take(patch)))
        }
        Some("delete") => Some(Ok(Map::new())),
        _ => patch
            .get(MARKER)
            .map(|directive| Err(StrategicError::bad_directive(directive, patch))),
    }
}

/// Applies `$retainKeys`: unlisted keys are removed, and the patch may only set listed ones.
pub(super) fn retain_keys(
    original: &mut Map<String, Value>,
    patch: &mut Map<String, Value>,
) -> Result<(), StrategicError> {
    let Some(keys) = patch.remove(RETAIN_KEYS) else {
        return Ok(());
    };
    let Value::Array(keys) = keys else {
        return Err(StrategicError::RetainKeys);
    };
    let is_listed = |name: &str| keys.iter().any(|key| key == name);
    let is_exempt = |name: &str, value: &Value| {
        value.is_null() || name.starts_with(DELETE_FROM_LIST) || name.starts_with(SET_ELEMENT_ORDER)
    };
    if patch
        .iter()
        .any(|(name, value)| !is_exempt(name, value) && !is_listed(name))
    {
        return Err(StrategicError::RetainKeys);
    }
    original.retain(|name, _| is_listed(name));
    Ok(())
}

/// The field of a parallel list (`$setElementOrder/ports`).
pub(super) fn field_of<'k>(
    key: &'k str,
    directive: &str,
    malformed: StrategicError,
) -> Result<&'k str, StrategicError> {
    match key.split_once('/') {
        Some((prefix, field)) if prefix == directive => Ok(field),
        _ => Err(malformed),
    }
}

/// A patch value for a missing field: objects with a `$patch` directive are dropped.
pub(super) fn without_directives(value: Value) -> Option<Value> {
    match value {
        Value::Object(fields) if fields.contains_key(MARKER) => None,
        Value::Object(fields) => {
            let kept = fields
                .into_iter()
                .filter_map(|(name, field)| Some((name, without_directives(field)?)));
            Some(Value::Object(kept.collect()))
        }
        Value::Array(items) => Some(Value::Array(
            items.into_iter().filter_map(without_directives).collect(),
        )),
        scalar => Some(scalar),
    }
}

/// Removes `null` fields, which only delete.
pub(super) fn without_nulls(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|_, field| !field.is_null());
            fields.values_mut().for_each(without_nulls);
        }
        Value::Array(items) => items.iter_mut().for_each(without_nulls),
        _ => {}
    }
}
