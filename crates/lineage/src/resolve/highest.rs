//! Finds the highest revision that a reference allows.

use super::{Chosen, Question, Refusal};
use crate::lineage::Scheme;
use crate::reference::Wanted;
use crate::revision::Revision;
use crate::version::{Series, Version};

/// The highest candidate that the selector matches and that is not closed.
pub(super) fn highest<'l>(question: &Question<'_, 'l>) -> Result<(&'l Revision, Chosen), Refusal> {
    let lineage = question.lineage;
    let (best, reason) = match (lineage.scheme(), question.reference.wanted()) {
        (Scheme::Versioned, Wanted::Series(series)) => (
            first(question, lineage.releases_of(*series)),
            Chosen::HighestOfSeries,
        ),
        (Scheme::Versioned, _) => (first(question, lineage.releases()), Chosen::HighestRelease),
        (Scheme::Numbered, _) => (first(question, lineage.revisions().iter().rev()), Chosen::Newest),
        (Scheme::ContentAddressed, _) => (by_content(question), Chosen::Newest),
    };
    let reason = if question.selector().is_some() {
        Chosen::HighestSelected
    } else {
        reason
    };
    best.map(|revision| (revision, reason))
        .map_err(|ruled_out| none(question, ruled_out))
}

/// Where revisions are called by their content, one that was edited is taken by nobody, and is found only to be refused, where there is nothing else. Whoever
/// selects gets the newest; the others get what the artifact says now, whatever numbers others were given.
fn by_content<'l>(question: &Question<'_, 'l>) -> Result<&'l Revision, RuledOut> {
    let lineage = question.lineage;
    let current = lineage.current().filter(|_| question.selector().is_none());
    let newest = || lineage.revisions().iter().rev();
    let is_intact = |revision: &&Revision| revision.altered().is_none();
    let intact = current.into_iter().chain(newest()).filter(is_intact);
    first(question, intact).or_else(|ruled_out| match ruled_out {
        RuledOut::Closed => Err(ruled_out),
        RuledOut::NoCandidate | RuledOut::BySelector => {
            first(question, newest().filter(|revision| !is_intact(revision))).map_err(|_| ruled_out)
        }
    })
}

/// What ruled out the last candidate, if there was any.
enum RuledOut {
    NoCandidate,
    Closed,
    BySelector,
}

fn first<'l>(
    question: &Question<'_, 'l>,
    candidates: impl Iterator<Item = &'l Revision>,
) -> Result<&'l Revision, RuledOut> {
    let mut ruled_out = RuledOut::NoCandidate;
    for candidate in candidates {
        if !question.selects(candidate) {
            if !matches!(ruled_out, RuledOut::Closed) {
                ruled_out = RuledOut::BySelector;
            }
        } else if question.is_closed(candidate) {
            ruled_out = RuledOut::Closed;
        } else {
            return Ok(candidate);
        }
    }
    Err(ruled_out)
}

fn none(question: &Question<'_, '_>, ruled_out: RuledOut) -> Refusal {
    let Question {
        reference, lineage, ..
    } = *question;
    let reference_text = reference.to_string();
    match (ruled_out, question.selector()) {
        (RuledOut::Closed, _) => {
            return Refusal::Closed {
                reference: reference_text,
            };
        }
        (RuledOut::BySelector, Some(selector)) => {
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
