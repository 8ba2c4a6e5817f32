//! What components are made of.

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{ChildResourceKind, DefinitionStatus, Schematic, StatusTemplates, Tree, Workload};

/// What a component of that type is: the workload, the template, how its health is told.
#[derive(Debug, Clone, Default, PartialEq, CustomResource, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "core.oam.dev",
    version = "v1beta1",
    kind = "ComponentDefinition",
    doc = "A type of component: developers name it in an Application, its template makes the workload.",
    namespaced,
    status = "DefinitionStatus",
    derive = "PartialEq",
    derive = "Default",
    category = "oam",
    shortname = "compdef",
    shortname = "comp"
)]
#[serde(rename_all = "camelCase")]
pub struct ComponentDefinitionSpec {
    /// The semantic version of this content. What was published under a version does not change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The kind of object that the template makes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workload: Option<Workload>,
    /// How the manifests are made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schematic: Option<Schematic>,
    /// How it is told whether the component works.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<StatusTemplates>,
    /// Kinds whose objects the workload makes in turn.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub child_resource_kinds: Vec<ChildResourceKind>,
    /// The label by which revisions of the workload are told apart.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision_label: Option<String>,
    /// Where the pod template is in the workload, if that is not known from its kind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pod_spec_path: Option<String>,
    /// For platform builders; kept as it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "crate::keep::any_object")]
    pub extension: Option<Value>,
    /// Fields that we do not know.
    #[serde(flatten)]
    pub other: Tree,
}
