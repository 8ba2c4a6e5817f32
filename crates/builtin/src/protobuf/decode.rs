//! Protobuf to JSON.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use cambium_schema::{Additional, JsonType, Property, Schema};
use jiff::Timestamp;
use serde_json::{Map, Number, Value, json};

use super::special::Special;
use super::wire::{Reader, Wire};
use super::{MAGIC, MAX_DEPTH, path_below, same_outer};
use crate::constructors::STRING;
use crate::generated::ZEROS;
use crate::generated::apiextensions_v1::JSON_SCHEMA_PROPS;
use crate::lookup::kind_schema;

/// The largest object that is decoded, as upstream limits request bodies.
pub const MAX_BYTES: usize = 3 * 1024 * 1024;

/// A decoding error.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// The first bytes are not those of a Kubernetes protobuf object.
    #[error("the body does not start with the prefix of a Kubernetes protobuf object")]
    NotProtobuf,
    /// The object is too large.
    #[error("the body is larger than {MAX_BYTES} bytes")]
    TooLarge,
    /// Messages are nested too deeply.
    #[error("the body nests messages more than {MAX_DEPTH} levels deep")]
    TooDeep,
    /// The bytes end in the middle of a value.
    #[error("the body ends in the middle of a value")]
    Truncated,
    /// The bytes are not protobuf.
    #[error("the body is not protobuf")]
    Malformed,
    /// A value is not of its field's type.
    #[error("field {field} of {name} has a value of another type")]
    WrongType {
        /// The message's type.
        name: &'static str,
        /// The field.
        field: String,
    },
    /// The kind is not built in.
    #[error("{kind} of {api_version:?} has no protobuf form here; send JSON")]
    UnknownKind {
        /// The object's `apiVersion`.
        api_version: String,
        /// The object's `kind`.
        kind: String,
    },
}

/// Decodes an object with its envelope to JSON.
pub fn decode(bytes: &[u8]) -> Result<Value, DecodeError> {
    if bytes.len() > MAX_BYTES {
        return Err(DecodeError::TooLarge);
    }
    envelope(bytes, 0)
}

/// Decodes a message of a known type, without an envelope.
pub fn decode_message(bytes: &[u8], schema: &Schema) -> Result<Value, DecodeError> {
    let mut map = Map::new();
    Message {
        schema,
        level: 0,
        outer: 0,
        depth: 0,
    }
    .read(bytes, &mut map)?;
    Ok(Value::Object(map))
}

fn envelope(bytes: &[u8], depth: usize) -> Result<Value, DecodeError> {
    let body = bytes.strip_prefix(MAGIC).ok_or(DecodeError::NotProtobuf)?;
    let (mut api_version, mut kind, mut raw) = (String::new(), String::new(), &[][..]);
    let mut reader = Reader(body);
    while let Some(field) = reader.next()? {
        match field {
            (1, Wire::Bytes(type_meta)) => {
                let mut reader = Reader(type_meta);
                while let Some(field) = reader.next()? {
                    match field {
                        (1, Wire::Bytes(text)) => api_version = lossy(text),
                        (2, Wire::Bytes(text)) => kind = lossy(text),
                        _ => {}
                    }
                }
            }
            (2, Wire::Bytes(bytes)) => raw = bytes,
            _ => {}
        }
    }
    let (group, version) = api_version.split_once('/').unwrap_or(("", &api_version));
    let Some(schema) = kind_schema(group, version, &kind) else {
        return Err(DecodeError::UnknownKind { api_version, kind });
    };
    let mut map = Map::new();
    Message {
        schema,
        level: 0,
        outer: 0,
        depth,
    }
    .read(raw, &mut map)?;
    map.insert("apiVersion".to_owned(), json!(api_version));
    map.insert("kind".to_owned(), json!(kind));
    Ok(Value::Object(map))
}

/// A message being decoded: a type, or a part of it that Go inlines in JSON.
#[derive(Clone, Copy)]
struct Message<'a> {
    schema: &'a Schema,
    /// The number of enclosing inlined messages.
    level: u32,
    /// Their field numbers.
    outer: u32,
    depth: usize,
}

