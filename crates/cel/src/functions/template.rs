//! `"%s is %d".format([name, age])`.

use std::fmt::Write;

use super::convert::find;
use crate::error::{EvaluationError, Result, failure};
use crate::meter;
use crate::types::Type;
use crate::value::{List, Value};

/// The default precision.
const PRECISION: usize = 6;

/// The maximum precision.
const MOST_PRECISION: usize = 1000;

/// Formats a template.
pub(super) fn format<'a>(template: &str, values: &List<'a>) -> Result<Value<'a>> {
    let mut text = String::with_capacity(template.len());
    let mut rest = template.chars();
    let mut used = 0;
    while let Some(character) = rest.next() {
        meter::fits(text.len())?;
        if character != '%' {
            text.push(character);
            continue;
        }
        if rest.as_str().starts_with('%') {
            rest.next();
            text.push('%');
            continue;
        }
        if rest.as_str().is_empty() {
            return failure("unexpected end of string".to_owned());
        }
        let Some(value) = values.get(used) else {
            return failure(format!("index {used} out of range"));
        };
        used += 1;
        let (precision, verb) = match clause(&mut rest) {
            Ok(clause) => clause,
            Err(cause) => return failure(cause),
        };
        match filled(verb, precision, &value?) {
            Ok(filled) => {
                meter::fits(text.len() + filled.len())?;
                text.push_str(&filled);
            }
            Err(EvaluationError::Failed(cause)) => {
                return failure(format!("error during formatting: {cause}"));
            }
            Err(error) => return Err(error),
        }
    }
    Ok(Value::text(text))
}

/// Checks a template against argument types; returns the error message and the index of the argument.
pub(crate) fn check(template: &str, types: &[&Type]) -> Option<(String, Option<usize>)> {
    let mut rest = template.chars();
    let mut used = 0;
    while let Some(character) = rest.next() {
        if character != '%' {
            continue;
        }
        if rest.as_str().starts_with('%') {
            rest.next();
            continue;
        }
        if rest.as_str().is_empty() {
            return Some(("unexpected end of string".to_owned(), None));
        }
        let Some(ty) = types.get(used) else {
            return Some((format!("index {used} out of range"), None));
        };
        used += 1;
        let verb = match clause(&mut rest) {
            Ok((_, verb)) => verb,
            Err(cause) => return Some((cause, None)),
        };
        let fits = match (verb, ty) {
            (_, Type::Dyn) => true,
            ('s', Type::Object(_) | Type::Named(_) | Type::Optional(_)) => false,
            ('s', _) => true,
            ('d' | 'o', ty) => matches!(ty, Type::Int | Type::Uint),
            ('f' | 'e', ty) => matches!(ty, Type::Double | Type::String),
            ('b', ty) => matches!(ty, Type::Int | Type::Uint | Type::Bool),
            (_, ty) => matches!(ty, Type::Int | Type::Uint | Type::String | Type::Bytes),
        };
        if !fits {
            let cause = format!(
                "error during formatting: {}, was given {}",
                wanted(verb),
                type_text(ty)
            );
            return Some((cause, Some(used - 1)));
        }
    }
    let given = types.len();
    (given > used).then(|| {
        let message = format!("too many arguments supplied to string.format (expected {used}, got {given})");
        (message, None)
    })
}

fn wanted(verb: char) -> &'static str {
    match verb {
        'd' => "decimal clause can only be used on integers",
        'f' => "fixed-point clause can only be used on doubles",
        'e' => "scientific clause can only be used on doubles",
        'b' => "only integers and bools can be formatted as binary",
        'o' => "octal clause can only be used on integers",
        'x' | 'X' => "only integers, byte buffers, and strings can be formatted as hex",
        _ => {
            "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, and \
             timestamps"
        }
    }
}

fn clause(rest: &mut std::str::Chars<'_>) -> std::result::Result<(Option<usize>, char), String> {
    let parse_error = |cause: &str| format!("could not parse formatting clause: {cause}");
    let mut precision = None;
    if rest.as_str().starts_with('.') {
        rest.next();
        let digits = rest.as_str();
        let after = digits.trim_start_matches(|digit: char| digit.is_ascii_digit());
        if after.is_empty() {
            return Err(parse_error(
                "error while parsing precision: could not find end of precision specifier",
            ));
        }
        let digits = &digits[..digits.len() - after.len()];
        precision = Some(digits.parse().unwrap_or(0).min(MOST_PRECISION));
        *rest = after.chars();
    }
    match rest.next() {
        Some(verb @ ('s' | 'd' | 'f' | 'e' | 'b' | 'x' | 'X' | 'o')) => Ok((precision, verb)),
        Some(other) => Err(parse_error(&format!(
            "unrecognized formatting clause \"{other}\""
        ))),
        None => Err("unexpected end of string".to_owned()),
    }
}

