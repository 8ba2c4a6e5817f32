//! The users of revisions: consumers, snapshots, locks and selectors.

use super::KeepReason;
use crate::lineage::Lineage;
use crate::name::RevisionName;
use crate::reference::Reference;
use crate::resolve::{Policy, Question, Selector};
use crate::revision::Revision;
use std::collections::{BTreeMap, BTreeSet};

/// The users of the revisions of a lineage. All of them must be known before anything is deleted.
#[derive(Debug, Clone, Default)]
pub struct Usage<'a> {
    declared: BTreeSet<RevisionName>,
    used: BTreeMap<RevisionName, BTreeSet<String>>,
    followed: BTreeSet<Reference>,
    selectors: Vec<Selector<'a>>,
}

impl<'a> Usage<'a> {
    /// No revision is in use.
    pub fn none() -> Self {
        Self::default()
    }

    /// The artifact itself declares the revision, so that it would be issued again at once.
    pub fn declare(&mut self, name: RevisionName) {
        self.declared.insert(name);
    }

    /// Adds a user of the revision: a consumer that runs it, is paused or is being deleted; a snapshot for rollbacks; a lock.
    pub fn refer(&mut self, name: RevisionName, by: impl Into<String>) {
        self.used.entry(name).or_default().insert(by.into());
    }

    /// Adds a reference, resolved or not: the revision that it resolves to is kept.
    pub fn follow(&mut self, reference: Reference) {
        self.followed.insert(reference);
    }

    /// Adds a selector: the newest revision that it matches is kept.
    pub fn select(&mut self, selector: Selector<'a>) {
        self.selectors.push(selector);
    }

    /// The reasons to keep revisions, by name.
    pub(super) fn reasons<'l>(
        &self,
        lineage: &'l Lineage,
    ) -> BTreeMap<&'l RevisionName, BTreeSet<KeepReason>> {
        let mut reasons: BTreeMap<&'l RevisionName, BTreeSet<KeepReason>> = BTreeMap::new();
        let mut keep = |revision: Option<&'l Revision>, reason: KeepReason| {
            if let Some(revision) = revision {
                reasons.entry(revision.name()).or_default().insert(reason);
            }
        };
        for name in &self.declared {
            keep(lineage.get(name), KeepReason::Declared);
        }
        for (name, by) in &self.used {
            keep(lineage.get(name), KeepReason::Used { by: by.clone() });
        }
        for reference in &self.followed {
            let gets = Question::new(reference, Policy::Automatic, lineage)
                .resolve()
                .revision();
            keep(
                gets,
                KeepReason::Newest {
                    of: reference.to_string(),
                },
            );
        }
        for selector in &self.selectors {
            let matched = lineage
                .revisions()
                .iter()
                .rev()
                .find(|revision| selector.matches(revision));
            keep(
                matched,
                KeepReason::Newest {
                    of: selector.text().into(),
                },
            );
        }
        reasons
    }
}
