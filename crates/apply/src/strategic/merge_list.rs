//! Merges lists.

use serde_json::{Map, Value};

use super::directives::MARKER;
use super::element_order::{self, Order};
use super::errors::StrategicError;
use super::merge_map::merge_map;
use super::patch_schema::{ListPatch, PatchSchema};
use crate::go_text;

/// The purpose of a patch list.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ListMode {
    /// Merge its items.
    Merge,
    /// Delete its items.
    Delete,
}

/// A merged list, and the order of the previous items.
pub(super) struct Merged {
    pub(super) items: Vec<Value>,
    pub(super) live_order: Vec<Value>,
}

/// Merges a patch list into a list whose strategy is to merge.
pub(super) fn merge_list(
    original: Vec<Value>,
    patch: Vec<Value>,
    list: ListPatch<'_>,
    mode: ListMode,
) -> Result<Merged, StrategicError> {
    if original.is_empty() && patch.is_empty() {
        return Ok(Merged {
            items: original,
            live_order: Vec::new(),
        });
    }
    let order = Order::of(&[&original, &patch], list.merge_key)?;
    if !order.by_key {
        if mode == ListMode::Delete {
            let items: Vec<_> = original
                .iter()
                .filter(|item| !patch.contains(item))
                .cloned()
                .collect();
            return Ok(Merged {
                items,
                live_order: original,
            });
        }
        let mut merged: Vec<Value> = Vec::with_capacity(original.len() + patch.len());
        for item in original.iter().chain(&patch) {
            if !merged.contains(item) {
                merged.push(item.clone());
            }
        }
        let items = element_order::in_order(merged, &patch, &original, &order)?;
        return Ok(Merged {
            items,
            live_order: original,
        });
    }
    if list.merge_key.is_empty() {
        let kind = list.item.go_kind();
        return Err(StrategicError::Other(format!(
            "cannot merge lists without merge key for {kind}"
        )));
    }
    let before = original.clone();
    let Special {
        kept,
        patch,
        replaces,
    } = special_items(original, patch, list.merge_key)?;
    let merged = merge_items(kept.clone(), &patch, list.merge_key, list.item)?;
    let live_order = if replaces {
        before
    } else {
        backing_array(before, &merged)
    };
    let items = element_order::in_order(merged, &patch, &kept, &order)?;
    Ok(Merged { items, live_order })
}

struct Special {
    kept: Vec<Value>,
    patch: Vec<Value>,
    /// Whether the patch replaces the list.
    replaces: bool,
}

/// Applies the items with a `$patch` directive; returns the others.
fn special_items(original: Vec<Value>, patch: Vec<Value>, key: &str) -> Result<Special, StrategicError> {
    let mut kept = original;
    let mut rest = Vec::with_capacity(patch.len());
    let mut replaces = false;
    for item in patch {
        let fields = as_map(&item)?;
        let Some(directive) = fields.get(MARKER) else {
            rest.push(item);
            continue;
        };
        match directive.as_str() {
            Some("delete") => {
                let value = fields
                    .get(key)
                    .ok_or_else(|| StrategicError::no_merge_key(fields, key))?;
                while let Some(index) = find(&kept, key, value)? {
                    kept.remove(index);
                }
            }
            Some("replace") => replaces = true,
            Some("merge") => {
                return Err(StrategicError::Other(
                    "merging lists cannot yet be specified in the patch".to_owned(),
                ));
            }
            _ => return Err(StrategicError::bad_directive(directive, fields)),
        }
    }
    if replaces {
        return Ok(Special {
            kept: rest,
            patch: Vec::new(),
            replaces,
        });
    }
    Ok(Special {
        kept,
        patch: rest,
        replaces,
    })
}

/// The list that `$setElementOrder` uses as the live order.
///
/// Upstream deletes and appends in the backing array of the live slice, so that added items overwrite deleted ones in the
/// remembered live order, too.
fn backing_array(before: Vec<Value>, merged: &[Value]) -> Vec<Value> {
    let mut out: Vec<Value> = merged.iter().take(before.len()).cloned().collect();
    let taken = out.len();
    out.extend(before.into_iter().skip(taken));
    out
}

fn merge_items(
    mut original: Vec<Value>,
    patch: &[Value],
    key: &str,
    item_schema: PatchSchema<'_>,
) -> Result<Vec<Value>, StrategicError> {
    for item in patch {
        let fields = as_map(item)?;
        let value = fields
            .get(key)
            .ok_or_else(|| StrategicError::no_merge_key(fields, key))?;
        match find(&original, key, value)? {
            Some(index) => {
                let live = as_map(&original[index])?.clone();
                original[index] = Value::Object(merge_map(live, fields.clone(), item_schema)?);
            }
            None => original.push(item.clone()),
        }
    }
    Ok(original)
}

/// The index of the item with this key.
pub(super) fn find(items: &[Value], key: &str, value: &Value) -> Result<Option<usize>, StrategicError> {
    for (index, item) in items.iter().enumerate() {
        let Value::Object(fields) = item else {
            return Err(StrategicError::Other(format!(
                "value for key {index} is not a map"
            )));
        };
        if fields.get(key) == Some(value) {
            return Ok(Some(index));
        }
    }
    Ok(None)
}

pub(super) fn as_map(value: &Value) -> Result<&Map<String, Value>, StrategicError> {
    value.as_object().ok_or_else(|| StrategicError::not_a_map(value))
}

/// Whether the items are maps; all must have the same type, and none may be a list.
pub(super) fn items_are_maps(lists: &[&[Value]]) -> Result<bool, StrategicError> {
    let mut items = lists.iter().flat_map(|list| list.iter());
    let Some(first) = items.next() else {
        return Err(StrategicError::Other(
            "no elements in any of the given slices".to_owned(),
        ));
    };
    if first.is_array() {
        return Err(StrategicError::ListOfLists);
    }
    let kind = go_text::type_name(first);
    if first.is_null() || items.any(|item| go_text::type_name(item) != kind) {
        let lists: Vec<Value> = lists.iter().map(|list| Value::Array(list.to_vec())).collect();
        let shown = go_text::plain(&Value::Array(lists));
        return Err(StrategicError::Other(format!(
            "list element types are not identical: {shown}"
        )));
    }
    Ok(first.is_object())
}
