//! A value with its field path.

use cambium_schema::FieldPath;
use serde_json::Value;

/// A value and its field path; `null` when it is missing.
#[derive(Clone)]
pub(super) struct At<'v> {
    pub(super) value: &'v Value,
    pub(super) path: FieldPath,
}

impl<'v> At<'v> {
    /// A whole object.
    pub(super) fn root(value: &'v Value) -> Self {
        Self {
            value,
            path: FieldPath::root(),
        }
    }

    /// A field, which may be missing.
    pub(super) fn field(&self, name: &str) -> Self {
        Self {
            value: self.value.get(name).unwrap_or(&Value::Null),
            path: self.path.child(name),
        }
    }

    /// The items of a list.
    pub(super) fn items(&self) -> impl Iterator<Item = At<'v>> + use<'v> {
        let path = self.path.clone();
        let items: &[Value] = self.value.as_array().map_or(&[], Vec::as_slice);
        items.iter().enumerate().map(move |(index, value)| At {
            value,
            path: path.index(index),
        })
    }

    /// The entries of a map.
    pub(super) fn entries(&self) -> impl Iterator<Item = (&'v str, At<'v>)> + use<'v> {
        let path = self.path.clone();
        self.value
            .as_object()
            .into_iter()
            .flatten()
            .map(move |(key, value)| {
                let at = At {
                    value,
                    path: path.key(key),
                };
                (key.as_str(), at)
            })
    }

    /// The string; empty when it is missing.
    pub(super) fn text(&self) -> &'v str {
        self.value.as_str().unwrap_or_default()
    }

    /// The number, if there is one.
    pub(super) fn integer(&self) -> Option<i64> {
        self.value.as_i64()
    }

    /// Whether there is a value.
    pub(super) fn is_set(&self) -> bool {
        !self.value.is_null()
    }

    /// Whether the value is `true`.
    pub(super) fn is_true(&self) -> bool {
        self.value == &Value::Bool(true)
    }

    /// Whether it is missing or empty.
    pub(super) fn is_empty(&self) -> bool {
        match self.value {
            Value::Null => true,
            Value::String(text) => text.is_empty(),
            Value::Array(items) => items.is_empty(),
            Value::Object(entries) => entries.is_empty(),
            _ => false,
        }
    }
}
