//! Regular expressions in Go's syntax.
//!
//! Rust's engine has the same guarantees and the same leftmost-first matching as Go's, but reads some patterns differently: `\d` and `\w`
//! mean all of Unicode, `[a&&b]` is an intersection, `\<` a word boundary, `a**` legal, `\Q…\E` is not. So a pattern is read by Go's grammar
//! and written anew in a form that Rust reads as the same thing; what Go refuses is refused.

mod class;
mod translate;

use std::ops::Deref;

use regex::RegexBuilder;

use crate::budget::MATCHED;

/// A compiled pattern, and what matching with it costs.
#[derive(Debug, Clone)]
pub struct Regex {
    regex: regex::Regex,
    size: usize,
    cost: usize,
}

/// What a compiled pattern takes in memory, at most.
pub(crate) const LARGEST: usize = MATCHED[MATCHED.len() - 1].0;

impl Regex {
    /// What it takes in memory, at most.
    pub(crate) fn size(&self) -> usize {
        self.size
    }

    /// What it costs for each byte of a text.
    pub(crate) fn cost(&self) -> usize {
        self.cost
    }
}

impl Deref for Regex {
    type Target = regex::Regex;

    fn deref(&self) -> &regex::Regex {
        &self.regex
    }
}

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
    /// The pattern is right, but there are too many like it.
    #[error("the regular expressions of this document are too large together")]
    Together,
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
    for (size, cost) in MATCHED {
        match RegexBuilder::new(&translated).size_limit(size).build() {
            Ok(regex) => return Ok(Regex { regex, size, cost }),
            Err(regex::Error::CompiledTooBig(_)) => {}
            Err(_) => break,
        }
    }
    Err(RegexpError::TooLarge {
        pattern: pattern.to_owned(),
    })
}
