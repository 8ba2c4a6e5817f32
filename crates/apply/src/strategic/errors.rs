//! Errors of strategic merge patches, with upstream's messages.

use serde_json::{Map, Value};
use thiserror::Error;

use crate::go_text;

/// A strategic merge patch that cannot be applied.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum StrategicError {
    /// The patch or the original is not a JSON object.
    #[error("invalid JSON document")]
    BadDocument,
    /// A list whose items are lists cannot be merged.
    #[error("lists of lists are not supported")]
    ListOfLists,
    /// `$deleteFromPrimitiveList` is not followed by a field.
    #[error("invalid patch format of primitive list")]
    PrimitiveList,
    /// `$retainKeys` is not a list, or the patch sets a key that it does not list.
    #[error("invalid patch format of retainKeys")]
    RetainKeys,
    /// `$setElementOrder` is not followed by a field.
    #[error("invalid patch format of setElementOrder list")]
    SetElementOrder,
    /// An item of a keyed list has no key.
    #[error("map: {map} does not contain declared merge key: {key}")]
    NoMergeKey {
        /// The item.
        map: String,
        /// The key that it should have.
        key: String,
    },
    /// A value has the wrong JSON type.
    #[error("expected a {expected}, but received a {actual}")]
    BadType {
        /// The expected type.
        expected: &'static str,
        /// The actual type.
        actual: &'static str,
    },
    /// An unknown `$patch` directive.
    #[error("unknown patch type: {directive} in map: {map}")]
    BadDirective {
        /// The directive.
        directive: String,
        /// The object.
        map: String,
    },
    /// The patch list is not in the order of its `$setElementOrder`.
    #[error("The order in patch list:\n{patch}\n doesn't match $setElementOrder list:\n{order}\n")]
    Order {
        /// The patch list.
        patch: String,
        /// The order list.
        order: String,
    },
    /// Anything else.
    #[error("{0}")]
    Other(String),
}

/// The HTTP status class of an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StrategicErrorClass {
    /// 400.
    BadRequest,
    /// 422.
    Unprocessable,
    /// 500, as upstream for all other errors.
    Internal,
}

impl StrategicError {
    /// The HTTP status class.
    pub fn class(&self) -> StrategicErrorClass {
        match self {
            Self::BadDocument | Self::PrimitiveList | Self::RetainKeys | Self::SetElementOrder => {
                StrategicErrorClass::BadRequest
            }
            Self::ListOfLists => StrategicErrorClass::Unprocessable,
            _ => StrategicErrorClass::Internal,
        }
    }

    pub(super) fn no_merge_key(map: &Map<String, Value>, key: &str) -> Self {
        Self::NoMergeKey {
            map: go_text::plain(&Value::Object(map.clone())),
            key: key.to_owned(),
        }
    }

    pub(super) fn not_a_map(actual: &Value) -> Self {
        Self::BadType {
            expected: "map[string]interface {}",
            actual: go_text::type_name(actual),
        }
    }

    pub(super) fn not_a_list(actual: &Value) -> Self {
        Self::BadType {
            expected: "[]interface {}",
            actual: go_text::type_name(actual),
        }
    }

    pub(super) fn bad_directive(directive: &Value, map: &Map<String, Value>) -> Self {
        let directive = match directive {
            Value::String(text) => text.clone(),
            Value::Null => "%!s(<nil>)".to_owned(),
            Value::Bool(_) | Value::Number(_) => {
                format!(
                    "%!s({}={})",
                    go_text::type_name(directive),
                    go_text::plain(directive)
                )
            }
            other => go_text::plain(other),
        };
        Self::BadDirective {
            directive,
            map: go_text::plain(&Value::Object(map.clone())),
        }
    }
}
