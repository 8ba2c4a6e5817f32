//! Compile errors with their source positions.

use std::fmt;

use crate::error::EvaluationError;

/// A compile error.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CompileError {
    /// Syntax or type errors, with their positions.
    #[error("{0}")]
    Unsound(String),
    /// A constant subexpression always fails.
    #[error("{0}")]
    Failing(EvaluationError),
}

impl CompileError {
    pub(crate) fn of(source: &str, mut problems: Vec<Problem>) -> Self {
        problems.sort_by_key(|problem| problem.place);
        let total = problems.len();
        let mut shown: Vec<String> = problems
            .iter()
            .take(MOST)
            .map(|problem| Shown { source, problem }.to_string())
            .collect();
        if total > MOST {
            shown.push(format!("{} more errors were truncated", total - MOST));
        }
        Self::Unsound(shown.join("\n"))
    }
}

impl CompileError {
    /// A problem of the expression as a whole.
    pub(crate) fn nowhere(source: &str, message: String) -> Self {
        let place = Place::NOWHERE;
        Self::of(source, vec![Problem { place, message }])
    }
}

const MOST: usize = 100;
const LONGEST_LINE: usize = 16384;

/// A problem of an expression.
#[derive(Debug, Clone)]
pub(crate) struct Problem {
    pub(crate) place: Place,
    pub(crate) message: String,
}

/// A line counted from 1 and a column counted from 0, in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    pub(crate) line: i64,
    pub(crate) column: i64,
}

impl Place {
    /// No position.
    pub(crate) const NOWHERE: Self = Self { line: -1, column: -1 };

    /// The position of a byte offset.
    pub(crate) fn of(source: &str, index: u32) -> Self {
        let mut place = Self { line: 1, column: 0 };
        let before = source.get(..index as usize).unwrap_or(source);
        for character in before.chars() {
            match character {
                '\n' => {
                    place.line += 1;
                    place.column = 0;
                }
                _ => place.column += 1,
            }
        }
        place
    }
}

struct Shown<'a> {
    source: &'a str,
    problem: &'a Problem,
}

impl fmt::Display for Shown<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Problem { place, message } = self.problem;
        write!(
            formatter,
            "ERROR: <input>:{}:{}: {message}",
            place.line,
            place.column + 1
        )?;
        let line = usize::try_from(place.line - 1)
            .ok()
            .and_then(|line| self.source.split('\n').nth(line))
            .filter(|line| line.len() <= LONGEST_LINE);
        let Some(line) = line else { return Ok(()) };
        let line = line.replace('\t', " ");
        write!(formatter, "\n | {line}\n | ")?;
        let mut characters = line.chars();
        for _ in 0..place.column {
            match characters.next() {
                None => break,
                Some(character) if character.len_utf8() > 1 => formatter.write_str("．")?,
                Some(_) => formatter.write_str(".")?,
            }
        }
        match characters.next() {
            Some(character) if character.len_utf8() > 1 => formatter.write_str("＾"),
            _ => formatter.write_str("^"),
        }
    }
}
