//! A list of patterns, each with its result.

use serde_json::Value;

use super::{Passed, TransformError};
use crate::gofmt;
use crate::regexp::Regex;

/// A match transform: the first pattern that matches decides.
#[derive(Debug, Clone)]
pub struct Match {
    /// The patterns, in order.
    pub patterns: Vec<Pattern>,
    /// What comes out if none matches.
    pub fallback: Fallback,
}

/// One pattern and what it gives.
#[derive(Debug, Clone)]
pub struct Pattern {
    /// What the input must look like.
    pub test: Test,
    /// What comes out.
    pub result: Value,
}

/// How a pattern looks at the input.
#[derive(Debug, Clone)]
pub enum Test {
    /// The input is exactly this text.
    Literal(String),
    /// The expression matches somewhere in the input.
    Regexp(Regex),
}

/// What comes out if no pattern matches.
#[derive(Debug, Clone, PartialEq)]
pub enum Fallback {
    /// A fixed value; null if none was given.
    Value(Value),
    /// The input itself.
    Input,
}

impl Match {
    /// What it costs for each byte of a text: all expressions may have to look at it.
    pub(super) fn cost(&self) -> usize {
        let costs = self.patterns.iter().map(|pattern| match &pattern.test {
            Test::Literal(_) => 1,
            Test::Regexp(regexp) => regexp.cost(),
        });
        costs.fold(1, usize::saturating_add)
    }

    pub(super) fn apply(&self, input: Passed) -> Result<Passed, TransformError> {
        for (index, pattern) in self.patterns.iter().enumerate() {
            let Passed::Json(Value::String(text)) = &input else {
                let found = match (&pattern.test, &input) {
                    (Test::Regexp(_), Passed::Json(Value::Null)) => "null",
                    _ => gofmt::type_name(&input),
                };
                return Err(TransformError::MatchInput { index, found });
            };
            let matches = match &pattern.test {
                Test::Literal(literal) => literal == text,
                Test::Regexp(regexp) => regexp.is_match(text),
            };
            if matches {
                return Ok(Passed::Json(pattern.result.clone()));
            }
        }
        Ok(match &self.fallback {
            Fallback::Value(value) => Passed::Json(value.clone()),
            Fallback::Input => input,
        })
    }
}
