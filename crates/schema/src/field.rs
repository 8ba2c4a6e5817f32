//! Field errors with Kubernetes' messages.

use std::fmt;

use serde_json::Value;

use crate::show::shown;
use cambium_go_text::quote;

/// A field path: `spec.containers[0].name`, `metadata.labels[a.b/c]`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct FieldPath(String);

impl FieldPath {
    /// The object itself.
    pub fn root() -> Self {
        Self::default()
    }

    /// A top-level field, or a dotted path written out.
    pub fn new(path: impl Into<String>) -> Self {
        Self(path.into())
    }

    /// A field of this object.
    #[must_use]
    pub fn child(&self, name: &str) -> Self {
        match (self.0.is_empty(), name.is_empty()) {
            (true, _) => Self(name.to_owned()),
            (_, true) => self.clone(),
            _ => Self(format!("{}.{name}", self.0)),
        }
    }

    /// An item of this list.
    #[must_use]
    pub fn index(&self, index: usize) -> Self {
        Self(format!("{}[{index}]", self.0))
    }

    /// An entry of this map.
    #[must_use]
    pub fn key(&self, key: &str) -> Self {
        Self(format!("{}[{key}]", self.0))
    }

    /// The path as text; empty for the object itself.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for FieldPath {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(if self.0.is_empty() { "<nil>" } else { &self.0 })
    }
}

/// The type of a field error. The names are the reasons of `Status` causes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorKind {
    /// A reference to a missing object.
    NotFound,
    /// A missing field.
    Required,
    /// A value that must be unique is not.
    Duplicate,
    /// A value of the right type that is invalid.
    Invalid,
    /// A value outside an enumeration.
    NotSupported,
    /// A value that policy forbids.
    Forbidden,
    /// Too many characters or bytes.
    TooLong,
    /// Too many items.
    TooMany,
    /// Too few items.
    TooFew,
    /// An internal error.
    Internal,
    /// A value of the wrong type.
    TypeInvalid,
}

impl ErrorKind {
    /// The cause's reason in a `Status`.
    pub fn reason(self) -> &'static str {
        match self {
            Self::NotFound => "FieldValueNotFound",
            Self::Required => "FieldValueRequired",
            Self::Duplicate => "FieldValueDuplicate",
            Self::Invalid => "FieldValueInvalid",
            Self::NotSupported => "FieldValueNotSupported",
            Self::Forbidden => "FieldValueForbidden",
            Self::TooLong => "FieldValueTooLong",
            Self::TooMany => "FieldValueTooMany",
            Self::TooFew => "FieldValueTooFew",
            Self::Internal => "InternalError",
            Self::TypeInvalid => "FieldValueTypeInvalid",
        }
    }

    fn text(self) -> &'static str {
        match self {
            Self::NotFound => "Not found",
            Self::Required => "Required value",
            Self::Duplicate => "Duplicate value",
            Self::Invalid | Self::TypeInvalid => "Invalid value",
            Self::NotSupported => "Unsupported value",
            Self::Forbidden => "Forbidden",
            Self::TooLong => "Too long",
            Self::TooMany => "Too many",
            Self::TooFew => "Too few",
            Self::Internal => "Internal error",
        }
    }
}

/// A field error.
#[derive(Debug, Clone, PartialEq)]
pub struct FieldError {
    /// The type of the error.
    pub kind: ErrorKind,
    /// The path of the field.
    pub path: FieldPath,
    /// The invalid value as printed (already formatted); empty when none is printed.
    pub shown: String,
    /// The details.
    pub detail: String,
}

impl FieldError {
    /// A missing field.
    pub fn required(path: FieldPath, detail: impl Into<String>) -> Self {
        Self {
            kind: ErrorKind::Required,
            path,
            shown: String::new(),
            detail: detail.into(),
        }
    }

    /// An invalid value.
    pub fn invalid(path: FieldPath, value: &Value, detail: impl Into<String>) -> Self {
        Self {
            kind: ErrorKind::Invalid,
            path,
            shown: shown(value),
            detail: detail.into(),
        }
    }

    /// A value of the wrong type.
    pub fn type_invalid(path: FieldPath, value: &Value, detail: impl Into<String>) -> Self {
        Self {
            kind: ErrorKind::TypeInvalid,
            path,
            shown: shown(value),
            detail: detail.into(),
        }
    }

    /// A value that must not be set or changed.
    pub fn forbidden(path: FieldPath, detail: impl Into<String>) -> Self {
        Self {
            kind: ErrorKind::Forbidden,
            path,
            shown: String::new(),
            detail: detail.into(),
        }
    }

    /// A duplicate value.
    pub fn duplicate(path: FieldPath, value: &Value) -> Self {
        Self {
            kind: ErrorKind::Duplicate,
            path,
            shown: shown(value),
            detail: String::new(),
        }
    }

    /// A value outside the supported ones, which are listed in the given order.
    pub fn not_supported(path: FieldPath, value: &Value, supported: &[&str]) -> Self {
        let supported: Vec<_> = supported.iter().map(|text| quote(text)).collect();
        let detail = match supported.is_empty() {
            true => String::new(),
            false => format!("supported values: {}", supported.join(", ")),
        };
        Self {
            kind: ErrorKind::NotSupported,
            path,
            shown: shown(value),
            detail,
        }
    }

    /// A reference to a missing object.
    pub fn not_found(path: FieldPath, value: &Value) -> Self {
        Self {
            kind: ErrorKind::NotFound,
            path,
            shown: shown(value),
            detail: String::new(),
        }
    }

    /// A string over its limit of bytes.
    pub fn too_long(path: FieldPath, limit: usize) -> Self {
        let unit = if limit == 1 { "byte" } else { "bytes" };
        let detail = format!("may not be more than {limit} {unit}");
        Self {
            kind: ErrorKind::TooLong,
            path,
            shown: String::new(),
            detail,
        }
    }

    /// A list over its limit of items.
    pub fn too_many(path: FieldPath, actual: usize, limit: usize) -> Self {
        let unit = if limit == 1 { "item" } else { "items" };
        let detail = format!("must have at most {limit} {unit}");
        Self {
            kind: ErrorKind::TooMany,
            path,
            shown: actual.to_string(),
            detail,
        }
    }

    /// The text after the path: `Invalid value: "x": must be …`.
    pub fn body(&self) -> String {
        let mut text = self.kind.text().to_owned();
        if !self.shown.is_empty() {
            text = format!("{text}: {}", self.shown);
        }
        if !self.detail.is_empty() {
            text = format!("{text}: {}", self.detail);
        }
        text
    }
}

impl fmt::Display for FieldError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}", self.path, self.body())
    }
}

impl std::error::Error for FieldError {}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn messages_read_as_upstream_words_them() {
        let path = FieldPath::new("spec").child("ports").index(0).child("port");
        assert_eq!(
            FieldError::invalid(path.clone(), &json!(0), "must be between 1 and 65535, inclusive")
                .to_string(),
            "spec.ports[0].port: Invalid value: 0: must be between 1 and 65535, inclusive"
        );
        assert_eq!(
            FieldError::required(path.clone(), "").to_string(),
            "spec.ports[0].port: Required value"
        );
        assert_eq!(
            FieldError::not_supported(FieldPath::new("type"), &json!("x"), &["b", "a"]).to_string(),
            "type: Unsupported value: \"x\": supported values: \"b\", \"a\""
        );
        assert_eq!(
            FieldError::duplicate(path, &json!(8)).to_string(),
            "spec.ports[0].port: Duplicate value: 8"
        );
    }
}
