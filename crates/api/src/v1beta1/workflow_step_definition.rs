//! WorkflowStepDefinition: a type of workflow step.

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{DefinitionReference, DefinitionStatus, Schematic, Tree};

/// A type of workflow step.
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
    /// The semantic version. The content of a published version never changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The resource that the step represents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub definition_ref: Option<DefinitionReference>,
    /// How the step runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schematic: Option<Schematic>,
    /// Fields that we do not know.
    #[serde(flatten)]
    pub other: Tree,
}
