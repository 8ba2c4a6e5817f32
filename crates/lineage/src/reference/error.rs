//! Errors of references, each with the offending part and a suggestion.

/// Why a text is not a reference: the offending part, and the nearest legal reference if there is one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is not a reference: {}{}", .problem.describe(.part), advice(.suggestion))]
pub struct ReferenceError {
    /// What was read, cut short if it was long.
    pub text: String,
    /// The part of it that is wrong.
    pub part: String,
    /// What is wrong with that part.
    pub problem: ReferenceProblem,
    /// The nearest legal reference. For a range it selects other versions than the range would.
    pub suggestion: Option<String>,
}

/// What is wrong with a part of a reference.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReferenceProblem {
    /// There is nothing.
    Empty,
    /// It is longer than [`Reference::LONGEST`](super::Reference::LONGEST), or a part of it is longer than a name can be.
    TooLong,
    /// Nothing stands before the `@`.
    NoArtifact,
    /// Nothing stands after the `@`.
    NothingAfterAt,
    /// There is more than one `@`.
    SecondAt,
    /// There are spaces or other blanks in it.
    Blank,
    /// An upper-case letter where only lower-case ones can be.
    Uppercase,
    /// A character that cannot be there.
    Character,
    /// A dot or hyphen where a letter or digit must be.
    Shape,
    /// A range of versions: `>1.2`, `^1`, `~1.2`, `1.x`, `*`.
    Range,
    /// `latest`, which is a range by another name.
    Latest,
    /// A number that does not fit in 64 bits.
    TooLarge,
}

impl ReferenceProblem {
    fn describe(self, part: &str) -> String {
        match self {
            Self::Empty => "it is empty".into(),
            Self::TooLong => format!("{part:?} is too long"),
            Self::NoArtifact => "no name before the \"@\"".into(),
            Self::NothingAfterAt => "no version or revision after the \"@\"".into(),
            Self::SecondAt => format!("{part:?} contains a second \"@\""),
            Self::Blank => format!("{part:?} contains whitespace"),
            Self::Uppercase => format!("{part:?} contains upper-case letters"),
            Self::Character => {
                format!("{part:?} contains something other than lower-case letters, digits, hyphens and dots")
            }
            Self::Shape => format!("{part:?} has a dot or hyphen where a letter or digit must be"),
            Self::Range => format!("{part:?} is a range, and ranges are not supported"),
            Self::Latest => {
                format!("{part:?} is a range (whatever is newest), and ranges are not supported")
            }
            Self::TooLarge => format!("{part:?} has a number that does not fit in 64 bits"),
        }
    }
}

fn advice(suggestion: &Option<String>) -> String {
    match suggestion {
        Some(suggestion) => format!("; the nearest legal reference is {suggestion:?}"),
        None => String::new(),
    }
}

/// What an error shows of a text that may be long.
pub(super) fn shown(text: &str) -> String {
    match text.char_indices().nth(80) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.into(),
    }
}
