//! The plan of one Composition: which revisions to create, renumber, relabel, mark and delete.

use super::names::{Relabelled, composition_label, copied, labels, relabelled, revision_name};
use super::status::{revision_status, status};
use super::{Candidate, LabelEdits, Stored};
use crate::catalogue::{Live, Shelf};
use crate::consumers::Uses;
use cambium_api::crossplane::{API_VERSION, CompositionStatus};
use cambium_api::names::{annotation, label, reason};
use cambium_lineage::{
    Action, KeepReason, Lineage, Next, PublishVerdict, Retention, RevisionName, Scheme, Selector, Usage,
    publish_unnamed, retain,
};
use jiff::{SignedDuration, Timestamp};
use serde::Serialize;
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// Everything that the plan of a Composition depends on.
pub struct Observed<'a> {
    /// Its name.
    pub name: &'a str,
    /// The object; none if it is gone.
    pub composition: Option<&'a Value>,
    /// What is known of it and its revisions.
    pub shelf: &'a Shelf,
    /// The highest number that was ever issued under this name, as it was recorded.
    pub issued: u64,
    /// Whether a revision has this name.
    pub taken: &'a dyn Fn(&str) -> bool,
    /// Who uses the revisions.
    pub uses: &'a Uses,
    /// Whether edits of labels make revisions.
    pub edits: LabelEdits,
    /// How much is kept.
    pub retention: Retention,
}

/// The plan of a Composition, carried out in this order.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Plan {
    /// The number to record as issued before a revision gets it.
    pub reserve: Option<u64>,
    /// A CompositionRevision to create.
    pub create: Option<Value>,
    /// Revisions to change: owner, number, labels, or content that somebody edited. Merge patches.
    pub change: Vec<(RevisionName, Value)>,
    /// Statuses of revisions that have changed, as merge patches.
    pub statuses: Vec<(RevisionName, Value)>,
    /// Revisions to delete, with the identity of the object that was judged.
    pub delete: Vec<(RevisionName, String)>,
    /// The status, if it has changed.
    pub status: Option<CompositionStatus>,
    /// What to tell about: reason and text.
    pub events: Vec<(&'static str, String)>,
    /// When to look again though nothing has changed.
    pub again_at: Option<Timestamp>,
    /// Why each revision stays, for people.
    pub kept: Vec<(RevisionName, Vec<KeepReason>)>,
}

/// How much is kept of a composition: as its annotation says, or else as the manager was told.
pub fn retention(composition: Option<&Value>, told: Retention) -> Retention {
    let limit = composition.and_then(|composition| {
        let limit = &composition["metadata"]["annotations"][annotation::REVISION_LIMIT];
        limit.as_str()?.parse().ok()
    });
    Retention {
        newest: limit.unwrap_or(told.newest),
        ..told
    }
}

/// The requeue delay while users may be unknown. Usually the reconcile comes sooner: their kinds become cached.
const UNSEEN_PAUSE: SignedDuration = SignedDuration::from_secs(60);

/// The revision that has the current spec.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Current {
    /// This one, with this number.
    In(RevisionName, u64),
    /// None yet: the reason and message.
    Nowhere(&'static str, String),
}

