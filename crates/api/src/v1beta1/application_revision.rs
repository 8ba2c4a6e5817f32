//! ApplicationRevision: an immutable snapshot of an Application.

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
    /// The labels, annotations and spec of the Application.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "crate::preserve::any_object")]
    pub application: Option<Value>,
    /// The revision number. Numbers are never reused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<i64>,
    /// `sha256:` and the digest of the application and the definitions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// The DefinitionRevisions that it uses.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub definitions: Vec<DefinitionUse>,
    /// The objects that it rendered.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resources: Vec<AppliedResource>,
    /// Fields that we do not know.
    #[serde(flatten)]
    pub other: Tree,
}

/// A DefinitionRevision that an ApplicationRevision uses.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DefinitionUse {
    /// The type of the definition.
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

/// The status that KubeVela writes. Cambium writes none: the status of the Application has the outcome.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ApplicationRevisionStatus {
    /// Whether KubeVela's workflow succeeded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub succeeded: Option<bool>,
    /// Fields that we do not know.
    #[serde(flatten)]
    pub other: Tree,
}
