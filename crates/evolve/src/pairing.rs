//! Pairs fields that were removed with fields that were added: a rename or a move is one change, not two.

use cambium_schema::{Child, Schema};
use std::borrow::Cow;

use crate::compare::{Added, Difference, Found, Wanted, added_field};
use crate::path::Path;
use crate::rules;

/// Turns removed and added fields into differences.
pub(crate) fn pair(found: &mut Found) {
    let mut added: Vec<Option<Added>> = std::mem::take(&mut found.added).into_iter().map(Some).collect();
    for (path, schema) in std::mem::take(&mut found.removed) {
        let shape = without_docs(&schema);
        let alike = |one: &Added| one.path.place() == path.place() && is_alike(&shape, &path, one);
        let partners: Vec<usize> = (0..added.len())
            .filter(|index| added[*index].as_ref().is_some_and(alike))
            .collect();
        let siblings: Vec<usize> = partners
            .iter()
            .copied()
            .filter(|index| {
                added[*index]
                    .as_ref()
                    .is_some_and(|one| one.path.parent() == path.parent())
            })
            .collect();
        // A partner beside the old place is a rename, whatever else moved elsewhere.
        match (siblings.as_slice(), partners.as_slice()) {
            ([only], _) | ([], [only]) => {
                let Some(partner) = added[*only].take() else {
                    continue;
                };
                let rule = if siblings.is_empty() { "R10" } else { "R09" };
                let what = format!("{} -> {}", path, partner.path);
                found.differences.push(Difference {
                    rule: rules::rule(rule).expect("every rule that is named here is in the table"),
                    to: Some(partner.path),
                    path,
                    what,
                    tries: vec![Wanted::Any],
                });
            }
            ([], []) => found.break_with("R08", &path, "removed", [Wanted::Any]),
            (several, others) => {
                let several = if several.is_empty() { others } else { several };
                let names: Vec<String> = several
                    .iter()
                    .filter_map(|index| added[*index].as_ref())
                    .map(|one| one.path.to_string())
                    .collect();
                let what = format!("removed; cannot tell which of {} it became", names.join(", "));
                found.break_with("R08", &path, what, [Wanted::Any]);
            }
        }
    }
    for one in added.into_iter().flatten() {
        added_field(&one, found);
    }
}

/// Whether an added field may be what a removed one became: the same shape, and a shape or a name that says more than "a string".
fn is_alike(shape: &Schema, path: &Path, added: &Added) -> bool {
    let same_shape = *shape == without_docs(&added.schema);
    let (old, new) = (
        path.name().unwrap_or_default(),
        added.path.name().unwrap_or_default(),
    );
    same_shape && (is_telling(shape) || are_similar(old, new))
}

/// Whether a shape is so particular that two fields have it for a reason.
fn is_telling(shape: &Schema) -> bool {
    shape.properties.len() > 1
        || shape
            .items
            .as_ref()
            .is_some_and(|items| items.properties.len() > 1)
}

/// Whether one name is likely to have become the other: the same letters but for a few, or one within the other.
fn are_similar(old: &str, new: &str) -> bool {
    let (old, new) = (old.to_lowercase(), new.to_lowercase());
    if old == new || old.contains(&new) || new.contains(&old) {
        return true;
    }
    let longer = old.chars().count().max(new.chars().count());
    distance(&old, &new) * 3 <= longer
}

/// How many letters are added, dropped or changed between two names.
fn distance(left: &str, right: &str) -> usize {
    let right: Vec<char> = right.chars().collect();
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (place, letter) in left.chars().enumerate() {
        let mut corner = row[0];
        row[0] = place + 1;
        for (column, other) in right.iter().enumerate() {
            let changed = corner + usize::from(letter != *other);
            corner = row[column + 1];
            row[column + 1] = changed.min(corner + 1).min(row[column] + 1);
        }
    }
    row[right.len()]
}

/// A schema without descriptions, so that a rename that is explained is still a rename.
fn without_docs(schema: &Schema) -> Schema {
    let mut plain = schema.clone();
    plain.description = Cow::Borrowed("");
    let child = |child: &Child| Child::Shared(std::sync::Arc::new(without_docs(child)));
    plain.properties = plain
        .properties
        .iter()
        .map(|property| {
            let mut property = property.clone();
            property.schema = child(&property.schema);
            property
        })
        .collect();
    plain.items = plain.items.as_ref().map(child);
    if let cambium_schema::Additional::Schema(values) = &plain.additional {
        plain.additional = cambium_schema::Additional::Schema(child(values));
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::change::Place;

    #[test]
    fn names_that_became_another() {
        for (old, new) in [("persistent", "persistent1"), ("privatKey", "privateKey")] {
            assert!(are_similar(old, new), "{old} {new}");
        }
        for (old, new) in [("auth", "members"), ("cpu", "replicas")] {
            assert!(!are_similar(old, new), "{old} {new}");
        }
    }

    #[test]
    fn spec_and_status_are_apart() {
        assert_eq!(
            Path::default().field("status").field("phase").place(),
            Place::Status
        );
        assert_eq!(Path::default().field("spec").place(), Place::Spec);
    }
}
