//! The order of items in a merged list.
//!
//! The order of `$setElementOrder` comes first, then that of the patch, then that of the live list.

use serde_json::{Map, Value};

use super::directives::{self, MARKER, SET_ELEMENT_ORDER};
use super::errors::StrategicError;
use super::merge_list::{ListMode, as_map, find, items_are_maps, merge_list};
use super::patch_schema::PatchSchema;
use crate::go_text;

/// The identity of list items.
pub(super) struct Order<'k> {
    /// By merge key for objects; otherwise by value.
    pub(super) by_key: bool,
    key: &'k str,
}

impl<'k> Order<'k> {
    pub(super) fn of(lists: &[&[Value]], key: &'k str) -> Result<Self, StrategicError> {
        Ok(Self {
            by_key: items_are_maps(lists)?,
            key,
        })
    }

    fn position(&self, items: &[Value], item: &Value) -> Option<usize> {
        if self.by_key {
            let key = item.get(self.key);
            return items.iter().position(|other| other.get(self.key) == key);
        }
        items.iter().position(|other| other == item)
    }
}

/// Sorts a merged list: the items of `patch` in its order, interleaved with the others in the order of `live`.
pub(super) fn in_order(
    merged: Vec<Value>,
    patch: &[Value],
    live: &[Value],
    order: &Order<'_>,
) -> Result<Vec<Value>, StrategicError> {
    let mut from_patch = Vec::with_capacity(merged.len());
    let mut from_live = Vec::with_capacity(merged.len());
    for item in merged {
        let is_in_patch = if order.key.is_empty() {
            patch.contains(&item)
        } else {
            let fields = as_map(&item)?;
            let value = fields
                .get(order.key)
                .ok_or_else(|| StrategicError::no_merge_key(fields, order.key))?;
            find(patch, order.key, value)?.is_some()
        };
        if is_in_patch {
            from_patch.push(item)
        } else {
            from_live.push(item)
        }
    }
    if order.by_key {
        for item in from_patch.iter().chain(patch).chain(&from_live).chain(live) {
            let fields = as_map(item)?;
            if !fields.contains_key(order.key) {
                return Err(StrategicError::no_merge_key(fields, order.key));
            }
        }
    }
    sort(&mut from_patch, patch, order);
    sort(&mut from_live, live, order);
    Ok(weave(from_live, from_patch, live, order))
}

fn sort(items: &mut Vec<Value>, by: &[Value], order: &Order<'_>) {
    let deletes =
        |item: &Value| order.by_key && item.get(MARKER).is_some_and(|directive| directive == "delete");
    let (deleted, kept): (Vec<_>, Vec<_>) = std::mem::take(items).into_iter().partition(deletes);
    let mut placed: Vec<_> = kept
        .into_iter()
        .map(|item| (order.position(by, &item), item))
        .collect();
    if placed.iter().all(|(place, _)| place.is_some()) {
        placed.sort_by_key(|(place, _)| *place);
    } else {
        insertion_sort(&mut placed);
    }
    items.extend(placed.into_iter().map(|(_, item)| item).chain(deleted));
}

/// Upstream's comparison treats an item without a position as smaller than any other, even itself, which is no valid
/// order; only the same sorting algorithm gives the same result.
fn insertion_sort(placed: &mut [(Option<usize>, Value)]) {
    let less = |left: Option<usize>, right: Option<usize>| match (left, right) {
        (Some(left), Some(right)) => left < right,
        _ => true,
    };
    for start in 1..placed.len() {
        let mut at = start;
        while at > 0 && less(placed[at].0, placed[at - 1].0) {
            placed.swap(at, at - 1);
            at -= 1;
        }
    }
}

/// Inserts each live-only item before the first patch item that follows it in the live list.
fn weave(from_live: Vec<Value>, from_patch: Vec<Value>, live: &[Value], order: &Order<'_>) -> Vec<Value> {
    let mut out = Vec::with_capacity(from_live.len() + from_patch.len());
    let mut from_live = from_live.into_iter().peekable();
    for item in from_patch {
        let place = order.position(live, &item);
        while let Some(other) = from_live.peek()
            && let (Some(other), Some(place)) = (order.position(live, other), place)
            && other < place
        {
            out.extend(from_live.next());
        }
        out.push(item);
    }
    out.extend(from_live);
    out
}

