//! Values as Go's `fmt` prints them, because clients know upstream's messages by heart.

use std::fmt::Write as _;

use serde_json::{Number, Value};

/// A string in double quotes, escaped as `%q` does.
pub(crate) fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{7}' => out.push_str("\\a"),
            '\u{8}' => out.push_str("\\b"),
            '\u{b}' => out.push_str("\\v"),
            '\u{c}' => out.push_str("\\f"),
            control if control.is_ascii_control() => {
                let _ = write!(out, "\\x{:02x}", u32::from(control));
            }
            control if control.is_control() => {
                let _ = write!(out, "\\u{:04x}", u32::from(control));
            }
            plain => out.push(plain),
        }
    }
    out.push('"');
    out
}

/// A number as `%v` prints an `int64` or a `float64`.
pub(crate) fn number(number: &Number) -> String {
    match (number.as_i64(), number.as_f64()) {
        (Some(whole), _) => whole.to_string(),
        (None, Some(float)) => self::float(float),
        (None, None) => number.to_string(),
    }
}

fn float(float: f64) -> String {
    let magnitude = float.abs();
    if magnitude != 0.0 && !(1e-4..1e21).contains(&magnitude) {
        let text = format!("{float:e}");
        let Some((mantissa, exponent)) = text.split_once('e') else {
            return text;
        };
        let (sign, digits) = exponent
            .strip_prefix('-')
            .map_or(('+', exponent), |digits| ('-', digits));
        return format!("{mantissa}e{sign}{digits:0>2}");
    }
    float.to_string()
}

/// A value as `%v` prints it: `map[a:1 b:[x y]]`.
pub(crate) fn plain(value: &Value) -> String {
    let mut out = String::new();
    write_plain(value, &mut out);
    out
}

fn write_plain(value: &Value, out: &mut String) {
    match value {
        Value::Null => out.push_str("<nil>"),
        Value::Bool(flag) => out.push_str(if *flag { "true" } else { "false" }),
        Value::Number(number) => out.push_str(&self::number(number)),
        Value::String(text) => out.push_str(text),
        Value::Array(items) => write_separated(items.iter(), out, write_plain),
        Value::Object(fields) => {
            out.push_str("map");
            write_separated(fields.iter(), out, |(name, value), out| {
                out.push_str(name);
                out.push(':');
                write_plain(value, out);
            });
        }
    }
}

fn write_separated<T>(items: impl Iterator<Item = T>, out: &mut String, write: impl Fn(T, &mut String)) {
    out.push('[');
    for (index, item) in items.enumerate() {
        if index > 0 {
            out.push(' ');
        }
        write(item, out);
    }
    out.push(']');
}

/// A value as `%#v` prints it: `map[string]interface {}{"a":1}`.
pub(crate) fn go_syntax(value: &Value) -> String {
    match value {
        Value::Null => "interface {}(nil)".to_owned(),
        Value::Bool(flag) => flag.to_string(),
        Value::Number(number) => self::number(number),
        Value::String(text) => quoted(text),
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(go_syntax).collect();
            format!("[]interface {{}}{{{}}}", items.join(", "))
        }
        Value::Object(fields) => {
            let fields: Vec<String> = fields
                .iter()
                .map(|(name, value)| format!("{}:{}", quoted(name), go_syntax(value)))
                .collect();
            format!("map[string]interface {{}}{{{}}}", fields.join(", "))
        }
    }
}

/// The Go type that a JSON value decodes to, as `%T` prints it.
pub(crate) fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "%!s(<nil>)",
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_i64() => "int64",
        Value::Number(_) => "float64",
        Value::String(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
    }
}

/// A value as Go's `encoding/json` writes it: characters that HTML could trip over are escaped.
pub(crate) fn json(value: &Value) -> String {
    let mut out = String::new();
    write_json(value, &mut out);
    out
}

fn write_json(value: &Value, out: &mut String) {
    match value {
        Value::Null | Value::Bool(_) => {
            let _ = write!(out, "{value}");
        }
        Value::Number(number) => out.push_str(&json_number(number)),
        Value::String(text) => write_json_string(text, out),
        Value::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write_json(item, out);
            }
            out.push(']');
        }
        Value::Object(fields) => {
            out.push('{');
            for (index, (name, value)) in fields.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write_json_string(name, out);
                out.push(':');
                write_json(value, out);
            }
            out.push('}');
        }
    }
}

pub(crate) fn write_json_string(text: &str, out: &mut String) {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b" -_./:".contains(&byte);
    if text.bytes().all(plain) {
        let _ = write!(out, "\"{text}\"");
        return;
    }
    for character in Value::from(text).to_string().chars() {
        match character {
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                let _ = write!(out, "\\u{:04x}", u32::from(character));
            }
            plain => out.push(plain),
        }
    }
}

fn json_number(number: &Number) -> String {
    match (number.as_i64(), number.as_f64()) {
        (None, Some(float)) if (1e-6..1e21).contains(&float.abs()) || float == 0.0 => float.to_string(),
        (None, Some(float)) => {
            let text = format!("{float:e}");
            if text.contains("e-") {
                text
            } else {
                text.replace('e', "e+")
            }
        }
        _ => number.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn prints_what_go_prints() {
        for (value, expected_plain, expected_syntax) in [
            (json!(null), "<nil>", "interface {}(nil)"),
            (json!(8080), "8080", "8080"),
            (json!(1.5), "1.5", "1.5"),
            (json!(1e21), "1e+21", "1e+21"),
            (json!(1e-7), "1e-07", "1e-07"),
            (json!("a\"b\n"), "a\"b\n", r#""a\"b\n""#),
            (json!([1, "x"]), "[1 x]", r#"[]interface {}{1, "x"}"#),
            (
                json!({"b": {}, "a": true}),
                "map[a:true b:map[]]",
                r#"map[string]interface {}{"a":true, "b":map[string]interface {}{}}"#,
            ),
        ] {
            assert_eq!(plain(&value), expected_plain);
            assert_eq!(go_syntax(&value), expected_syntax);
        }
        assert_eq!(
            json(&json!({"a<b": [1.0, 1e21, 1e-9, "é\n", null]})),
            "{\"a\\u003cb\":[1,1e+21,1e-9,\"é\\n\",null]}"
        );
        assert_eq!(quoted("\u{1}\u{7f}\u{85}é"), r#""\x01\x7f\u0085é""#);
    }
}
