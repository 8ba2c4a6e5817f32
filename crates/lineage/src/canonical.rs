//! Canonical JSON (RFC 8785): one text for one value, whatever order and spelling it was written in.
//!
//! Integers beyond 2^53 keep all their digits, where the RFC would round them: a digest that calls two different contents
//! equal proves nothing. For every other document the text is the RFC's.

use serde_json::{Map, Number, Value};
use std::cmp::Ordering;
use std::fmt::Write;

/// The largest integer up to which every integer is its own double.
const SAFE: u64 = 1 << 53;

/// The canonical JSON of a value.
///
/// ```
/// let value = serde_json::json!({"b": [1.0, 1e21, "é\n"], "a": null});
/// assert_eq!(cambium_lineage::canonical(&value), r#"{"a":null,"b":[1,1e+21,"é\n"]}"#);
/// ```
pub fn canonical(value: &Value) -> String {
    let mut text = String::new();
    write_value(value, &mut text);
    text
}

fn write_value(value: &Value, text: &mut String) {
    match value {
        Value::Null => text.push_str("null"),
        Value::Bool(true) => text.push_str("true"),
        Value::Bool(false) => text.push_str("false"),
        Value::Number(number) => write_number(number, text),
        Value::String(string) => write_string(string, text),
        Value::Array(items) => write_array(items, text),
        Value::Object(fields) => write_object(fields, text),
    }
}

fn write_array(items: &[Value], text: &mut String) {
    text.push('[');
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            text.push(',');
        }
        write_value(item, text);
    }
    text.push(']');
}

fn write_object(fields: &Map<String, Value>, text: &mut String) {
    let mut sorted: Vec<(&String, &Value)> = fields.iter().collect();
    sorted.sort_by(|(left, _), (right, _)| utf16_order(left, right));
    text.push('{');
    for (index, (key, value)) in sorted.into_iter().enumerate() {
        if index > 0 {
            text.push(',');
        }
        write_string(key, text);
        text.push(':');
        write_value(value, text);
    }
    text.push('}');
}

/// Keys are ordered by UTF-16 code units, which differs from the order of code points above U+FFFF.
fn utf16_order(left: &str, right: &str) -> Ordering {
    if left.is_ascii() && right.is_ascii() {
        return left.cmp(right);
    }
    left.encode_utf16().cmp(right.encode_utf16())
}

fn write_string(string: &str, text: &mut String) {
    text.push('"');
    let mut rest = string;
    while let Some(plain) = rest.find(|character| matches!(character, '"' | '\\' | '\0'..='\u{1f}')) {
        text.push_str(&rest[..plain]);
        match rest.as_bytes()[plain] {
            b'"' => text.push_str("\\\""),
            b'\\' => text.push_str("\\\\"),
            8 => text.push_str("\\b"),
            b'\t' => text.push_str("\\t"),
            b'\n' => text.push_str("\\n"),
            12 => text.push_str("\\f"),
            b'\r' => text.push_str("\\r"),
            control => push(text, format_args!("\\u{control:04x}")),
        }
        rest = &rest[plain + 1..];
    }
    text.push_str(rest);
    text.push('"');
}

fn write_number(number: &Number, text: &mut String) {
    if let Some(integer) = number.as_i64() {
        push(text, format_args!("{integer}"));
    } else if let Some(integer) = number.as_u64() {
        push(text, format_args!("{integer}"));
    } else if let Some(float) = number.as_f64().filter(|float| float.is_finite()) {
        write_float(float, text);
    } else {
        // Only a build of serde_json with arbitrary precision has such numbers; their digits are kept as written.
        push(text, format_args!("{number}"));
    }
}

/// A double as ECMAScript's `Number::toString` writes it: the fewest digits that read back as the same double.
fn write_float(float: f64, text: &mut String) {
    if float == 0.0 {
        text.push('0');
        return;
    }
    if float < 0.0 {
        text.push('-');
    }
    let magnitude = float.abs();
    if magnitude.fract() == 0.0 && magnitude <= SAFE as f64 {
        push(text, format_args!("{}", magnitude as u64));
        return;
    }
    let (digits, point) = shortest(magnitude);
    let count = digits.len() as i32;
    match point {
        _ if count <= point && point <= 21 => {
            text.push_str(&digits);
            text.extend(std::iter::repeat_n('0', (point - count) as usize));
        }
        1..=21 => {
            let (whole, fraction) = digits.split_at(point as usize);
            push(text, format_args!("{whole}.{fraction}"));
        }
        -5..=0 => {
            text.push_str("0.");
            text.extend(std::iter::repeat_n('0', -point as usize));
            text.push_str(&digits);
        }
        _ => {
            let (first, rest) = digits.split_at(1);
            let dot = if rest.is_empty() { "" } else { "." };
            push(text, format_args!("{first}{dot}{rest}e{:+}", point - 1));
        }
    }
}

/// The shortest decimal digits of a positive double, and where the decimal point stands in them.
fn shortest(magnitude: f64) -> (String, i32) {
    let found = format!("{magnitude:e}");
    let precision = found
        .bytes()
        .take_while(|byte| *byte != b'e')
        .filter(u8::is_ascii_digit)
        .count()
        - 1;
    // Of two texts that are equally short and equally near, ECMAScript takes the even one, as rounding does.
    let rounded = format!("{magnitude:.precision$e}");
    let scientific = if rounded.parse() == Ok(magnitude) {
        rounded
    } else {
        found
    };
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let digits = mantissa.chars().filter(char::is_ascii_digit).collect();
    (digits, exponent.parse::<i32>().unwrap_or(0) + 1)
}

fn push(text: &mut String, arguments: std::fmt::Arguments<'_>) {
    text.write_fmt(arguments)
        .expect("writing to a string does not fail");
}