/// Merges every list with a `$setElementOrder`, and removes both from the patch.
pub(super) fn merge_ordered_lists(
    original: &mut Map<String, Value>,
    patch: &mut Map<String, Value>,
    schema: PatchSchema<'_>,
) -> Result<(), StrategicError> {
    let keys: Vec<String> = patch
        .keys()
        .filter(|key| key.starts_with(SET_ELEMENT_ORDER))
        .cloned()
        .collect();
    for key in keys {
        let Some(wanted) = patch.remove(&key) else {
            continue;
        };
        let Value::Array(wanted) = wanted else {
            return Err(StrategicError::not_a_list(&wanted));
        };
        let field = directives::field_of(&key, SET_ELEMENT_ORDER, StrategicError::SetElementOrder)?;
        merge_ordered_list(original, patch, field, &wanted, schema)?;
    }
    Ok(())
}

fn merge_ordered_list(
    original: &mut Map<String, Value>,
    patch: &mut Map<String, Value>,
    field: &str,
    wanted: &[Value],
    schema: PatchSchema<'_>,
) -> Result<(), StrategicError> {
    let items = |value: Option<&Value>| match value {
        None => Ok(None),
        Some(Value::Array(items)) => Ok(Some(items.clone())),
        Some(other) => Err(StrategicError::not_a_list(other)),
    };
    let live = items(original.get(field))?;
    let patched = items(patch.get(field))?;
    let list = schema.list(field)?;
    check_order(patched.as_deref().unwrap_or_default(), wanted, list.merge_key)?;
    let order =
        |lists: &[&[Value]]| -> Result<Order<'_>, StrategicError> { Order::of(lists, list.merge_key) };
    let (merged, live, order) = match (live, patched) {
        (None, None) => return Ok(()),
        (Some(live), None) => {
            let order = order(&[&live]);
            (live.clone(), live, order)
        }
        (None, Some(patched)) => {
            let order = order(&[&patched]);
            (
                patched
                    .into_iter()
                    .filter_map(directives::without_directives)
                    .collect(),
                Vec::new(),
                order,
            )
        }
        (Some(live), Some(patched)) => {
            let order = order(&[&live, &patched]);
            if list.merges {
                let merged = merge_list(live, patched, list, ListMode::Merge)?;
                (merged.items, merged.live_order, order)
            } else {
                (patched, live, order)
            }
        }
    };
    original.insert(
        field.to_owned(),
        Value::Array(in_order(merged, wanted, &live, &order?)?),
    );
    patch.remove(field);
    Ok(())
}

/// Checks that the patch list holds only items that the order lists, in that order.
fn check_order(patch: &[Value], wanted: &[Value], key: &str) -> Result<(), StrategicError> {
    if patch.is_empty() || wanted.is_empty() {
        return Ok(());
    }
    let mut items = Vec::with_capacity(patch.len());
    for item in patch {
        let deletes = !key.is_empty()
            && as_map(item)?
                .get(MARKER)
                .is_some_and(|directive| directive == "delete");
        if !deletes {
            items.push(item);
        }
    }
    let (mut place, mut wanted_place) = (0, 0);
    while let (Some(item), Some(other)) = (items.get(place), wanted.get(wanted_place)) {
        if item.get(MARKER).is_some() {
            place += 1;
            continue;
        }
        place += usize::from(same(item, other, key)?);
        wanted_place += 1;
    }
    if place < items.len() {
        return Err(StrategicError::Order {
            patch: go_text::plain(&Value::Array(patch.to_vec())),
            order: go_text::plain(&Value::Array(wanted.to_vec())),
        });
    }
    Ok(())
}

fn same(left: &Value, right: &Value, key: &str) -> Result<bool, StrategicError> {
    if key.is_empty() {
        return Ok(left == right);
    }
    let value_of = |item| -> Result<&Value, StrategicError> {
        let fields = as_map(item)?;
        fields
            .get(key)
            .ok_or_else(|| StrategicError::no_merge_key(fields, key))
    };
    Ok(value_of(left)? == value_of(right)?)
}
