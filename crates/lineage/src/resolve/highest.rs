//! The highest revision that a reference allows.

use super::{Chosen, Policy, Question, Refusal};
use crate::lineage::Scheme;
use crate::reference::Wanted;
use crate::revision::Revision;
use crate::version::{Series, Version};

/// The highest candidate that selector and stage let through.
pub(super) fn highest<'l>(question: &Question<'_, 'l>) -> Result<(&'l Revision, Chosen), Refusal> {
    let lineage = question.lineage;
    let (best, reason) = match (lineage.scheme(), question.reference.wanted()) {
        (Scheme::Versioned, Wanted::Series(series)) => (
            first(question, lineage.releases_of(*series)),
            Chosen::HighestOfSeries,
        ),
        (Scheme::Versioned, _) => (first(question, lineage.releases()), Chosen::HighestRelease),
        _ => (first(question, lineage.revisions().iter().rev()), Chosen::Newest),
    };
    let reason = if question.selector().is_some() {
        Chosen::HighestSelected
    } else {
        reason
    };
    best.map(|revision| (revision, reason))
        .map_err(|ruled_out| none(question, ruled_out))
}

/// What ruled out the last candidate, if there was any.
enum RuledOut {
    NoCandidate,
    ByStage,
    BySelector,
}

fn first<'l>(
    question: &Question<'_, 'l>,
    candidates: impl Iterator<Item = &'l Revision>,
) -> Result<&'l Revision, RuledOut> {
    let mut ruled_out = RuledOut::NoCandidate;
    for candidate in candidates {
        if !question.selects(candidate) {
            if !matches!(ruled_out, RuledOut::ByStage) {
                ruled_out = RuledOut::BySelector;
            }
        } else if !question.is_open_to(candidate) {
            ruled_out = RuledOut::ByStage;
        } else {
            return Ok(candidate);
        }
    }
    Err(ruled_out)
}

fn none(question: &Question<'_, '_>, ruled_out: RuledOut) -> Refusal {
    let Question {
        reference,
        policy,
        lineage,
        ..
    } = *question;
    let reference_text = reference.to_string();
    match (ruled_out, policy, question.selector()) {
        (RuledOut::ByStage, Policy::Staged { through }, _) => {
            return Refusal::AwaitsStage {
                reference: reference_text,
                through,
            };
        }
        (RuledOut::BySelector, _, Some(selector)) => {
            let selector = selector.text().into();
            return Refusal::NoneSelected {
                artifact: lineage.artifact().into(),
                selector,
            };
        }
        _ if lineage.revisions().is_empty() => {
            return Refusal::NothingPublished {
                artifact: lineage.artifact().into(),
            };
        }
        _ => {}
    }
    let series = match reference.wanted() {
        Wanted::Series(series) => Some(*series),
        _ => None,
    };
    Refusal::NoRelease {
        reference: reference_text,
        prerelease: highest_prerelease(question, series).map(|revision| revision.to_string()),
        highest: lineage.highest_release().map(|revision| revision.to_string()),
    }
}

fn highest_prerelease<'l>(question: &Question<'_, 'l>, series: Option<Series>) -> Option<&'l Revision> {
    let wanted = |version: &Version| series.is_none_or(|series| series.contains(version));
    question.lineage.versions().find(|revision| {
        revision
            .version()
            .is_some_and(|version| !version.is_release() && wanted(version))
    })
}
