//! Resolves references and locks that name exactly one revision.

use super::stance::Stance;
use super::{Chosen, Question, Refusal};
use crate::digest::Digest;
use crate::lineage::Scheme;
use crate::lock::{LockRefusal, Locked};
use crate::reference::Wanted;
use crate::revision::Revision;
use crate::version::Version;

/// The one revision that the reference names.
pub(super) fn fixed<'l>(question: &Question<'_, 'l>) -> Result<(&'l Revision, Chosen), Refusal> {
    let Question {
        reference, lineage, ..
    } = *question;
    if let (Scheme::Versioned, Wanted::Exact(version)) = (lineage.scheme(), reference.wanted()) {
        let revision = lineage.version(version).ok_or_else(|| Refusal::NotPublished {
            reference: reference.to_string(),
            nearest: nearest(question, version).map(|revision| revision.to_string()),
        })?;
        let published = revision.version().unwrap_or(version);
        if !version.build().is_empty() && version.build() != published.build() {
            return Err(Refusal::OtherBuild {
                reference: reference.to_string(),
                published: published.to_string(),
            });
        }
        return Ok((revision, Chosen::ExactVersion));
    }
    // Whoever has been given a name is called by it: its number is not in its name, and may change.
    let given = reference.given_names().find_map(|name| lineage.given(name));
    let revision = given.or_else(|| {
        lineage
            .numbered(reference.number()?)
            .filter(|revision| revision.given_name().is_none())
    });
    revision
        .map(|revision| (revision, Chosen::Named))
        .ok_or_else(|| Refusal::NoSuchRevision {
            reference: reference.to_string(),
            newest: lineage.newest().map(|revision| revision.name().to_string()),
        })
}

/// The revision that the lock names, if it is published, has the locked content, and is what the reference asks for.
pub(super) fn locked<'l>(
    question: &Question<'_, 'l>,
    stance: Stance,
    lock: &Locked,
) -> Result<&'l Revision, Refusal> {
    let Question {
        reference, lineage, ..
    } = *question;
    if stance == Stance::Fixed {
        let revision = fixed(question)?.0;
        lock.check(reference, revision)?;
        return Ok(revision);
    }
    let found = match &lock.version {
        Some(version) => lineage.version(version),
        None => holding(question, lock.digest),
    };
    let revision = found.ok_or_else(|| LockRefusal::Missing {
        reference: reference.to_string(),
        locked: lock.to_string(),
    })?;
    lock.check(reference, revision)?;
    if question.is_satisfied_by(revision) {
        return Ok(revision);
    }
    Err(LockRefusal::Unsatisfying {
        reference: reference.to_string(),
        locked: lock.to_string(),
    }
    .into())
}

/// Of several revisions with this content the one in use, or else the newest that can be used.
fn holding<'l>(question: &Question<'_, 'l>, digest: Digest) -> Option<&'l Revision> {
    let in_use = |revision: &&Revision| {
        question
            .in_use
            .is_some_and(|in_use| in_use.name == *revision.name())
    };
    let all = || question.lineage.with_content(digest);
    all()
        .find(in_use)
        .or_else(|| all().find(|revision| revision.altered().is_none()))
        .or_else(|| all().next())
}

/// What to offer instead of a version that is not there: the highest of its minor series, of its major series, or of all.
fn nearest<'l>(question: &Question<'_, 'l>, version: &Version) -> Option<&'l Revision> {
    let lineage = question.lineage;
    lineage
        .highest_of(version.minor_series())
        .or_else(|| lineage.highest_of(version.major_series()))
        .or_else(|| lineage.highest_release())
}
