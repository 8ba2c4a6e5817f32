//! A composition that is about to be published, and everything that is checked before it is.

use crate::admission::Refused;
use crate::content::Content;
use crate::unknown_fields;
use cambium_lineage::{self as lineage, Digest, Findings, Revision};
use serde_json::Value;

/// What a composition says, about to be published.
pub struct Candidate<'a> {
    /// What it says.
    pub content: &'a Content,
    /// What a revision of it is known by.
    pub digest: Digest,
}

impl lineage::Candidate for Candidate<'_> {
    type Refused = Refused;

    fn content(&self) -> lineage::Content {
        lineage::Content::new(self.digest)
    }

    fn check(&self) -> Findings<Refused> {
        Findings {
            refused: self.content.problems().to_vec(),
            warnings: Vec::new(),
        }
    }

    fn conflict(&self, published: &Revision, _: Digest) -> Refused {
        Refused::RevisionTaken(published.name().to_string())
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