/// Plans one reconcile of a Composition.
pub fn plan(observed: &Observed<'_>, now: Timestamp) -> Plan {
    let mut plan = Plan::default();
    let shelf = observed.shelf;
    let Some((object, live)) = observed.composition.zip(shelf.live()) else {
        // Revisions of a deleted Composition belong to the garbage collector, or to the user who restores them.
        plan_retention(observed, None, &mut plan, now);
        return plan;
    };
    let lineage = lineage(observed);
    let mut changes: Vec<(RevisionName, Map<String, Value>)> = Vec::new();
    for stored in shelf.revisions().filter(|stored| shelf.is_own(stored)) {
        if stored.owner == super::Owner::Nobody {
            change(&mut changes, stored).insert(
                "metadata".to_owned(),
                json!({
                    "ownerReferences": [owner(observed.name, live)],
                }),
            );
        }
        let label = composition_label(observed.name);
        if stored.labels.get(label::COMPOSITION_NAME) != Some(&label) {
            let metadata = change(&mut changes, stored)
                .entry("metadata")
                .or_insert_with(|| json!({}));
            metadata["labels"] = json!({label::COMPOSITION_NAME: label});
        }
    }
    let current = publish_content(observed, live, &lineage, &mut changes, &mut plan);
    if let Current::In(name, _) = &current
        && let Some(stored) = shelf.stored(name)
    {
        relabel(observed, live, stored, change(&mut changes, stored));
    }
    plan.change = changes
        .into_iter()
        .filter(|(_, patch)| !patch.is_empty())
        .map(|(name, patch)| (name, Value::Object(patch)))
        .collect();
    // A reconcile that publishes does nothing else: composite resources that wait for the revision do not wait for retention.
    if plan.create.is_some() {
        plan.again_at = Some(now);
        return plan;
    }
    plan_retention(observed, Some(&current), &mut plan, now);
    let before: CompositionStatus = serde_json::from_value(object["status"].clone()).unwrap_or_default();
    let after = status(object, &before, &current, &lineage, observed.uses, now);
    plan.status = (after != before).then_some(after);
    plan
}

/// The lineage, with what is known to have been issued.
fn lineage(observed: &Observed<'_>) -> Arc<Lineage> {
    let known = observed.shelf.lineage(observed.name);
    // Revisions of an earlier composition of this name have had their numbers, too.
    let foreign = observed
        .shelf
        .revisions()
        .map(|stored| stored.revision.number())
        .max();
    let issued = observed.issued.max(foreign.unwrap_or(0));
    if issued <= known.issued() {
        return known.clone();
    }
    Lineage::builder(observed.name, Scheme::ContentAddressed)
        .revisions(known.revisions().iter().cloned())
        .issued(issued)
        .build()
        .map_or_else(|_| known.clone(), Arc::new)
}

/// The patch of one revision, to which more can be added.
fn change<'c>(
    changes: &'c mut Vec<(RevisionName, Map<String, Value>)>,
    stored: &Stored,
) -> &'c mut Map<String, Value> {
    let name = stored.revision.name();
    let at = changes
        .iter()
        .position(|(known, _)| known == name)
        .unwrap_or_else(|| {
            changes.push((name.clone(), Map::new()));
            changes.len() - 1
        });
    &mut changes[at].1
}

