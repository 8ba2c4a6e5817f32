//! Types that several kinds share.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Tree;

/// How a definition renders manifests.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Schematic {
    /// A template in CUE.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cue: Option<Cue>,
    /// Other ways, which are kept and not used.
    #[serde(flatten)]
    pub other: Tree,
}

/// A template in CUE.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Cue {
    /// The text of the template.
    #[serde(default)]
    pub template: String,
    /// Fields that we do not know.
    #[serde(flatten)]
    pub other: Tree,
}

/// CUE expressions that report health and status of the rendered objects.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StatusTemplates {
    /// CUE with `message`: one line about the state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub custom_status: Option<String>,
    /// CUE with `isHealth`: whether the object is healthy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub health_policy: Option<String>,
    /// CUE with further details, as strings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<String>,
    /// Fields that we do not know.
    #[serde(flatten)]
    pub other: Tree,
}

/// The workload that a component definition renders.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Workload {
    /// The kind, as the name of its definition; `autodetects.core.oam.dev` takes the kind from the rendered template.
    #[serde(rename = "type", default, skip_serializing_if = "Option::is_none")]
    pub type_: Option<String>,
    /// The API version and kind of the workload.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub definition: Option<GroupVersionKind>,
    /// Fields that we do not know.
    #[serde(flatten)]
    pub other: Tree,
}

/// An API version and kind.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GroupVersionKind {
    /// Group and version, such as `apps/v1`.
    #[serde(default)]
    pub api_version: String,
    /// The kind, such as `Deployment`.
    #[serde(default)]
    pub kind: String,
    /// Fields that we do not know.
    #[serde(flatten)]
    pub other: Tree,
}

/// A kind whose objects the workload creates, such as the Pods of a Deployment.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChildResourceKind {
    /// Group and version, such as `apps/v1`.
    #[serde(default)]
    pub api_version: String,
    /// The kind, such as `ReplicaSet`.
    #[serde(default)]
    pub kind: String,
    /// The labels that select its objects.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub selector: BTreeMap<String, String>,
    /// Fields that we do not know.
    #[serde(flatten)]
    pub other: Tree,
}

/// The resource that a definition represents.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DefinitionReference {
    /// The resource and its group, such as `deployments.apps`.
    #[serde(default)]
    pub name: String,
    /// The version of its API.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Fields that we do not know.
    #[serde(flatten)]
    pub other: Tree,
}

/// A revision, as an artifact's status names it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Revision {
    /// The name of the revision object.
    #[serde(default)]
    pub name: String,
    /// Its number in the lineage.
    #[serde(default)]
    pub revision: i64,
    /// The first digits of the digest of its content.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision_hash: Option<String>,
    /// Fields that we do not know.
    #[serde(flatten)]
    pub other: Tree,
}

/// The observed state of a definition, the same at both API versions.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DefinitionStatus {
    /// The generation that the status was computed for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// `Published`, `Conflict` and `Ready`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "crate::preserve::conditions")]
    pub conditions: Vec<Condition>,
    /// The ConfigMap with the schema of the parameters, as KubeVela writes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config_map_ref: Option<String>,
    /// The latest DefinitionRevision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latest_revision: Option<Revision>,
    /// The highest revision number ever issued. Numbers are never reused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub high_water_mark: Option<i64>,
    /// All published versions, highest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["version"]))]
    pub versions: Vec<PublishedVersion>,
    /// The kind of the workload, for a printer column.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workload: Option<String>,
    /// The highest release, for a printer column.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub highest_version: Option<String>,
    /// The published versions in one line, for a printer column.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version_summary: Option<String>,
    /// The number of references to any of its versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub consumers: Option<i64>,
    /// Fields that we do not know.
    #[serde(flatten)]
    pub other: Tree,
}

/// One published version of a definition.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PublishedVersion {
    /// The version as it was declared; for a definition without versions, the name or number of the revision.
    pub version: String,
    /// `sha256:` and the digest of the content that was published.
    #[serde(default)]
    pub digest: String,
    /// The name of its DefinitionRevision.
    #[serde(default)]
    pub revision: String,
    /// The state of the version.
    #[serde(default)]
    pub state: VersionState,
    /// The number of references that resolve to it.
    #[serde(default)]
    pub consumers: i64,
    /// The reason of the state, and what to do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Fields that we do not know.
    #[serde(flatten)]
    pub other: Tree,
}

/// The state of a published version.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum VersionState {
    /// It is being published.
    #[default]
    Pending,
    /// It is published, and what is declared is what was published.
    Published,
    /// It is published, and the definition no longer declares it.
    Retained,
    /// The definition declares other content than what was published.
    Conflict,
    /// It cannot be published.
    Invalid,
}
