//! Validates the type of a value.

use serde_json::Value;

use super::Reading;
use super::number::{Numeric, is_whole};
use super::outcome::{Outcome, Problem};
use crate::formats;
use crate::model::{JsonType, Schema};

/// Whether a schema constrains a value's type.
pub(super) fn applies(schema: &Schema, reading: Reading) -> bool {
    !name(schema.json_type, reading).is_empty() || !format(schema, reading).is_empty()
}

/// The format, if it applies to the schema's type.
pub(super) fn format(schema: &Schema, reading: Reading) -> &str {
    let format = &*schema.format;
    if format.is_empty() || reading == Reading::AsWritten {
        return format;
    }
    let known = match schema.json_type {
        JsonType::Any | JsonType::String | JsonType::IntOrString => formats::check(format, "").is_some(),
        JsonType::Integer => matches!(format, "int32" | "int64"),
        JsonType::Number => matches!(format, "float" | "double"),
        JsonType::Object | JsonType::Array | JsonType::Boolean => false,
    };
    if known { format } else { "" }
}

/// The type's name in messages.
fn name(json_type: JsonType, reading: Reading) -> &'static str {
    match json_type {
        JsonType::IntOrString if reading == Reading::AsWritten => "",
        JsonType::Any => "",
        JsonType::Object => "object",
        JsonType::Array => "array",
        JsonType::String => "string",
        JsonType::Integer => "integer",
        JsonType::Number => "number",
        JsonType::Boolean => "boolean",
        JsonType::IntOrString => "integer,string",
    }
}

pub(super) fn check(schema: &Schema, value: &Value, reading: Reading, path: &str) -> Outcome {
    let expected = name(schema.json_type, reading);
    let (found, found_format) = match value {
        Value::Null => {
            return match expected.is_empty() || schema.nullable {
                true => good(),
                false => Problem::wrong_type(path, expected, "null").into(),
            };
        }
        Value::Bool(_) => ("boolean", ""),
        Value::String(_) => ("string", ""),
        Value::Array(_) => ("array", ""),
        Value::Object(_) => ("object", ""),
        Value::Number(number) => match Numeric::from(number) {
            Numeric::Integer(_) => ("integer", "int64"),
            Numeric::Float(_) => ("number", "float64"),
        },
    };
    let takes = |name: &str| expected.split(',').any(|expected| expected == name);
    let whole = value.as_f64().is_some_and(is_whole) && found == "number" && takes("integer");
    let widened = found == "integer" && takes("number");
    let fits = takes(found) || whole || widened;

    let format = format(schema, reading);
    let is_text_or_list = matches!(value, Value::String(_) | Value::Array(_));
    if !format.is_empty() && !is_text_or_list && !fits && found_format != format {
        return Problem::wrong_type(path, format, found_format).into();
    }
    // Upstream takes any list for a formatted string.
    let formatted = !format.is_empty() && is_text_or_list && !takes("number") && !takes("integer");
    match fits || formatted {
        true => good(),
        false => Problem::wrong_type(path, expected, found).into(),
    }
}

fn good() -> Outcome {
    Outcome {
        checks: 1,
        ..Outcome::default()
    }
}
