//! Maps and objects: of an object, or created by an expression.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::sync::Arc;

use cambium_schema::{Additional, Schema};
use serde_json::Value as Json;

use super::equal::values;
use super::{Text, Value, equal};
use crate::declare::{Place, root_field};
use crate::error::{Result, failure, no_such_overload};
use crate::escape::{escape, unescape};
use crate::meter;

type Fields = serde_json::Map<String, Json>;

/// A map or an object.
#[derive(Debug, Clone)]
pub(crate) enum Map<'a> {
    /// A part of a Kubernetes object.
    Json {
        fields: &'a Fields,
        schema: Option<(&'a Schema, Place)>,
    },
    /// Created by an expression.
    Owned(Arc<BTreeMap<Key<'a>, Value<'a>>>),
}

/// A map key. Numbers are equal across types.
#[derive(Debug, Clone)]
pub(crate) enum Key<'a> {
    Null,
    Bool(bool),
    Int(i64),
    Uint(u64),
    /// Only non-integral values.
    Double(f64),
    String(Text<'a>),
}

impl<'a> Key<'a> {
    pub(crate) fn of(value: &Value<'a>) -> Option<Self> {
        match value {
            Value::Bool(value) => Some(Self::Bool(*value)),
            Value::Int(value) => Some(Self::Int(*value)),
            Value::Uint(value) => Some(Self::Uint(*value)),
            // A double finds the whole number it is equal to.
            Value::Double(value) if value.fract() == 0.0 && value.abs() < 9.2e18 => {
                Some(Self::Int(*value as i64))
            }
            Value::Double(value) => Some(Self::Double(*value)),
            Value::String(text) => Some(Self::String(text.clone())),
            Value::Null => Some(Self::Null),
            _ => None,
        }
    }

    pub(crate) fn value(&self) -> Value<'a> {
        match self {
            Self::Null => Value::Null,
            Self::Bool(value) => Value::Bool(*value),
            Self::Double(value) => Value::Double(*value),
            Self::Int(value) => Value::Int(*value),
            Self::Uint(value) => Value::Uint(*value),
            Self::String(text) => Value::String(text.clone()),
        }
    }
}

impl Ord for Key<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        let number = |key: &Self| match key {
            Self::Int(value) => Some(i128::from(*value)),
            Self::Uint(value) => Some(i128::from(*value)),
            _ => None,
        };
        let rank = |key: &Self| match key {
            Self::Null => 0,
            Self::Bool(_) => 1,
            Self::Int(_) | Self::Uint(_) => 2,
            Self::Double(_) => 3,
            Self::String(_) => 4,
        };
        match (self, other) {
            (Self::Bool(a), Self::Bool(b)) => a.cmp(b),
            (Self::String(a), Self::String(b)) => a.cmp(b),
            (Self::Double(a), Self::Double(b)) => a.total_cmp(b),
            _ => rank(self)
                .cmp(&rank(other))
                .then_with(|| number(self).cmp(&number(other))),
        }
    }
}

impl PartialOrd for Key<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Key<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Key<'_> {}

