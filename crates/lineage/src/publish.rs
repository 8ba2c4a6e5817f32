//! The publish gate: decides whether content may become a revision, and collects the findings against it.
//!
//! ```text
//!   Lineage ──────────┐
//!                     ├─► publish ─► PublishVerdict { next, findings }
//!   Candidate ────────┤                  admission refuses what it refuses; the controller does not publish it
//!   UnnamedCandidate ─┘
//! ```

use crate::digest::Digest;
use crate::lineage::Lineage;
use crate::next::{Content, Next, next};
use crate::revision::Revision;

/// Content that is about to be published under a version or a name, or with a number alone. A new check of a publish is a part of [`Candidate::check`].
pub trait Candidate {
    /// Why it cannot be published.
    type Refused;

    /// What would be published.
    fn content(&self) -> Content;

    /// What speaks against it. It is asked only if the content is not published yet: what has been published before is never judged again.
    fn check(&self) -> Findings<Self::Refused>;

    /// Says that its version or name belongs to a revision with other content.
    fn conflict(&self, published: &Revision, offered: Digest) -> Self::Refused;

    /// Says that no revision number is left.
    fn exhausted(&self) -> Self::Refused;
}

/// Content that is about to be published and has neither a version nor a name of its own: a revision of it is known by its digest, so it conflicts with
/// nothing that is published.
pub trait UnnamedCandidate {
    /// Why it cannot be published.
    type Refused;

    /// The digest by which a revision of it is known.
    fn digest(&self) -> Digest;

    /// Why it cannot be published. It is asked only if the content is not published yet.
    fn check(&self) -> Vec<Self::Refused>;

    /// Says that no revision number is left.
    fn exhausted(&self) -> Self::Refused;
}

/// What checks have found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Findings<R> {
    /// Why it cannot be published.
    pub refused: Vec<R>,
    /// What its author is told though it is published.
    pub warnings: Vec<String>,
}

impl<R> Default for Findings<R> {
    fn default() -> Self {
        Self {
            refused: Vec::new(),
            warnings: Vec::new(),
        }
    }
}

impl<R> Findings<R> {
    /// One refusal.
    pub fn refusal(refused: R) -> Self {
        Self {
            refused: vec![refused],
            warnings: Vec::new(),
        }
    }

    /// Adds what another check has found.
    pub fn extend(&mut self, other: Self) {
        self.refused.extend(other.refused);
        self.warnings.extend(other.warnings);
    }
}

/// What becomes of content in a lineage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublishVerdict<'l, R> {
    /// What it does to the lineage, if nothing refuses it.
    pub next: Next<'l>,
    /// What was found.
    pub findings: Findings<R>,
}

/// Judges content that has a version or a name.
pub fn publish<'l, C: Candidate>(lineage: &'l Lineage, candidate: &C) -> PublishVerdict<'l, C::Refused> {
    let next = next(lineage, &candidate.content());
    let findings = match &next {
        Next::Unchanged(_) | Next::Restore(_) | Next::Reuse { .. } => Findings::default(),
        Next::Issue { .. } => candidate.check(),
        Next::Conflict { published, offered } => Findings::refusal(candidate.conflict(published, *offered)),
        Next::Exhausted => Findings::refusal(candidate.exhausted()),
    };
    PublishVerdict { next, findings }
}

/// Judges content that has neither a version nor a name.
pub fn publish_unnamed<'l, C: UnnamedCandidate>(
    lineage: &'l Lineage,
    candidate: &C,
) -> PublishVerdict<'l, C::Refused> {
    let next = next(lineage, &Content::new(candidate.digest()));
    let refused = match &next {
        Next::Unchanged(_) | Next::Restore(_) | Next::Reuse { .. } => Vec::new(),
        Next::Issue { .. } => candidate.check(),
        // Only versions and names conflict.
        Next::Conflict { .. } | Next::Exhausted => vec![candidate.exhausted()],
    };
    let warnings = Vec::new();
    PublishVerdict {
        next,
        findings: Findings { refused, warnings },
    }
}
