//! The statuses of Compositions and CompositionRevisions.

use super::Stored;
use super::plan::Current;
use crate::consumers::Uses;
use crate::{Content, Shelf};
use cambium_api::Revision;
use cambium_api::crossplane::{CompositionRevisionStatus, CompositionStatus};
use cambium_api::names::{condition, reason};
use cambium_lineage::{Lineage, Users};
use cambium_objects::Conditions;
use jiff::Timestamp;
use serde_json::{Value, json};

pub(super) fn status(
    composition: &Value,
    before: &CompositionStatus,
    current: &Current,
    lineage: &Lineage,
    uses: &Uses,
    now: Timestamp,
) -> CompositionStatus {
    let generation = composition["metadata"]["generation"].as_i64();
    let mut conditions = Conditions::after(&before.conditions, generation, now);
    let mut after = before.clone();
    after.observed_generation = generation;
    match current {
        Current::In(name, number) => {
            let message = format!("Revision {number} has the current spec");
            conditions.set(condition::READY, true, reason::AVAILABLE, message);
            after.current_revision = Some(Revision {
                name: name.to_string(),
                revision: i64::try_from(*number).unwrap_or(i64::MAX),
                revision_hash: lineage.get(name).map(|revision| revision.digest().short()),
                ..Default::default()
            });
            let issued = i64::try_from(lineage.issued().max(*number)).unwrap_or(i64::MAX);
            after.high_water_mark = Some(issued);
        }
        Current::Nowhere(reason, message) => conditions.set(condition::READY, false, reason, message),
    }
    // What is not known is not said.
    if !uses.unseen {
        let used: usize = uses.by.values().map(Users::count).sum();
        after.consumers = i64::try_from(used).ok();
    }
    after.conditions = conditions.done();
    after
}

/// Whether what a revision says of itself depends on the steps of its pipeline. It is said once: what it is about does not change.
fn asks_for_steps(stored: &Stored, before: &CompositionRevisionStatus) -> bool {
    let mut known = before.conditions.iter();
    let is_said = known.any(|known| known.type_ == condition::VALID_PIPELINE);
    !is_said && stored.content.spec()["mode"] == "Pipeline"
}

/// What must be read of a composition's revisions before anything is decided about them: that may take long, and what is decided under a lock must not.
pub fn to_read(shelf: &Shelf) -> Vec<Content> {
    let unread = shelf.revisions().filter(|stored| {
        let before = || serde_json::from_value(stored.status.clone()).unwrap_or_default();
        !stored.content.is_read() && asks_for_steps(stored, &before())
    });
    unread.map(|stored| stored.content.clone()).collect()
}

/// What must be judged before anything is decided about a composition, for the same reason: what it says, if it has no revision yet.
pub fn to_judge(shelf: &Shelf) -> Option<Content> {
    let live = shelf.live()?;
    let mut own = shelf.revisions().filter(|stored| shelf.is_own(stored));
    let is_published = own.any(|stored| stored.revision.digest() == live.digest);
    (!is_published && !live.content.is_judged()).then(|| live.content.clone())
}

/// What has changed in a revision's status, as a merge patch.
pub(super) fn revision_status(
    stored: &Stored,
    is_current: bool,
    uses: &Uses,
    unused_since: Option<Timestamp>,
    now: Timestamp,
) -> Option<Value> {
    let before: CompositionRevisionStatus = serde_json::from_value(stored.status.clone()).unwrap_or_default();
    let mut conditions = Conditions::after(&before.conditions, None, now);
    match stored.revision.altered() {
        None => conditions.set(condition::INTACT, true, reason::AVAILABLE, ""),
        Some(_) => conditions.set(
            condition::INTACT,
            false,
            reason::CONTENT_CHANGED,
            "Edited after it was published; composite resources do not use it",
        ),
    }
    if asks_for_steps(stored, &before) {
        match stored.content.steps() {
            Ok(_) => conditions.set(condition::VALID_PIPELINE, true, reason::VALID_PIPELINE, ""),
            Err(problems) => {
                conditions.set(
                    condition::VALID_PIPELINE,
                    false,
                    reason::INVALID_PIPELINE,
                    problems,
                );
            }
        }
    }
    let users = uses.by.get(stored.revision.name());
    let (consumers, in_use_by) = match uses.unseen {
        true => (before.consumers, before.in_use_by.clone()),
        false => {
            let count = users.map_or(0, |users| i64::try_from(users.count()).unwrap_or(i64::MAX));
            (Some(count), users.map(Users::to_string))
        }
    };
    let after = CompositionRevisionStatus {
        conditions: conditions.done(),
        current: Some(is_current),
        consumers,
        in_use_by,
        unused_since: unused_since.map(|since| since.to_string()),
        other: before.other.clone(),
    };
    if after == before {
        return None;
    }
    // What is no longer said is taken away.
    let mut patch = json!(after);
    for field in stored
        .status
        .as_object()
        .into_iter()
        .flat_map(|fields| fields.keys())
    {
        if patch.get(field).is_none() {
            patch[field] = Value::Null;
        }
    }
    Some(patch)
}
