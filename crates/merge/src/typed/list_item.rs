//! What names an item of a list that merges by items.

use cambium_schema::ListType;
use serde_json::Value;

use super::shape::ListShape;
use crate::fieldpath::PathElement;
use crate::go_text::quoted;

/// The step to an item, or why it has none.
pub(super) fn element(list: ListShape<'_>, item: &Value) -> Result<PathElement, String> {
    match list.list_type() {
        ListType::Atomic => Err("invalid indexing of non-associative list".to_owned()),
        ListType::Set => set_element(item),
        ListType::Map(keys) if keys.is_empty() => set_element(item),
        ListType::Map(keys) => {
            let fields = match item {
                Value::Object(fields) => fields,
                Value::Null => {
                    return Err("associative list with keys may not have a null element".to_owned());
                }
                _ => return Err("associative list with keys may not have non-map elements".to_owned()),
            };
            // A key that is neither given nor has a default is left out: that names a different item.
            let key: Vec<_> = keys
                .iter()
                .filter_map(|key| {
                    let value = fields.get(&**key).or_else(|| list.key_default(key))?;
                    Some((key.to_string(), value.clone()))
                })
                .collect();
            if key.is_empty() {
                let names: Vec<_> = keys.iter().map(|key| quoted(key)).collect();
                return Err(format!(
                    "associative list with keys has an element that omits all key fields [{}] (and doesn't have default values for any key fields)",
                    names.join(" ")
                ));
            }
            Ok(PathElement::key(key))
        }
    }
}

fn set_element(item: &Value) -> Result<PathElement, String> {
    match item {
        Value::Object(_) => Err("associative list without keys has an element that's a map type".to_owned()),
        Value::Array(_) => Err("not supported: associative list with lists as elements".to_owned()),
        Value::Null => Err("associative list without keys has an element that's an explicit null".to_owned()),
        scalar => Ok(PathElement::value(scalar.clone())),
    }
}

/// A sorted map from steps to something, for lists that are indexed while they are read.
pub(super) struct Index<T>(Vec<(PathElement, T)>);

impl<T> Index<T> {
    pub(super) fn with_capacity(capacity: usize) -> Self {
        Self(Vec::with_capacity(capacity))
    }

    pub(super) fn get(&self, element: &PathElement) -> Option<&T> {
        let index = self.0.binary_search_by(|(name, _)| name.cmp(element)).ok()?;
        Some(&self.0[index].1)
    }

    /// The entry of a step, made by `default` where there is none yet.
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
