//! A Composition whose spec is about to become a CompositionRevision, and the checks before that.

use crate::admission::Refused;
use crate::content::Content;
use crate::unknown_fields;
use cambium_lineage::{Digest, UnnamedCandidate};
use serde_json::Value;

/// The spec of a Composition that is about to become a CompositionRevision.
pub struct Candidate<'a> {
    /// The spec.
    pub content: &'a Content,
    /// The digest by which a revision of it is known.
    pub digest: Digest,
}

impl UnnamedCandidate for Candidate<'_> {
    type Refused = Refused;

    fn digest(&self) -> Digest {
        self.digest
    }

    fn check(&self) -> Vec<Refused> {
        self.content.problems().to_vec()
    }

    fn exhausted(&self) -> Refused {
        Refused::Exhausted
    }
}

/// Everything that is wrong with the spec of a composition, whatever was published before.
pub(crate) fn check(spec: &Value) -> Vec<Refused> {
    let number = spec.get("revision").map(|_| Refused::RevisionNumber);
    let unknown = unknown_fields::find(spec).into_iter();
    let unknown = unknown.map(|(path, meant)| Refused::UnknownField { path, meant });
    let problems = cambium_compositions_render::validate(spec).into_iter();
    number
        .into_iter()
        .chain(unknown)
        .chain(problems.map(Refused::Composition))
        .collect()
}
