//! Validation errors of typed values, with upstream's messages.

use std::fmt;

use thiserror::Error;

/// An error and its path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TypedError {
    /// The path of the value; empty for the whole object.
    pub path: String,
    /// The message.
    pub message: String,
}

impl fmt::Display for TypedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.path.is_empty() {
            f.write_str(&self.message)
        } else {
            write!(f, "{}: {}", self.path, self.message)
        }
    }
}

/// All errors of a value.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub struct TypedErrors(pub Vec<TypedError>);

impl fmt::Display for TypedErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let [only] = self.0.as_slice() {
            return only.fmt(f);
        }
        f.write_str("errors:")?;
        self.0.iter().try_for_each(|error| write!(f, "\n  {error}"))
    }
}

/// Errors found so far; paths are completed on the way back to the root.
#[derive(Default)]
pub(super) struct Problems(Vec<TypedError>);

impl Problems {
    pub(super) fn add(&mut self, message: impl Into<String>) {
        self.0.push(TypedError {
            path: String::new(),
            message: message.into(),
        });
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Prepends an element to the paths of errors since `start`.
    pub(super) fn prefix(&mut self, start: usize, step: impl FnOnce() -> String) {
        if start < self.0.len() {
            let step = step();
            for error in self.0.iter_mut().skip(start) {
                error.path.insert_str(0, &step);
            }
        }
    }

    pub(super) fn into_result<T>(self, value: T) -> Result<T, TypedErrors> {
        if self.0.is_empty() {
            Ok(value)
        } else {
            Err(TypedErrors(self.0))
        }
    }
}
