//! TraitDefinition: a type of trait.

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{DefinitionReference, DefinitionStatus, Schematic, StatusTemplates, Tree};

/// A type of trait: a template that patches the workload or adds objects beside it.
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
    /// The semantic version. The content of a published version never changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The resource that the trait represents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub definition_ref: Option<DefinitionReference>,
    /// How the manifests are rendered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schematic: Option<Schematic>,
    /// How health and status of the trait are determined.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<StatusTemplates>,
    /// The workloads that the trait applies to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub applies_to_workloads: Vec<String>,
    /// The traits that it conflicts with.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conflicts_with: Vec<String>,
    /// Whether changing the trait restarts Pods.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pod_disruptive: Option<bool>,
    /// Whether the trait is aware of revisions of the workload.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision_enabled: Option<bool>,
    /// The field of the trait's object that takes a reference to the workload.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workload_ref_path: Option<String>,
    /// Whether the trait, instead of the component, manages the workload.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub manage_workload: Option<bool>,
    /// Whether its objects stay in the cluster of the Application.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub control_plane_only: Option<bool>,
    /// When its objects are applied, relative to the workload.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "stage")]
    pub stage: Option<Stage>,
    /// Extensions for platform builders; preserved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "crate::preserve::any_object")]
    pub extension: Option<Value>,
    /// Fields that we do not know.
    #[serde(flatten)]
    pub other: Tree,
}

/// When a trait's objects are applied, relative to the workload.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Stage {
    /// Before the workload.
    PreDispatch,
    /// With the workload.
    DefaultDispatch,
    /// Once the workload is healthy.
    PostDispatch,
    /// Any other text.
    #[serde(untagged)]
    Other(String),
}

/// KubeVela's schema accepts any text here, so ours does.
fn stage(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({"type": "string", "nullable": true})
}
