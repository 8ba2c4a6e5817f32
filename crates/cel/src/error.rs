//! Why an evaluation fails.

use std::borrow::Cow;

/// Why an expression has no value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EvaluationError {
    /// Something in the expression went wrong.
    #[error("{0}")]
    Failed(Cow<'static, str>),
    /// The expression took too long.
    #[error("operation cancelled: actual cost limit exceeded")]
    CostExceeded,
}

pub(crate) type Result<T> = std::result::Result<T, EvaluationError>;

/// An error with a fixed text.
pub(crate) fn failed<T>(message: &'static str) -> Result<T> {
    Err(EvaluationError::Failed(Cow::Borrowed(message)))
}

/// An error with a composed text.
pub(crate) fn failure<T>(message: String) -> Result<T> {
    Err(EvaluationError::Failed(Cow::Owned(message)))
}

/// No signature of a function takes these arguments.
pub(crate) fn no_such_overload<T>() -> Result<T> {
    failed("no such overload")
}
