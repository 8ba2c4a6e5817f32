//! The plan for one definition: which DefinitionRevisions to publish, mark, delete and release.

use super::revision::revision_object;
use super::status::status;
use super::{Called, Candidate, Declared, DeclaredVersion, Templates, declared};
use crate::names::revision_name;
use crate::{Artifact, Stored};
use cambium_api::names::reason;
use cambium_api::v1beta1::DefinitionRevisionStatus;
use cambium_api::{DefinitionStatus, VersionState};
use cambium_lineage::{
    Action, KeepReason, Lineage, LineageError, Next, Place, PublishVerdict, Reference, Retention, Revision,
    RevisionName, Usage, Users, retain,
};
use jiff::Timestamp;
use serde::Serialize;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The observed state that a plan depends on.
pub struct Observed<'a> {
    /// Which definition.
    pub artifact: &'a Artifact,
    /// The object, at v1beta1; none if it is gone.
    pub definition: Option<&'a Value>,
    /// Its revisions.
    pub stored: &'a [Arc<Stored>],
    /// The users of its revisions.
    pub uses: &'a Uses,
    /// Whether the name of a revision belongs to something else.
    pub taken: &'a dyn Fn(&str) -> bool,
    /// The retention limits.
    pub retention: Retention,
    /// Whether templates are evaluated before they are published.
    pub templates: Templates,
}

/// The users of the revisions of a definition.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Uses {
    /// The number of references that resolve to each revision.
    pub references: BTreeMap<RevisionName, i64>,
    /// The users of each revision: Applications, ApplicationRevisions, locks.
    pub by: BTreeMap<RevisionName, Users>,
    /// References that follow: what they would get is kept.
    pub followed: BTreeSet<Reference>,
}

/// The plan for one definition.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Plan {
    /// DefinitionRevisions that must be there, with exactly this content.
    pub publish: Vec<Value>,
    /// Revisions that would not wait for us when their definition goes, such as those that KubeVela made: from now on they do.
    pub hold: Vec<RevisionName>,
    /// Revisions that become current again.
    pub renumber: Vec<Renumber>,
    /// Revisions that nothing keeps: noted, and deleted if it stays so.
    pub mark: Vec<RevisionName>,
    /// Revisions that were noted and are needed again.
    pub unmark: Vec<RevisionName>,
    /// Revisions to delete, with the identity of the object that was judged.
    pub delete: Vec<(RevisionName, String)>,
    /// Revisions with a deletion timestamp that are not in use: their finalizer is removed.
    pub release: Vec<RevisionName>,
    /// Statuses of revisions that have changed.
    pub uses: Vec<(RevisionName, DefinitionRevisionStatus)>,
    /// The status, if it has changed.
    pub status: Option<DefinitionStatus>,
    /// Events: reason and message.
    pub events: Vec<(&'static str, String)>,
    /// When to look again though nothing has changed.
    pub again_at: Option<Timestamp>,
    /// The reasons that each revision is kept, for messages.
    pub kept: Vec<(RevisionName, Vec<KeepReason>)>,
}

/// A revision that gets the newest number.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Renumber {
    /// The revision.
    pub name: RevisionName,
    /// The number it gets.
    pub number: u64,
}

/// The outcome of one declared version.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Outcome {
    pub(super) called: String,
    pub(super) revision: Option<RevisionName>,
    pub(super) state: VersionState,
    pub(super) reason: &'static str,
    pub(super) message: Option<String>,
}

