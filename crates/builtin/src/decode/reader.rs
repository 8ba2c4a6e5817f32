//! The walk along the schema.

use cambium_schema::{Additional, JsonType, Schema};
use serde_json::{Map, Value};

use super::go::{self, Presence};
use super::scalar;
use crate::quantity::Quantity;

/// Maximum nesting: more than any object needs, and safe for the stack.
const MOST_DEPTH: usize = 200;

/// Reads a whole object.
pub(super) fn read(schema: &Schema, value: &mut Value) -> Result<(), String> {
    let mut reader = Reader {
        path: Vec::new(),
        depth: 0,
    };
    reader.value(schema, "", value)
}

struct Reader<'s> {
    /// The Go struct and field at each level, with the embedded structs.
    path: Vec<(&'s str, &'s str, &'s str)>,
    depth: usize,
}

impl<'s> Reader<'s> {
    /// Reads one value. `go_type` names its type where that does not follow from the schema.
    fn value(&mut self, schema: &'s Schema, go_type: &'s str, value: &mut Value) -> Result<(), String> {
        if self.depth > MOST_DEPTH {
            return Err("exceeded max depth".to_owned());
        }
        self.depth += 1;
        let result = self.value_here(schema, go_type, value);
        self.depth -= 1;
        result
    }

    fn value_here(&mut self, schema: &'s Schema, go_type: &'s str, value: &mut Value) -> Result<(), String> {
        match shape(schema) {
            Shape::Raw => Ok(()),
            Shape::Quantity => {
                let text = match &*value {
                    Value::String(text) => text.clone(),
                    other => other.to_string(),
                };
                let quantity = Quantity::parse(&text)?;
                *value = Value::String(quantity.to_string());
                Ok(())
            }
            Shape::Time(precision) => match value {
                Value::String(text) => {
                    *text = scalar::time(text, precision)?;
                    Ok(())
                }
                other => Err(self.misfit(other, "string")),
            },
            Shape::Bytes => self.bytes(schema, go_type, value),
            Shape::IntOrString => match value {
                Value::String(_) => Ok(()),
                Value::Number(number) if fits(number, "int32") => Ok(()),
                other => Err(self.misfit_number(other, "int32")),
            },
            Shape::Text => match value {
                Value::String(_) => Ok(()),
                other => Err(self.misfit(other, &named(schema, go_type))),
            },
            Shape::Boolean => match value {
                Value::Bool(_) => Ok(()),
                other => Err(self.misfit(other, &named(schema, go_type))),
            },
            Shape::Integer => match value {
                Value::Number(number) if fits(number, &schema.format) => Ok(()),
                other => Err(self.misfit_number(other, &named(schema, go_type))),
            },
            Shape::Number => match value {
                Value::Number(_) => Ok(()),
                other => Err(self.misfit(other, &named(schema, go_type))),
            },
            Shape::List(items) => match value {
                Value::Array(list) => {
                    let item_type = go_type.strip_prefix("[]").unwrap_or_default();
                    list.iter_mut().try_for_each(|item| match item {
                        Value::Null => self.zero_into(items, item),
                        item => self.value(items, item_type, item),
                    })
                }
                other => Err(self.misfit(other, &named(schema, go_type))),
            },
            Shape::Map(values) => match value {
                Value::Object(entries) => {
                    let value_type = go_type.split_once(']').map_or("", |(_, values)| values);
                    entries.values_mut().try_for_each(|entry| match entry {
                        Value::Null => self.zero_into(values, entry),
                        entry => self.value(values, value_type, entry),
                    })
                }
                other => Err(self.misfit(other, &named(schema, go_type))),
            },
            Shape::Struct => match value {
                Value::Object(fields) => self.fields(schema, fields),
                other => Err(self.misfit(other, &named(schema, go_type))),
            },
        }
    }

    fn fields(&mut self, schema: &'s Schema, fields: &mut Map<String, Value>) -> Result<(), String> {
        let listed = go::fields(schema);
        let struct_name = schema.name.rsplit('.').next().unwrap_or_default();
        let mut empty = Vec::new();
        for (name, value) in fields.iter_mut() {
            let Some(property) = schema.property(name) else {
                continue;
            };
            let facts = go::facts(listed, property);
            if value.is_null() {
                empty.push(&*property.name);
                continue;
            }
            self.path.push((struct_name, facts.inlined_from, &property.name));
            self.value(&property.schema, facts.go_type, value)?;
            self.path.pop();
            if facts.presence == Presence::Omitted && is_empty(value) {
                empty.push(&*property.name);
            }
        }
        for name in empty {
            fields.remove(name);
        }
        for (name, presence) in go::written_anyway(listed) {
            if fields.contains_key(name) {
                continue;
            }
            let mut value = Value::Null;
            if presence == Presence::Always
                && let Some(property) = schema.property(name)
            {
                self.zero_into(&property.schema, &mut value)?;
            }
            fields.insert(name.to_owned(), value);
        }
        Ok(())
    }

