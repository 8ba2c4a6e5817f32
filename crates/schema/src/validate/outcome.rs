//! Results of checks, and their conversion to field errors.

use serde_json::Value;

use crate::field::{ErrorKind, FieldError, FieldPath};
use crate::show::shown;
use cambium_go_text::{json, quote};

/// The problems of a value, and the number of checks made: of several failed alternatives, the one with the most checks
/// is reported.
#[derive(Default)]
pub(super) struct Outcome {
    pub(super) problems: Vec<Problem>,
    pub(super) checks: usize,
}

impl Outcome {
    pub(super) fn is_valid(&self) -> bool {
        self.problems.is_empty()
    }

    pub(super) fn count(&mut self) {
        self.checks += 1;
    }

    /// Adds a problem, unless its message is a duplicate.
    pub(super) fn add(&mut self, problem: Problem) {
        if self.problems.iter().all(|known| known.message != problem.message) {
            self.problems.push(problem);
        }
    }

    /// Adds the result of another check of the same value.
    pub(super) fn merge(&mut self, other: Self) {
        self.checks += other.checks;
        if self.problems.is_empty() {
            self.problems = other.problems;
            return;
        }
        let known = self.problems.len();
        for problem in other.problems {
            if self.problems[..known]
                .iter()
                .all(|known| known.message != problem.message)
            {
                self.problems.push(problem);
            }
        }
    }

    /// Adds the result of a part of the value. Messages name the part, so there are no duplicates to look for, which would be
    /// quadratic for a list with many invalid items.
    pub(super) fn append(&mut self, part: Self) {
        self.checks += part.checks;
        self.problems.extend(part.problems);
    }

    pub(super) fn forgiven(self) -> Self {
        Self {
            problems: Vec::new(),
            checks: self.checks,
        }
    }
}

impl From<Problem> for Outcome {
    fn from(problem: Problem) -> Self {
        Self {
            problems: vec![problem],
            checks: 0,
        }
    }
}

/// A problem of a value, in the form of the OpenAPI validator.
pub(super) struct Problem {
    /// The field's name; `None` when the message contains it.
    name: Option<String>,
    kind: ErrorKind,
    shown: String,
    message: String,
    /// The detail of the field error, if it differs from the message.
    detail: Option<String>,
}

impl Problem {
    pub(super) fn invalid(name: &str, value: &Value, message: String) -> Self {
        let kind = ErrorKind::Invalid;
        Self {
            name: Some(name.to_owned()),
            kind,
            shown: shown(value),
            message,
            detail: None,
        }
    }

    /// A problem that is not attributed to a field.
    pub(super) fn unnamed(message: String) -> Self {
        Self {
            name: None,
            kind: ErrorKind::Invalid,
            shown: quote(""),
            message,
            detail: None,
        }
    }

    pub(super) fn wrong_type(name: &str, expected: &str, found: &str) -> Self {
        let message = format!("{name} in body must be of type {expected}: {}", quote(found));
        let kind = ErrorKind::TypeInvalid;
        Self {
            name: Some(name.to_owned()),
            kind,
            shown: quote(found),
            message,
            detail: None,
        }
    }

    pub(super) fn required(name: &str) -> Self {
        let message = format!("{name} in body is required");
        let (name, kind) = (Some(name.to_owned()), ErrorKind::Required);
        Self {
            name,
            kind,
            shown: String::new(),
            message,
            detail: Some(String::new()),
        }
    }

    pub(super) fn too_long(name: &str, limit: u64) -> Self {
        let message = format!("{name} in body should be at most {limit} chars long");
        let unit = if limit == 1 { "byte" } else { "bytes" };
        let detail = Some(format!("may not be more than {limit} {unit}"));
        Self {
            name: Some(name.to_owned()),
            kind: ErrorKind::TooLong,
            shown: String::new(),
            message,
            detail,
        }
    }

    pub(super) fn too_many(name: &str, what: &str, actual: u64, limit: u64) -> Self {
        let message = format!("{name} in body should have at most {limit} {what}");
        let unit = if limit == 1 { "item" } else { "items" };
        let detail = Some(format!("must have at most {limit} {unit}"));
        let (name, kind) = (Some(name.to_owned()), ErrorKind::TooMany);
        Self {
            name,
            kind,
            shown: actual.to_string(),
            message,
            detail,
        }
    }

    pub(super) fn unsupported(name: &str, value: &Value, allowed: &[Value], text: String) -> Self {
        let message = format!(
            "{name} in body should be one of {}: {text}",
            json(&Value::from(allowed))
        );
        let plain = |value: &Value| match value {
            Value::String(text) => quote(text),
            other => quote(&json(other)),
        };
        let listed: Vec<_> = allowed.iter().map(plain).collect();
        let detail = Some(format!("supported values: {}", listed.join(", ")));
        let (name, kind) = (Some(name.to_owned()), ErrorKind::NotSupported);
        Self {
            name,
            kind,
            shown: shown(value),
            message,
            detail,
        }
    }

    pub(super) fn at(self, at: &FieldPath) -> FieldError {
        let name = self.name.unwrap_or_default();
        FieldError {
            kind: self.kind,
            path: at.child(name.strip_prefix('.').unwrap_or(&name)),
            shown: self.shown,
            detail: self.detail.unwrap_or(self.message),
        }
    }
}
