//! What a definition was.

use kube::CustomResource;
use kube::core::ApiResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::Tree;

/// An immutable snapshot of one version of a definition.
///
/// The snapshot is a whole definition object at v1beta1, in the field of its kind, as KubeVela has it.
#[derive(Debug, Clone, Default, PartialEq, CustomResource, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "core.oam.dev",
    version = "v1beta1",
    kind = "DefinitionRevision",
    doc = "An immutable snapshot of one version of a definition. What Applications really use.",
    namespaced,
    status = "DefinitionRevisionStatus",
    derive = "PartialEq",
    derive = "Default",
    category = "oam",
    shortname = "defrev"
)]
#[serde(rename_all = "camelCase")]
pub struct DefinitionRevisionSpec {
    /// Its number in the lineage. Numbers are not used again.
    #[serde(default)]
    pub revision: i64,
    /// The first digits of the digest. Revisions that KubeVela made have its own hash here.
    #[serde(default)]
    pub revision_hash: String,
    /// The kind of definition.
    #[serde(default)]
    pub definition_type: DefinitionType,
    /// The definition's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub definition_name: Option<String>,
    /// The semantic version as it was declared, if the definition has versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// `sha256:` and the digest of the spec that it snapshots.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// The snapshot, if it is of a component definition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "crate::keep::any_object")]
    pub component_definition: Option<Value>,
    /// The snapshot, if it is of a trait definition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "crate::keep::any_object")]
    pub trait_definition: Option<Value>,
    /// The snapshot, if it is of a policy definition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "crate::keep::any_object")]
    pub policy_definition: Option<Value>,
    /// The snapshot, if it is of a workflow step definition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "crate::keep::any_object")]
    pub workflow_step_definition: Option<Value>,
    /// Fields that we do not know.
    #[serde(flatten)]
    pub other: Tree,
}

impl DefinitionRevisionSpec {
    /// The definition that it snapshots.
    pub fn snapshot(&self) -> Option<&Value> {
        match self.definition_type {
            DefinitionType::Component => self.component_definition.as_ref(),
            DefinitionType::Trait => self.trait_definition.as_ref(),
            DefinitionType::Policy => self.policy_definition.as_ref(),
            DefinitionType::WorkflowStep => self.workflow_step_definition.as_ref(),
        }
    }
}

/// The kinds of definitions, as revisions and references name them.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
pub enum DefinitionType {
    /// ComponentDefinition.
    #[default]
    Component,
    /// TraitDefinition.
    Trait,
    /// PolicyDefinition.
    Policy,
    /// WorkflowStepDefinition.
    WorkflowStep,
}

impl DefinitionType {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Component, Self::Trait, Self::Policy, Self::WorkflowStep];

    /// The kind of the definition.
    pub fn kind(self) -> &'static str {
        match self {
            Self::Component => "ComponentDefinition",
            Self::Trait => "TraitDefinition",
            Self::Policy => "PolicyDefinition",
            Self::WorkflowStep => "WorkflowStepDefinition",
        }
    }

    /// The label by which revisions name their definition.
    pub fn label(self) -> &'static str {
        use crate::names::label;
        match self {
            Self::Component => label::COMPONENT_DEFINITION,
            Self::Trait => label::TRAIT_DEFINITION,
            Self::Policy => label::POLICY_DEFINITION,
            Self::WorkflowStep => label::WORKFLOW_STEP_DEFINITION,
        }
    }

    /// How to ask for definitions of this kind, at v1beta1.
    pub fn resource(self) -> ApiResource {
        use super::{ComponentDefinition, PolicyDefinition, TraitDefinition, WorkflowStepDefinition};
        match self {
            Self::Component => ApiResource::erase::<ComponentDefinition>(&()),
            Self::Trait => ApiResource::erase::<TraitDefinition>(&()),
            Self::Policy => ApiResource::erase::<PolicyDefinition>(&()),
            Self::WorkflowStep => ApiResource::erase::<WorkflowStepDefinition>(&()),
        }
    }

    /// The type whose kind it is.
    pub fn of_kind(kind: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.kind() == kind)
    }
}

/// Who uses a revision.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DefinitionRevisionStatus {
    /// How many references resolve to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub consumers: Option<i64>,
    /// The first few of those who use it, in one line, for a table.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_use_by: Option<String>,
    /// Fields that we do not know.
    #[serde(flatten)]
    pub other: Tree,
}
