//! ComponentDefinition: a type of component.

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{ChildResourceKind, DefinitionStatus, Schematic, StatusTemplates, Tree, Workload};

/// A type of component: its workload, its template, and how its health is determined.
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
    /// The semantic version. The content of a published version never changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The kind of the workload that the template renders.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workload: Option<Workload>,
    /// How the manifests are rendered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schematic: Option<Schematic>,
    /// How health and status of the component are determined.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<StatusTemplates>,
    /// Kinds whose objects the workload creates.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub child_resource_kinds: Vec<ChildResourceKind>,
    /// The label that tells revisions of the workload apart.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision_label: Option<String>,
    /// The path of the pod template in the workload, if its kind does not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pod_spec_path: Option<String>,
    /// Extensions for platform builders; preserved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "crate::preserve::any_object")]
    pub extension: Option<Value>,
    /// Fields that we do not know.
    #[serde(flatten)]
    pub other: Tree,
}
