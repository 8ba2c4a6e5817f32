//! Retention: decides which revisions are kept, marked as unused, and deleted.

mod usage;
mod users;

pub use usage::Usage;
pub use users::Users;

use crate::lineage::Lineage;
use crate::name::RevisionName;
use crate::revision::Revision;
use jiff::{SignedDuration, Timestamp};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// The limits for revisions that are not in use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Retention {
    /// How many revisions are kept besides the current one, newest numbers first.
    pub newest: usize,
    /// How long a revision is kept after it was issued, whatever else holds.
    pub grace: SignedDuration,
    /// How long a revision stays marked as unused before it is deleted.
    pub delay: SignedDuration,
}

/// The action for one revision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Action {
    /// Nothing.
    Keep,
    /// It was marked as unused and is needed: take the mark away.
    Unmark,
    /// Nothing keeps it: mark it as unused since now.
    Mark,
    /// It is marked, but not for long enough.
    Wait,
    /// It has been marked for long enough. Whoever deletes it makes sure that it is still the object that was judged.
    Delete,
}

/// The reasons that a revision is kept.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum KeepReason {
    /// It is what a new consumer of the bare artifact gets.
    Current,
    /// The artifact declares it.
    Declared,
    /// These refer to it.
    Used {
        /// Who does.
        by: BTreeSet<String>,
    },
    /// It is what this reference or selector gets now.
    Newest {
        /// The reference or selector, as people know it.
        of: String,
    },
    /// It is one of the newest.
    Recent,
    /// It was issued a short time ago.
    Young,
}

/// A revision and what is to be done with it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Retained<'l> {
    /// The revision.
    pub revision: &'l Revision,
    /// What is to be done with it.
    pub action: Action,
    /// All reasons to keep it, in a fixed order; empty if there is none.
    pub reasons: Vec<KeepReason>,
}

/// Decides the action for every revision of a lineage, in ascending order of numbers.
pub fn retain<'l>(
    lineage: &'l Lineage,
    usage: &Usage<'_>,
    retention: &Retention,
    now: Timestamp,
) -> Vec<Retained<'l>> {
    let mut reasons = usage.reasons(lineage);
    let current = lineage.current();
    if let Some(current) = current {
        reasons
            .entry(current.name())
            .or_default()
            .insert(KeepReason::Current);
    }
    let others = lineage
        .revisions()
        .iter()
        .rev()
        .filter(|revision| Some(*revision) != current);
    for recent in others.take(retention.newest) {
        reasons
            .entry(recent.name())
            .or_default()
            .insert(KeepReason::Recent);
    }
    for revision in lineage.revisions() {
        if now.duration_since(revision.created()) < retention.grace {
            reasons
                .entry(revision.name())
                .or_default()
                .insert(KeepReason::Young);
        }
    }
    lineage
        .revisions()
        .iter()
        .map(|revision| retained(revision, &mut reasons, retention, now))
        .collect()
}

fn retained<'l>(
    revision: &'l Revision,
    reasons: &mut BTreeMap<&RevisionName, BTreeSet<KeepReason>>,
    retention: &Retention,
    now: Timestamp,
) -> Retained<'l> {
    let reasons: Vec<KeepReason> = reasons.remove(revision.name()).into_iter().flatten().collect();
    let action = match revision.unused_since() {
        None if reasons.is_empty() => Action::Mark,
        None => Action::Keep,
        Some(_) if !reasons.is_empty() => Action::Unmark,
        Some(since) if now.duration_since(since) < retention.delay => Action::Wait,
        Some(_) => Action::Delete,
    };
    Retained {
        revision,
        action,
        reasons,
    }
}
