//! `cambium gc`: the revisions that the manager would delete, and the reasons to keep the others.
//!
//! The manager decides with `definitions::definition::plan`, `definitions::application::revisions_to_delete` and `compositions::revision::plan`. So does
//! this: it shows their plans, about the same observations, and adds no rule of its own. What the manager only does after something else (it
//! publishes before it deletes, and it deletes nothing while it may not have seen all users) is not shown as deleted.

mod applications;
mod compositions;
mod definitions;

use crate::{Inventory, Visibility};
use cambium_lineage::{KeepReason, RevisionName, Version};
use jiff::{SignedDuration, Timestamp};
use serde::Serialize;

/// The retention limits of the manager.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Revisions of a definition besides the current one and those in use.
    pub definitions: usize,
    /// Revisions of an application besides the current one.
    pub applications: usize,
    /// Revisions of a composition besides the current one and those in use.
    pub compositions: usize,
    /// How long a revision of a composition is kept after it was issued, in use or not.
    pub grace: SignedDuration,
}

/// A revision, and what becomes of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Revision {
    /// Its namespace; revisions of compositions are in none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// The definition that it is a revision of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub definition: Option<String>,
    /// The application that it is a revision of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub application: Option<String>,
    /// The composition that it is a revision of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub composition: Option<String>,
    /// Its name.
    pub revision: RevisionName,
    /// Its number.
    pub number: u64,
    /// Its version, of a definition that has versions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<Version>,
    /// The number of its users.
    pub users: usize,
    /// The action for it.
    pub action: Action,
    /// The reasons to keep it, or the reason that it is deleted.
    pub why: Vec<String>,
}

impl Revision {
    /// The reasons, with the number of users instead of their names.
    pub fn why_in_short(&self) -> Vec<String> {
        let short = |why: &String| match why.starts_with(USED_BY) {
            true => format!("{USED_BY}{}", self.users),
            false => why.clone(),
        };
        self.why.iter().map(short).collect()
    }
}

/// The prefix of a reason that names users.
const USED_BY: &str = "used by ";

/// The action for a revision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Action {
    /// It stays.
    Keep,
    /// The manager deletes it.
    Delete,
}

impl Action {
    /// As it is printed.
    pub fn text(self) -> &'static str {
        match self {
            Self::Keep => "keep",
            Self::Delete => "delete",
        }
    }
}

/// The action for a revision, and its reasons.
type Fate = (Action, Vec<String>);

/// The actions of a manager with these limits for every revision of a namespace, or of all namespaces.
pub fn gc(inventory: &Inventory, namespace: Option<&str>, limits: &Limits, now: Timestamp) -> Vec<Revision> {
    let mut all = definitions::fates(inventory, limits, now);
    all.extend(applications::fates(&inventory.definitions, namespace, limits));
    if namespace.is_none() {
        all.extend(compositions::fates(&inventory.compositions, limits, now));
    }
    all
}

/// What becomes of a revision that was judged: it goes if nothing keeps it.
fn judged(reasons: &[KeepReason], publisher: &str, users: Visibility) -> Fate {
    if !reasons.is_empty() {
        return (
            Action::Keep,
            reasons.iter().map(|reason| text(reason, publisher)).collect(),
        );
    }
    let unused = match users {
        Visibility::All => "not in use",
        Visibility::Part | Visibility::Nothing => "not in use by those that you may list",
    };
    (
        Action::Delete,
        vec![format!("{unused}, and newer revisions are kept")],
    )
}

/// The text of a reason; `publisher` is the kind of object that declares the revision.
fn text(reason: &KeepReason, publisher: &str) -> String {
    match reason {
        KeepReason::Current => "current revision".to_owned(),
        KeepReason::Declared => format!("declared by its {publisher}"),
        KeepReason::Used { by } => {
            let by: Vec<&str> = by.iter().map(String::as_str).collect();
            format!("{USED_BY}{}", by.join(", "))
        }
        KeepReason::Newest { of } if publisher == "composition" => format!("newest with the labels {of}"),
        KeepReason::Newest { of } => format!("{of} resolves to it"),
        KeepReason::Recent => "within the revision limit".to_owned(),
        KeepReason::Young => "within the grace period".to_owned(),
    }
}
