//! Merges objects.

use serde_json::{Map, Value};

use super::directives::{self, DELETE_FROM_LIST};
use super::element_order::merge_ordered_lists;
use super::errors::StrategicError;
use super::merge_list::{ListMode, merge_list};
use super::patch_schema::PatchSchema;

/// Merges a patch into an object.
pub(super) fn merge_map(
    mut original: Map<String, Value>,
    mut patch: Map<String, Value>,
    schema: PatchSchema<'_>,
) -> Result<Map<String, Value>, StrategicError> {
    if let Some(whole) = directives::whole_map(&mut patch) {
        return whole;
    }
    directives::retain_keys(&mut original, &mut patch)?;
    merge_ordered_lists(&mut original, &mut patch, schema)?;
    for (key, value) in patch {
        if key.starts_with(DELETE_FROM_LIST) {
            let field = directives::field_of(&key, DELETE_FROM_LIST, StrategicError::PrimitiveList)?;
            let field = if field.is_empty() { &key } else { field };
            delete_from_list(&mut original, field, value, schema)?;
        } else {
            merge_field(&mut original, key, value, schema)?;
        }
    }
    Ok(original)
}

fn delete_from_list(
    original: &mut Map<String, Value>,
    field: &str,
    patch: Value,
    schema: PatchSchema<'_>,
) -> Result<(), StrategicError> {
    match (original.get_mut(field), patch) {
        (Some(_), Value::Null) => {
            original.remove(field);
        }
        (Some(Value::Array(items)), Value::Array(patch)) => {
            let list = schema.list(field)?;
            *items = merge_list(std::mem::take(items), patch, list, ListMode::Delete)?.items;
        }
        (Some(Value::Object(fields)), Value::Object(patch)) => {
            *fields = merge_map(std::mem::take(fields), patch, schema.field(field)?)?;
        }
        // Not a list on both sides: of two scalars of one kind the patch wins, anything else is left alone.
        (Some(value), patch) if std::mem::discriminant(value) == std::mem::discriminant(&patch) => {
            *value = patch
        }
        _ => {}
    }
    Ok(())
}

fn merge_field(
    original: &mut Map<String, Value>,
    name: String,
    patch: Value,
    schema: PatchSchema<'_>,
) -> Result<(), StrategicError> {
    let merged = match (original.remove(&name), patch) {
        (_, Value::Null) => return Ok(()),
        (Some(Value::Object(original)), Value::Object(patch)) => {
            Some(Value::Object(merge_map(original, patch, schema.field(&name)?)?))
        }
        (Some(Value::Array(original)), Value::Array(patch)) => {
            let list = schema.list(&name)?;
            let items = if list.merges {
                merge_list(original, patch, list, ListMode::Merge)?.items
            } else {
                patch
            };
            Some(Value::Array(items))
        }
        (_, mut patch) => {
            directives::without_nulls(&mut patch);
            directives::without_directives(patch)
        }
    };
    if let Some(merged) = merged {
        original.insert(name, merged);
    }
    Ok(())
}
