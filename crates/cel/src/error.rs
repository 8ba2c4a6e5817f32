//! Evaluation errors.

use std::borrow::Cow;

/// An evaluation error.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EvaluationError {
    /// A runtime error.
    #[error("{0}")]
    Failed(Cow<'static, str>),
    /// The cost limit was exceeded.
    #[error("operation cancelled: actual cost limit exceeded")]
    CostExceeded,
}

pub(crate) type Result<T> = std::result::Result<T, EvaluationError>;

/// An error with a fixed text.
pub(crate) fn failed<T>(message: &'static str) -> Result<T> {
    Err(EvaluationError::Failed(Cow::Borrowed(message)))
}

/// An error with a formatted text.
pub(crate) fn failure<T>(message: String) -> Result<T> {
    Err(EvaluationError::Failed(Cow::Owned(message)))
}

/// `no such overload`.
pub(crate) fn no_such_overload<T>() -> Result<T> {
    failed("no such overload")
}