fn filled(verb: char, precision: Option<usize>, value: &Value<'_>) -> Result<String> {
    let digits = precision.unwrap_or(PRECISION);
    let special = |text: &str| match text {
        "NaN" => Some("NaN"),
        "Infinity" => Some("∞"),
        "-Infinity" => Some("-∞"),
        _ => None,
    };
    let text = match (verb, value) {
        ('s', value) => plain(value)?,
        ('d', Value::Int(value)) => Some(value.to_string()),
        ('d', Value::Uint(value)) => Some(value.to_string()),
        ('f', Value::String(text)) => special(text).map(str::to_owned),
        ('f', Value::Double(value)) => Some(grouped(*value, digits)),
        // What should be the precision is the width, upstream, too.
        ('e', Value::String(text)) => special(text).map(|text| format!("{text:>digits$}")),
        ('e', Value::Double(value)) => Some(format!("{:>digits$}", scientific(*value))),
        ('b', Value::Int(value)) => Some(signed(*value, |value| format!("{value:b}"))),
        ('b', Value::Uint(value)) => Some(format!("{value:b}")),
        ('b', Value::Bool(value)) => Some(if *value { "1" } else { "0" }.to_owned()),
        ('o', Value::Int(value)) => Some(signed(*value, |value| format!("{value:o}"))),
        ('o', Value::Uint(value)) => Some(format!("{value:o}")),
        ('x' | 'X', value) => {
            let text = match value {
                Value::Int(value) => Some(signed(*value, |value| format!("{value:x}"))),
                Value::Uint(value) => Some(format!("{value:x}")),
                Value::String(text) => Some(hex(text.as_bytes())),
                Value::Bytes(bytes) => Some(hex(bytes)),
                _ => None,
            };
            text.map(|text| if verb == 'X' { text.to_uppercase() } else { text })
        }
        _ => None,
    };
    match text {
        Some(text) => Ok(text),
        None => failure(format!("{}, was given {}", wanted(verb), value.type_name())),
    }
}

fn signed(value: i64, show: fn(u64) -> String) -> String {
    let sign = if value < 0 { "-" } else { "" };
    format!("{sign}{}", show(value.unsigned_abs()))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// A value as text, if it can be.
fn plain(value: &Value<'_>) -> Result<Option<String>> {
    // One value may stand in a list many times, and in each other.
    meter::visit(1)?;
    let text = match value {
        Value::List(list) => {
            let mut items = Vec::new();
            let mut length = 0;
            for item in list.iter() {
                let item = nested(&item?)?;
                length += item.len() + size_of::<String>();
                meter::fits(length)?;
                items.push(item);
            }
            format!("[{}]", items.join(", "))
        }
        Value::Map(map) => {
            let mut entries = Vec::new();
            let mut length = 0;
            for key in map.keys() {
                let Some(value) = map.find(&key)? else { continue };
                let entry = format!("{}:{}", nested(&key)?, nested(&value)?);
                length += entry.len() + size_of::<String>();
                meter::fits(length)?;
                entries.push(entry);
            }
            entries.sort();
            format!("{{{}}}", entries.join(", "))
        }
        Value::Null => "null".to_owned(),
        Value::Type(ty) => type_text(ty),
        Value::Ip(_) | Value::Cidr(_) => return Ok(None),
        value => match find("string").map(|convert| convert(std::slice::from_ref(value))) {
            Some(Ok(Value::String(text))) => text.to_string(),
            _ => return Ok(None),
        },
    };
    if matches!(value, Value::List(_) | Value::Map(_)) {
        meter::claim(text.len())?;
    }
    Ok(Some(text))
}

fn nested(value: &Value<'_>) -> Result<String> {
    let Some(text) = plain(value)? else {
        return failure(format!("no formatting function for {}", value.type_name()));
    };
    Ok(match value {
        Value::String(_) => format!("{text:?}"),
        Value::Bytes(_) => format!("b{text:?}"),
        Value::Double(number) if number.is_finite() => format!("{number:.PRECISION$}"),
        Value::Double(_) => format!("{text:?}"),
        Value::Timestamp(_) => format!("timestamp({text:?})"),
        Value::Duration(_) => format!("duration({text:?})"),
        _ => text,
    })
}

/// With a comma after every three digits before the point.
fn grouped(value: f64, precision: usize) -> String {
    if !value.is_finite() {
        return if value.is_nan() {
            "NaN"
        } else if value > 0.0 {
            "∞"
        } else {
            "-∞"
        }
        .to_owned();
    }
    let text = format!("{value:.precision$}");
    let (whole, fraction) = match text.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (text.as_str(), None),
    };
    let (sign, digits) = match whole.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", whole),
    };
    let mut grouped = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index) % 3 == 0 {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    match fraction {
        Some(fraction) => format!("{sign}{grouped}.{fraction}"),
        None => format!("{sign}{grouped}"),
    }
}

/// Scientific notation; the precision is ignored, as upstream.
fn scientific(value: f64) -> String {
    if !value.is_finite() {
        return grouped(value, PRECISION);
    }
    let text = format!("{value:.PRECISION$e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let raised: String = format!("{:02}", exponent.abs())
        .chars()
        .map(|digit| match digit {
            '1' => '¹',
            '2' => '²',
            '3' => '³',
            digit => char::from_u32(0x2070 + digit.to_digit(10).unwrap_or(0)).unwrap_or(digit),
        })
        .collect();
    let sign = if exponent < 0 { "⁻" } else { "" };
    format!("{digits}×10{sign}{raised}")
}

/// The name of a type, without what it is made of.
fn type_text(ty: &Type) -> String {
    match ty {
        Type::List(_) => "list".to_owned(),
        Type::Map(_) => "map".to_owned(),
        Type::Optional(_) => "optional_type".to_owned(),
        Type::Null => "null_type".to_owned(),
        Type::Timestamp => "google.protobuf.Timestamp".to_owned(),
        Type::Duration => "google.protobuf.Duration".to_owned(),
        ty => ty.to_string(),
    }
}
