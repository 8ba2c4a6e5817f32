//! The standard packages, as plain functions.
//!
//! One file per package, one function per built-in, over Rust types; the evaluator binds them to values. Results and
//! error messages are those of Go's functions; calls that would need unbounded memory are refused.

pub mod base64;
pub mod crypto;
mod fields;
pub mod hex;
pub mod json;
pub mod math;
pub mod regexp;
pub mod strconv;
pub mod strings;
pub mod time;
pub mod yaml;

/// Maximum length of a result text.
pub const MAXIMUM_TEXT: usize = 16 << 20;

/// Maximum nesting of decoded values.
pub const MAXIMUM_DEPTH: usize = 500;

/// The remaining budget of an evaluation. Callers charge costs that are linear in the arguments; functions with higher
/// costs charge them here.
pub trait Budget {
    /// Charges steps and bytes; fails once the budget is exceeded.
    fn take(&mut self, steps: u64, bytes: usize) -> Result<(), CallError>;
}

/// Without limit, for trusted texts.
impl Budget for () {
    fn take(&mut self, _: u64, _: usize) -> Result<(), CallError> {
        Ok(())
    }
}

/// A failed call; fits after `error in call to strings.Repeat: `.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    /// There is none for these arguments.
    #[error("{0}")]
    Failed(String),
    /// It would be larger than a result may be.
    #[error("result is larger than {MAXIMUM_TEXT} bytes")]
    TooLarge,
    /// It would be nested deeper than a result may be.
    #[error("result is nested more than {MAXIMUM_DEPTH} deep")]
    TooDeep,
    /// The budget is used up.
    #[error("budget is used up")]
    Exhausted,
}

impl CallError {
    /// A failure with this message.
    pub fn new(message: impl Into<String>) -> Self {
        Self::Failed(message.into())
    }
}

/// Whether a text of this length may be given back.
pub(crate) fn within_limit(length: Option<usize>) -> Result<(), CallError> {
    match length.filter(|length| *length <= MAXIMUM_TEXT) {
        Some(_) => Ok(()),
        None => Err(CallError::TooLarge),
    }
}

/// Bytes as they appear in exported data.
pub(crate) fn base64_text(bytes: &[u8]) -> String {
    base64::encode(bytes)
}