impl Message<'_> {
    fn read(self, bytes: &[u8], map: &mut Map<String, Value>) -> Result<(), DecodeError> {
        if self.depth > MAX_DEPTH {
            return Err(DecodeError::TooDeep);
        }
        let mut reader = Reader(bytes);
        while let Some((number, wire)) = reader.next()? {
            let Some((property, inlined)) = self.find(number) else {
                continue;
            };
            if !inlined {
                self.read_field(property, wire, map)?;
                continue;
            }
            let Wire::Bytes(bytes) = wire else {
                return Err(self.wrong_type(property));
            };
            let outer = self.outer | number << (8 * self.level);
            Self {
                level: self.level + 1,
                outer,
                depth: self.depth + 1,
                ..self
            }
            .read(bytes, map)?;
        }
        Ok(())
    }

    /// The field with a number; or any field of the inlined message with that number.
    fn find(&self, number: u32) -> Option<(&Property, bool)> {
        let candidates = self.schema.properties.iter();
        candidates
            .filter(|property| property.number != 0 && same_outer(property.number, self.outer, self.level))
            .map(|property| (property, path_below(property.number, self.level)))
            .find(|(_, path)| path & 0xff == number)
            .map(|(property, path)| (property, path > 0xff))
    }

    fn read_field(
        self,
        property: &Property,
        wire: Wire<'_>,
        map: &mut Map<String, Value>,
    ) -> Result<(), DecodeError> {
        let name = property.name.as_ref();
        let old = map.remove(name);
        let value =
            value(&property.schema, wire, old, self.depth + 1)?.ok_or_else(|| self.wrong_type(property))?;
        let plain = Special::of(&property.schema).is_none();
        let means_nothing =
            value.is_null() || (plain && is_zero(&value) && !keeps_zero(self.schema.name, name));
        if !means_nothing {
            map.insert(name.to_owned(), value);
        }
        Ok(())
    }

    fn wrong_type(&self, property: &Property) -> DecodeError {
        DecodeError::WrongType {
            name: self.schema.name,
            field: property.name.to_string(),
        }
    }
}

/// Reads one occurrence of a field; `None` when the wire type does not match.
fn value(
    schema: &Schema,
    wire: Wire<'_>,
    old: Option<Value>,
    depth: usize,
) -> Result<Option<Value>, DecodeError> {
    if schema.json_type == JsonType::Array {
        return list(schema, wire, old, depth);
    }
    let bytes = match (schema.json_type, wire) {
        (JsonType::Integer, Wire::Varint(number)) => {
            let wide = number.cast_signed();
            return Ok(Some(if schema.format == "int32" {
                json!(wide as i32)
            } else {
                json!(wide)
            }));
        }
        (JsonType::Boolean, Wire::Varint(number)) => return Ok(Some(json!(number != 0))),
        (JsonType::Number, Wire::Fixed64(bits)) => {
            return Ok(Number::from_f64(f64::from_bits(bits)).map(Value::Number));
        }
        (JsonType::Integer | JsonType::Boolean | JsonType::Number, _) => return Ok(None),
        (_, Wire::Bytes(bytes)) => bytes,
        _ => return Ok(None),
    };
    if let Some(special) = Special::of(schema) {
        return special_value(special, bytes, depth).map(Some);
    }
    match (schema.json_type, &schema.additional) {
        (JsonType::String, _) if schema.format == "byte" => Ok(Some(Value::String(STANDARD.encode(bytes)))),
        (JsonType::String, _) => Ok(Some(Value::String(lossy(bytes)))),
        (JsonType::Object, Additional::Schema(values)) => map_entry(values, bytes, old, depth).map(Some),
        (JsonType::Object, _) => {
            // A message that comes in two parts is one message.
            let mut map = if let Some(Value::Object(map)) = old {
                map
            } else {
                Map::new()
            };
            Message {
                schema,
                level: 0,
                outer: 0,
                depth,
            }
            .read(bytes, &mut map)?;
            Ok(Some(Value::Object(map)))
        }
        _ => Ok(None),
    }
}

/// Adds one item, or a packed run of numbers.
fn list(
    schema: &Schema,
    wire: Wire<'_>,
    old: Option<Value>,
    depth: usize,
) -> Result<Option<Value>, DecodeError> {
    let Some(item_schema) = &schema.items else {
        return Ok(None);
    };
    let mut items = if let Some(Value::Array(items)) = old {
        items
    } else {
        Vec::new()
    };
    match (item_schema.json_type, wire) {
        (JsonType::Integer | JsonType::Boolean, Wire::Bytes(packed)) => {
            let mut reader = Reader(packed);
            while !reader.0.is_empty() {
                items.extend(value(item_schema, Wire::Varint(reader.varint()?), None, depth)?);
            }
        }
        (JsonType::Array, Wire::Bytes(bytes)) => items.push(wrapped_list(item_schema, bytes, depth)?),
        _ => match value(item_schema, wire, None, depth)? {
            Some(item) => items.push(item),
            None => return Ok(None),
        },
    }
    Ok(Some(Value::Array(items)))
}

/// A list wrapped in a message.
fn wrapped_list(schema: &Schema, bytes: &[u8], depth: usize) -> Result<Value, DecodeError> {
    if depth > MAX_DEPTH {
        return Err(DecodeError::TooDeep);
    }
    let mut items = json!([]);
    let mut reader = Reader(bytes);
    while let Some((number, wire)) = reader.next()? {
        if number == 1 {
            items = list(schema, wire, Some(items), depth + 1)?.ok_or(DecodeError::Malformed)?;
        }
    }
    Ok(items)
}

