//! The result of a comparison.

use std::cmp::Reverse;

use cambium_lineage::Bump;
use serde::Serialize;

use crate::change::Change;
use crate::compare::{compare, removed};
use crate::contract::Contract;

/// The comparison of one kind.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct KindComparison {
    /// The name of the CustomResourceDefinition.
    pub crd: String,
    /// The kind.
    pub kind: String,
    /// Its changes.
    #[serde(flatten)]
    pub comparison: Comparison,
}

/// Compares all kinds of two sets of contracts, matched by the names of their CustomResourceDefinitions. A kind that only the new set has is new, and
/// no change of anything.
pub fn compare_all(old: &[Contract], new: &[Contract]) -> Vec<KindComparison> {
    let of = |before: &Contract| {
        let after = new.iter().find(|after| after.names.crd == before.names.crd);
        KindComparison {
            crd: before.names.crd.clone(),
            kind: before.names.kind.clone(),
            comparison: match after {
                Some(after) => compare(before, after),
                None => Comparison::new(vec![removed()]),
            },
        }
    };
    let mut all: Vec<KindComparison> = old.iter().map(of).collect();
    all.sort_by(|one, other| one.crd.cmp(&other.crd));
    all
}

/// All changes between two contracts, worst first.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Comparison {
    /// The bump that all changes together demand; none if nothing changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bump: Option<Bump>,
    /// The changes: by bump, then by version, path and rule.
    pub changes: Vec<Change>,
}

impl Comparison {
    pub(crate) fn new(mut changes: Vec<Change>) -> Self {
        changes.sort_by(|one, other| {
            let key = |change: &Change| {
                (
                    Reverse(change.bump),
                    change.version.clone(),
                    change.path.clone(),
                    change.rule.id,
                )
            };
            key(one).cmp(&key(other))
        });
        Self {
            bump: changes.iter().map(|change| change.bump).max(),
            changes,
        }
    }

    /// Whether nothing changed.
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    /// The changes that break somebody.
    pub fn breaks(&self) -> impl Iterator<Item = &Change> {
        self.changes.iter().filter(|change| change.is_break())
    }
}
