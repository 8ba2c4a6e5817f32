//! Values: defaults, null, formats.

use serde_json::Value;

use super::{Found, Wanted};
use crate::path::Path;

pub(super) fn defaults(old: Option<&Value>, new: Option<&Value>, at: &Path, found: &mut Found) {
    match (old, new) {
        (None, Some(new)) if is_zero(new) => found.add("R56", at, format!("default {new}")),
        (None, Some(new)) => found.break_with("R26", at, format!("default {new}"), [Wanted::Absent]),
        (Some(old), None) => found.break_with("R28", at, format!("default {old} removed"), [Wanted::Absent]),
        (Some(old), Some(new)) if old != new => {
            found.break_with("R27", at, format!("{old} -> {new}"), [Wanted::Absent]);
        }
        _ => {}
    }
}

/// Whether a typed client reads the same of an absent field.
fn is_zero(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(value) => !value,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
    }
}

pub(super) fn nullable(old: bool, new: bool, at: &Path, found: &mut Found) {
    match (old, new) {
        (false, true) => found.add("R25", at, "nullable"),
        (true, false) => found.break_with("R53", at, "no longer nullable", [Wanted::Value(Value::Null)]),
        _ => {}
    }
}

pub(super) fn format(old: &str, new: &str, at: &Path, found: &mut Found) {
    if old == new {
        return;
    }
    let what = format!("{} -> {}", or_none(old), or_none(new));
    match (is_checked(old), is_checked(new)) {
        // Formats that the API server does not know, or does not check, are documentation.
        (false, false) => found.add("R40", at, format!("format {what}")),
        (_, true) if (old, new) == ("int32", "int64") => found.add("R55", at, format!("format {what}")),
        (_, true) => found.break_with(
            "R24",
            at,
            format!("format {what}"),
            ["a b", "2147483648"]
                .into_iter()
                .map(|text| match text.parse::<i64>() {
                    Ok(number) => Wanted::Value(number.into()),
                    Err(_) => Wanted::Value(text.into()),
                }),
        ),
        (true, false) => found.add("R55", at, format!("format {what}")),
    }
}

fn or_none(text: &str) -> &str {
    if text.is_empty() { "none" } else { text }
}

/// Whether the API server refuses values for this format. `password` is known and checks nothing; every integer is an `int64`.
fn is_checked(format: &str) -> bool {
    match format {
        "" | "password" | "float" | "double" | "int64" => false,
        "int32" => true,
        format => cambium_schema::check_format(format, "").is_some(),
    }
}
