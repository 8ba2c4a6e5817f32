//! The status of an Application.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

use super::DefinitionType;
use crate::{GroupVersionKind, Revision, Tree};

/// The observed state of an Application.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ApplicationStatus {
    /// The generation that the status was computed for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// `Resolved`, `Rendered`, `Applied`, `Healthy` and `Ready`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "crate::preserve::conditions")]
    pub conditions: Vec<Condition>,
    /// The phase, as KubeVela names phases.
    #[serde(rename = "status", default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "phase")]
    pub phase: Option<Phase>,
    /// The health of each component.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub services: Vec<ServiceStatus>,
    /// The resolution of each reference.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub references: Vec<ResolvedReference>,
    /// Healthy components of all components, for a printer column: `2/3`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub healthy: Option<String>,
    /// The components with their resolved versions in one line, for a printer column.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resolved: Option<String>,
    /// The current ApplicationRevision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latest_revision: Option<Revision>,
    /// The value of the annotation `app.oam.dev/publishVersion` that the application is frozen by.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub publish_version: Option<String>,
    /// The highest revision number ever issued. Numbers are never reused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub high_water_mark: Option<i64>,
    /// The objects of the application that exist.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub applied_resources: Vec<AppliedResource>,
    /// Fields that we do not know.
    #[serde(flatten)]
    pub other: Tree,
}

/// The phases of an Application. The phases of KubeVela's workflows are decoded and never written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Phase {
    /// The Application has not been reconciled yet.
    Starting,
    /// References are being resolved and manifests rendered.
    Rendering,
    /// The Application cannot be resolved, rendered or applied; running objects are unchanged.
    Failed,
    /// Everything is applied and healthy.
    Running,
    /// Everything is applied, and a component is not healthy.
    Unhealthy,
    /// The objects of the Application are being deleted.
    Deleting,
    /// Another phase, which Cambium does not write.
    #[serde(untagged)]
    Other(String),
}

fn phase(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({"type": "string", "nullable": true})
}

fn time(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({"type": "string", "format": "date-time", "nullable": true})
}

/// The health of one component.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ServiceStatus {
    /// The name of the component.
    pub name: String,
    /// The namespace of its objects.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// The API version and kind of its workload.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workload_definition: Option<GroupVersionKind>,
    /// Whether the component is healthy.
    #[serde(default)]
    pub healthy: bool,
    /// The status message of its definition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// The status details of its definition.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub details: BTreeMap<String, String>,
    /// The health of its traits.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub traits: Vec<TraitStatus>,
    /// Fields that we do not know.
    #[serde(flatten)]
    pub other: Tree,
}

/// The health of one trait.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TraitStatus {
    /// The reference to the trait definition, as the application writes it.
    #[serde(rename = "type")]
    pub type_: String,
    /// Whether the trait is healthy.
    #[serde(default)]
    pub healthy: bool,
    /// The status message of its definition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Fields that we do not know.
    #[serde(flatten)]
    pub other: Tree,
}

/// The resolution of one reference.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ResolvedReference {
    /// The path of the reference, such as `components[web].traits[0]`.
    pub path: String,
    /// The type of the definition.
    #[serde(default)]
    pub definition_type: DefinitionType,
    /// The reference as it was written.
    #[serde(default)]
    pub asked: String,
    /// The namespace of the definition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// The version that it resolved to, if the definition has versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The name of the DefinitionRevision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<String>,
    /// `sha256:` and the digest of its content.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// The revision that the objects are applied from, if it differs: the reference could not move, or has not moved yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub running: Option<RunningRevision>,
    /// The update policy of the reference.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<String>,
    /// The time since when it has resolved to this revision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "time")]
    pub since: Option<Time>,
    /// A newer version that the reference does not resolve to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub newer: Option<NewerVersion>,
    /// The reason that it resolves to this revision, or to none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Fields that we do not know.
    #[serde(flatten)]
    pub other: Tree,
}

/// A DefinitionRevision that objects are applied from.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunningRevision {
    /// Its version, if the definition has versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The name of the DefinitionRevision.
    #[serde(default)]
    pub revision: String,
    /// Its namespace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// `sha256:` and the digest of its content.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
}

impl RunningRevision {
    /// The display name: the version, or else the name of the revision.
    pub fn called(&self) -> &str {
        self.version.as_deref().unwrap_or(&self.revision)
    }
}

/// A newer version that a reference does not resolve to.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NewerVersion {
    /// The version.
    pub version: String,
    /// The reason that it does not.
    #[serde(default)]
    pub reason: String,
}

/// An object of an application.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AppliedResource {
    /// Group and version.
    #[serde(default)]
    pub api_version: String,
    /// The kind.
    #[serde(default)]
    pub kind: String,
    /// Its namespace, if its kind has them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// Its name.
    #[serde(default)]
    pub name: String,
    /// The component that it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub component: Option<String>,
    /// The first digits of the digest of the applied manifest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub applied: Option<String>,
    /// The generation of the object after it was applied, if its kind has generations.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generation: Option<i64>,
    /// Rendered fields that the kind does not know. They were left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ignored_fields: Vec<String>,
    /// Fields that we do not know.
    #[serde(flatten)]
    pub other: Tree,
}
