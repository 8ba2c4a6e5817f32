//! What traits are made of.

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{DefinitionReference, DefinitionStatus, Schematic, StatusTemplates, Tree};

/// What a trait of that type is: the template that patches a workload or adds to it.
#[derive(Debug, Clone, Default, PartialEq, CustomResource, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "core.oam.dev",
    version = "v1beta1",
    kind = "TraitDefinition",
    doc = "A type of trait: attached to a component, it changes the workload or adds objects beside it.",
    namespaced,
    status = "DefinitionStatus",
    derive = "PartialEq",
    derive = "Default",
    category = "oam",
    shortname = "traitdef",
    shortname = "trait"
)]
#[serde(rename_all = "camelCase")]
pub struct TraitDefinitionSpec {
    /// The semantic version of this content. What was published under a version does not change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The resource that the trait stands for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub definition_ref: Option<DefinitionReference>,
    /// How the manifests are made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schematic: Option<Schematic>,
    /// How it is told whether the trait works.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<StatusTemplates>,
    /// The workloads that it is meant for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub applies_to_workloads: Vec<String>,
    /// The traits that it cannot be used with.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conflicts_with: Vec<String>,
    /// Whether changing it restarts pods.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pod_disruptive: Option<bool>,
    /// Whether the trait knows about revisions of the workload.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision_enabled: Option<bool>,
    /// The field of the trait's object that takes a reference to the workload.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workload_ref_path: Option<String>,
    /// Whether the trait, and not the component, makes the workload.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub manage_workload: Option<bool>,
    /// Whether its objects stay in the cluster of the Application.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub control_plane_only: Option<bool>,
    /// When its objects are applied, relative to the workload.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "stage")]
    pub stage: Option<Stage>,
    /// For platform builders; kept as it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "crate::keep::any_object")]
    pub extension: Option<Value>,
    /// Fields that we do not know.
    #[serde(flatten)]
    pub other: Tree,
}

/// When a trait's objects are applied, relative to the workload.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Stage {
    /// Before it.
    PreDispatch,
    /// With it.
    DefaultDispatch,
    /// Once it works.
    PostDispatch,
    /// Something that we do not know.
    #[serde(untagged)]
    Other(String),
}

/// KubeVela's schema accepts any text here, so ours does.
fn stage(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({"type": "string", "nullable": true})
}
