//! Regular expressions in Go's syntax.
//!
//! Rust's engine has the same guarantees and the same leftmost-first matching as Go's, but reads some patterns differently: `\d` and `\w`
//! mean all of Unicode, `[a&&b]` is an intersection, `\<` a word boundary, `a**` legal, `\Q…\E` is not. So a pattern is read by Go's grammar
//! and written anew in a form that Rust reads as the same thing; what Go refuses is refused.

mod class;
mod translate;

use regex::{Regex, RegexBuilder};

/// A compiled pattern may take this much memory, and no more.
const LARGEST: usize = 4 << 20;

/// Why a text is not a regular expression; `pattern` is the part that is wrong.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RegexpError {
    /// A mistake in the pattern.
    #[error("error parsing regexp: {problem}: `{pattern}`")]
    Syntax {
        /// What is wrong, in Go's words.
        problem: &'static str,
        /// The part of the pattern that is wrong.
        pattern: String,
    },
    /// The pattern is right, but too much for us.
    #[error("error parsing regexp: expression is nested too deeply or too large: `{pattern}`")]
    TooLarge {
        /// The whole pattern.
        pattern: String,
    },
}

/// Compiles a pattern that is written in Go's syntax.
///
/// # Errors
/// When Go would refuse the pattern, or when it needs too much memory.
pub fn compile(pattern: &str) -> Result<Regex, RegexpError> {
    let translated = translate::translate(pattern)?;
    RegexBuilder::new(&translated)
        .size_limit(LARGEST)
        .build()
        .map_err(|_| RegexpError::TooLarge {
            pattern: pattern.to_owned(),
        })
}
