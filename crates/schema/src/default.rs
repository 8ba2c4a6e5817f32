//! Defaulting, and nulls that count as absent.

use serde_json::Value;

use crate::model::{Additional, Child, Schema};

/// Sets the defaults of absent fields, also inside lists and maps. A `null` in a field that is not nullable counts as
/// absent.
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

/// Removes `null` fields that are neither nullable nor have a default.
///
/// Applied to request bodies, before [`default`].
pub fn drop_nulls(schema: &Schema, value: &mut Value) {
    match value {
        Value::Object(fields) => {
            // As upstream, a null with a default stays: `default` replaces it. One without a default is dropped, so that clients
            // that send null for unset fields pass validation.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::field::FieldPath;
    use crate::parse::parse;
    use serde_json::json;

    #[test]
    fn absent_values_get_their_defaults() {
        let item = json!({"type": "object", "properties": {"a": {"type": "integer", "default": 1}}});
        let raw = json!({"type": "object", "properties": {
            "deep": {"type": "object", "default": {}, "properties": {"x": {"type": "string", "default": "y"}}},
            "list": {"type": "array", "items": item},
            "table": {"type": "object", "additionalProperties": item},
            "nullable": {"type": "string", "nullable": true, "default": "n"},
            "plain": {"type": "string", "default": "p"},
            "none": {"type": "string"},
        }});
        let schema = parse(&raw, &FieldPath::new("schema")).expect("the test's schema is valid");
        let mut value = json!({
            "list": [{}, {"a": 2}], "table": {"k": {"a": null}}, "nullable": null, "plain": null, "none": null, "other": null,
        });
        drop_nulls(&schema, &mut value);
        default(&schema, &mut value);
        assert_eq!(
            value,
            json!({
                "deep": {"x": "y"}, "list": [{"a": 1}, {"a": 2}], "table": {"k": {"a": 1}}, "nullable": null,
                "plain": "p", "other": null,
            })
        );
    }
}
