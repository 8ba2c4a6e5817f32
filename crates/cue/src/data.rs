//! Concrete data: inputs and exports of programs.

use crate::number::Number;
use std::fmt::{self, Write};

/// A concrete value. Unlike `serde_json::Value` it keeps the order of fields and numbers of any size.
#[derive(Debug, Clone, PartialEq)]
pub enum Data {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number of any size.
    Number(Number),
    /// A string.
    String(String),
    /// A list.
    List(Vec<Data>),
    /// Fields in order, each name once.
    Struct(Vec<(String, Data)>),
}

impl Data {
    /// The field of this name, when this is a struct that has it.
    pub fn get(&self, name: &str) -> Option<&Self> {
        match self {
            Self::Struct(fields) => fields
                .iter()
                .find(|(field, _)| field == name)
                .map(|(_, value)| value),
            _ => None,
        }
    }

    /// The same value as JSON text of several lines.
    pub fn to_json_pretty(&self) -> String {
        crate::packages::json::indent(self.to_json().as_bytes(), "", "    ").expect("what we wrote is JSON")
    }

    /// The same value as YAML text.
    pub fn to_yaml(&self) -> String {
        crate::packages::yaml::text(self)
    }

    /// The same value as compact JSON text.
    pub fn to_json(&self) -> String {
        let mut text = String::new();
        write_json(&mut text, self).expect("writing to a string does not fail");
        text
    }
}

fn write_json(out: &mut String, data: &Data) -> fmt::Result {
    match data {
        Data::Null => out.write_str("null"),
        Data::Bool(value) => write!(out, "{value}"),
        Data::Number(number) => out.write_str(&number.to_json()),
        Data::String(text) => write_json_string(out, text),
        Data::List(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write_json(out, item)?;
            }
            out.write_char(']')
        }
        Data::Struct(fields) => {
            out.push('{');
            for (index, (name, value)) in fields.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write_json_string(out, name)?;
                out.push(':');
                write_json(out, value)?;
            }
            out.write_char('}')
        }
    }
}

fn write_json_string(out: &mut String, text: &str) -> fmt::Result {
    out.push('"');
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\u{2028}' => out.push_str("\\u2028"),
            '\u{2029}' => out.push_str("\\u2029"),
            control if (control as u32) < 0x20 => write!(out, "\\u{:04x}", control as u32)?,
            other => out.push(other),
        }
    }
    out.write_char('"')
}

impl From<&serde_json::Value> for Data {
    fn from(value: &serde_json::Value) -> Self {
        use serde_json::Value;
        match value {
            Value::Null => Self::Null,
            Value::Bool(value) => Self::Bool(*value),
            Value::Number(number) => Self::Number(json_number(&number.to_string())),
            Value::String(text) => Self::String(text.clone()),
            Value::Array(items) => Self::List(items.iter().map(Self::from).collect()),
            Value::Object(fields) => Self::Struct(
                fields
                    .iter()
                    .map(|(name, value)| (name.clone(), Self::from(value)))
                    .collect(),
            ),
        }
    }
}

impl From<&Data> for serde_json::Value {
    /// Numbers beyond 64 bits become the nearest float.
    fn from(data: &Data) -> Self {
        match data {
            Data::Null => Self::Null,
            Data::Bool(value) => Self::Bool(*value),
            Data::Number(number) => match number.to_i64().filter(|_| number.is_integer()) {
                Some(integer) => integer.into(),
                None => serde_json::from_str(&number.to_json()).unwrap_or(Self::Null),
            },
            Data::String(text) => Self::String(text.clone()),
            Data::List(items) => Self::Array(items.iter().map(Self::from).collect()),
            Data::Struct(fields) => Self::Object(
                fields
                    .iter()
                    .map(|(name, value)| (name.clone(), Self::from(value)))
                    .collect(),
            ),
        }
    }
}

/// A number as `serde_json` prints it.
fn json_number(text: &str) -> Number {
    Number::from_literal(text.trim_start_matches('-')).map_or_else(
        |_| Number::integer(0),
        |number| {
            if text.starts_with('-') {
                number.negate()
            } else {
                number
            }
        },
    )
}