fn publish_content(
    observed: &Observed<'_>,
    live: &Live,
    lineage: &Lineage,
    changes: &mut Vec<(RevisionName, Map<String, Value>)>,
    plan: &mut Plan,
) -> Current {
    let digest = live.identity(observed.edits);
    let mut reserve = |number: u64| plan.reserve = (number > observed.issued).then_some(number);
    let candidate = Candidate {
        content: &live.content,
        digest,
    };
    let PublishVerdict { next, findings } = publish_unnamed(lineage, &candidate);
    match next {
        Next::Unchanged(revision) => {
            reserve(revision.number());
            Current::In(revision.name().clone(), revision.number())
        }
        Next::Restore(revision) => {
            if let Some(stored) = observed.shelf.stored(revision.name()) {
                let spec = restored(stored.content.spec(), live.content.spec());
                change(changes, stored).insert("spec".to_owned(), spec);
            }
            Current::In(revision.name().clone(), revision.number())
        }
        Next::Reuse { revision, number } => {
            reserve(number);
            if let Some(stored) = observed.shelf.stored(revision.name()) {
                change(changes, stored).insert("spec".to_owned(), json!({"revision": number}));
            }
            plan.events.push((
                reason::REVISION_CURRENT_AGAIN,
                format!(
                    "Revision {} has the current spec again, and was renumbered to {number}",
                    revision.name()
                ),
            ));
            Current::In(revision.name().clone(), number)
        }
        Next::Issue { .. } | Next::Conflict { .. } | Next::Exhausted if !findings.refused.is_empty() => {
            let refused: Vec<String> = findings.refused.iter().map(ToString::to_string).collect();
            Current::Nowhere(reason::INVALID_COMPOSITION, refused.join("; "))
        }
        Next::Issue { number, .. } => {
            let name = revision_name(observed.name, digest, observed.taken);
            // Of an earlier composition of this name, which takes it along when it is collected.
            let dying = format!("{}-{}", observed.name, &digest.hex()[..7]);
            let blocked = observed
                .shelf
                .revisions()
                .find(|stored| stored.revision.name().as_str() == dying && !observed.shelf.is_own(stored));
            if let Some(stored) = blocked.filter(|stored| stored.revision.digest() == digest) {
                let message = format!(
                    "{} belongs to an earlier Composition of this name; waiting until it is garbage collected",
                    stored.revision.name()
                );
                return Current::Nowhere(reason::OWNED_BY_ANOTHER, message);
            }
            reserve(number);
            plan.create = Some(object(observed.name, live, &name, number));
            plan.events.push((
                reason::REVISION_ISSUED,
                format!("Issued revision {number} as {name}"),
            ));
            match name.parse() {
                Ok(name) => Current::In(name, number),
                Err(error) => Current::Nowhere(reason::INVALID_VERSION, format!("{error}")),
            }
        }
        Next::Conflict { .. } | Next::Exhausted => {
            Current::Nowhere(reason::INVALID_VERSION, "no revision number is left".to_owned())
        }
    }
}

/// The merge patch that gives a revision its content back: fields that were added go, the number stays.
fn restored(found: &Value, published: &Value) -> Value {
    let mut patch = published.clone();
    if let (Some(patch), Some(found)) = (patch.as_object_mut(), found.as_object()) {
        for field in found.keys() {
            patch.entry(field.clone()).or_insert(Value::Null);
        }
    }
    patch
}

/// The labels of the current revision are those of the composition, beside those that people gave it.
fn relabel(observed: &Observed<'_>, live: &Live, stored: &Stored, patch: &mut Map<String, Value>) {
    let Relabelled { changes, copied } = relabelled(stored, observed.name, &live.labels, live.digest);
    if changes.is_empty() && copied == stored.copied {
        return;
    }
    let metadata = patch.entry("metadata").or_insert_with(|| json!({}));
    metadata["labels"] = changes
        .into_iter()
        .map(|(name, value)| (name, json!(value)))
        .collect();
    metadata["annotations"] = json!({annotation::COPIED_LABELS: json!(copied).to_string()});
}

/// A CompositionRevision.
fn object(composition: &str, live: &Live, name: &str, number: u64) -> Value {
    let mut spec = live.content.spec().clone();
    spec["revision"] = json!(number);
    json!({
        "apiVersion": API_VERSION,
        "kind": "CompositionRevision",
        "metadata": {
            "name": name,
            "labels": labels(composition, &live.labels, live.digest),
            "annotations": {
                annotation::COMPOSITION: composition,
                annotation::COMPOSITION_DIGEST: live.digest,
                annotation::COPIED_LABELS: json!(copied(&live.labels)).to_string(),
            },
            "ownerReferences": [owner(composition, live)],
        },
        "spec": spec,
    })
}

fn owner(composition: &str, live: &Live) -> Value {
    json!({
        "apiVersion": API_VERSION, "kind": "Composition", "name": composition, "uid": live.uid,
        "controller": true, "blockOwnerDeletion": true,
    })
}