impl<'a> Map<'a> {
    pub(crate) fn owned(entries: BTreeMap<Key<'a>, Value<'a>>) -> Self {
        Self::Owned(Arc::new(entries))
    }

    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Json { fields, .. } => fields.len(),
            Self::Owned(entries) => entries.len(),
        }
    }

    /// The value of a key.
    pub(crate) fn find(&self, key: &Value<'a>) -> Result<Option<Value<'a>>> {
        match (self, key) {
            (Self::Json { .. }, Value::String(text)) => self.field(text),
            (Self::Json { schema: Some(_), .. }, _) => no_such_overload(),
            (Self::Json { .. }, _) => Ok(None),
            (Self::Owned(entries), _) => Ok(Key::of(key).and_then(|key| entries.get(&key)).cloned()),
        }
    }

    /// The value of a field, by its identifier.
    pub(crate) fn field(&self, name: &str) -> Result<Option<Value<'a>>> {
        match self {
            Self::Owned(entries) => Ok(entries.get(&Key::String(Text::Borrowed(name))).cloned()),
            Self::Json { fields, schema: None } => Ok(fields.get(name).map(Value::dynamic)),
            Self::Json {
                fields,
                schema: Some((schema, place)),
            } => {
                let is_object = is_object(schema, *place);
                let unescaped = match is_object {
                    true => match unescape(name) {
                        Some(name) => name,
                        None => return Ok(None),
                    },
                    false => name.into(),
                };
                let Some(value) = fields.get(&*unescaped) else {
                    return Ok(None);
                };
                if is_object && value.is_null() {
                    return Ok(None);
                }
                match field_schema(schema, *place, &unescaped) {
                    Some(schema) => Value::typed(value, schema, Place::of(schema)).map(Some),
                    None => Ok(None),
                }
            }
        }
    }

    /// The keys, in order.
    pub(crate) fn keys(&self) -> Vec<Value<'a>> {
        match self {
            Self::Owned(entries) => entries.keys().map(Key::value).collect(),
            Self::Json { fields, schema: None } => fields
                .keys()
                .map(|key| Value::String(Text::Borrowed(key)))
                .collect(),
            Self::Json {
                fields,
                schema: Some((schema, place)),
            } => fields
                .keys()
                .filter(|key| field_schema(schema, *place, key).is_some())
                .map(|key| match escape(key).filter(|_| is_object(schema, *place)) {
                    Some(std::borrow::Cow::Owned(escaped)) => Value::text(escaped),
                    _ => Value::String(Text::Borrowed(key)),
                })
                .collect(),
        }
    }

    /// Adds an entry, which must be new.
    pub(crate) fn insert(&mut self, key: &Value<'a>, value: Value<'a>) -> Result<()> {
        let Some(new) = Key::of(key) else {
            return failure(format!("unsupported key type: {}", key.type_name()));
        };
        if let Self::Json { .. } = self {
            let mut entries = BTreeMap::new();
            for key in self.keys() {
                if let (Some(value), Some(key)) = (self.find(&key)?, Key::of(&key)) {
                    entries.insert(key, value);
                }
            }
            *self = Self::owned(entries);
        }
        let Self::Owned(entries) = self else { return Ok(()) };
        let entries = Arc::make_mut(entries);
        if entries.contains_key(&new) {
            return failure(format!("insert failed: key {} already exists", key.shown()));
        }
        entries.insert(new, value);
        Ok(())
    }

    pub(crate) fn equals(&self, other: &Map<'a>) -> Result<bool> {
        if self.len() != other.len() {
            return Ok(false);
        }
        if let (
            Self::Json {
                fields,
                schema: Some((schema, place)),
            },
            Self::Json { fields: others, .. },
        ) = (self, other)
        {
            // What the schema keeps without knowing it is compared as it is.
            for (key, value) in *fields {
                if field_schema(schema, *place, key).is_some() {
                    continue;
                }
                meter::visit(values(value))?;
                if others.get(key).is_some_and(|other| other != value) {
                    return Ok(false);
                }
            }
        }
        for key in self.keys() {
            match (self.find(&key)?, other.find(&key)?) {
                (None, None) => {}
                (Some(a), Some(b)) if equal(&a, &b)? => {}
                _ => return Ok(false),
            }
        }
        Ok(true)
    }

    pub(crate) fn is_typed(&self) -> bool {
        matches!(self, Self::Json { schema: Some(_), .. })
    }
}

fn is_object(schema: &Schema, place: Place) -> bool {
    place == Place::Root || !schema.properties.is_empty()
}

fn field_schema<'a>(schema: &'a Schema, place: Place, name: &str) -> Option<&'a Schema> {
    if place == Place::Root {
        return root_field(schema, name);
    }
    if !schema.properties.is_empty() {
        return schema.property(name).map(|property| &*property.schema);
    }
    match &schema.additional {
        Additional::Schema(child) => Some(child),
        Additional::None | Additional::Any => None,
    }
}
