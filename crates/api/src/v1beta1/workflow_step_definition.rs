//! What workflow steps are made of.

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{DefinitionReference, DefinitionStatus, Schematic, Tree};

/// What a workflow step of that type is.
#[derive(Debug, Clone, Default, PartialEq, CustomResource, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "core.oam.dev",
    version = "v1beta1",
    kind = "WorkflowStepDefinition",
    doc = "A type of workflow step. Steps are versioned and resolved like components; Cambium does not run them.",
    namespaced,
    status = "DefinitionStatus",
    derive = "PartialEq",
    derive = "Default",
    category = "oam",
    shortname = "workflowstepdef",
    shortname = "workflowstep"
)]
#[serde(rename_all = "camelCase")]
pub struct WorkflowStepDefinitionSpec {
    /// The semantic version of this content. What was published under a version does not change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The resource that the step stands for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub definition_ref: Option<DefinitionReference>,
    /// What the step does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schematic: Option<Schematic>,
    /// Fields that we do not know.
    #[serde(flatten)]
    pub other: Tree,
}
