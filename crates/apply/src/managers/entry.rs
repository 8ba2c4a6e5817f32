//! Entries of `managedFields`.

use std::fmt;

use super::timestamp::Timestamp;
use crate::fieldpath::Set;
use cambium_go_text::{quote, write_json_text};

/// The operation by which a manager owns its fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Operation {
    /// Server-side apply.
    Apply,
    /// Create, update, or any other patch.
    Update,
}

impl Operation {
    /// The value in `managedFields`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Apply => "Apply",
            Self::Update => "Update",
        }
    }
}

/// The identity of an entry of `managedFields`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ManagerId {
    /// The field manager's name.
    pub manager: String,
    /// The operation.
    pub operation: Operation,
    /// The API version of an update; empty for an applier, which has one entry for all versions.
    pub api_version: String,
    /// The subresource; empty for the main resource.
    pub subresource: String,
}

impl ManagerId {
    /// The identity of an applier.
    pub fn applier(manager: &str, subresource: &str) -> Self {
        Self {
            manager: manager.to_owned(),
            operation: Operation::Apply,
            api_version: String::new(),
            subresource: subresource.to_owned(),
        }
    }

    /// The identity of an updater.
    pub fn updater(manager: &str, api_version: &str, subresource: &str) -> Self {
        Self {
            manager: manager.to_owned(),
            operation: Operation::Update,
            api_version: api_version.to_owned(),
            subresource: subresource.to_owned(),
        }
    }

    /// Upstream's identifier, by which it sorts managers.
    pub(super) fn sort_key(&self) -> String {
        let mut out = String::from("{");
        let fields = [
            ("manager", self.manager.as_str()),
            ("operation", self.operation.as_str()),
            ("apiVersion", &self.api_version),
            ("subresource", &self.subresource),
        ];
        for (name, value) in fields.into_iter().filter(|(_, value)| !value.is_empty()) {
            if out.len() > 1 {
                out.push(',');
            }
            write_json_text(&mut out, name);
            out.push(':');
            write_json_text(&mut out, value);
        }
        out.push('}');
        out
    }
}

/// The manager as conflicts name it: `"kubectl" with subresource "status" using apps/v1`.
impl fmt::Display for ManagerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&quote(&self.manager))?;
        if !self.subresource.is_empty() {
            write!(f, " with subresource {}", quote(&self.subresource))?;
        }
        match self.operation {
            Operation::Apply => Ok(()),
            Operation::Update => write!(f, " using {}", self.api_version),
        }
    }
}

/// An entry of `managedFields`: manager, fields, API version and time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The manager.
    pub id: ManagerId,
    /// The API version of `fields`.
    pub api_version: String,
    /// The time of the last change.
    pub time: Option<Timestamp>,
    /// The owned fields.
    pub fields: Set,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_managers_as_upstream_does() {
        assert_eq!(ManagerId::applier("a\"b", "").to_string(), r#""a\"b""#);
        assert_eq!(
            ManagerId::applier("a", "status").to_string(),
            r#""a" with subresource "status""#
        );
        assert_eq!(
            ManagerId::updater("a", "apps/v1", "").to_string(),
            r#""a" using apps/v1"#
        );
        assert_eq!(
            ManagerId::updater("a", "v1", "scale").sort_key(),
            r#"{"manager":"a","operation":"Update","apiVersion":"v1","subresource":"scale"}"#
        );
    }
}
