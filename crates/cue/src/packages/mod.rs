//! What the standard packages do, as plain functions.
//!
//! One file per package, one function per builtin, over the types of Rust: the evaluator binds them to values. What
//! Go's functions do, these do, with the same words when they fail; where a program could ask for unbounded memory, it
//! is refused instead.

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

/// The largest text that a function gives back.
pub const MAXIMUM_TEXT: usize = 16 << 20;

/// Lists and structs in each other, at most, in what a function makes of a text.
pub const MAXIMUM_DEPTH: usize = 500;

/// What an evaluation may still cost. Whoever calls a function counts what is linear in the length of its arguments; what takes more than
/// that asks here first, as often as it needs more.
pub trait Budget {
    /// Takes steps, and bytes of memory; an error once there are no more.
    fn take(&mut self, steps: u64, bytes: usize) -> Result<(), CallError>;
}

/// No limit: for texts that nobody else wrote.
impl Budget for () {
    fn take(&mut self, _: u64, _: usize) -> Result<(), CallError> {
        Ok(())
    }
}

/// Why a builtin has no result; fits after `error in call to strings.Repeat: `.
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
