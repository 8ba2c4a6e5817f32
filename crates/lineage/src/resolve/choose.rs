//! Chooses the revision for a question, by the stance of its policy.

use super::fixed::{fixed, locked};
use super::highest::highest;
use super::stance::{Stance, stance};
use super::{Choice, Chosen, InUse, Movement, Policy, Question, Refusal};
use crate::lineage::Scheme;
use crate::reference::Wanted;
use crate::revision::Revision;

/// The revision that the question's consumer gets, or why it gets none.
pub(super) fn decide<'l>(question: &Question<'_, 'l>) -> Result<Choice<'l>, Refusal> {
    let Question {
        reference,
        policy,
        lineage,
        ..
    } = *question;
    if reference.artifact() != lineage.artifact() {
        return Err(Refusal::OtherArtifact {
            reference: reference.to_string(),
            artifact: lineage.artifact().into(),
        });
    }
    let stance = stance(reference, policy, lineage)?;
    let (revision, reason) = match (question.locked, stance) {
        (Some(lock), _) => (locked(question, stance, lock)?, Chosen::Locked),
        (None, Stance::Fixed) => fixed(question)?,
        (None, Stance::Staying) => match staying(question)? {
            Some(revision) => (revision, Chosen::Kept),
            None => highest(question)?,
        },
        (None, Stance::Following) => highest(question)?,
    };
    if let Some(found) = revision.altered() {
        let name = revision.name().clone();
        return Err(Refusal::Altered {
            name,
            issued: revision.digest(),
            found,
        });
    }
    let movement = movement(question, stance, revision)?;
    Ok(Choice {
        revision,
        reason,
        movement,
    })
}

/// What is in use, if there is something and it still satisfies the reference.
fn staying<'l>(question: &Question<'_, 'l>) -> Result<Option<&'l Revision>, Refusal> {
    let Some(InUse { name, .. }) = question.in_use else {
        return Ok(None);
    };
    if question.edited && question.takes_the_newest_when_edited() {
        return Ok(None);
    }
    let revision = question.lineage.get(name).ok_or_else(|| Refusal::Vanished {
        name: name.clone(),
        artifact: question.lineage.artifact().into(),
    })?;
    Ok(may_stay(question, revision).then_some(revision))
}

/// Whether a consumer that stays may stay with this revision.
fn may_stay(question: &Question<'_, '_>, revision: &Revision) -> bool {
    // A bare reference that stays is not moved by an artifact that begins to have versions.
    let bare = *question.reference.wanted() == Wanted::Newest;
    let told_to = matches!(question.policy, Policy::Pinned | Policy::Manual);
    let unversioned = revision.version().is_none() && !question.edited;
    question.is_satisfied_by(revision) || bare && (told_to || unversioned)
}

/// Where the choice lies from what is in use; refuses a name whose content was exchanged.
fn movement(question: &Question<'_, '_>, stance: Stance, chosen: &Revision) -> Result<Movement, Refusal> {
    let Some(in_use) = question.in_use else {
        return Ok(Movement::First);
    };
    if in_use.name != *chosen.name() {
        let before = question.lineage.get(&in_use.name);
        return Ok(before.map_or(Movement::Elsewhere, |before| question.compare(before, chosen)));
    }
    let Some(recorded) = in_use.digest.filter(|recorded| *recorded != chosen.digest()) else {
        return Ok(Movement::Stays);
    };
    let takes_it = stance == Stance::Following || stance == Stance::Staying && question.edited;
    if takes_it && question.lineage.scheme() != Scheme::Versioned {
        return Ok(Movement::Replaced);
    }
    Err(Refusal::Exchanged {
        name: chosen.name().clone(),
        recorded,
        found: chosen.digest(),
    })
}

impl<'q> Question<'q, '_> {
    /// Whether a reference that names no single revision could have selected this one.
    pub(super) fn is_satisfied_by(&self, revision: &Revision) -> bool {
        match (self.lineage.scheme(), self.reference.wanted()) {
            (Scheme::Versioned, Wanted::Series(series)) => {
                revision.release().is_some_and(|version| series.contains(version))
            }
            (Scheme::Versioned, _) => revision.release().is_some(),
            (Scheme::Numbered | Scheme::ContentAddressed, _) => true,
        }
    }

    /// The selector, if this consumer selects at all.
    pub(super) fn selector(&self) -> Option<super::Selector<'q>> {
        self.selector.filter(|_| self.policy != Policy::Manual)
    }

    pub(super) fn selects(&self, revision: &Revision) -> bool {
        self.selector().is_none_or(|selector| selector.matches(revision))
    }

    /// Whether the consumer may not take the revision by itself.
    pub(super) fn is_closed(&self, revision: &Revision) -> bool {
        self.closed.is_some_and(|closed| closed.contains(revision.name()))
    }

    fn compare(&self, before: &Revision, after: &Revision) -> Movement {
        let up = match (self.lineage.scheme(), before.version(), after.version()) {
            (Scheme::Versioned, Some(before), Some(after)) => after > before,
            _ => after.number() > before.number(),
        };
        if up { Movement::Up } else { Movement::Down }
    }
}