    /// Writes Go's zero value.
    fn zero_into(&mut self, schema: &'s Schema, value: &mut Value) -> Result<(), String> {
        *value = match shape(schema) {
            Shape::Text => Value::from(""),
            Shape::Quantity => Value::from("0"),
            Shape::Integer | Shape::Number | Shape::IntOrString => Value::from(0),
            Shape::Boolean => Value::from(false),
            Shape::Struct => Value::Object(Map::new()),
            // In a map or a list; a field of bytes is left out or null.
            Shape::Bytes
                if self
                    .path
                    .last()
                    .is_some_and(|(of, _, _)| *of == "Secret" || *of == "ConfigMap") =>
            {
                Value::from("")
            }
            Shape::Raw | Shape::Time(_) | Shape::Bytes | Shape::List(_) | Shape::Map(_) => Value::Null,
        };
        match value {
            Value::Object(_) => self.value(schema, "", value),
            _ => Ok(()),
        }
    }

    fn bytes(&mut self, schema: &'s Schema, go_type: &'s str, value: &mut Value) -> Result<(), String> {
        match value {
            Value::String(text) => {
                *text = scalar::base64(text)?;
                Ok(())
            }
            Value::Array(list) => {
                let mut bytes = Vec::with_capacity(list.len());
                for item in list {
                    match item.as_u64().and_then(|byte| u8::try_from(byte).ok()) {
                        Some(byte) => bytes.push(byte),
                        None if item.is_null() => bytes.push(0),
                        None => return Err(self.misfit_number(item, "uint8")),
                    }
                }
                *value = Value::String(scalar::encode(&bytes));
                Ok(())
            }
            other => Err(self.misfit(other, &named(schema, go_type))),
        }
    }

    fn misfit(&self, value: &Value, go_type: &str) -> String {
        self.cannot_unmarshal(kind_of(value), go_type)
    }

    /// As [`Self::misfit`], but shows a number that is out of range.
    fn misfit_number(&self, value: &Value, go_type: &str) -> String {
        match value {
            Value::Number(number) => self.cannot_unmarshal(&format!("number {number}"), go_type),
            other => self.misfit(other, go_type),
        }
    }

    fn cannot_unmarshal(&self, what: &str, go_type: &str) -> String {
        let Some((struct_name, _, _)) = self.path.last() else {
            return format!("json: cannot unmarshal {what} into Go value of type {go_type}");
        };
        let mut path = Vec::new();
        for (_, inlined_from, field) in &self.path {
            path.extend(
                [*inlined_from, *field]
                    .into_iter()
                    .filter(|part| !part.is_empty()),
            );
        }
        let path = path.join(".");
        format!("json: cannot unmarshal {what} into Go struct field {struct_name}.{path} of type {go_type}")
    }
}

/// How a schema is read.
enum Shape<'s> {
    Raw,
    Quantity,
    Time(scalar::Precision),
    Bytes,
    IntOrString,
    Text,
    Boolean,
    Integer,
    Number,
    List(&'s Schema),
    Map(&'s Schema),
    Struct,
}

fn shape(schema: &Schema) -> Shape<'_> {
    match (schema.json_type, &schema.additional) {
        (JsonType::IntOrString, _) => Shape::IntOrString,
        _ if schema.preserve_unknown_fields => Shape::Raw,
        (JsonType::String, _) if schema.name.ends_with(".Quantity") => Shape::Quantity,
        (JsonType::String, _) if schema.name.ends_with(".MicroTime") => {
            Shape::Time(scalar::Precision::Microseconds)
        }
        (JsonType::String, _) if schema.name.ends_with(".Time") => Shape::Time(scalar::Precision::Seconds),
        (JsonType::String, _) if schema.format == "byte" => Shape::Bytes,
        (JsonType::String, _) => Shape::Text,
        (JsonType::Boolean, _) => Shape::Boolean,
        (JsonType::Integer, _) => Shape::Integer,
        (JsonType::Number, _) => Shape::Number,
        (JsonType::Array, _) => schema.items.as_deref().map_or(Shape::Raw, Shape::List),
        (JsonType::Object, Additional::Schema(values)) => Shape::Map(values),
        (JsonType::Object, Additional::None) => Shape::Struct,
        (JsonType::Object, Additional::Any) | (JsonType::Any, _) => Shape::Raw,
    }
}

fn named(schema: &Schema, go_type: &str) -> String {
    match go_type {
        "" => go::type_name(schema),
        given => given.to_owned(),
    }
}

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

fn fits(number: &serde_json::Number, format: &str) -> bool {
    let number = number.as_i64();
    match format {
        "int64" => number.is_some(),
        _ => number.is_some_and(|number| i32::try_from(number).is_ok()),
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(flag) => !flag,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Array(list) => list.is_empty(),
        Value::Object(fields) => fields.is_empty(),
    }
}
