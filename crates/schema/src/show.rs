//! Formats values as Kubernetes prints them in messages.

use cambium_go_text::{json, plain_number, quote};
use serde_json::Value;

/// A value in a message: strings quoted, scalars plain, others as JSON.
pub(crate) fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => quote(text),
        Value::Number(number) => plain_number(number),
        other => json(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn values_are_shown_as_go_shows_them() {
        let cases = [
            (json!(null), "null"),
            (json!(true), "true"),
            (json!(7), "7"),
            (json!(1.0), "1"),
            (json!(1.5), "1.5"),
            (json!(1e-7), "1e-07"),
            (json!(1_234_567.0), "1.234567e+06"),
            (json!(123_456.0), "123456"),
            (json!("a\u{0}\"\u{200b}é"), "\"a\\x00\\\"\\u200bé\""),
            (
                json!({"b": [1.0, "<"], "a": 1e-7}),
                "{\"a\":1e-7,\"b\":[1,\"\\u003c\"]}",
            ),
        ];
        for (value, expected) in cases {
            assert_eq!(shown(&value), expected);
        }
    }
}
