//! Whether a composed resource is ready, and why not.

use serde_json::Value;

use crate::gofmt;
use crate::number::{self, GoNumber};
use crate::path::{FieldPath, PathError};

/// One readiness check; a resource is ready when all of its checks pass.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReadinessCheck {
    /// The field is there.
    NonEmpty(FieldPath),
    /// The field is this text.
    MatchString(FieldPath, String),
    /// The field is this integer.
    MatchInteger(FieldPath, i64),
    /// The field is true.
    MatchTrue(FieldPath),
    /// The field is false.
    MatchFalse(FieldPath),
    /// A condition has this status.
    MatchCondition {
        /// The condition's type.
        kind: String,
        /// Its status.
        status: String,
    },
    /// Ready as soon as it exists.
    None,
}

/// Whether a resource is ready.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Readiness {
    /// All checks passed.
    Ready,
    /// A check did not pass yet.
    NotReady {
        /// Which, and what it found.
        reason: String,
    },
    /// A check found something that it can never pass.
    Failed(ReadinessError),
}

/// Why a readiness check cannot be made. The texts are Crossplane's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("cannot run readiness check at index {index}: {problem}")]
pub struct ReadinessError {
    /// Which check.
    pub index: usize,
    /// What it found.
    pub problem: ReadinessProblem,
}

/// What a readiness check found that it cannot judge.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReadinessProblem {
    /// The field cannot be read.
    #[error(transparent)]
    Path(#[from] PathError),
    /// The field has another type than the check.
    #[error("{path}: not a {wanted}")]
    Type {
        /// The field.
        path: String,
        /// The type the check wants.
        wanted: &'static str,
    },
}

impl Readiness {
    /// Whether all checks passed.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        *self == Self::Ready
    }
}

/// Whether `object` passes all `checks`; without checks, whether its condition `Ready` is true.
#[must_use]
pub fn readiness(object: &Value, checks: &[ReadinessCheck]) -> Readiness {
    let default = [ReadinessCheck::MatchCondition {
        kind: "Ready".to_owned(),
        status: "True".to_owned(),
    }];
    let checks = if checks.is_empty() { &default } else { checks };
    for (index, check) in checks.iter().enumerate() {
        match check.run(object) {
            Ok(None) => {}
            Ok(Some(reason)) => return Readiness::NotReady { reason },
            Err(problem) => return Readiness::Failed(ReadinessError { index, problem }),
        }
    }
    Readiness::Ready
}

impl ReadinessCheck {
    /// Nothing if the check passes, and otherwise the reason.
    fn run(&self, object: &Value) -> Result<Option<String>, ReadinessProblem> {
        let (path, wanted) = match self {
            Self::None => return Ok(None),
            Self::MatchCondition { kind, status } => {
                let found = condition_status(object, kind);
                return Ok((found != *status).then(|| match found {
                    "" => format!("condition {kind} is not {status}: the object has no status"),
                    found => format!("condition {kind} is {found}, not {status}"),
                }));
            }
            Self::NonEmpty(path) => (path, None),
            Self::MatchString(path, wanted) => (path, Some(Wanted::Text(wanted))),
            Self::MatchInteger(path, wanted) => (path, Some(Wanted::Integer(*wanted))),
            Self::MatchTrue(path) => (path, Some(Wanted::Bool(true))),
            Self::MatchFalse(path) => (path, Some(Wanted::Bool(false))),
        };
        let found = match path.get(object) {
            Ok(found) => found,
            Err(error) if error.is_not_found() => return Ok(Some(error.to_string())),
            Err(error) => return Err(error.into()),
        };
        let Some(wanted) = wanted else {
            return Ok(None);
        };
        let matches = wanted.matches(found).ok_or_else(|| ReadinessProblem::Type {
            path: path.to_string(),
            wanted: wanted.type_name(),
        })?;
        Ok((!matches).then(|| format!("{path} is {}, not {wanted}", gofmt::plain(found))))
    }
}

enum Wanted<'a> {
    Text(&'a str),
    Integer(i64),
    Bool(bool),
}

impl Wanted<'_> {
    /// Nothing if the value is of another type.
    fn matches(&self, found: &Value) -> Option<bool> {
        match (self, found) {
            (Self::Text(wanted), Value::String(found)) => Some(found == wanted),
            (Self::Integer(wanted), Value::Number(found)) => match number::of(found) {
                GoNumber::Int(found) => Some(found == *wanted),
                GoNumber::Float(_) => None,
            },
            (Self::Bool(wanted), Value::Bool(found)) => Some(found == wanted),
            _ => None,
        }
    }

    fn type_name(&self) -> &'static str {
        match self {
            Self::Text(_) => "string",
            Self::Integer(_) => "(int64) number",
            Self::Bool(_) => "bool",
        }
    }
}

impl std::fmt::Display for Wanted<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Text(text) => f.write_str(text),
            Self::Integer(integer) => write!(f, "{integer}"),
            Self::Bool(value) => write!(f, "{value}"),
        }
    }
}

/// The status of a condition: `Unknown` if there is no such condition, and empty if there is no status that has conditions at all.
pub(crate) fn condition_status<'a>(object: &'a Value, kind: &str) -> &'a str {
    let conditions = match object.get("status") {
        Some(Value::Object(status)) => status.get("conditions").unwrap_or(&Value::Null),
        Some(Value::Null) => &Value::Null,
        _ => return "",
    };
    let text = |condition: &'a Value, field: &str| match condition.get(field) {
        None | Some(Value::Null) => Some(""),
        Some(value) => value.as_str(),
    };
    match conditions {
        Value::Null => "Unknown",
        Value::Array(conditions) => {
            let mut found = "Unknown";
            for condition in conditions.iter().rev() {
                let (true, Some(name), Some(status)) = (
                    condition.is_object(),
                    text(condition, "type"),
                    text(condition, "status"),
                ) else {
                    return "";
                };
                if name == kind {
                    found = status;
                }
            }
            found
        }
        _ => "",
    }
}
