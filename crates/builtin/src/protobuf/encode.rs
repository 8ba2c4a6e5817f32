//! JSON to protobuf.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use cambium_schema::{Additional, JsonType, Schema};
use jiff::Timestamp;
use serde_json::{Map, Value};

use super::special::Special;
use super::wire::{put_bytes, put_fixed64, put_varint};
use super::{MAGIC, MAX_DEPTH, path_below, same_outer};
use crate::generated::apiextensions_v1::JSON_SCHEMA_PROPS;

/// An encoding error.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EncodeError {
    /// A value does not match the schema.
    #[error("a value at {path} does not fit {expected:?}")]
    WrongType {
        /// The path of the value.
        path: String,
        /// The type in the schema.
        expected: JsonType,
    },
    /// Objects are nested too deeply.
    #[error("the object nests more than {MAX_DEPTH} levels deep")]
    TooDeep,
}

/// Encodes an object with its envelope; unknown fields are omitted.
pub fn encode(object: &Value, schema: &Schema) -> Result<Vec<u8>, EncodeError> {
    let raw = encode_message(object, schema)?;
    let text = |field: &str| object[field].as_str().unwrap_or_default().as_bytes();
    let mut type_meta = Vec::new();
    put_bytes(&mut type_meta, 1, text("apiVersion"));
    put_bytes(&mut type_meta, 2, text("kind"));
    let mut out = MAGIC.to_vec();
    put_bytes(&mut out, 1, &type_meta);
    put_bytes(&mut out, 2, &raw);
    // Content encoding and content type: Go writes both, empty.
    put_bytes(&mut out, 3, b"");
    put_bytes(&mut out, 4, b"");
    Ok(out)
}

/// A length-delimited watch event of this type with an encoded object.
pub fn watch_frame(type_: &str, object: &[u8]) -> Vec<u8> {
    let mut raw = Vec::with_capacity(object.len() + 8);
    put_bytes(&mut raw, 1, object);
    let mut event = Vec::with_capacity(raw.len() + 24);
    put_bytes(&mut event, 1, type_.as_bytes());
    put_bytes(&mut event, 2, &raw);
    // No object is that large.
    let length = u32::try_from(event.len()).unwrap_or(u32::MAX);
    [&length.to_be_bytes()[..], &event].concat()
}

/// Encodes an object as a message, without an envelope.
pub fn encode_message(object: &Value, schema: &Schema) -> Result<Vec<u8>, EncodeError> {
    let mut out = Vec::new();
    message(&mut out, object, schema, 0)?;
    Ok(out)
}

fn message(out: &mut Vec<u8>, value: &Value, schema: &Schema, depth: usize) -> Result<(), EncodeError> {
    let map = value.as_object().ok_or_else(|| wrong_type(schema))?;
    fields(out, map, schema, Inlined { level: 0, outer: 0 }, depth)
}

/// The fields of a message that Go inlines in JSON.
#[derive(Clone, Copy)]
struct Inlined {
    level: u32,
    outer: u32,
}

fn fields(
    out: &mut Vec<u8>,
    map: &Map<String, Value>,
    schema: &Schema,
    inlined: Inlined,
    depth: usize,
) -> Result<(), EncodeError> {
    if depth > MAX_DEPTH {
        return Err(EncodeError::TooDeep);
    }
    let Inlined { level, outer } = inlined;
    let mut present: Vec<_> = schema
        .properties
        .iter()
        .filter(|property| property.number != 0 && same_outer(property.number, outer, level))
        .filter_map(|property| {
            let value = map.get(property.name.as_ref()).filter(|value| !value.is_null())?;
            Some((path_below(property.number, level), property, value))
        })
        .collect();
    present.sort_by_key(|(path, ..)| (path & 0xff, *path));
    let mut done = 0;
    for (path, property, value) in present {
        let number = path & 0xff;
        if path <= 0xff {
            field(out, number, value, &property.schema, depth + 1)
                .map_err(|error| error.below(&property.name))?;
        } else if number != done {
            done = number;
            let mut nested = Vec::new();
            let inner = Inlined {
                level: level + 1,
                outer: outer | number << (8 * level),
            };
            fields(&mut nested, map, schema, inner, depth + 1)?;
            put_bytes(out, number, &nested);
        }
    }
    Ok(())
}

fn field(
    out: &mut Vec<u8>,
    number: u32,
    value: &Value,
    schema: &Schema,
    depth: usize,
) -> Result<(), EncodeError> {
    if depth > MAX_DEPTH {
        return Err(EncodeError::TooDeep);
    }
    if let Some(special) = Special::of(schema) {
        let mut nested = Vec::new();
        special_value(&mut nested, value, special, depth)?.ok_or_else(|| wrong_type(schema))?;
        put_bytes(out, number, &nested);
        return Ok(());
    }
    match (schema.json_type, value, &schema.additional) {
        (JsonType::String, Value::String(text), _) if schema.format == "byte" => {
            put_bytes(
                out,
                number,
                &STANDARD.decode(text).map_err(|_| wrong_type(schema))?,
            );
        }
        (JsonType::String, Value::String(text), _) => put_bytes(out, number, text.as_bytes()),
        (JsonType::Boolean, Value::Bool(truth), _) => put_varint(out, number, u64::from(*truth)),
        (JsonType::Integer, Value::Number(_), _) => {
            let integer = value.as_i64().ok_or_else(|| wrong_type(schema))?;
            put_varint(out, number, integer.cast_unsigned());
        }
        (JsonType::Number, Value::Number(_), _) => {
            let float = value.as_f64().ok_or_else(|| wrong_type(schema))?;
            put_fixed64(out, number, float.to_bits());
        }
        (JsonType::Array, Value::Array(values), _) => items(out, number, values, schema, depth)?,
        (JsonType::Object, Value::Object(map), Additional::Schema(values)) => {
            let mut entries: Vec<_> = map.iter().collect();
            entries.sort_by_key(|(key, _)| *key);
            for (key, value) in entries {
                let mut entry = Vec::new();
                put_bytes(&mut entry, 1, key.as_bytes());
                nested(&mut entry, 2, value, values, depth + 1).map_err(|error| error.below(key))?;
                put_bytes(out, number, &entry);
            }
        }
        (JsonType::Object, Value::Object(_), _) => {
            let mut nested = Vec::new();
            message(&mut nested, value, schema, depth + 1)?;
            put_bytes(out, number, &nested);
        }
        _ => return Err(wrong_type(schema)),
    }
    Ok(())
}