fn map_entry(values: &Schema, bytes: &[u8], old: Option<Value>, depth: usize) -> Result<Value, DecodeError> {
    if depth > MAX_DEPTH {
        return Err(DecodeError::TooDeep);
    }
    let mut map = if let Some(Value::Object(map)) = old {
        map
    } else {
        Map::new()
    };
    let (mut key, mut found) = (String::new(), None);
    let mut reader = Reader(bytes);
    while let Some((number, wire)) = reader.next()? {
        match (number, wire) {
            (1, Wire::Bytes(text)) => key = lossy(text),
            (2, Wire::Bytes(bytes)) if values.json_type == JsonType::Array => {
                found = Some(wrapped_list(values, bytes, depth + 1)?);
            }
            (2, wire) => found = Some(value(values, wire, None, depth + 1)?.ok_or(DecodeError::Malformed)?),
            _ => {}
        }
    }
    let found = match found {
        Some(found) => found,
        None => absent(values, depth)?,
    };
    map.insert(key, found);
    Ok(Value::Object(map))
}

/// The value of a map entry without one: protobuf omits empty values.
fn absent(schema: &Schema, depth: usize) -> Result<Value, DecodeError> {
    Ok(match schema.json_type {
        JsonType::Array => json!([]),
        JsonType::Integer => json!(0),
        JsonType::Number => json!(0.0),
        JsonType::Boolean => json!(false),
        _ => value(schema, Wire::Bytes(&[]), None, depth + 1)?.unwrap_or_default(),
    })
}

fn special_value(special: Special, bytes: &[u8], depth: usize) -> Result<Value, DecodeError> {
    if depth > MAX_DEPTH {
        return Err(DecodeError::TooDeep);
    }
    // All of them are small messages; which of the numbers are used differs.
    let (mut numbers, mut texts) = ([0_i64; 4], [None; 4]);
    let mut schemas = Vec::new();
    let mut strings = Vec::new();
    let mut reader = Reader(bytes);
    while let Some((number, wire)) = reader.next()? {
        match (special, number, wire) {
            (Special::SchemaOrArray, 1 | 2, Wire::Bytes(bytes))
            | (Special::SchemaOrBool, 2, Wire::Bytes(bytes))
            | (Special::SchemaOrStrings, 1, Wire::Bytes(bytes)) => {
                let schema = value(&JSON_SCHEMA_PROPS, Wire::Bytes(bytes), None, depth + 1)?;
                schemas.push((number, schema.unwrap_or_default()));
            }
            (Special::SchemaOrStrings, 2, Wire::Bytes(text)) => {
                strings.extend(value(&STRING, Wire::Bytes(text), None, depth)?);
            }
            (_, 1..=3, Wire::Varint(value)) => numbers[number as usize] = value.cast_signed(),
            (_, 1..=3, Wire::Bytes(text)) => texts[number as usize] = Some(text),
            _ => {}
        }
    }
    Ok(match special {
        Special::Time | Special::MicroTime if bytes.is_empty() => Value::Null,
        Special::Time => json!(time(numbers[1], 0)?.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()),
        Special::MicroTime => {
            json!(
                time(numbers[1], numbers[2])?
                    .strftime("%Y-%m-%dT%H:%M:%S.%6fZ")
                    .to_string()
            )
        }
        Special::Quantity => match lossy(texts[1].unwrap_or_default()) {
            empty if empty.is_empty() => json!("0"),
            text => json!(text),
        },
        Special::IntOrString if numbers[1] == 0 => json!(numbers[2] as i32),
        Special::IntOrString => json!(lossy(texts[3].unwrap_or_default())),
        Special::RawJson => match texts[1].unwrap_or_default() {
            [] => Value::Null,
            raw if raw.starts_with(MAGIC) => envelope(raw, depth + 1)?,
            raw => serde_json::from_slice(raw).map_err(|_| DecodeError::Malformed)?,
        },
        Special::SchemaOrArray if schemas.iter().any(|(number, _)| *number == 2) => schemas
            .into_iter()
            .filter(|(number, _)| *number == 2)
            .map(|(_, schema)| schema)
            .collect(),
        Special::SchemaOrStrings if !strings.is_empty() => Value::Array(strings),
        Special::SchemaOrBool if schemas.is_empty() => json!(numbers[1] != 0),
        Special::SchemaOrArray | Special::SchemaOrStrings | Special::SchemaOrBool => {
            schemas.pop().map(|(_, schema)| schema).unwrap_or_default()
        }
    })
}

fn time(seconds: i64, nanoseconds: i64) -> Result<Timestamp, DecodeError> {
    let nanoseconds = i32::try_from(nanoseconds).map_err(|_| DecodeError::Malformed)?;
    Timestamp::new(seconds, nanoseconds).map_err(|_| DecodeError::Malformed)
}

fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn is_zero(value: &Value) -> bool {
    match value {
        Value::Bool(value) => !value,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Null | Value::Array(_) | Value::Object(_) => false,
    }
}

fn keeps_zero(name: &str, field: &str) -> bool {
    let found = ZEROS.binary_search_by(|(of, _)| (*of).cmp(name));
    found.is_ok_and(|index| ZEROS[index].1.contains(&field))
}
