//! Values the way Kubernetes shows them in messages: Go's quoting, Go's numbers, Go's JSON.

use std::fmt::Write;
use std::sync::LazyLock;

use regex::Regex;
use serde_json::{Number, Value};

/// A value in an error: strings quoted, simple values plain, the rest as JSON.
pub(crate) fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => quote(text),
        Value::Number(number) => plain_number(number),
        other => json(other),
    }
}

/// A string in double quotes, with escapes for what does not print.
pub(crate) fn quote(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\u{7}' => out.push_str("\\a"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{b}' => out.push_str("\\v"),
            _ if prints(character) => out.push(character),
            _ => escape(&mut out, character),
        }
    }
    out.push('"');
    out
}

/// Whether a character is shown as itself: letters, marks, numbers, punctuation, symbols and the space.
pub(crate) fn prints(character: char) -> bool {
    static VISIBLE: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r"^[\p{L}\p{M}\p{N}\p{P}\p{S}]$").ok());
    match character {
        ' '..='~' => true,
        _ if character.is_ascii() => false,
        _ => VISIBLE
            .as_ref()
            .is_some_and(|visible| visible.is_match(character.encode_utf8(&mut [0; 4]))),
    }
}

fn escape(out: &mut String, character: char) {
    let code = u32::from(character);
    // Writing to a string cannot fail.
    let _ = match code {
        0..0x80 => write!(out, "\\x{code:02x}"),
        0x80..0x1_0000 => write!(out, "\\u{code:04x}"),
        _ => write!(out, "\\U{code:08x}"),
    };
}

/// A number as `%v` prints it.
pub(crate) fn plain_number(number: &Number) -> String {
    match number.as_i64() {
        Some(integer) => integer.to_string(),
        None => plain_float(number.as_f64().unwrap_or_default()),
    }
}

/// A float as `%v` prints it: shortest digits, an exponent from a million up.
pub(crate) fn plain_float(value: f64) -> String {
    float(value, -4, 6, 2)
}

/// A float as JSON has it: shortest digits, an exponent only where it is needed.
fn json_float(value: f64) -> String {
    float(value, -6, 21, 1)
}

fn float(value: f64, lowest: i32, highest: i32, exponent_digits: usize) -> String {
    let scientific = format!("{value:e}");
    let Some((digits, exponent)) = scientific.split_once('e') else {
        return scientific;
    };
    let exponent: i32 = exponent.parse().unwrap_or_default();
    if value == 0.0 || (lowest <= exponent && exponent < highest) {
        return format!("{value}");
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{digits}e{sign}{:0exponent_digits$}", exponent.unsigned_abs())
}

/// A value as Go marshals it: sorted keys, no spaces, `<`, `>` and `&` escaped.
pub(crate) fn json(value: &Value) -> String {
    let mut out = String::new();
    write_json(&mut out, value);
    out
}

fn write_json(out: &mut String, value: &Value) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(flag) => out.push_str(if *flag { "true" } else { "false" }),
        Value::Number(number) => match number.as_i64() {
            Some(integer) => out.push_str(&integer.to_string()),
            None => out.push_str(&json_float(number.as_f64().unwrap_or_default())),
        },
        Value::String(text) => write_json_text(out, text),
        Value::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write_json(out, item);
            }
            out.push(']');
        }
        Value::Object(fields) => {
            let mut fields: Vec<_> = fields.iter().collect();
            fields.sort_by_key(|(name, _)| *name);
            out.push('{');
            for (index, (name, field)) in fields.into_iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write_json_text(out, name);
                out.push(':');
                write_json(out, field);
            }
            out.push('}');
        }
    }
}

fn write_json_text(out: &mut String, text: &str) {
    out.push('"');
    for character in text.chars() {
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
    out.push('"');
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
