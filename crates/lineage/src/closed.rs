//! Closed revisions: those that a staged upgrade keeps from consumers until it opens them.
//!
//! ```text
//!  Closures:  artifact ─► revision ─► open to: consumer … consumer
//!                 │
//!                 └─ closed_for(artifact, consumer) ─► Closed ─► Question
//! ```
//!
//! A staged upgrade closes a revision when it is published, opens it wave by wave, and closes it again to take it back.

use crate::name::RevisionName;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// The revisions of one artifact that one consumer may not take by itself.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Closed(BTreeSet<RevisionName>);

impl Closed {
    /// Whether this revision is among them.
    pub fn contains(&self, name: &RevisionName) -> bool {
        self.0.contains(name)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Their names.
    pub fn iter(&self) -> impl Iterator<Item = &RevisionName> {
        self.0.iter()
    }
}

impl FromIterator<RevisionName> for Closed {
    fn from_iter<I: IntoIterator<Item = RevisionName>>(names: I) -> Self {
        Self(names.into_iter().collect())
    }
}

/// Which revisions of which artifacts are closed, and for whom they have been opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Closures<A, C> {
    artifacts: BTreeMap<A, BTreeMap<RevisionName, BTreeSet<C>>>,
}

impl<A, C> Default for Closures<A, C> {
    fn default() -> Self {
        Self {
            artifacts: BTreeMap::new(),
        }
    }
}

impl<A: Ord + Clone, C: Ord> Closures<A, C> {
    /// Closes a revision for all consumers, also for those that it had been opened for.
    pub fn close(&mut self, artifact: &A, revision: RevisionName) {
        let revisions = self.artifacts.entry(artifact.clone()).or_default();
        revisions.insert(revision, BTreeSet::new());
    }

    /// Opens a closed revision for some consumers.
    pub fn open_for(
        &mut self,
        artifact: &A,
        revision: &RevisionName,
        consumers: impl IntoIterator<Item = C>,
    ) {
        let revisions = self.artifacts.get_mut(artifact);
        if let Some(open) = revisions.and_then(|revisions| revisions.get_mut(revision)) {
            open.extend(consumers);
        }
    }

    /// Opens a revision for all consumers.
    pub fn open(&mut self, artifact: &A, revision: &RevisionName) {
        let Some(revisions) = self.artifacts.get_mut(artifact) else {
            return;
        };
        revisions.remove(revision);
        if revisions.is_empty() {
            self.artifacts.remove(artifact);
        }
    }

    /// The revisions of an artifact that a consumer may not take by itself.
    pub fn closed_for(&self, artifact: &A, consumer: &C) -> Closed {
        let revisions = self.artifacts.get(artifact).into_iter().flatten();
        revisions
            .filter(|(_, open)| !open.contains(consumer))
            .map(|(name, _)| name.clone())
            .collect()
    }

    /// Whether nothing is closed for anybody.
    pub fn is_empty(&self) -> bool {
        self.artifacts.is_empty()
    }

    /// Whether any revision of an artifact is closed for anybody.
    pub fn concerns(&self, artifact: &A) -> bool {
        self.artifacts.contains_key(artifact)
    }
}
