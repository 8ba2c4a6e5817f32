//! Resolution: reference x policy x lineage -> one revision, or a refusal.
//!
//! ```text
//!  reference ─┐
//!  policy ────┼─► stance ─► fixed: look it up
//!  scheme ────┘            staying: what is in use, while it satisfies the reference
//!                          following: the highest candidate
//! ```

mod choose;
mod explain;
mod fixed;
mod highest;
mod outcome;
mod refusal;
mod stance;

pub use explain::{Explanation, PassedOver, Verdict};
pub use outcome::{Choice, Chosen, Movement, Newer, Resolution};
pub use refusal::Refusal;

use crate::closed::Closed;
use crate::digest::Digest;
use crate::lineage::{Lineage, Scheme};
use crate::lock::Locked;
use crate::name::RevisionName;
use crate::reference::{Reference, Wanted};
use crate::revision::Revision;
use serde::Serialize;
use std::fmt;

/// How a reference follows what is published.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Policy {
    /// Nobody said: an exact reference is fixed, a series is followed, and the bare artifact is pinned to what was highest at
    /// first. Where revisions have numbers and no versions, it takes the newest once more whenever the consumer itself is
    /// edited ([`Question::edited`]).
    ByReference,
    /// Takes whatever is highest among what the reference allows, as soon as it is published.
    Automatic,
    /// Never moves. A reference that names no exact version is refused where there are versions.
    Pinned,
    /// Moves only when the reference, or what is recorded as in use, is changed by hand. Takes the highest once.
    Manual,
}

/// The revision that a consumer uses now, as its status records it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct InUse {
    /// The revision.
    pub name: RevisionName,
    /// The digest of its content, if that was recorded too.
    pub digest: Option<Digest>,
}

impl InUse {
    /// A record of this revision, with its digest.
    pub fn of(revision: &Revision) -> Self {
        Self {
            name: revision.name().clone(),
            digest: Some(revision.digest()),
        }
    }

    /// A record that says which revision, but not with what content.
    pub fn named(name: RevisionName) -> Self {
        Self { name, digest: None }
    }
}

/// A condition on revisions that comes from outside: a label selector, say. The text is what people are shown of it.
#[derive(Clone, Copy)]
pub struct Selector<'a> {
    text: &'a str,
    matches: &'a dyn Fn(&Revision) -> bool,
}

impl<'a> Selector<'a> {
    /// A selector with the text that people know it by.
    pub fn new(text: &'a str, matches: &'a dyn Fn(&Revision) -> bool) -> Self {
        Self { text, matches }
    }

    /// Whether it selects the revision.
    pub fn matches(&self, revision: &Revision) -> bool {
        (self.matches)(revision)
    }

    /// What people are shown of it.
    pub fn text(&self) -> &'a str {
        self.text
    }
}

impl fmt::Debug for Selector<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Selector({})", self.text)
    }
}

/// The input of a resolution.
#[derive(Debug, Clone, Copy)]
pub struct Question<'q, 'l> {
    reference: &'q Reference,
    policy: Policy,
    lineage: &'l Lineage,
    in_use: Option<&'q InUse>,
    selector: Option<Selector<'q>>,
    locked: Option<&'q Locked>,
    closed: Option<&'q Closed>,
    edited: bool,
}

impl<'q, 'l> Question<'q, 'l> {
    /// Asks which revision of the lineage the reference gets under the policy.
    pub fn new(reference: &'q Reference, policy: Policy, lineage: &'l Lineage) -> Self {
        Self {
            reference,
            policy,
            lineage,
            in_use: None,
            selector: None,
            locked: None,
            closed: None,
            edited: false,
        }
    }

    /// The same question by a consumer that uses something already.
    pub fn using(self, in_use: Option<&'q InUse>) -> Self {
        Self { in_use, ..self }
    }

    /// The same question among the revisions that a selector matches. Manual consumers do not select, they are told.
    pub fn among(self, selector: Selector<'q>) -> Self {
        Self {
            selector: Some(selector),
            ..self
        }
    }

    /// The same question by a consumer whose lock names the answer: it gets that revision or none.
    pub fn locked_to(self, locked: &'q Locked) -> Self {
        Self {
            locked: Some(locked),
            ..self
        }
    }

    /// The same question by a consumer that may not take these revisions by itself. If it follows, it does not stay at one of them either.
    pub fn closed_to(self, closed: &'q Closed) -> Self {
        Self {
            closed: Some(closed),
            ..self
        }
    }

    /// The same question by a consumer that was itself edited since it took what it uses.
    pub fn edited(self) -> Self {
        Self { edited: true, ..self }
    }

    /// Whether something newly published could move it: nothing that was named, kept or locked holds it.
    pub fn follows(&self) -> bool {
        let stance = stance::stance(self.reference, self.policy, self.lineage);
        self.locked.is_none() && matches!(stance, Ok(stance::Stance::Following))
    }

    /// Whether it stays until the consumer itself is edited, and then takes the newest.
    pub fn takes_the_newest_when_edited(&self) -> bool {
        self.locked.is_none()
            && self.lineage.scheme() == Scheme::Numbered
            && self.policy == Policy::ByReference
            && *self.reference.wanted() == Wanted::Newest
    }

    /// The answer. It reads the index, and as many candidates as the selector rules out or are closed.
    pub fn resolve(&self) -> Resolution<'l> {
        let decision = choose::decide(self);
        let newer = decision
            .as_ref()
            .ok()
            .and_then(|choice| explain::newer(self, choice));
        Resolution { decision, newer }
    }

    /// The answer, with a line for every revision of the lineage.
    pub fn explain(&self) -> Explanation<'l> {
        explain::explain(self)
    }
}

/// Which revision of the lineage the reference gets under the policy, for a consumer that uses `in_use` now.
pub fn resolve<'l>(
    reference: &Reference,
    policy: Policy,
    lineage: &'l Lineage,
    in_use: Option<&InUse>,
) -> Resolution<'l> {
    Question::new(reference, policy, lineage).using(in_use).resolve()
}
