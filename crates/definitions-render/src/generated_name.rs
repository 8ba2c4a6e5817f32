//! Generated names of objects that a template leaves unnamed, equal to KubeVela's, so that existing objects are found again.

use serde_json::Value;
use std::fmt::Write as _;

/// `<component>-<trait>-<hash>`, where the hash tells objects of different content apart.
pub(crate) fn generated_name(component: &str, kind: &str, object: &Value) -> String {
    let middle = if kind.is_empty() || kind == "dummy" {
        "trait".to_owned()
    } else {
        kind.to_lowercase()
    };
    let mut text = String::from("(unstructured.Unstructured){Object:(map[string]interface {})");
    dump(object, &mut text);
    text.push('}');
    format!(
        "{component}-{middle}-{}",
        safe(&fnv32a(text.as_bytes()).to_string())
    )
}

/// A value as Go's debugging printer writes it, which is what is hashed.
fn dump(value: &Value, out: &mut String) {
    // Writing to a string does not fail.
    let _ = match value {
        Value::Null => write!(out, "<nil>"),
        Value::Bool(value) => write!(out, "{value}"),
        Value::Number(number) if number.is_f64() => write!(
            out,
            "{}",
            cambium_go_text::plain_float(number.as_f64().unwrap_or(0.0))
        ),
        Value::Number(number) => write!(out, "{number}"),
        Value::String(text) => write!(out, "{text}"),
        Value::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(' ');
                }
                typed(item, out);
            }
            write!(out, "]")
        }
        Value::Object(fields) => {
            out.push_str("map[");
            let mut names: Vec<_> = fields.keys().collect();
            names.sort();
            for (index, name) in names.into_iter().enumerate() {
                if index > 0 {
                    out.push(' ');
                }
                out.push_str(name);
                out.push(':');
                typed(&fields[name], out);
            }
            write!(out, "]")
        }
    };
}

fn typed(value: &Value, out: &mut String) {
    out.push_str(match value {
        Value::Null => "(interface {})",
        Value::Bool(_) => "(bool)",
        Value::Number(number) if number.is_f64() => "(float64)",
        Value::Number(_) => "(int64)",
        Value::String(_) => "(string)",
        Value::Array(_) => "([]interface {})",
        Value::Object(_) => "(map[string]interface {})",
    });
    dump(value, out);
}

fn fnv32a(bytes: &[u8]) -> u32 {
    bytes.iter().fold(2_166_136_261, |hash, byte| {
        (hash ^ u32::from(*byte)).wrapping_mul(16_777_619)
    })
}

/// Digits as letters and digits that cannot form words.
fn safe(text: &str) -> String {
    const SAFE: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
    text.bytes()
        .map(|byte| char::from(SAFE[usize::from(byte) % SAFE.len()]))
        .collect()
}
