//! Validation errors of a Composition, each with its field path.

use std::fmt;

/// One thing that is wrong with what a user wrote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The place, as `spec.resources[2].patches[1].transforms[0].math.type`.
    pub field: String,
    /// What is wrong there.
    pub fault: Fault,
    /// What to do about it.
    pub suggestion: String,
}

/// How a field can be wrong. The texts are those of the API server and of Crossplane's own admission, where it refuses the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// A field that must be there is not.
    Required {
        /// Why it must.
        reason: String,
    },
    /// A value that makes no sense here.
    Invalid {
        /// The value, as JSON.
        value: String,
        /// Why it makes none.
        reason: String,
    },
    /// A value that something else already has.
    Duplicate {
        /// The value, as JSON.
        value: String,
    },
}

/// Every problem of one document, in the order in which a reader of it meets them.
#[derive(Debug, Clone, Default)]
pub struct Problems(Vec<Problem>, usize);

/// What it took to find them makes no difference.
impl PartialEq for Problems {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

impl Eq for Problems {}

/// The memory that all expressions of one document may take.
const MOST_COMPILED: usize = 64 << 20;

impl Problems {
    /// Whether nothing is wrong.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The problems, in order.
    pub fn iter(&self) -> std::slice::Iter<'_, Problem> {
        self.0.iter()
    }

    /// Counts the memory of an expression of the document; whether it may take that much.
    pub(crate) fn may_compile(&mut self, size: usize) -> bool {
        self.1 = self.1.saturating_add(size);
        self.1 <= MOST_COMPILED
    }

    /// Whether the document may have one more expression.
    pub(crate) fn may_compile_more(&self) -> bool {
        self.1 <= MOST_COMPILED
    }

    pub(crate) fn required(&mut self, field: &str, reason: impl Into<String>, suggestion: impl Into<String>) {
        self.add(
            field,
            Fault::Required {
                reason: reason.into(),
            },
            suggestion,
        );
    }

    pub(crate) fn invalid(
        &mut self,
        field: &str,
        value: impl fmt::Display,
        reason: impl Into<String>,
        suggestion: impl Into<String>,
    ) {
        self.add(
            field,
            Fault::Invalid {
                value: value.to_string(),
                reason: reason.into(),
            },
            suggestion,
        );
    }

    pub(crate) fn duplicate(&mut self, field: &str, value: &str, suggestion: impl Into<String>) {
        self.add(
            field,
            Fault::Duplicate {
                value: crate::gofmt::quoted(value),
            },
            suggestion,
        );
    }

    /// A place that is looked at twice is wrong only once.
    fn add(&mut self, field: &str, fault: Fault, suggestion: impl Into<String>) {
        let problem = Problem {
            field: field.to_owned(),
            fault,
            suggestion: suggestion.into(),
        };
        if !self.0.contains(&problem) {
            self.0.push(problem);
        }
    }

    pub(crate) fn or<T>(self, value: T) -> Result<T, Problems> {
        if self.is_empty() { Ok(value) } else { Err(self) }
    }
}

impl IntoIterator for Problems {
    type Item = Problem;
    type IntoIter = std::vec::IntoIter<Problem>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<'a> IntoIterator for &'a Problems {
    type Item = &'a Problem;
    type IntoIter = std::slice::Iter<'a, Problem>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Required { reason } => write!(f, "Required value: {reason}"),
            Self::Invalid { value, reason } => write!(f, "Invalid value: {value}: {reason}"),
            Self::Duplicate { value } => write!(f, "Duplicate value: {value}"),
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} ({})", self.field, self.fault, self.suggestion)
    }
}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, problem) in self.0.iter().enumerate() {
            if position > 0 {
                f.write_str("; ")?;
            }
            write!(f, "{problem}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Problems {}
