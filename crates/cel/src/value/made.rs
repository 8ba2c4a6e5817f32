//! Messages constructed by expressions, and their JSON.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Map as JsonMap, Value as Json};

use super::{Value, equal};
use crate::error::{Result, failure};
use crate::functions::{encode_base64, to_string};
use crate::meter;

/// A message with its type name.
#[derive(Debug, Clone)]
pub(crate) struct Made<'a> {
    pub(crate) message: Arc<str>,
    pub(crate) fields: BTreeMap<Arc<str>, Value<'a>>,
}

impl<'a> Made<'a> {
    pub(crate) fn equals(&self, other: &Self) -> Result<bool> {
        if self.message != other.message || self.fields.len() != other.fields.len() {
            return Ok(false);
        }
        for (name, value) in &self.fields {
            match other.fields.get(name) {
                Some(other) if equal(value, other)? => {}
                _ => return Ok(false),
            }
        }
        Ok(true)
    }

    /// The parts whose type name does not match their path.
    pub(crate) fn misplaced(&self) -> Vec<String> {
        let mut problems = Vec::new();
        self.check_place(&self.message, &mut problems);
        problems
    }

    fn check_place(&self, place: &str, problems: &mut Vec<String>) {
        if *self.message != *place && meter::claim(256 + place.len() * 2).is_ok() {
            problems.push(format!(
                "unexpected type name {:?}, expected {place:?}, which matches field name path from root Object type",
                self.message
            ));
        }
        for (name, value) in &self.fields {
            check_place(value, &format!("{place}.{name}"), problems);
        }
    }
}

/// Checks a part; lists and maps add no name.
fn check_place(value: &Value<'_>, place: &str, problems: &mut Vec<String>) {
    if meter::visit(1).is_err() {
        return;
    }
    match value {
        Value::Made(made) => made.check_place(place, problems),
        Value::List(list) => {
            for item in list.iter().flatten() {
                check_place(&item, place, problems);
            }
        }
        Value::Map(map) => {
            for key in map.keys() {
                if let Ok(Some(value)) = map.find(&key) {
                    check_place(&value, place, problems);
                }
            }
        }
        _ => {}
    }
}

impl Value<'_> {
    /// The value as JSON.
    pub(crate) fn to_json(&self) -> Result<Json> {
        // One value may stand in a list many times, and in each other.
        meter::visit(1)?;
        meter::claim(size_of::<Json>())?;
        if let Self::String(text) = self {
            meter::claim(text.len())?;
        }
        Ok(match self {
            Self::Null => Json::Null,
            Self::Bool(value) => Json::from(*value),
            Self::Int(value) => Json::from(*value),
            Self::Uint(value) => Json::from(*value),
            Self::Double(value) => Json::from(*value),
            Self::String(text) => Json::from(&**text),
            Self::Bytes(bytes) => Json::from(encode_base64(bytes)),
            Self::Unknown(json) => (*json).clone(),
            Self::List(list) => {
                let items: Result<Vec<Json>> = list.iter().map(|item| item?.to_json()).collect();
                Json::Array(items?)
            }
            Self::Map(map) => {
                let mut fields = JsonMap::new();
                for key in map.keys() {
                    let Self::String(name) = &key else {
                        let shown = key.shown();
                        return failure(format!(
                            "map key {shown:?} is of type {}, not string",
                            key.type_name()
                        ));
                    };
                    if let Some(value) = map.find(&key)? {
                        fields.insert(name.to_string(), value.to_json()?);
                    }
                }
                Json::Object(fields)
            }
            Self::Made(made) => {
                let mut fields = JsonMap::new();
                for (name, value) in &made.fields {
                    fields.insert(name.to_string(), value.to_json()?);
                }
                Json::Object(fields)
            }
            Self::Timestamp(_) | Self::Duration(_) | Self::Ip(_) | Self::Cidr(_) => {
                to_string(std::slice::from_ref(self))?.to_json()?
            }
            Self::Optional(Some(inner)) => inner.to_json()?,
            Self::Optional(None) => Json::Null,
            other => {
                return failure(format!("unable to convert {} to JSON", other.type_name()));
            }
        })
    }
}
