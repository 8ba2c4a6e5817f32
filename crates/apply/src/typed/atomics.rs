//! Finds atomic lists and maps in a value.

use cambium_schema::ListType;
use serde_json::Value;

use super::shape::{Shape, Type};

/// The paths of all atomic lists and maps in a value.
pub fn atomics(ty: Type<'_>, value: &Value) -> Vec<String> {
    let mut found = Vec::new();
    visit(ty, value, "", &mut found);
    found
}

fn visit(ty: Type<'_>, value: &Value, path: &str, found: &mut Vec<String>) {
    match (ty.shape_of(value), value) {
        (Shape::Map(map), Value::Object(fields)) => {
            if map.is_atomic() {
                found.push(path.to_owned());
            }
            for (name, value) in fields {
                // The entries of a map have no names of their own, and are not looked into.
                if let Some(ty) = map.named(name) {
                    visit(ty, value, &format!("{path}.{name}"), found);
                }
            }
        }
        (Shape::List(list), Value::Array(items)) => {
            if *list.list_type() == ListType::Atomic {
                found.push(path.to_owned());
            }
            for (index, item) in items.iter().enumerate() {
                visit(list.item(), item, &format!("{path}[{index}]"), found);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::typed::fixtures::sorts;

    #[test]
    fn whole_lists_and_maps_are_found() {
        let schema = sorts();
        let paths = |spec: Value| atomics(Type::object(&schema), &json!({ "spec": spec }));
        assert!(
            paths(json!({"replicas": 1, "labels": {"a": "b"}, "tags": ["x"], "containers": [{"name": "a"}]}))
                .is_empty()
        );
        assert_eq!(
            paths(json!({"args": ["a"], "selector": {"a": "b"}})),
            [".spec.args", ".spec.selector"]
        );
        assert_eq!(paths(json!({"anything": [1]})), [".spec.anything"]);
    }
}
