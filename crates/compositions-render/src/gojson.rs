//! JSON text as Go's encoder writes it.

use serde_json::Value;

use crate::number::{self, GoNumber};

/// `json.Marshal(value)`: sorted fields, `<`, `>` and `&` escaped, numbers in Go's form.
pub(crate) fn marshal(value: &Value) -> String {
    let mut text = String::new();
    write(&mut text, value);
    text
}

fn write(text: &mut String, value: &Value) {
    match value {
        Value::Null => text.push_str("null"),
        Value::Bool(value) => text.push_str(if *value { "true" } else { "false" }),
        Value::Number(number) => match number::of(number) {
            GoNumber::Int(integer) => text.push_str(&integer.to_string()),
            GoNumber::Float(float) => write_float(text, float),
        },
        Value::String(string) => write_string(text, string),
        Value::Array(elements) => {
            text.push('[');
            for (position, element) in elements.iter().enumerate() {
                if position > 0 {
                    text.push(',');
                }
                write(text, element);
            }
            text.push(']');
        }
        Value::Object(fields) => {
            let mut fields: Vec<_> = fields.iter().collect();
            fields.sort_unstable_by_key(|(name, _)| *name);
            text.push('{');
            for (position, (name, value)) in fields.into_iter().enumerate() {
                if position > 0 {
                    text.push(',');
                }
                write_string(text, name);
                text.push(':');
                write(text, value);
            }
            text.push('}');
        }
    }
}

fn write_float(text: &mut String, float: f64) {
    let size = float.abs();
    if size == 0.0 || (1e-6..1e21).contains(&size) {
        text.push_str(&float.to_string());
        return;
    }
    let exponent = format!("{float:e}");
    match exponent.split_once('e') {
        Some((digits, exponent)) if !exponent.starts_with('-') => {
            text.push_str(&format!("{digits}e+{exponent}"));
        }
        _ => text.push_str(&exponent),
    }
}

fn write_string(text: &mut String, string: &str) {
    text.push('"');
    for character in string.chars() {
        match character {
            '"' => text.push_str("\\\""),
            '\\' => text.push_str("\\\\"),
            '\u{8}' => text.push_str("\\b"),
            '\u{c}' => text.push_str("\\f"),
            '\n' => text.push_str("\\n"),
            '\r' => text.push_str("\\r"),
            '\t' => text.push_str("\\t"),
            '\0'..' ' | '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                text.push_str(&format!("\\u{:04x}", u32::from(character)));
            }
            _ => text.push(character),
        }
    }
    text.push('"');
}
