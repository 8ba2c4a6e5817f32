//! The identity of a published artifact: a definition, by kind, namespace and name.

use cambium_api::v1beta1::DefinitionType;
use serde::Serialize;
use serde_json::Value;
use std::fmt;

/// A definition, by kind, namespace and name; independent of its revisions.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Artifact {
    /// The kind of definition.
    #[serde(rename = "type")]
    pub type_: DefinitionType,
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

impl Artifact {
    /// The artifact with this kind, namespace and name.
    pub fn new(type_: DefinitionType, namespace: impl Into<String>, name: impl Into<String>) -> Self {
        Self {
            type_,
            namespace: namespace.into(),
            name: name.into(),
        }
    }

    /// The artifact that a definition object is.
    pub fn of(definition: &Value) -> Option<Self> {
        let type_ = DefinitionType::of_kind(definition["kind"].as_str()?)?;
        let metadata = &definition["metadata"];
        Some(Self::new(
            type_,
            metadata["namespace"].as_str().unwrap_or_default(),
            metadata["name"].as_str()?,
        ))
    }
}

impl fmt::Display for Artifact {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "{} {}/{}",
            self.type_.kind(),
            self.namespace,
            self.name
        )
    }
}
