//! Explains a resolution: why each revision was chosen or passed over.

use super::{Choice, Chosen, Newer, Question, Resolution};
use crate::lineage::Scheme;
use crate::reference::Wanted;
use crate::revision::Revision;
use crate::version::{Series, Version};
use serde::{Serialize, Serializer};
use std::fmt;

/// An answer with a line for every revision.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Explanation<'l> {
    /// The answer.
    pub resolution: Resolution<'l>,
    /// Every revision and what became of it, highest first.
    pub lines: Vec<(&'l Revision, Verdict)>,
}

/// The verdict on one revision.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Verdict {
    /// It was chosen.
    Chosen(Chosen),
    /// It was not.
    PassedOver(PassedOver),
}

/// The reasons that a revision is passed over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum PassedOver {
    /// It has no version, and only versions can be referred to.
    WithoutVersion,
    /// It is a pre-release, and the reference does not name it.
    Prerelease,
    /// It is not in the series that the reference names.
    #[serde(serialize_with = "as_text")]
    OutsideSeries(Series),
    /// The reference names another version.
    #[serde(serialize_with = "as_text")]
    OtherVersion(Version),
    /// Another number or name was asked for.
    OtherRevision,
    /// The selector does not match it.
    NotSelected,
    /// It is closed for the consumer.
    Closed,
    /// It was edited after it was issued.
    Altered,
    /// The consumer is pinned to what it uses: a version, or a revision of an artifact without versions.
    Staying(String),
    /// The chosen one is higher.
    Lower,
    /// The lock says otherwise.
    Locked,
    /// The reference was refused before revisions were compared, or the one that it would have got cannot be used.
    Refused,
}

/// The answer, with a line for every revision.
pub(super) fn explain<'l>(question: &Question<'_, 'l>) -> Explanation<'l> {
    let resolution = question.resolve();
    let choice = resolution.decision.as_ref().ok();
    let lineage = question.lineage;
    let mut revisions: Vec<&Revision> = lineage.revisions().iter().rev().collect();
    if lineage.scheme() == Scheme::Versioned {
        // Those without a version come last, by number.
        revisions.sort_by(|left, right| right.version().cmp(&left.version()));
    }
    let line = |revision: &'l Revision| match choice {
        Some(choice) if choice.revision == revision => (revision, Verdict::Chosen(choice.reason)),
        _ => (
            revision,
            Verdict::PassedOver(passed_over(question, choice, revision)),
        ),
    };
    let lines = revisions.into_iter().map(line).collect();
    Explanation { resolution, lines }
}

/// The revision that a new consumer of the bare artifact would get, if the choice is below it.
pub(super) fn newer<'l>(question: &Question<'_, 'l>, choice: &Choice<'l>) -> Option<Newer<'l>> {
    let top = question.lineage.current()?;
    let above = match question.lineage.scheme() {
        Scheme::Versioned => top.version() > choice.revision.version(),
        Scheme::Numbered | Scheme::ContentAddressed => top.number() > choice.revision.number(),
    };
    above.then(|| Newer {
        revision: top,
        reason: passed_over(question, Some(choice), top),
    })
}

fn passed_over(question: &Question<'_, '_>, choice: Option<&Choice<'_>>, revision: &Revision) -> PassedOver {
    if let Some(reason) = by_reference(question, revision) {
        return reason;
    }
    let Some(choice) = choice else {
        return by_condition(question, revision).unwrap_or(PassedOver::Refused);
    };
    match choice.reason {
        Chosen::Kept if is_above(question, revision, choice.revision) => {
            PassedOver::Staying(choice.revision.to_string())
        }
        Chosen::Kept => PassedOver::Lower,
        Chosen::Locked => PassedOver::Locked,
        _ => by_condition(question, revision).unwrap_or(PassedOver::Lower),
    }
}

/// Checks a revision against the reference.
fn by_reference(question: &Question<'_, '_>, revision: &Revision) -> Option<PassedOver> {
    let wanted = question.reference.wanted();
    if question.lineage.scheme() != Scheme::Versioned {
        return (*wanted != Wanted::Newest).then_some(PassedOver::OtherRevision);
    }
    let Some(version) = revision.version() else {
        return Some(PassedOver::WithoutVersion);
    };
    match wanted {
        Wanted::Exact(wanted) if wanted != version => Some(PassedOver::OtherVersion(wanted.clone())),
        Wanted::Exact(_) | Wanted::Named(_) => Some(PassedOver::Refused),
        Wanted::Series(series) if !series.contains(version) => Some(PassedOver::OutsideSeries(*series)),
        Wanted::Series(_) | Wanted::Newest => (!version.is_release()).then_some(PassedOver::Prerelease),
    }
}

/// Checks a revision against the selector and the closed revisions.
fn by_condition(question: &Question<'_, '_>, revision: &Revision) -> Option<PassedOver> {
    if !question.selects(revision) {
        return Some(PassedOver::NotSelected);
    }
    if question.is_closed(revision) {
        return Some(PassedOver::Closed);
    }
    let by_content = question.lineage.scheme() == Scheme::ContentAddressed;
    (by_content && revision.altered().is_some()).then_some(PassedOver::Altered)
}

fn is_above(question: &Question<'_, '_>, revision: &Revision, kept: &Revision) -> bool {
    match question.lineage.scheme() {
        Scheme::Versioned => revision.version() > kept.version(),
        Scheme::Numbered | Scheme::ContentAddressed => revision.number() > kept.number(),
    }
}

impl fmt::Display for PassedOver {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OutsideSeries(series) => write!(formatter, "not in series {series}"),
            Self::OtherVersion(version) => write!(formatter, "pinned to {version}"),
            Self::Staying(revision) => write!(formatter, "pinned to {revision}"),
            Self::WithoutVersion => formatter.write_str("has no version"),
            Self::Prerelease => formatter.write_str("pre-release: selected only by its full version"),
            Self::OtherRevision => formatter.write_str("the reference names another revision"),
            Self::NotSelected => formatter.write_str("not matched by the selector"),
            Self::Closed => formatter.write_str("closed by a staged upgrade"),
            Self::Altered => formatter.write_str("edited after it was published"),
            Self::Lower => formatter.write_str("lower than the chosen revision"),
            Self::Locked => formatter.write_str("locked to another version"),
            Self::Refused => formatter.write_str("reference refused"),
        }
    }
}

fn as_text<S: Serializer>(value: &impl fmt::Display, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(value)
}