/// Decides about one definition.
pub fn plan(observed: &Observed<'_>, now: Timestamp) -> Plan {
    let mut plan = Plan::default();
    add_missing_finalizers(observed, &mut plan);
    remove_finalizers_of_unused(observed, &mut plan);
    update_revision_statuses(observed, &mut plan);
    let Some(definition) = observed.definition else {
        return plan;
    };
    if !definition["metadata"]["deletionTimestamp"].is_null() {
        return plan;
    }
    let declared = declared(definition);
    let before: DefinitionStatus = serde_json::from_value(definition["status"].clone()).unwrap_or_default();
    let mut shelf = Growing {
        artifact: observed.artifact,
        declared: &declared,
        issued: before
            .high_water_mark
            .and_then(|mark| u64::try_from(mark).ok())
            .unwrap_or(0),
        revisions: observed
            .stored
            .iter()
            .map(|stored| stored.revision.clone())
            .collect(),
    };
    let mut outcomes: Vec<Outcome> = declared
        .problems
        .iter()
        .map(|problem| Outcome {
            called: problem.version.clone().unwrap_or_default(),
            revision: None,
            state: VersionState::Invalid,
            reason: problem.reason,
            message: Some(format!("{}: {}", problem.path, problem.message)),
        })
        .collect();
    let mut contradiction = None;
    for version in &declared.versions {
        match publish_version(observed, definition, version, &mut shelf, &mut plan, now) {
            Ok(outcome) => outcomes.push(outcome),
            Err(error) => contradiction = Some(error),
        }
    }
    let lineage = shelf.lineage();
    match (&lineage, &contradiction) {
        (Ok(lineage), None) => mark_and_delete_unused(observed, lineage, &outcomes, &mut plan, now),
        _ => contradiction = contradiction.or_else(|| lineage.as_ref().err().cloned()),
    }
    let after = status(
        observed,
        definition,
        &before,
        &outcomes,
        lineage.as_ref().ok(),
        contradiction.as_ref(),
        now,
    );
    plan.status = (after != before).then_some(after);
    plan
}

/// Adds our finalizer to revisions that lack it: garbage collection deletes a revision with its definition, in use or not.
fn add_missing_finalizers(observed: &Observed<'_>, plan: &mut Plan) {
    let loose = observed
        .stored
        .iter()
        .filter(|stored| !stored.held && !stored.deleting);
    plan.hold
        .extend(loose.map(|stored| stored.revision.name().clone()));
}

/// Removes the finalizer of revisions whose deletion was requested and that are not in use.
fn remove_finalizers_of_unused(observed: &Observed<'_>, plan: &mut Plan) {
    let unused = |stored: &&Arc<Stored>| !observed.uses.by.contains_key(stored.revision.name());
    let going = observed
        .stored
        .iter()
        .filter(|stored| stored.deleting && stored.held);
    plan.release
        .extend(going.filter(unused).map(|stored| stored.revision.name().clone()));
}

fn update_revision_statuses(observed: &Observed<'_>, plan: &mut Plan) {
    for stored in observed.stored {
        let name = stored.revision.name();
        let consumers = Some(observed.uses.references.get(name).copied().unwrap_or(0));
        let in_use_by = observed.uses.by.get(name).map(Users::to_string);
        if stored.consumers != consumers || stored.in_use_by != in_use_by {
            let status = DefinitionRevisionStatus {
                consumers,
                in_use_by,
                ..Default::default()
            };
            plan.uses.push((name.clone(), status));
        }
    }
}

/// A lineage to which versions are added one after the other.
struct Growing<'a> {
    artifact: &'a Artifact,
    declared: &'a Declared,
    issued: u64,
    revisions: Vec<Revision>,
}

impl Growing<'_> {
    fn lineage(&self) -> Result<Lineage, LineageError> {
        Lineage::builder(self.artifact.name.as_str(), self.declared.scheme)
            .revisions(self.revisions.iter().cloned())
            .issued(self.issued)
            .build()
    }
}

