//! Fitting a patch to its target, by the markers in the patch.
//!
//! Unification alone can only add. The markers make it more: list elements are brought to the places of the target's
//! elements that have the same key, and what is to be replaced is replaced in the target before.

use super::tree::{Field, Tree, anything};
use cambium_cue::MemberKind;
use std::collections::HashMap;

/// Rearranges the patch's lists to line up with the target's, and replaces in the target what the patch replaces.
pub(super) fn fit(patch: &mut Tree, target: &mut Tree) {
    walk(patch, Some(target), None);
}

fn walk(patch: &mut Tree, mut target: Option<&mut Tree>, key: Option<&str>) {
    match patch {
        Tree::Struct(fields) => {
            for field in fields
                .iter_mut()
                .filter(|field| field.kind != MemberKind::Definition)
            {
                let own = field.markers.patch_key.clone();
                let key = own.as_deref().or(key);
                if let Some(target) = target.as_deref_mut() {
                    fit_field(field, target, key);
                }
                let below = target
                    .as_deref_mut()
                    .and_then(|target| target.get_mut(&field.name));
                walk(&mut field.value, below, key);
            }
        }
        Tree::List { elements, .. } => {
            for (index, element) in elements.iter_mut().enumerate() {
                let below = match target.as_deref_mut() {
                    Some(Tree::List { elements, .. }) => elements.get_mut(index),
                    _ => None,
                };
                walk(element, below, key);
            }
        }
        Tree::Alternatives { values, .. } => {
            for value in values {
                walk(value, target.as_deref_mut(), key);
            }
        }
        Tree::Scalar(_) | Tree::Constraint(_) => {}
    }
}

/// Fits one field; `around` is the struct in the target that would hold it.
fn fit_field(field: &mut Field, around: &mut Tree, key: Option<&str>) {
    let Some(target) = around.get_mut(&field.name) else {
        return;
    };
    match (&mut field.value, target) {
        (
            Tree::List {
                elements: patch,
                rest,
            },
            Tree::List {
                elements,
                rest: target_rest,
            },
        ) => {
            if field.markers.replaces() {
                elements.clone_from(patch);
                target_rest.clone_from(rest);
            } else if patch.is_empty() && rest.is_some() {
                // `[...T]` says something of every element, wherever it is.
            } else if let Some(key) = key.filter(|key| !key.is_empty())
                && let Some(fitted) = fit_list(patch, elements, key, field.markers.retains_keys())
            {
                *patch = fitted;
                *rest = anything();
            }
        }
        (Tree::List { .. }, _) => {}
        (value, target) if field.markers.retains_keys() => *target = value.clone(),
        _ => {}
    }
}

/// The patch's elements at the places of the target's with the same key, then those that the target has not. None
/// when the keys do not tell the elements apart, so that they stay where they are.
fn fit_list(patch: &[Tree], target: &mut [Tree], keys: &str, replace: bool) -> Option<Vec<Tree>> {
    let mut waiting: HashMap<(&str, String), usize> = HashMap::new();
    let mut fitted = Vec::new();
    for key in keys.split(',') {
        let mut found = false;
        for (index, element) in patch.iter().enumerate() {
            if let Some(value) = lookup(element, key) {
                found = true;
                waiting.insert((key, literal(value)?), index);
            }
        }
        if !found {
            if patch.is_empty() {
                continue;
            }
            return None;
        }
        for element in target.iter_mut() {
            let Some(value) = lookup(element, key) else {
                continue;
            };
            match waiting.remove(&(key, literal(value)?)) {
                Some(index) => {
                    if replace {
                        *element = Tree::Struct(Vec::new());
                    }
                    fitted.push(patch[index].clone());
                }
                None => fitted.push(Tree::Struct(Vec::new())),
            }
        }
    }
    let rest = patch
        .iter()
        .enumerate()
        .filter(|(index, _)| waiting.values().any(|waiting| waiting == index));
    fitted.extend(rest.map(|(_, element)| element.clone()));
    Some(fitted)
}

/// The value at a key such as `name` or `valueFrom.name`.
fn lookup<'a>(element: &'a Tree, key: &str) -> Option<&'a Tree> {
    key.split('.').try_fold(element, |tree, step| tree.get(step))
}

/// What tells one key value from another; none for what is not a plain value.
fn literal(value: &Tree) -> Option<String> {
    match value {
        Tree::Scalar(data) => Some(data.to_json()),
        _ => None,
    }
}
