//! Digests of objects, independent of how their JSON is written.

use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};

/// The SHA-256 of an object, in hexadecimal. The order of fields and `1.0` or `1` make no difference.
pub(crate) fn digest(fields: &Map<String, Value>) -> String {
    let mut hasher = Sha256::new();
    feed_fields(fields, &mut hasher);
    hasher
        .finalize()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

fn feed(value: &Value, hasher: &mut Sha256) {
    match value {
        Value::Null | Value::Bool(_) => hasher.update(value.to_string()),
        Value::Number(number) => match number.as_f64() {
            // The API server reads and writes whole floats as integers.
            Some(float) if number.is_f64() && float.fract() == 0.0 && float.abs() < 9e15 => {
                hasher.update(format!("{float:.0}"));
            }
            _ => hasher.update(number.to_string()),
        },
        Value::String(text) => feed_text(text, hasher),
        Value::Array(items) => {
            hasher.update([b'[']);
            for item in items {
                feed(item, hasher);
                hasher.update([b',']);
            }
            hasher.update([b']']);
        }
        Value::Object(fields) => feed_fields(fields, hasher),
    }
}

fn feed_fields(fields: &Map<String, Value>, hasher: &mut Sha256) {
    let mut fields: Vec<_> = fields.iter().collect();
    fields.sort_by_key(|(name, _)| *name);
    hasher.update([b'{']);
    for (name, value) in fields {
        feed_text(name, hasher);
        feed(value, hasher);
        hasher.update([b',']);
    }
    hasher.update([b'}']);
}

/// Length first, so that no text can look like the end of it.
fn feed_text(text: &str, hasher: &mut Sha256) {
    hasher.update(format!("\"{}:", text.len()));
    hasher.update(text);
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn order_and_spelling_of_numbers_make_no_difference() {
        let read = |text: &str| digest(&serde_json::from_str::<Map<String, Value>>(text).unwrap());
        assert_eq!(read(r#"{"a":1,"b":[2.0]}"#), read(r#"{"b":[2],"a":1.0}"#));
    }

    #[test]
    fn everything_else_does() {
        let values = [
            json!(null),
            json!(false),
            json!(0),
            json!("0"),
            json!(""),
            json!([]),
            json!({}),
            json!([[]]),
            json!([0, 1]),
            json!([1, 0]),
            json!(["a", "b"]),
            json!(["ab"]),
            json!({"a": null}),
            json!({"a": {}}),
            json!(1.5),
            json!(u64::MAX),
            json!(i64::MIN),
            json!(-0.5),
        ];
        let of = |value: &Value| digest(json!({"field": value}).as_object().unwrap());
        let digests: std::collections::BTreeSet<String> = values.iter().map(of).collect();
        assert_eq!(digests.len(), values.len());
    }
}
