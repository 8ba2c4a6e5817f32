//! DefinitionRevision: an immutable snapshot of one version of a definition.

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
    /// The revision number. Numbers are never reused.
    #[serde(default)]
    pub revision: i64,
    /// The first digits of the digest. Revisions that KubeVela created have KubeVela's hash.
    #[serde(default)]
    pub revision_hash: String,
    /// The type of the definition.
    #[serde(default)]
    pub definition_type: DefinitionType,
    /// The name of the definition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub definition_name: Option<String>,
    /// The semantic version as it was declared, if the definition has versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// `sha256:` and the digest of the spec that it snapshots.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// The snapshot of a ComponentDefinition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "crate::preserve::any_object")]
    pub component_definition: Option<Value>,
    /// The snapshot of a TraitDefinition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "crate::preserve::any_object")]
    pub trait_definition: Option<Value>,
    /// The snapshot of a PolicyDefinition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "crate::preserve::any_object")]
    pub policy_definition: Option<Value>,
    /// The snapshot of a WorkflowStepDefinition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "crate::preserve::any_object")]
    pub workflow_step_definition: Option<Value>,
    /// Fields that we do not know.
    #[serde(flatten)]
    pub other: Tree,
}

impl DefinitionRevisionSpec {
    /// The definition object that it snapshots.
    pub fn snapshot(&self) -> Option<&Value> {
        match self.definition_type {
            DefinitionType::Component => self.component_definition.as_ref(),
            DefinitionType::Trait => self.trait_definition.as_ref(),
            DefinitionType::Policy => self.policy_definition.as_ref(),
            DefinitionType::WorkflowStep => self.workflow_step_definition.as_ref(),
        }
    }
}

/// The types of definitions, as revisions and references name them.
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

    /// The label on revisions that names their definition.
    pub fn label(self) -> &'static str {
        use crate::names::label;
        match self {
            Self::Component => label::COMPONENT_DEFINITION,
            Self::Trait => label::TRAIT_DEFINITION,
            Self::Policy => label::POLICY_DEFINITION,
            Self::WorkflowStep => label::WORKFLOW_STEP_DEFINITION,
        }
    }

    /// The resource of definitions of this type, at v1beta1.
    pub fn resource(self) -> ApiResource {
        use super::{ComponentDefinition, PolicyDefinition, TraitDefinition, WorkflowStepDefinition};
        match self {
            Self::Component => ApiResource::erase::<ComponentDefinition>(&()),
            Self::Trait => ApiResource::erase::<TraitDefinition>(&()),
            Self::Policy => ApiResource::erase::<PolicyDefinition>(&()),
            Self::WorkflowStep => ApiResource::erase::<WorkflowStepDefinition>(&()),
        }
    }

    /// The type of a definition's kind.
    pub fn of_kind(kind: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.kind() == kind)
    }
}

/// The users of a DefinitionRevision.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DefinitionRevisionStatus {
    /// The number of references that resolve to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub consumers: Option<i64>,
    /// The first few users in one line, for a printer column.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_use_by: Option<String>,
    /// Fields that we do not know.
    #[serde(flatten)]
    pub other: Tree,
}
