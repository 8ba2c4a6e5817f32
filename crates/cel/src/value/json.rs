//! Converts JSON to values, typed by a schema or dynamic.

use std::sync::Arc;

use cambium_schema::{JsonType, Schema};
use serde_json::Value as Json;

use super::{List, Map, Text, Value};
use crate::declare::Place;
use crate::error::{Result, failed, failure};
use crate::functions::{decode_base64, parse_date, parse_format_duration, parse_format_timestamp};

impl<'a> Value<'a> {
    /// A dynamic value.
    pub(crate) fn dynamic(json: &'a Json) -> Self {
        match json {
            Json::Null => Self::Null,
            Json::Bool(value) => Self::Bool(*value),
            Json::Number(number) => match (number.as_i64(), number.as_u64()) {
                (Some(value), _) => Self::Int(value),
                (None, Some(value)) => Self::Double(value as f64),
                (None, None) => Self::Double(number.as_f64().unwrap_or(f64::NAN)),
            },
            Json::String(text) => Self::String(Text::Borrowed(text)),
            Json::Array(items) => Self::List(List::json(items, None)),
            Json::Object(fields) => Self::Map(Map::Json { fields, schema: None }),
        }
    }

    /// A value typed by its schema.
    pub(crate) fn typed(json: &'a Json, schema: &'a Schema, place: Place) -> Result<Self> {
        if json.is_null() {
            return match schema.nullable {
                true => Ok(Self::Null),
                false => failed("invalid data, got null for schema with nullable=false"),
            };
        }
        let value = match (schema.json_type, json) {
            (JsonType::IntOrString, Json::String(text)) => Self::String(Text::Borrowed(text)),
            (JsonType::IntOrString, Json::Number(number)) if number.is_i64() => {
                Self::Int(number.as_i64().unwrap_or_default())
            }
            (JsonType::IntOrString, _) => {
                return failed("invalid data, expected XIntOrString value to be either a string or integer");
            }
            (JsonType::Object, Json::Object(fields)) => Self::Map(Map::Json {
                fields,
                schema: Some((schema, place)),
            }),
            (JsonType::Object, _) => {
                return failed("invalid data, expected a map for the provided schema with type=object");
            }
            (JsonType::Array, Json::Array(items)) if schema.items.is_some() => {
                Self::List(List::json(items, Some(schema)))
            }
            (JsonType::Array, Json::Array(_)) => {
                return failed("invalid array type, expected Items with a non-empty Schema");
            }
            (JsonType::Array, _) => {
                return failed("invalid data, expected an array for the provided schema with type=array");
            }
            (JsonType::String, Json::String(text)) => return formatted(text, &schema.format),
            (JsonType::String, _) => return unexpected("string", json),
            (JsonType::Number, Json::Number(number)) => Self::Double(number.as_f64().unwrap_or(f64::NAN)),
            (JsonType::Number, _) => return unexpected("float", json),
            (JsonType::Integer, Json::Number(number)) if number.is_i64() => {
                Self::Int(number.as_i64().unwrap_or_default())
            }
            // A whole number may be written with a fraction of zero.
            (JsonType::Integer, Json::Number(number)) => match number.as_f64() {
                Some(value) if value.fract() == 0.0 && value.abs() < 9.2e18 => Self::Int(value as i64),
                _ => return unexpected("int", json),
            },
            (JsonType::Integer, _) => return unexpected("int", json),
            (JsonType::Boolean, Json::Bool(value)) => Self::Bool(*value),
            (JsonType::Boolean, _) => return unexpected("bool", json),
            (JsonType::Any, _) if schema.preserve_unknown_fields => Self::Unknown(json),
            (JsonType::Any, _) => {
                return failed(
                    "invalid type, expected object, array, number, integer, boolean or string, or no type with \
                     x-kubernetes-int-or-string or x-kubernetes-preserve-unknown-fields is true, got ",
                );
            }
        };
        Ok(value)
    }
}

fn formatted<'a>(text: &'a str, format: &str) -> Result<Value<'a>> {
    match format {
        "duration" => match parse_format_duration(text) {
            Some(duration) => Ok(Value::Duration(duration)),
            None => failure(format!(
                "Invalid duration {text}: unable to parse {text} as duration"
            )),
        },
        "date" => match parse_date(text) {
            Some(time) => Ok(Value::Timestamp(time)),
            None => failure(format!(
                "Invalid date formatted string {text}: parsing time {text:?} as \"2006-01-02\""
            )),
        },
        "date-time" => match parse_format_timestamp(text) {
            Some(time) => Ok(Value::Timestamp(time)),
            None => failure(format!(
                "Invalid date-time formatted string {text}: parsing time {text:?}"
            )),
        },
        "byte" => match decode_base64(text) {
            Some(bytes) => Ok(Value::Bytes(Arc::from(bytes))),
            None => failure(format!(
                "Invalid byte formatted string {text}: illegal base64 data"
            )),
        },
        _ => Ok(Value::String(Text::Borrowed(text))),
    }
}

fn unexpected<T>(wanted: &str, json: &Json) -> Result<T> {
    let got = match json {
        Json::Null => "<nil>",
        Json::Bool(_) => "bool",
        Json::Number(number) if number.is_f64() => "float64",
        Json::Number(_) => "int64",
        Json::String(_) => "string",
        Json::Array(_) => "[]interface {}",
        Json::Object(_) => "map[string]interface {}",
    };
    failure(format!("invalid data, expected {wanted}, got {got}"))
}
