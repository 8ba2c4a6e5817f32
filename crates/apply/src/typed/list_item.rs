//! Keys of items in associative lists.

use std::borrow::Cow;

use cambium_schema::ListType;
use serde_json::Value;

use super::shape::ListShape;
use crate::fieldpath::PathElement;
use cambium_go_text::quote;

/// The path element of an item, or an error.
pub(super) fn element(list: ListShape<'_>, item: &Value) -> Result<PathElement, String> {
    check(list, item)?;
    match list.list_type() {
        ListType::Map(keys) if !keys.is_empty() => {
            // A key that is neither given nor has a default is left out: that names a different item.
            let fields = keys
                .iter()
                .filter_map(|key| Some((key.to_string(), key_value(list, item, key)?.clone())));
            Ok(PathElement::key(fields))
        }
        _ => Ok(PathElement::value(item.clone())),
    }
}

/// Checks that an item has a key.
pub(super) fn check(list: ListShape<'_>, item: &Value) -> Result<(), String> {
    let problem = match (list.list_type(), item) {
        (ListType::Atomic, _) => "invalid indexing of non-associative list",
        (ListType::Map(keys), _) if !keys.is_empty() => return check_keyed(list, keys, item),
        (_, Value::Object(_)) => "associative list without keys has an element that's a map type",
        (_, Value::Array(_)) => "not supported: associative list with lists as elements",
        (_, Value::Null) => "associative list without keys has an element that's an explicit null",
        _ => return Ok(()),
    };
    Err(problem.to_owned())
}

fn check_keyed(list: ListShape<'_>, keys: &[Cow<'_, str>], item: &Value) -> Result<(), String> {
    match item {
        Value::Object(_) if keys.iter().any(|key| key_value(list, item, key).is_some()) => Ok(()),
        Value::Object(_) => {
            let names: Vec<_> = keys.iter().map(|key| quote(key)).collect();
            Err(format!(
                "associative list with keys has an element that omits all key fields [{}] (and doesn't have default values for any key fields)",
                names.join(" ")
            ))
        }
        Value::Null => Err("associative list with keys may not have a null element".to_owned()),
        _ => Err("associative list with keys may not have non-map elements".to_owned()),
    }
}

fn key_value<'v>(list: ListShape<'v>, item: &'v Value, key: &str) -> Option<&'v Value> {
    item.get(key).or_else(|| list.key_default(key))
}

/// A sorted map by path element, for lists that are indexed while being read.
pub(super) struct Index<T>(Vec<(PathElement, T)>);

impl<T> Index<T> {
    pub(super) fn with_capacity(capacity: usize) -> Self {
        Self(Vec::with_capacity(capacity))
    }

    pub(super) fn get(&self, element: &PathElement) -> Option<&T> {
        let index = self.0.binary_search_by(|(name, _)| name.cmp(element)).ok()?;
        Some(&self.0[index].1)
    }

    /// The entry of an element, created by `default` if missing.
    pub(super) fn entry(&mut self, element: &PathElement, default: impl FnOnce() -> T) -> &mut T {
        let index = match self.0.binary_search_by(|(name, _)| name.cmp(element)) {
            Ok(index) => index,
            Err(index) => {
                self.0.insert(index, (element.clone(), default()));
                index
            }
        };
        &mut self.0[index].1
    }

    pub(super) fn into_entries(self) -> Vec<(PathElement, T)> {
        self.0
    }
}
