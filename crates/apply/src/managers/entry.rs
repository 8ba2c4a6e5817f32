//! One manager and what it owns.

use std::fmt;

use super::timestamp::Timestamp;
use crate::fieldpath::Set;
use cambium_go_text::{quote, write_json_text};

/// How a manager came to own its fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Operation {
    /// By server-side apply.
    Apply,
    /// By a create, an update or any other patch.
    Update,
}

impl Operation {
    /// As it is written in `managedFields`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Apply => "Apply",
            Self::Update => "Update",
        }
    }
}

/// What tells one entry of `managedFields` from another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ManagerId {
    /// The name that the client gave.
    pub manager: String,
    /// How it owns.
    pub operation: Operation,
    /// The version of its update; empty for an applier, which has one entry whatever the version.
    pub api_version: String,
    /// The subresource that it wrote to; empty for the resource itself.
    pub subresource: String,
}

impl ManagerId {
    /// The entry of a manager that applies.
    pub fn applier(manager: &str, subresource: &str) -> Self {
        Self {
            manager: manager.to_owned(),
            operation: Operation::Apply,
            api_version: String::new(),
            subresource: subresource.to_owned(),
        }
    }

    /// The entry of a manager that updates.
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

/// One manager, what it owns, in which version of the object, and since when.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Who.
    pub id: ManagerId,
    /// The version in which `fields` are named.
    pub api_version: String,
    /// When the entry last changed.
    pub time: Option<Timestamp>,
    /// What.
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
