//! Errors of versions, each with the offending part and a suggestion.

use std::fmt;

/// Why a text is not a version that can be declared: the offending part, and what to write instead if that can be guessed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is not a semantic version: {}{}", .problem.describe(.part), Advice(.suggestion))]
pub struct VersionError {
    /// What was read, cut short if it was long.
    pub text: String,
    /// The part of it that is wrong.
    pub part: String,
    /// What is wrong with that part.
    pub problem: VersionProblem,
    /// The nearest legal version.
    pub suggestion: Option<String>,
}

/// What is wrong with a part of a version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VersionProblem {
    /// There is nothing.
    Empty,
    /// It is longer than [`Version::LONGEST`](super::Version::LONGEST).
    TooLong,
    /// It begins with a `v`, which only references may.
    Prefix,
    /// There are spaces or other blanks in it.
    Blank,
    /// Major, minor or patch is not a number.
    NotANumber,
    /// A number begins with a zero.
    LeadingZero,
    /// A number does not fit in 64 bits.
    TooLarge,
    /// There are more than three numbers.
    TooManyNumbers,
    /// A pre-release or build metadata follows fewer than three numbers.
    NeedsThreeNumbers,
    /// Nothing stands between two dots, or after a `-` or `+`.
    EmptyIdentifier,
    /// A character other than letters, digits and hyphens.
    BadCharacter,
}

impl VersionProblem {
    fn describe(self, part: &str) -> String {
        match self {
            Self::Empty => "it is empty".into(),
            Self::TooLong => format!("it is longer than {} characters", super::Version::LONGEST),
            Self::Prefix => format!("a declared version does not begin with {part:?}"),
            Self::Blank => "it contains whitespace".into(),
            Self::NotANumber => format!("{part:?} is not a number"),
            Self::LeadingZero => format!("{part:?} begins with a zero"),
            Self::TooLarge => format!("{part:?} does not fit in 64 bits"),
            Self::TooManyNumbers => format!("{part:?} follows the third number"),
            Self::NeedsThreeNumbers => format!("{part:?} needs three numbers before it"),
            Self::EmptyIdentifier => format!("{part:?} has an empty identifier"),
            Self::BadCharacter => {
                format!("{part:?} contains something other than letters, digits and hyphens")
            }
        }
    }
}

/// The end of a message: what to write instead, if that is known.
struct Advice<'a>(&'a Option<String>);

impl fmt::Display for Advice<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(suggestion) => write!(formatter, "; write {suggestion:?}"),
            None => Ok(()),
        }
    }
}