fn publish_version(
    observed: &Observed<'_>,
    definition: &Value,
    version: &DeclaredVersion,
    shelf: &mut Growing<'_>,
    plan: &mut Plan,
    now: Timestamp,
) -> Result<Outcome, LineageError> {
    let artifact = observed.artifact;
    let lineage = shelf.lineage()?;
    let outcome = |revision: Option<&RevisionName>, state, reason, message| Outcome {
        called: match &version.called {
            Called::Version { written, .. } => written.clone(),
            Called::Name(name) => name.to_string(),
            Called::Nothing => String::new(),
        },
        revision: revision.cloned(),
        state,
        reason,
        message,
    };
    let published =
        |name: &RevisionName| outcome(Some(name), VersionState::Published, reason::AVAILABLE, None);
    let candidate = Candidate {
        artifact,
        version,
        templates: observed.templates,
    };
    let PublishVerdict { next, findings } = cambium_lineage::publish(&lineage, &candidate);
    let refused = findings.refused.into_iter().next();
    let not_published = |state, revision: Option<&RevisionName>| {
        let (reason, message) = refused
            .as_ref()
            .map_or((reason::INVALID_VERSION, None), |refused| {
                (refused.reason, Some(refused.message.clone()))
            });
        Ok(outcome(revision, state, reason, message))
    };
    match next {
        Next::Unchanged(revision) => Ok(published(revision.name())),
        Next::Restore(revision) => {
            let (name, number) = (revision.name(), revision.number());
            plan.publish
                .push(revision_object(artifact, definition, version, name, number));
            Ok(published(name))
        }
        Next::Reuse { revision, number } => {
            let name = revision.name().clone();
            plan.renumber.push(Renumber {
                name: name.clone(),
                number,
            });
            shelf.issued = number;
            Ok(published(&name))
        }
        Next::Conflict { published, .. } => not_published(VersionState::Conflict, Some(published.name())),
        Next::Exhausted => not_published(VersionState::Invalid, None),
        Next::Issue { .. } if refused.is_some() => not_published(VersionState::Invalid, None),
        Next::Issue { number, place } => {
            let named = revision_name(
                artifact.type_,
                &artifact.name,
                &version.called,
                number,
                observed.taken,
            );
            let name = match named {
                Ok(name) => name,
                Err(error) => {
                    let message = Some(error.to_string());
                    return Ok(outcome(
                        None,
                        VersionState::Invalid,
                        reason::INVALID_VERSION,
                        message,
                    ));
                }
            };
            plan.publish
                .push(revision_object(artifact, definition, version, &name, number));
            plan.events.push((
                reason::VERSION_PUBLISHED,
                published_text(&artifact.name, &version.called, &name, number, &place),
            ));
            let mut revision = Revision::new(name.clone(), number, version.digest, now);
            revision = match &version.called {
                Called::Version { version, .. } => revision.with_version(version.clone()),
                Called::Name(given) => revision.with_given_name(given.clone()),
                Called::Nothing => revision,
            };
            shelf.revisions.push(revision);
            shelf.issued = number;
            Ok(published(&name))
        }
    }
}

fn published_text(
    definition: &str,
    called: &Called,
    name: &RevisionName,
    number: u64,
    place: &Place<'_>,
) -> String {
    let what = match called {
        Called::Version { version, .. } => format!("{definition}@{version}"),
        Called::Name(given) => format!("{definition}@{given}"),
        Called::Nothing => format!("{definition}@v{number}"),
    };
    let place = match place {
        Place::Top => String::new(),
        Place::BackPort { below } => format!("; a back-port below {below}"),
        Place::Prerelease => "; a pre-release, which no reference follows".to_owned(),
    };
    format!("Published {what} as {name}{place}")
}

/// Marks and deletes what nothing keeps.
fn mark_and_delete_unused(
    observed: &Observed<'_>,
    lineage: &Lineage,
    outcomes: &[Outcome],
    plan: &mut Plan,
    now: Timestamp,
) {
    let mut usage = Usage::none();
    for outcome in outcomes {
        if let Some(name) = &outcome.revision {
            usage.declare(name.clone());
        }
    }
    for (name, by) in &observed.uses.by {
        usage.refer(name.clone(), by.to_string());
    }
    for reference in &observed.uses.followed {
        usage.follow(reference.clone());
    }
    let stored: BTreeMap<&RevisionName, &Arc<Stored>> = observed
        .stored
        .iter()
        .map(|stored| (stored.revision.name(), stored))
        .collect();
    for retained in retain(lineage, &usage, &observed.retention, now) {
        let name = retained.revision.name();
        let Some(stored) = stored.get(name).filter(|stored| !stored.deleting) else {
            continue;
        };
        match retained.action {
            Action::Keep => {}
            Action::Unmark => plan.unmark.push(name.clone()),
            Action::Mark => {
                plan.mark.push(name.clone());
                plan.again_at = sooner(plan.again_at, now + observed.retention.delay);
            }
            Action::Wait => {
                if let Some(since) = retained.revision.unused_since() {
                    plan.again_at = sooner(plan.again_at, since + observed.retention.delay);
                }
            }
            Action::Delete => {
                plan.delete.push((name.clone(), stored.uid.clone()));
                plan.events.push((
                    reason::REVISION_DELETED,
                    format!("Deleted {name}: not in use, and newer revisions are kept"),
                ));
            }
        }
        plan.kept.push((name.clone(), retained.reasons));
    }
}

fn sooner(known: Option<Timestamp>, other: Timestamp) -> Option<Timestamp> {
    Some(known.map_or(other, |known| known.min(other)))
}