/// Decides which revisions are deleted, which are marked as unused before that, and which conditions and users each one shows.
fn plan_retention(observed: &Observed<'_>, current: Option<&Current>, plan: &mut Plan, now: Timestamp) {
    let shelf = observed.shelf;
    let lineage = shelf.lineage(observed.name);
    let mut usage = Usage::none();
    if let Some(Current::In(name, _)) = current {
        usage.declare(name.clone());
    }
    for (name, users) in &observed.uses.by {
        usage.refer(name.clone(), users.to_string());
    }
    let tests: Vec<_> = observed
        .uses
        .selectors
        .iter()
        .map(|selector| {
            let matches = move |revision: &cambium_lineage::Revision| {
                let stored = shelf.stored(revision.name());
                stored.is_some_and(|stored| stored.is_intact() && selector.matches(&stored.labels))
            };
            (selector.to_string(), matches)
        })
        .collect();
    for (text, matches) in &tests {
        usage.select(Selector::new(text, matches));
    }
    let retained = retain(lineage, &usage, &observed.retention, now);
    for stored in shelf.revisions() {
        let name = stored.revision.name();
        let mut unused_since = stored.revision.unused_since();
        let judged = retained.iter().find(|retained| retained.revision.name() == name);
        // What is not in the lineage is judged by nobody: it goes with its composition, or is somebody else's.
        if let Some(judged) = judged.filter(|_| current.is_some() && !stored.deleting) {
            match judged.action {
                Action::Keep => {}
                Action::Unmark => unused_since = None,
                // Somebody may use it.
                Action::Mark | Action::Wait | Action::Delete if observed.uses.unseen => {
                    plan.again_at = sooner(plan.again_at, now + UNSEEN_PAUSE);
                }
                Action::Mark => {
                    unused_since = Some(now);
                    plan.again_at = sooner(plan.again_at, now + observed.retention.delay);
                }
                Action::Wait => {
                    let until = unused_since.map(|since| since + observed.retention.delay);
                    plan.again_at = until.map_or(plan.again_at, |until| sooner(plan.again_at, until));
                }
                Action::Delete => {
                    plan.delete.push((name.clone(), stored.uid.clone()));
                    plan.events.push((
                        reason::REVISION_DELETED,
                        format!("Deleted {name}: not in use, and newer revisions are kept"),
                    ));
                    plan.kept.push((name.clone(), Vec::new()));
                    continue;
                }
            }
            plan.kept.push((name.clone(), judged.reasons.clone()));
            if judged.reasons == [KeepReason::Young] {
                let grown = stored.revision.created() + observed.retention.grace;
                plan.again_at = sooner(plan.again_at, grown);
            }
        }
        let is_current = matches!(current, Some(Current::In(current, _)) if current == name);
        if let Some(patch) = revision_status(stored, is_current, observed.uses, unused_since, now) {
            plan.statuses.push((name.clone(), patch));
        }
    }
}

/// Why a revision cannot be changed so: only its number may change, and only upwards.
pub fn check_revision(old: &Value, new: &Value) -> Result<(), String> {
    let content = |object: &Value| {
        let mut spec = object["spec"].clone();
        if let Some(fields) = spec.as_object_mut() {
            fields.remove("revision");
        }
        spec
    };
    if content(old) != content(new) {
        return Err(format!(
            "CompositionRevisions are immutable; edit the Composition {}, which issues a new revision",
            old["metadata"]["annotations"][annotation::COMPOSITION]
                .as_str()
                .or_else(|| old["metadata"]["labels"][label::COMPOSITION_NAME].as_str())
                .unwrap_or("itself"),
        ));
    }
    let digest = |object: &Value| object["metadata"]["annotations"][annotation::COMPOSITION_DIGEST].clone();
    if !digest(old).is_null() && digest(old) != digest(new) {
        return Err(format!(
            "the annotation {} is immutable: it has the digest of what was published",
            annotation::COMPOSITION_DIGEST
        ));
    }
    Ok(())
}

fn sooner(known: Option<Timestamp>, other: Timestamp) -> Option<Timestamp> {
    Some(known.map_or(other, |known| known.min(other)))
}
