//! The outcome of a resolution: the decision, and the verdict on every revision.

use super::{PassedOver, Refusal};
use crate::revision::Revision;
use serde::Serialize;
use std::fmt;

/// The answer to a [`Question`](super::Question).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Resolution<'l> {
    /// The revision and why it is this one, or why there is none. On a refusal, what is running stays as it is.
    pub decision: Result<Choice<'l>, Refusal>,
    /// The revision that a new consumer of the bare artifact would get, if it is above the chosen one, and why it is not taken.
    pub newer: Option<Newer<'l>>,
}

impl<'l> Resolution<'l> {
    /// The chosen revision, if there is one.
    pub fn revision(&self) -> Option<&'l Revision> {
        self.decision.as_ref().ok().map(|choice| choice.revision)
    }
}

/// The chosen revision, and why.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Choice<'l> {
    /// The revision.
    pub revision: &'l Revision,
    /// The reason that it was chosen.
    pub reason: Chosen,
    /// The direction from the revision in use.
    pub movement: Movement,
}

/// The reasons that a revision is chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Chosen {
    /// It is the highest release.
    HighestRelease,
    /// It is the highest release of the series that the reference names.
    HighestOfSeries,
    /// It is exactly the version that the reference names.
    ExactVersion,
    /// It is the revision with the number or name that the reference names.
    Named,
    /// It has the highest number.
    Newest,
    /// It is the highest of those that the selector matches.
    HighestSelected,
    /// It is in use and stays.
    Kept,
    /// It is what the lock says.
    Locked,
}

/// The direction of a choice from the revision in use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Movement {
    /// Nothing was in use.
    First,
    /// It is what was in use.
    Stays,
    /// It is above what was in use.
    Up,
    /// It is below what was in use.
    Down,
    /// What was in use is not in the lineage any more.
    Elsewhere,
    /// It has the name of what was in use, but other content.
    Replaced,
}

/// A revision above the chosen one, and why it is not taken.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Newer<'l> {
    /// The revision.
    pub revision: &'l Revision,
    /// Why it is not taken.
    pub reason: PassedOver,
}

impl fmt::Display for Chosen {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::HighestRelease => "highest release",
            Self::HighestOfSeries => "highest release in the series",
            Self::ExactVersion => "exact version",
            Self::Named => "revision named by the reference",
            Self::Newest => "newest revision",
            Self::HighestSelected => "newest revision that the selector matches",
            Self::Kept => "pinned to the revision in use",
            Self::Locked => "version in the lock",
        })
    }
}
