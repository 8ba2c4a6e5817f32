//! What an application was.

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{AppliedResource, DefinitionType};
use crate::Tree;

/// An immutable snapshot of an application and of the definition revisions it uses, by name and digest.
///
/// It can be rendered from this and those revisions alone. Copies of definitions, which revisions made by KubeVela hold, are kept.
#[derive(Debug, Clone, Default, PartialEq, CustomResource, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "core.oam.dev",
    version = "v1beta1",
    kind = "ApplicationRevision",
    doc = "An immutable snapshot of an Application and of the definition revisions it uses.",
    namespaced,
    status = "ApplicationRevisionStatus",
    derive = "PartialEq",
    derive = "Default",
    category = "oam",
    shortname = "apprev"
)]
#[serde(rename_all = "camelCase")]
pub struct ApplicationRevisionSpec {
    /// The Application as it was: labels, annotations and spec.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "crate::keep::any_object")]
    pub application: Option<Value>,
    /// Its number in the lineage. Numbers are not used again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<i64>,
    /// `sha256:` and the digest of the application and the definitions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// The definition revisions that it uses.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub definitions: Vec<DefinitionUse>,
    /// The objects that it was rendered into.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resources: Vec<AppliedResource>,
    /// Fields that we do not know.
    #[serde(flatten)]
    pub other: Tree,
}

/// One definition revision that an application revision uses.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DefinitionUse {
    /// What kind of definition it is.
    #[serde(rename = "type")]
    pub type_: DefinitionType,
    /// The reference, as the application has it.
    pub reference: String,
    /// The namespace of the DefinitionRevision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// The name of the DefinitionRevision.
    pub revision: String,
    /// The version that it resolved to, if the definition has versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// `sha256:` and the digest of its content.
    pub digest: String,
    /// Fields that we do not know.
    #[serde(flatten)]
    pub other: Tree,
}

/// What KubeVela says of an application revision. Cambium writes none: the Application's own status says what became of it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ApplicationRevisionStatus {
    /// Whether KubeVela's workflow ended well.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub succeeded: Option<bool>,
    /// Fields that we do not know.
    #[serde(flatten)]
    pub other: Tree,
}
