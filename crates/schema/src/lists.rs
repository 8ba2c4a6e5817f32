//! List sets and list maps: keys of items, and uniqueness.

use std::collections::HashMap;

use serde_json::{Map, Value};

use crate::field::{FieldError, FieldPath};
use crate::model::{Additional, ListType, Schema};
use cambium_go_text::json;

/// The key fields of an item of a list map, in declared order. A missing field has its default, or is omitted without
/// one; `None` when the list is not a list map or the item not an object.
pub fn list_map_key<'a>(list: &'a Schema, item: &'a Value) -> Option<Vec<(&'a str, &'a Value)>> {
    let ListType::Map(keys) = &list.list else {
        return None;
    };
    let fields = item.as_object()?;
    let default = |key: &str| list.items.as_ref()?.field(key)?.default.as_ref();
    let present = |key: &str| fields.get(key).filter(|value| !value.is_null());
    Some(
        keys.iter()
            .filter_map(|key| Some((&**key, present(key).or_else(|| default(key))?)))
            .collect(),
    )
}

/// Validates that sets and list maps have no duplicates, at any depth.
pub fn validate_lists(schema: &Schema, value: &Value, at: &FieldPath) -> Vec<FieldError> {
    let mut errors = Vec::new();
    check(schema, value, at, &mut errors);
    errors
}

fn check(schema: &Schema, value: &Value, at: &FieldPath, errors: &mut Vec<FieldError>) {
    match value {
        Value::Object(fields) => {
            if let Additional::Schema(child) = &schema.additional {
                for (name, field) in fields {
                    check_compound(child, field, || at.key(name), errors);
                }
            }
            for (name, field) in fields {
                if let Some(property) = schema.property(name) {
                    check_compound(&property.schema, field, || at.child(name), errors);
                }
            }
        }
        Value::Array(items) => {
            match &schema.list {
                ListType::Atomic => {}
                ListType::Set => {
                    for index in repeated(items.iter().map(identity)) {
                        errors.push(FieldError::duplicate(at.index(index), &items[index]));
                    }
                }
                ListType::Map(keys) => check_map(keys.iter().map(|key| &**key), items, at, errors),
            }
            if let Some(schema) = &schema.items {
                for (index, item) in items.iter().enumerate() {
                    check_compound(schema, item, || at.index(index), errors);
                }
            }
        }
        _ => {}
    }
}

/// Avoids building a path where there is nothing to check.
fn check_compound(
    schema: &Schema,
    value: &Value,
    at: impl FnOnce() -> FieldPath,
    errors: &mut Vec<FieldError>,
) {
    if value.is_object() || value.is_array() {
        check(schema, value, &at(), errors);
    }
}

fn check_map<'a>(
    keys: impl Iterator<Item = &'a str> + Clone,
    items: &[Value],
    at: &FieldPath,
    errors: &mut Vec<FieldError>,
) {
    let strange = items.iter().position(|item| !item.is_object() && !item.is_null());
    if let Some(index) = strange {
        let detail = "must be an object for an array of list-type map";
        return errors.push(FieldError::invalid(at.index(index), &items[index], detail));
    }
    let key_of = |item: &Value| -> Value {
        let field = |key: &str| Some((key.to_owned(), item.get(key)?.clone()));
        Value::Object(keys.clone().filter_map(field).collect::<Map<_, _>>())
    };
    let found: Vec<Value> = items.iter().map(key_of).collect();
    // A single key is compared by value, several keys as text: upstream distinguishes 1 from 1.0 only for the former.
    let single = keys.clone().count() == 1;
    let identify = |key: &Value| match key.as_object().and_then(|fields| fields.values().next()) {
        Some(value) if single => format!("={}", identity(value)),
        _ => identity(key),
    };
    for index in repeated(found.iter().map(identify)) {
        errors.push(FieldError::duplicate(at.index(index), &found[index]));
    }
}

/// Indices of second occurrences; further ones are not reported.
fn repeated(identities: impl Iterator<Item = String>) -> Vec<usize> {
    let mut seen = HashMap::new();
    let mut repeated = Vec::new();
    for (index, identity) in identities.enumerate() {
        let times = seen.entry(identity).or_insert(0);
        *times += 1;
        if *times == 2 {
            repeated.push(index);
        }
    }
    repeated
}

/// A text that identifies an item. A float is never equal to an integer.
fn identity(value: &Value) -> String {
    match value {
        Value::Number(number) if number.is_f64() => format!("{number}f"),
        other => json(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse::parse;
    use serde_json::json;

    #[test]
    fn keys_of_items_take_defaults() {
        let raw = json!({"type": "object", "properties": {"ports": {
            "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["port", "protocol"],
            "items": {"type": "object", "required": ["port"], "properties": {
                "port": {"type": "integer"}, "protocol": {"type": "string", "default": "TCP"},
            }},
        }}});
        let schema = parse(&raw, &FieldPath::new("schema")).expect("the test's schema is valid");
        let list = schema.field("ports").expect("the test's schema has ports");
        let key = |item: Value| list_map_key(list, &item).map(|key| json!(key));
        assert_eq!(
            key(json!({"port": 80})),
            Some(json!([["port", 80], ["protocol", "TCP"]]))
        );
        assert_eq!(
            key(json!({"protocol": "UDP"})),
            Some(json!([["protocol", "UDP"]]))
        );
        assert_eq!(key(json!(1)), None);
        let duplicates =
            json!({"ports": [{"port": 1, "protocol": "TCP"}, {"port": 1, "protocol": "TCP"}, null, null]});
        let errors = validate_lists(&schema, &duplicates, &FieldPath::root());
        let texts: Vec<_> = errors.iter().map(ToString::to_string).collect();
        assert_eq!(
            texts,
            [
                "ports[1]: Duplicate value: {\"port\":1,\"protocol\":\"TCP\"}",
                "ports[3]: Duplicate value: {}"
            ]
        );
    }
}
