//! JSON values as Go's `fmt` prints them.

use cambium_go_text::{plain_number, quote, syntax_number};
use serde_json::Value;

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
        Value::Number(number) => out.push_str(&plain_number(number)),
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
        Value::Number(number) => syntax_number(number),
        Value::String(text) => quote(text),
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(go_syntax).collect();
            format!("[]interface {{}}{{{}}}", items.join(", "))
        }
        Value::Object(fields) => {
            let fields: Vec<String> = fields
                .iter()
                .map(|(name, value)| format!("{}:{}", quote(name), go_syntax(value)))
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
    }
}
