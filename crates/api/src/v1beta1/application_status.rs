//! Where an application is, and why.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

use super::DefinitionType;
use crate::{GroupVersionKind, Revision, Tree};

/// Where an application is, and why.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ApplicationStatus {
    /// The generation that the rest was made for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// `Resolved`, `Rendered`, `Applied`, `Healthy` and `Ready`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "crate::keep::conditions")]
    pub conditions: Vec<Condition>,
    /// The phase, in KubeVela's words.
    #[serde(rename = "status", default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "phase")]
    pub phase: Option<Phase>,
    /// How each component is doing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub services: Vec<ServiceStatus>,
    /// What each reference asked for and what it got.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub references: Vec<ResolvedReference>,
    /// How many components work, of how many, for a table: `2/3`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub healthy: Option<String>,
    /// The components and the versions they resolved to, in one line, for a table.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resolved: Option<String>,
    /// The application revision that is current.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latest_revision: Option<Revision>,
    /// The value of the annotation `app.oam.dev/publishVersion` that it was frozen by.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub publish_version: Option<String>,
    /// The highest revision number ever issued. Numbers are not used again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub high_water_mark: Option<i64>,
    /// The objects that it made and that are still there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub applied_resources: Vec<AppliedResource>,
    /// Fields that we do not know.
    #[serde(flatten)]
    pub other: Tree,
}

/// The phases of an application. Those of workflows are KubeVela's alone, and are read and never written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Phase {
    /// Seen for the first time.
    Starting,
    /// Its references are being resolved and its manifests made.
    Rendering,
    /// It cannot be resolved, rendered or applied; what runs was left as it is.
    Failed,
    /// All is applied and works.
    Running,
    /// All is applied, and something does not work.
    Unhealthy,
    /// What it made is being removed.
    Deleting,
    /// One that we do not write.
    #[serde(untagged)]
    Other(String),
}

fn phase(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({"type": "string", "nullable": true})
}

fn time(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({"type": "string", "format": "date-time", "nullable": true})
}

/// How one component is doing.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ServiceStatus {
    /// The component.
    pub name: String,
    /// Where its objects are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// The kind of its workload.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workload_definition: Option<GroupVersionKind>,
    /// Whether it works.
    #[serde(default)]
    pub healthy: bool,
    /// What its definition says about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// What else its definition says.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub details: BTreeMap<String, String>,
    /// How its traits are doing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub traits: Vec<TraitStatus>,
    /// Fields that we do not know.
    #[serde(flatten)]
    pub other: Tree,
}

/// How one trait is doing.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TraitStatus {
    /// The trait, as the application refers to it.
    #[serde(rename = "type")]
    pub type_: String,
    /// Whether it works.
    #[serde(default)]
    pub healthy: bool,
    /// What its definition says about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Fields that we do not know.
    #[serde(flatten)]
    pub other: Tree,
}

/// What one reference asked for and what it got.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ResolvedReference {
    /// Where the reference is, such as `components[web].traits[0]`.
    pub path: String,
    /// What kind of definition it refers to.
    #[serde(default)]
    pub definition_type: DefinitionType,
    /// The reference as it was written.
    #[serde(default)]
    pub asked: String,
    /// Where the definition was found.
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
    /// The revision that the objects were made from: another one while the reference cannot move, or has not moved yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub running: Option<RunningRevision>,
    /// How the reference follows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<String>,
    /// Since when it has been at this revision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "time")]
    pub since: Option<Time>,
    /// A newer version that it does not take.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub newer: Option<NewerVersion>,
    /// Why it got this revision, or none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Fields that we do not know.
    #[serde(flatten)]
    pub other: Tree,
}

/// A definition revision that objects were made from.
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
    /// What people call it: its version, or else its name.
    pub fn called(&self) -> &str {
        self.version.as_deref().unwrap_or(&self.revision)
    }
}

/// A version that a reference does not take.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NewerVersion {
    /// The version.
    pub version: String,
    /// Why not.
    #[serde(default)]
    pub reason: String,
}

/// An object that the application made.
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
    /// The first digits of the digest of what was applied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub applied: Option<String>,
    /// The generation that it then had, if its kind counts them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generation: Option<i64>,
    /// Fields that were rendered and that its kind does not know: they were left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ignored_fields: Vec<String>,
    /// Fields that we do not know.
    #[serde(flatten)]
    pub other: Tree,
}
