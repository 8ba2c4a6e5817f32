//! What several kinds have in common.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Tree;

/// How a definition makes manifests.
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

/// CUE that tells how something is doing.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StatusTemplates {
    /// Gives `message`, a line about the state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub custom_status: Option<String>,
    /// Gives `isHealth`, whether it works.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub health_policy: Option<String>,
    /// Gives further details, as strings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<String>,
    /// Fields that we do not know.
    #[serde(flatten)]
    pub other: Tree,
}

/// What a component definition makes.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Workload {
    /// The kind, as the name of its definition; `autodetects.core.oam.dev` leaves it to the template.
    #[serde(rename = "type", default, skip_serializing_if = "Option::is_none")]
    pub type_: Option<String>,
    /// The kind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub definition: Option<GroupVersionKind>,
    /// Fields that we do not know.
    #[serde(flatten)]
    pub other: Tree,
}

/// A kind in its API version.
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

/// A kind whose objects the workload makes in turn.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChildResourceKind {
    /// Group and version, such as `apps/v1`.
    #[serde(default)]
    pub api_version: String,
    /// The kind, such as `ReplicaSet`.
    #[serde(default)]
    pub kind: String,
    /// Labels by which its objects are found.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub selector: BTreeMap<String, String>,
    /// Fields that we do not know.
    #[serde(flatten)]
    pub other: Tree,
}

/// The resource that a definition stands for.
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

/// What is known about a definition. It is the same at both API versions.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DefinitionStatus {
    /// The generation that the rest was made for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// `Published`, `Conflict` and `Ready`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "crate::keep::conditions")]
    pub conditions: Vec<Condition>,
    /// The ConfigMap with the schema of the parameters, as KubeVela writes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config_map_ref: Option<String>,
    /// The revision that was issued last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latest_revision: Option<Revision>,
    /// The highest revision number ever issued. Numbers are not used again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub high_water_mark: Option<i64>,
    /// Every published version, the highest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["version"]))]
    pub versions: Vec<PublishedVersion>,
    /// The kind of the workload that a component definition makes, for a table.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workload: Option<String>,
    /// The highest release, for a table.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub highest_version: Option<String>,
    /// The versions in one line, for a table.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version_summary: Option<String>,
    /// How many references there are to any of its versions.
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
    /// The version as it was declared; without versions, the name or number of the revision.
    pub version: String,
    /// `sha256:` and the digest of the content that was published.
    #[serde(default)]
    pub digest: String,
    /// The name of its DefinitionRevision.
    #[serde(default)]
    pub revision: String,
    /// Whether it can be used.
    #[serde(default)]
    pub state: VersionState,
    /// How many references resolve to it.
    #[serde(default)]
    pub consumers: i64,
    /// Why the state is what it is, and what to do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Fields that we do not know.
    #[serde(flatten)]
    pub other: Tree,
}

/// Whether a version can be used.
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
