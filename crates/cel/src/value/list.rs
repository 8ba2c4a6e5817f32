//! Lists: of an object, or created by an expression.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use cambium_schema::{ListType, Schema};
use serde_json::Value as Json;

use super::{Key, Value, equal};
use crate::declare::Place;
use crate::error::{Result, no_such_overload};

/// A list. The schema decides how it is compared and concatenated.
#[derive(Debug, Clone)]
pub(crate) struct List<'a> {
    items: Items<'a>,
    schema: Option<&'a Schema>,
}

#[derive(Debug, Clone)]
enum Items<'a> {
    Json(&'a [Json]),
    Owned(Arc<Vec<Value<'a>>>),
}

impl<'a> List<'a> {
    pub(crate) fn owned(items: Vec<Value<'a>>) -> Self {
        Self {
            items: Items::Owned(Arc::new(items)),
            schema: None,
        }
    }

    pub(crate) fn json(items: &'a [Json], schema: Option<&'a Schema>) -> Self {
        Self {
            items: Items::Json(items),
            schema,
        }
    }

    pub(crate) fn len(&self) -> usize {
        match &self.items {
            Items::Json(items) => items.len(),
            Items::Owned(items) => items.len(),
        }
    }

    /// The number of created items.
    pub(crate) fn made(&self) -> usize {
        match &self.items {
            Items::Json(_) => 0,
            Items::Owned(items) => items.len(),
        }
    }

    pub(crate) fn get(&self, index: usize) -> Option<Result<Value<'a>>> {
        match &self.items {
            Items::Json(items) => {
                let item = items.get(index)?;
                Some(match self.schema.and_then(|schema| schema.items.as_deref()) {
                    Some(schema) => Value::typed(item, schema, Place::of(schema)),
                    None => Ok(Value::dynamic(item)),
                })
            }
            Items::Owned(items) => items.get(index).cloned().map(Ok),
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = Result<Value<'a>>> {
        (0..self.len()).filter_map(|index| self.get(index))
    }

    pub(crate) fn to_vec(&self) -> Result<Vec<Value<'a>>> {
        self.iter().collect()
    }

    /// Appends an item, in place if the list is not shared.
    pub(crate) fn push(&mut self, item: Value<'a>) -> Result<()> {
        if let Items::Json(_) = &self.items {
            self.items = Items::Owned(Arc::new(self.to_vec()?));
        }
        if let Items::Owned(items) = &mut self.items {
            Arc::make_mut(items).push(item);
        }
        Ok(())
    }

    /// Concatenates lists; list sets and list maps merge.
    pub(crate) fn concat(self, other: &List<'a>) -> Result<List<'a>> {
        let mut items = self.to_vec()?;
        match self.schema.map(|schema| &schema.list) {
            Some(list_type @ (ListType::Set | ListType::Map(_))) => {
                let mut places = Places::of(&items, list_type)?;
                for item in other.iter() {
                    let item = item?;
                    match places.find(&items, &item)? {
                        Some(index) => {
                            if let ListType::Map(_) = list_type {
                                items[index] = item;
                            }
                        }
                        None => {
                            places.insert(&item, items.len())?;
                            items.push(item);
                        }
                    }
                }
            }
            Some(ListType::Atomic) | None => {
                for item in other.iter() {
                    items.push(item?);
                }
            }
        }
        Ok(Self {
            items: Items::Owned(Arc::new(items)),
            schema: self.schema,
        })
    }

    /// Whether both lists are equal by the left one's schema.
    pub(crate) fn equals(&self, other: &List<'a>) -> Result<bool> {
        if self.len() != other.len() {
            return Ok(false);
        }
        match self.schema.map(|schema| &schema.list) {
            Some(list_type @ (ListType::Set | ListType::Map(_))) => {
                let items = self.to_vec()?;
                let places = Places::of(&items, list_type)?;
                for item in other.iter() {
                    let item = item?;
                    match places.find(&items, &item)? {
                        Some(index) if equal(&items[index], &item)? => {}
                        _ => return Ok(false),
                    }
                }
                Ok(true)
            }
            Some(ListType::Atomic) | None => {
                for (a, b) in self.iter().zip(other.iter()) {
                    if !equal(&a?, &b?)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
        }
    }

    /// Whether it is typed by a schema, so that it only compares with lists.
    pub(crate) fn is_typed(&self) -> bool {
        self.schema.is_some()
    }
}

/// An index of the items of a list set or list map.
struct Places<'a, 's> {
    keys: Option<&'s [Cow<'static, str>]>,
    found: BTreeMap<Vec<Option<Key<'a>>>, usize>,
}

impl<'a, 's> Places<'a, 's> {
    fn of(items: &[Value<'a>], list_type: &'s ListType) -> Result<Self> {
        let keys = match list_type {
            ListType::Map(keys) => Some(&**keys),
            ListType::Set | ListType::Atomic => None,
        };
        let mut places = Self {
            keys,
            found: BTreeMap::new(),
        };
        for (index, item) in items.iter().enumerate() {
            places.insert(item, index)?;
        }
        Ok(places)
    }

    fn insert(&mut self, item: &Value<'a>, index: usize) -> Result<()> {
        let identity = self.identity(item)?;
        self.found.insert(identity, index);
        Ok(())
    }

    fn find(&self, items: &[Value<'a>], item: &Value<'a>) -> Result<Option<usize>> {
        if self.keys.is_none() && Key::of(item).is_none() {
            // What cannot be a key is rare in a set, and compared one by one.
            for (index, known) in items.iter().enumerate() {
                if equal(known, item)? {
                    return Ok(Some(index));
                }
            }
            return Ok(None);
        }
        Ok(self.found.get(&self.identity(item)?).copied())
    }

    fn identity(&self, item: &Value<'a>) -> Result<Vec<Option<Key<'a>>>> {
        let Some(keys) = self.keys else {
            return Ok(vec![Key::of(item)]);
        };
        let Value::Map(map) = item else {
            return no_such_overload();
        };
        keys.iter()
            .map(|key| Ok(map.field(key)?.as_ref().and_then(Key::of)))
            .collect()
    }
}
