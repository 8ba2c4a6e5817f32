//! A total order on JSON values, in which `1` and `1.0` are the same.

use std::cmp::Ordering;

use serde_json::{Map, Number, Value};

/// Orders two values: numbers, strings, booleans, lists, objects, null.
pub(crate) fn compare_values(left: &Value, right: &Value) -> Ordering {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => compare_numbers(left, right),
        (Value::String(left), Value::String(right)) => left.cmp(right),
        (Value::Bool(left), Value::Bool(right)) => left.cmp(right),
        (Value::Array(left), Value::Array(right)) => compare_lists(left, right),
        (Value::Object(left), Value::Object(right)) => compare_maps(left, right),
        (left, right) => rank(left).cmp(&rank(right)),
    }
}

/// Whether two values are equal, numbers by value.
pub(crate) fn equal_values(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => compare_numbers(left, right).is_eq(),
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len()
                && left
                    .iter()
                    .zip(right)
                    .all(|(left, right)| equal_values(left, right))
        }
        (Value::Object(left), Value::Object(right)) => {
            left.len() == right.len()
                && left
                    .iter()
                    .all(|(name, left)| right.get(name).is_some_and(|right| equal_values(left, right)))
        }
        (left, right) => left == right,
    }
}

/// A value as printed in a path: `"x"`, `80`, `[1,2]`.
pub(crate) fn show_value(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(flag) => flag.to_string(),
        Value::Number(number) => cambium_go_text::plain_number(number),
        Value::String(text) => cambium_go_text::quote(text),
        Value::Array(items) => format!("[{}]", items.iter().map(show_value).collect::<Vec<_>>().join(",")),
        Value::Object(fields) => fields
            .iter()
            .map(|(name, value)| format!("{name}={}", show_value(value)))
            .collect::<String>(),
    }
}

fn rank(value: &Value) -> u8 {
    match value {
        Value::Number(_) => 0,
        Value::String(_) => 1,
        Value::Bool(_) => 2,
        Value::Array(_) => 3,
        Value::Object(_) => 4,
        Value::Null => 5,
    }
}

fn compare_numbers(left: &Number, right: &Number) -> Ordering {
    match (left.as_i64(), right.as_i64()) {
        (Some(left), Some(right)) => left.cmp(&right),
        _ => {
            let float = |number: &Number| number.as_f64().unwrap_or_default();
            float(left).partial_cmp(&float(right)).unwrap_or(Ordering::Equal)
        }
    }
}

fn compare_lists(left: &[Value], right: &[Value]) -> Ordering {
    let by_item = left
        .iter()
        .zip(right)
        .map(|(left, right)| compare_values(left, right));
    by_item
        .into_iter()
        .find(|order| order.is_ne())
        .unwrap_or_else(|| left.len().cmp(&right.len()))
}

fn compare_maps(left: &Map<String, Value>, right: &Map<String, Value>) -> Ordering {
    let by_field = left
        .iter()
        .zip(right)
        .map(|((left_name, left), (right_name, right))| {
            left_name
                .cmp(right_name)
                .then_with(|| compare_values(left, right))
        });
    by_field
        .into_iter()
        .find(|order| order.is_ne())
        .unwrap_or_else(|| left.len().cmp(&right.len()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn numbers_are_equal_by_what_they_count() {
        assert!(equal_values(&json!({"a": [1, 2.0]}), &json!({"a": [1.0, 2]})));
        assert!(!equal_values(&json!({"a": 1}), &json!({"a": 1, "b": null})));
        assert!(!equal_values(&json!({"a": 1}), &json!({"b": 1})));
    }

    #[test]
    fn kinds_are_ordered() {
        let values = [
            json!(-1),
            json!(2.5),
            json!(3),
            json!("a"),
            json!("b"),
            json!(false),
            json!(true),
            json!([1]),
            json!([1, 0]),
            json!({"a": 1}),
            json!(null),
        ];
        for (index, left) in values.iter().enumerate() {
            for (other, right) in values.iter().enumerate() {
                assert_eq!(compare_values(left, right), index.cmp(&other), "{left} {right}");
            }
        }
    }
}
