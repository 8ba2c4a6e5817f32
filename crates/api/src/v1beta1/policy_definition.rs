//! PolicyDefinition: a type of policy.

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{DefinitionReference, DefinitionStatus, Schematic, Tree};

/// A type of policy.
#[derive(Debug, Clone, Default, PartialEq, CustomResource, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "core.oam.dev",
    version = "v1beta1",
    kind = "PolicyDefinition",
    doc = "A type of policy: what an Application as a whole asks for.",
    namespaced,
    status = "DefinitionStatus",
    derive = "PartialEq",
    derive = "Default",
    category = "oam",
    shortname = "policydef",
    shortname = "def-policy"
)]
#[serde(rename_all = "camelCase")]
pub struct PolicyDefinitionSpec {
    /// The semantic version. The content of a published version never changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The resource that the policy represents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub definition_ref: Option<DefinitionReference>,
    /// How the manifests are rendered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schematic: Option<Schematic>,
    /// Whether the policy determines the health of the Application.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub manage_health_check: Option<bool>,
    /// Fields that we do not know.
    #[serde(flatten)]
    pub other: Tree,
}
