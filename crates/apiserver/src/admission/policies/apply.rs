//! `applyConfiguration` of mutating policies: merges a configuration into an object.

use cambium_apply::typed::{Duplicates, Type, atomics, merge, validate};
use cambium_schema::{JsonType, ListType, Schema};
use serde_json::{Value, json};

/// Merges a configuration into the object, as server-side apply does; it may not set parts of atomic fields.
pub(super) fn apply(schema: &Schema, object: &Value, mut configuration: Value) -> Result<Value, String> {
    let ty = Type::object(schema);
    complete_keys(schema, &mut configuration);
    for field in ["apiVersion", "kind"] {
        if let (Some(fields), Some(value)) = (configuration.as_object_mut(), object.get(field)) {
            fields.insert(field.to_owned(), value.clone());
        }
    }
    validate(ty, &configuration, Duplicates::Refused)
        .map_err(|why| format!("failed to convert patch object to typed object: {why}"))?;
    let whole = atomics(ty, &configuration);
    if !whole.is_empty() {
        return Err(format!(
            "invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: {}",
            whole.join(", ")
        ));
    }
    validate(ty, object, Duplicates::Allowed)
        .map_err(|why| format!("failed to convert original object to typed object: {why}"))?;
    merge(ty, object, &configuration).map_err(|why| format!("failed to merge patch: {why}"))
}

/// Defaults the keys of map-list items of built-in types (a container port without `protocol` is TCP); a key without a
/// default gets its zero value.
fn complete_keys(schema: &Schema, value: &mut Value) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                if let Some(schema) = schema.field(name) {
                    complete_keys(schema, value);
                }
            }
        }
        Value::Array(items) => {
            let Some(of_items) = &schema.items else { return };
            let keys: &[_] = match &schema.list {
                ListType::Map(keys) if !of_items.name.is_empty() => keys,
                _ => &[],
            };
            for item in items {
                for key in keys {
                    if let (Some(fields), Some(default)) = (item.as_object_mut(), key_default(of_items, key))
                    {
                        fields.entry(key.to_string()).or_insert(default);
                    }
                }
                complete_keys(of_items, item);
            }
        }
        _ => {}
    }
}

fn key_default(schema: &Schema, key: &str) -> Option<Value> {
    let declared = cambium_builtin::field_default(schema, key);
    declared.or_else(|| match schema.property(key)?.schema.json_type {
        JsonType::String => Some(json!("")),
        JsonType::Integer => Some(json!(0)),
        _ => None,
    })
}