fn items(
    out: &mut Vec<u8>,
    number: u32,
    values: &[Value],
    schema: &Schema,
    depth: usize,
) -> Result<(), EncodeError> {
    let Some(item) = &schema.items else {
        return Err(wrong_type(schema));
    };
    for (index, value) in values.iter().enumerate() {
        nested(out, number, value, item, depth + 1).map_err(|error| error.below(&index.to_string()))?;
    }
    Ok(())
}

/// A value inside a list or a map: a list there is wrapped in a message.
fn nested(
    out: &mut Vec<u8>,
    number: u32,
    value: &Value,
    schema: &Schema,
    depth: usize,
) -> Result<(), EncodeError> {
    match (schema.json_type, value) {
        (JsonType::Array, Value::Array(values)) => {
            let mut wrapped = Vec::new();
            items(&mut wrapped, 1, values, schema, depth)?;
            put_bytes(out, number, &wrapped);
            Ok(())
        }
        // Where protobuf cannot encode absence, Go encodes null as the zero value.
        (JsonType::Integer | JsonType::Boolean, Value::Null) => {
            put_varint(out, number, 0);
            Ok(())
        }
        (JsonType::Number, Value::Null) => {
            put_fixed64(out, number, 0);
            Ok(())
        }
        (_, Value::Null) => {
            put_bytes(out, number, b"");
            Ok(())
        }
        _ => field(out, number, value, schema, depth),
    }
}

/// Writes the message of a special type; `None` when the value does not match.
fn special_value(
    out: &mut Vec<u8>,
    value: &Value,
    special: Special,
    depth: usize,
) -> Result<Option<()>, EncodeError> {
    match (special, value) {
        (Special::Time | Special::MicroTime, Value::String(text)) => {
            let Ok(time) = text.parse::<Timestamp>() else {
                return Ok(None);
            };
            // A time before 1970 has its fraction counted forward from the second before.
            let second = time.as_nanosecond().div_euclid(1_000_000_000) as i64;
            let nanosecond = time.as_nanosecond().rem_euclid(1_000_000_000) as u64;
            put_varint(out, 1, second.cast_unsigned());
            let micros = nanosecond / 1000 * 1000;
            put_varint(out, 2, if special == Special::Time { 0 } else { micros });
        }
        (Special::Quantity, Value::String(text)) => put_bytes(out, 1, text.as_bytes()),
        (Special::Quantity, Value::Number(number)) => put_bytes(out, 1, number.to_string().as_bytes()),
        (Special::IntOrString, Value::Number(_)) => {
            let Some(number) = value.as_i64() else {
                return Ok(None);
            };
            put_varint(out, 1, 0);
            put_varint(out, 2, number.cast_unsigned());
            put_bytes(out, 3, b"");
        }
        (Special::IntOrString, Value::String(text)) => {
            put_varint(out, 1, 1);
            put_varint(out, 2, 0);
            put_bytes(out, 3, text.as_bytes());
        }
        // Go keeps no bytes for a null.
        (Special::RawJson | Special::Time | Special::MicroTime, Value::Null) => {}
        (Special::RawJson, value) => put_bytes(out, 1, value.to_string().as_bytes()),
        (Special::SchemaOrBool, Value::Bool(allows)) => put_varint(out, 1, u64::from(*allows)),
        (Special::SchemaOrBool, Value::Object(_)) => {
            put_varint(out, 1, 1);
            field(out, 2, value, &JSON_SCHEMA_PROPS, depth + 1)?;
        }
        (Special::SchemaOrArray | Special::SchemaOrStrings, Value::Object(_)) => {
            field(out, 1, value, &JSON_SCHEMA_PROPS, depth + 1)?;
        }
        (Special::SchemaOrArray, Value::Array(schemas)) => {
            for schema in schemas {
                field(out, 2, schema, &JSON_SCHEMA_PROPS, depth + 1)?;
            }
        }
        (Special::SchemaOrStrings, Value::Array(names)) => {
            for name in names {
                let Some(name) = name.as_str() else {
                    return Ok(None);
                };
                put_bytes(out, 2, name.as_bytes());
            }
        }
        _ => return Ok(None),
    }
    Ok(Some(()))
}

fn wrong_type(schema: &Schema) -> EncodeError {
    EncodeError::WrongType {
        path: String::new(),
        expected: schema.json_type,
    }
}

impl EncodeError {
    /// Prepends a field to the path of the error.
    fn below(self, field: &str) -> Self {
        match self {
            Self::WrongType { path, expected } => Self::WrongType {
                path: format!(".{field}{path}"),
                expected,
            },
            Self::TooDeep => Self::TooDeep,
        }
    }
}
