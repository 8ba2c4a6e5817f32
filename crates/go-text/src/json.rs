//! JSON as `encoding/json` marshals it: sorted keys, no spaces, HTML characters escaped.

use std::fmt::Write;

use serde_json::{Map, Value};

use crate::number::json_float;

/// A value as Go marshals it.
pub fn json(value: &Value) -> String {
    let mut out = String::new();
    write(&mut out, value);
    out
}

fn write(out: &mut String, value: &Value) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(flag) => out.push_str(if *flag { "true" } else { "false" }),
        Value::Number(number) => match number.as_i64() {
            Some(whole) => out.push_str(&whole.to_string()),
            None => out.push_str(&json_float(number.as_f64().unwrap_or_default())),
        },
        Value::String(text) => write_json_text(out, text),
        Value::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write(out, item);
            }
            out.push(']');
        }
        Value::Object(fields) => write_fields(out, fields),
    }
}

fn write_fields(out: &mut String, fields: &Map<String, Value>) {
    out.push('{');
    // A map keeps its keys sorted, unless some dependency asks serde_json for the order of insertion.
    if fields.keys().is_sorted() {
        fields
            .iter()
            .enumerate()
            .for_each(|(index, field)| write_field(out, index, field));
    } else {
        let mut fields: Vec<_> = fields.iter().collect();
        fields.sort_unstable_by_key(|(name, _)| *name);
        fields
            .into_iter()
            .enumerate()
            .for_each(|(index, field)| write_field(out, index, field));
    }
    out.push('}');
}

fn write_field(out: &mut String, index: usize, (name, value): (&String, &Value)) {
    if index > 0 {
        out.push(',');
    }
    write_json_text(out, name);
    out.push(':');
    write(out, value);
}

/// A string as Go marshals it.
pub fn write_json_text(out: &mut String, text: &str) {
    out.push('"');
    match text.bytes().any(may_be_escaped) {
        false => out.push_str(text),
        true => text.chars().for_each(|character| write_character(out, character)),
    }
    out.push('"');
}

/// Whether a byte may need an escape; U+2028 and U+2029 share their first byte with other characters.
fn may_be_escaped(byte: u8) -> bool {
    byte < b' ' || matches!(byte, b'"' | b'\\' | b'<' | b'>' | b'&' | 0xe2)
}

fn write_character(out: &mut String, character: char) {
    match character {
        '"' => out.push_str("\\\""),
        '\\' => out.push_str("\\\\"),
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\t' => out.push_str("\\t"),
        '\u{8}' => out.push_str("\\b"),
        '\u{c}' => out.push_str("\\f"),
        '<' | '>' | '&' | '\0'..='\u{1f}' | '\u{2028}' | '\u{2029}' => {
            // Writing to a string cannot fail.
            let _ = write!(out, "\\u{:04x}", u32::from(character));
        }
        _ => out.push(character),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn values_are_marshalled_as_go_marshals_them() {
        for (value, expected) in [
            (json!(null), "null"),
            (json!([true, 1, 1.0, 1e21, 1e-9]), "[true,1,1,1e+21,1e-9]"),
            (
                json!({"b": [], "a<b": {"c": "é\n"}}),
                "{\"a\\u003cb\":{\"c\":\"é\\n\"},\"b\":[]}",
            ),
            (
                json!("\u{0}\u{7}\u{8}\u{b}\u{c}\r\t\u{1f}\"\\/\u{7f}\u{2028}\u{2029}\u{2030}&>"),
                "\"\\u0000\\u0007\\b\\u000b\\f\\r\\t\\u001f\\\"\\\\/\u{7f}\\u2028\\u2029\u{2030}\\u0026\\u003e\"",
            ),
        ] {
            assert_eq!(json(&value), expected);
        }
    }
}
