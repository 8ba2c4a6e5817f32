//! Defaults: what absent values become, and nulls that stand for absence.

use serde_json::Value;

use crate::model::{Additional, Child, Schema};

/// Fills in the defaults of absent fields, deep inside lists and maps too. An explicit `null` where
/// null is not a value counts as absent.
pub fn default(schema: &Schema, value: &mut Value) {
    match value {
        Value::Object(fields) => {
            for property in schema.properties.iter() {
                let Some(default) = &property.schema.default else {
                    continue;
                };
                let absent = fields
                    .get(&*property.name)
                    .is_none_or(|field| replaceable(field, &property.schema));
                if absent {
                    fields.insert(property.name.to_string(), default.clone());
                }
            }
            for (name, field) in fields.iter_mut() {
                match (schema.property(name), &schema.additional) {
                    (Some(property), _) => default(&property.schema, field),
                    (None, Additional::Schema(child)) => default_element(child, field),
                    (None, _) => {}
                }
            }
        }
        Value::Array(items) => {
            let Some(schema) = &schema.items else { return };
            for item in items {
                default_element(schema, item);
            }
        }
        _ => {}
    }
}

/// Removes fields whose `null` is neither a value nor replaced by a default.
///
/// Done to what a client sends, before [`default`].
pub fn drop_nulls(schema: &Schema, value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|name, field| match schema.field(name) {
                Some(schema) if replaceable(field, schema) => schema.default.is_some(),
                Some(schema) => {
                    drop_nulls(schema, field);
                    true
                }
                None => true,
            });
        }
        Value::Array(items) => {
            let Some(schema) = &schema.items else { return };
            for item in items {
                drop_nulls(schema, item);
            }
        }
        _ => {}
    }
}

fn default_element(schema: &Child, element: &mut Value) {
    if replaceable(element, schema)
        && let Some(default) = &schema.default
    {
        *element = default.clone();
    }
    default(schema, element);
}

fn replaceable(value: &Value, schema: &Schema) -> bool {
    value.is_null() && !schema.nullable
}
