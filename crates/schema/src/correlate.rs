//! Correlates parts of a new object with those of the old one, for ratcheting and transition rules.
//!
//! Fields correlate by name and items of a list map by key; other items do not correlate. Validation tolerates errors in
//! unchanged parts (ratcheting), and transition rules get the correlated old value as `oldSelf`.

use std::collections::HashMap;

use serde_json::Value;

use crate::model::{JsonType, ListType, Schema};

/// A value and its correlated old value.
#[derive(Clone, Copy)]
pub(crate) struct Correlated<'a> {
    schema: &'a Schema,
    value: &'a Value,
    old: &'a Value,
}

impl<'a> Correlated<'a> {
    pub(crate) fn new(schema: &'a Schema, value: &'a Value, old: &'a Value) -> Self {
        Self { schema, value, old }
    }

    /// The field `name`, if it is specified and both versions have it.
    pub(crate) fn field(&self, name: &str) -> Option<Self> {
        let (old, value) = (
            self.old.as_object()?.get(name)?,
            self.value.as_object()?.get(name)?,
        );
        Some(Self {
            schema: self.schema.field(name)?,
            value,
            old,
        })
    }

    /// The items of a list, to be looked up by index.
    pub(crate) fn items(&self) -> CorrelatedItems<'a> {
        CorrelatedItems {
            schema: self.schema.items.as_deref(),
            values: self.value.as_array().map_or(&[], Vec::as_slice),
            old: OldItems::of(self.schema, Some(self.old)),
        }
    }

    /// Whether nothing changed. An unspecified field counts as a change: the schema does not define how to compare it.
    pub(crate) fn unchanged(&self) -> bool {
        match (self.value, self.old) {
            (Value::Array(values), Value::Array(old)) => {
                if values.len() != old.len() {
                    return false;
                }
                if !matches!(self.schema.list, ListType::Map(_)) {
                    return values == old;
                }
                let items = self.items();
                (0..values.len()).all(|index| items.get(index).is_some_and(|item| item.unchanged()))
            }
            (Value::Object(fields), Value::Object(old)) => {
                fields.len() == old.len()
                    && fields
                        .keys()
                        .all(|name| self.field(name).is_some_and(|field| field.unchanged()))
            }
            (value, old) => value == old,
        }
    }
}

/// The items of a list with their old versions.
pub(crate) struct CorrelatedItems<'a> {
    schema: Option<&'a Schema>,
    values: &'a [Value],
    old: OldItems<'a>,
}

impl<'a> CorrelatedItems<'a> {
    pub(crate) fn get(&self, index: usize) -> Option<Correlated<'a>> {
        let value = self.values.get(index)?;
        Some(Correlated {
            schema: self.schema?,
            value,
            old: self.old.get(value)?,
        })
    }
}

/// The old items of a list map by key; empty for other lists.
pub(crate) struct OldItems<'a> {
    keys: Vec<&'a str>,
    items: HashMap<String, &'a Value>,
}

impl<'a> OldItems<'a> {
    pub(crate) fn of(list: &'a Schema, old: Option<&'a Value>) -> Self {
        let keys: Vec<&str> = match &list.list {
            ListType::Map(keys) if list.json_type == JsonType::Array => {
                keys.iter().map(|key| &**key).collect()
            }
            _ => Vec::new(),
        };
        let mut items = HashMap::new();
        if let (false, Some(Value::Array(old))) = (keys.is_empty(), old) {
            for item in old {
                if let Some(key) = composite_key(&keys, item) {
                    items.entry(key).or_insert(item);
                }
            }
        }
        Self { keys, items }
    }

    /// The first old item with the same key.
    pub(crate) fn get(&self, item: &Value) -> Option<&'a Value> {
        if self.items.is_empty() {
            return None;
        }
        self.items.get(&composite_key(&self.keys, item)?).copied()
    }
}

fn composite_key(keys: &[&str], item: &Value) -> Option<String> {
    let item = item.as_object()?;
    let mut composite = String::new();
    for key in keys {
        match item.get(*key)? {
            Value::Null | Value::Array(_) | Value::Object(_) => return None,
            scalar => composite.extend([scalar.to_string().as_str(), "\0"]),
        }
    }
    Some(composite)
}
