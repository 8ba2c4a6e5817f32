//! Aligns a patch with its target by its markers, before both are unified.
//!
//! Unification alone can only add. The markers make it more: list elements are brought to the places of the target's
//! elements that have the same key, and what is to be replaced is replaced in the target before.

use super::tree::{Field, Tree, anything};
use cambium_cue::MemberKind;
use std::collections::HashMap;

/// Rearranges the patch's lists to line up with the target's, and replaces in the target what the patch replaces.
pub(super) fn fit(patch: &mut Tree, target: &mut Tree) {
    walk(patch, Target::At(target), None);
}

/// The target of a part of the patch.
enum Target<'a> {
    /// This part of the target.
    At(&'a mut Tree),
    /// Itself, because it has replaced that part of the target.
    Itself,
    /// Nothing is there.
    Nothing,
}

impl Target<'_> {
    fn again(&mut self) -> Target<'_> {
        match self {
            Self::At(target) => Target::At(target),
            Self::Itself => Target::Itself,
            Self::Nothing => Target::Nothing,
        }
    }
}

fn walk(patch: &mut Tree, mut target: Target<'_>, key: Option<&str>) {
    match patch {
        Tree::Struct(fields) => {
            for field in fields
                .iter_mut()
                .filter(|field| field.kind != MemberKind::Definition)
            {
                walk_field(field, target.again(), key);
            }
        }
        Tree::List { elements, .. } => {
            for (index, element) in elements.iter_mut().enumerate() {
                let below = match target.again() {
                    Target::At(Tree::List { elements, .. }) => {
                        elements.get_mut(index).map_or(Target::Nothing, Target::At)
                    }
                    Target::Itself => Target::Itself,
                    _ => Target::Nothing,
                };
                walk(element, below, key);
            }
        }
        Tree::Alternatives { values, .. } => {
            for value in values {
                walk(value, target.again(), key);
            }
        }
        Tree::Scalar(_) | Tree::Bytes { .. } | Tree::Constraint(_) => {}
    }
}

/// Fits one field and what is below it; `around` is what would hold it in the target.
fn walk_field(field: &mut Field, around: Target<'_>, key: Option<&str>) {
    let own = field.markers.patch_key.clone();
    let key = own.as_deref().or(key);
    match around {
        Target::Nothing => walk(&mut field.value, Target::Nothing, key),
        Target::Itself => {
            if let Tree::List { elements, .. } = &field.value {
                let mut itself = Tree::List {
                    elements: elements.clone(),
                    rest: None,
                };
                fit_field(field, &mut itself, key);
            }
            walk(&mut field.value, Target::Itself, key);
        }
        Target::At(around) => match around.get_mut(&field.name) {
            None => walk(&mut field.value, Target::Nothing, key),
            Some(target) => match fit_field(field, target, key) {
                Fitted::Beside => walk(&mut field.value, Target::At(target), key),
                Fitted::Instead => {
                    walk(&mut field.value, Target::Itself, key);
                    *target = field.value.clone();
                }
            },
        },
    }
}

/// The position of an aligned field.
enum Fitted {
    /// Lined up with the target's field, to be unified with it.
    Beside,
    /// In the place of the target's field.
    Instead,
}

/// Fits one field to the target's field of the same name.
fn fit_field(field: &mut Field, target: &mut Tree, key: Option<&str>) -> Fitted {
    match (&mut field.value, target) {
        (Tree::List { .. }, Tree::List { .. }) if field.markers.replaces() => Fitted::Instead,
        (
            Tree::List {
                elements: patch,
                rest,
            },
            Tree::List { elements, .. },
        ) => {
            // `[...T]` says something of every element, wherever it is.
            let is_pattern = patch.is_empty() && rest.is_some();
            if let Some(key) = key.filter(|key| !key.is_empty() && !is_pattern)
                && let Some(fitted) = fit_list(patch, elements, key, field.markers.retains_keys())
            {
                *patch = fitted;
                *rest = anything();
            }
            Fitted::Beside
        }
        (Tree::List { .. }, _) => Fitted::Beside,
        _ if field.markers.retains_keys() => Fitted::Instead,
        _ => Fitted::Beside,
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

/// The key value that identifies an element; none if it is not a plain value.
fn literal(value: &Tree) -> Option<String> {
    match value {
        Tree::Scalar(data) => Some(data.to_json()),
        _ => None,
    }
}
