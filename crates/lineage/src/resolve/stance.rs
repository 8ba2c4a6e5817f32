//! The table of references and policies: fixed, staying or following.

use super::{Policy, Refusal};
use crate::lineage::{Lineage, Scheme};
use crate::reference::{Reference, Wanted};
use crate::version::Version;

/// How a consumer follows published revisions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stance {
    /// The reference names one revision.
    Fixed,
    /// What is in use stays; only the first time, or when it no longer satisfies, the highest is taken.
    Staying,
    /// The highest is taken, always.
    Following,
}

/// The stance that a reference and a policy give, or why they do not go together.
pub(super) fn stance(reference: &Reference, policy: Policy, lineage: &Lineage) -> Result<Stance, Refusal> {
    use Policy::{Automatic, ByReference, Manual, Pinned};
    match lineage.scheme() {
        Scheme::Versioned => match (reference.wanted(), policy) {
            (Wanted::Named(_), _) => Err(not_a_version(reference)),
            (Wanted::Exact(_), _) => Ok(Stance::Fixed),
            (Wanted::Series(series), Pinned) => Err(Refusal::PartialWhilePinned {
                reference: reference.to_string(),
                suggestion: lineage
                    .highest_of(*series)
                    .map(|revision| format!("{}@{revision}", reference.artifact())),
            }),
            (Wanted::Series(_), Manual) => Ok(Stance::Staying),
            (Wanted::Series(_), ByReference | Automatic) => Ok(Stance::Following),
            (Wanted::Newest, ByReference | Pinned | Manual) => Ok(Stance::Staying),
            (Wanted::Newest, Automatic) => Ok(Stance::Following),
        },
        scheme @ (Scheme::Numbered | Scheme::ContentAddressed) => match (reference.wanted(), policy) {
            (Wanted::Newest, Pinned | Manual) => Ok(Stance::Staying),
            // As KubeVela does: publishing moves nobody who has not asked for it.
            (Wanted::Newest, ByReference) if scheme == Scheme::Numbered => Ok(Stance::Staying),
            (Wanted::Newest, ByReference | Automatic) => Ok(Stance::Following),
            (Wanted::Series(_) | Wanted::Exact(_) | Wanted::Named(_), _) => Ok(Stance::Fixed),
        },
    }
}

fn not_a_version(reference: &Reference) -> Refusal {
    let tail = reference.tail();
    let body = tail.strip_prefix('v').unwrap_or(tail);
    let problem = Version::declared(body).err();
    let suggestion = problem.as_ref().and_then(|problem| problem.suggestion.as_ref());
    Refusal::NotAVersion {
        reference: reference.to_string(),
        suggestion: suggestion.map(|version| format!("{}@{version}", reference.artifact())),
        problem: problem.map(Box::new),
    }
}
