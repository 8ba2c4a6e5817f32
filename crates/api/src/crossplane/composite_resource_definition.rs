//! CompositeResourceDefinition: the definition of a platform API.

use std::collections::BTreeMap;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceColumnDefinition, CustomResourceConversion, CustomResourceSubresourceScale,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::definition_schema::{conversion, immutable, names, printer_columns, scale};
use crate::Tree;

/// A platform API: its names and versions, and how those who use it get a composition.
///
/// The stored version is v1. v2 is the same object with another default for `scope`, so nothing is converted between the two.
#[derive(Debug, Clone, Default, PartialEq, CustomResource, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "apiextensions.crossplane.io",
    version = "v1",
    kind = "CompositeResourceDefinition",
    doc = "A platform API: what its composite resources (XRs) and claims look like, and how they get a composition.",
    status = "CompositeResourceDefinitionStatus",
    derive = "PartialEq",
    derive = "Default",
    category = "crossplane",
    shortname = "xrd",
    shortname = "xrds",
    validation = ("self.metadata.name == self.spec.names.plural + '.' + self.spec.group", "metadata.name must be <spec.names.plural>.<spec.group>")
)]
#[schemars(extend("x-kubernetes-validations" = [
    {"rule": "!has(self.claimNames) || self.scope == 'LegacyCluster'", "fieldPath": ".claimNames",
        "message": "Only LegacyCluster composite resources can offer claims"},
    {"rule": "!has(oldSelf.claimNames) || has(self.claimNames)", "fieldPath": ".claimNames",
        "message": "Value is immutable"},
    {"rule": "!has(self.connectionSecretKeys) || self.scope == 'LegacyCluster'", "fieldPath": ".connectionSecretKeys",
        "message": "Only LegacyCluster composite resources support connection secrets"},
]))]
#[serde(rename_all = "camelCase")]
pub struct CompositeResourceDefinitionSpec {
    /// The group of the API, such as `platform.example.org`. It cannot be changed.
    #[schemars(extend("x-kubernetes-validations" = immutable()))]
    pub group: String,
    /// The names of the composite resource. They cannot be changed.
    #[schemars(schema_with = "names")]
    pub names: Names,
    /// The names of the claim, if there is one. Once given, they cannot be changed or taken away.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "names")]
    pub claim_names: Option<Names>,
    /// `Namespaced` and `Cluster` composite resources have their machinery in `spec.crossplane`, `LegacyCluster` ones have it in `spec`,
    /// and only they can have claims and connection secrets. It cannot be changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-kubernetes-validations" = immutable()))]
    pub scope: Option<Scope>,
    /// The keys that a connection secret may have. All keys, if none is listed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connection_secret_keys: Option<Vec<String>>,
    /// The Composition of composite resources that neither name nor select one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default_composition_ref: Option<NamedReference>,
    /// The Composition of all composite resources, whatever they name. It cannot be changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-kubernetes-validations" = immutable()))]
    pub enforced_composition_ref: Option<NamedReference>,
    /// The update policy of composite resources that set none. Defaults to Automatic.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default_composition_update_policy: Option<UpdatePolicy>,
    /// The update policy of all composite resources; another value is refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub enforce_composition_update_policy: Option<UpdatePolicy>,
    /// The revision selector of composite resources that have neither a selector nor a revision reference.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default_composition_revision_selector: Option<LabelSelector>,
    /// How a composite resource is deleted with its claim, where the claim does not say. Defaults to Background.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default_composite_delete_policy: Option<CompositeDeletePolicy>,
    /// The versions of the API. Exactly one is referenceable: it is the storage version, and compositions are written for it.
    #[schemars(extend("x-kubernetes-validations" = [{
        "rule": "self.filter(one, one.referenceable).size() == 1", "message": "exactly one version must be referenceable"}]))]
    pub versions: Vec<DefinitionVersion>,
    /// How objects are converted between the versions, as in a CustomResourceDefinition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "conversion")]
    pub conversion: Option<CustomResourceConversion>,
    /// Labels and annotations of the generated CustomResourceDefinitions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<CrdMetadata>,
    /// Fields that we do not know.
    #[serde(flatten)]
    pub other: Tree,
}

/// The scope of composite resources, which also decides where the fields of composition are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Scope {
    /// In a namespace, with `spec.crossplane`.
    Namespaced,
    /// Cluster-scoped, with `spec.crossplane`.
    Cluster,
    /// Cluster-scoped, with the fields of Crossplane 1.x in `spec`; claims are possible.
    LegacyCluster,
}

impl Scope {
    /// The scope of a definition that names none, by the version (`v1` or `v2`) that it is written at. The API server fills it in; whoever
    /// reads a file has to.
    pub fn default_at(version: &str) -> Self {
        match version {
            "v1" => Self::LegacyCluster,
            _ => Self::Namespaced,
        }
    }
}

/// Whether a composite resource follows new revisions of its composition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum UpdatePolicy {
    /// It follows the current revision as soon as there is one.
    Automatic,
    /// It stays at its revision until another one is named.
    Manual,
}

impl UpdatePolicy {
    /// The word, as it is written.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Automatic => "Automatic",
            Self::Manual => "Manual",
        }
    }

    /// What the word means.
    pub fn of(word: &str) -> Option<Self> {
        [Self::Automatic, Self::Manual]
            .into_iter()
            .find(|one| one.as_str() == word)
    }
}

/// How a composite resource is deleted with its claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum CompositeDeletePolicy {
    /// The claim is deleted at once, the composite resource in the background.
    Background,
    /// The claim is deleted when the composite resource and everything it composed are deleted.
    Foreground,
}

/// The names of a kind, as in a CustomResourceDefinition.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Names {
    /// The kind, such as `XDatabase`.
    pub kind: String,
    /// The plural name in URLs, such as `xdatabases`.
    pub plural: String,
    /// The singular name. Defaults to the kind in lower case.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub singular: Option<String>,
    /// The kind of a list. Defaults to the kind with `List`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub list_kind: Option<String>,
    /// Short names for `kubectl`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub short_names: Option<Vec<String>>,
    /// Categories for `kubectl`, such as `all`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub categories: Option<Vec<String>>,
    /// Fields that we do not know.
    #[serde(flatten)]
    pub other: Tree,
}

/// A reference to an object by name, such as a Composition.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NamedReference {
    /// Its name.
    pub name: String,
}

/// A label selector.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LabelSelector {
    /// Labels that must all match.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub match_labels: Option<BTreeMap<String, String>>,
    /// Requirements that must all match.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub match_expressions: Option<Vec<LabelRequirement>>,
}

/// A requirement on one label.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LabelRequirement {
    /// The label key.
    pub key: String,
    /// `In`, `NotIn`, `Exists` or `DoesNotExist`.
    pub operator: String,
    /// The values of `In` and `NotIn`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub values: Option<Vec<String>>,
}

/// One version of a platform API.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DefinitionVersion {
    /// The version, such as `v1alpha1`.
    pub name: String,
    /// Whether compositions are written for this version. Exactly one version is referenceable, and it is the storage version.
    pub referenceable: bool,
    /// Whether the API server serves this version.
    pub served: bool,
    /// Whether clients of this version get a warning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deprecated: Option<bool>,
    /// The warning, instead of the default one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 256))]
    pub deprecation_warning: Option<String>,
    /// The schema of `spec` and `status`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<VersionSchema>,
    /// Columns of `kubectl get`, before those that every composite resource has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "printer_columns")]
    pub additional_printer_columns: Option<Vec<CustomResourceColumnDefinition>>,
    /// Subresources besides `status`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subresources: Option<SubresourceTemplates>,
    /// Fields that we do not know.
    #[serde(flatten)]
    pub other: Tree,
}

/// The schema of one version.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct VersionSchema {
    /// A structural schema with `spec` and `status`. The fields of composition are added to it.
    #[serde(rename = "openAPIV3Schema", default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "crate::preserve::any_object")]
    pub open_api_v3_schema: Option<Tree>,
    /// Fields that we do not know.
    #[serde(flatten)]
    pub other: Tree,
}

/// Subresources besides the status.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SubresourceTemplates {
    /// The fields that `kubectl scale` and autoscalers use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "scale")]
    pub scale: Option<CustomResourceSubresourceScale>,
    /// Fields that we do not know.
    #[serde(flatten)]
    pub other: Tree,
}

/// Labels and annotations for CustomResourceDefinitions.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CrdMetadata {
    /// Labels, over those that the definition itself has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub labels: Option<BTreeMap<String, String>>,
    /// Annotations.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub annotations: Option<BTreeMap<String, String>>,
    /// Fields that we do not know.
    #[serde(flatten)]
    pub other: Tree,
}

/// The observed state of a CompositeResourceDefinition.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CompositeResourceDefinitionStatus {
    /// `Established`: composite resources can be created. `Offered`: claims can be created.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "crate::preserve::conditions")]
    pub conditions: Vec<Condition>,
    /// The kinds that are reconciled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub controllers: Option<ControllerTypes>,
    /// Fields that we do not know.
    #[serde(flatten)]
    pub other: Tree,
}

/// The kinds that are reconciled.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ControllerTypes {
    /// The composite resource, at its referenceable version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub composite_resource_type: Option<TypeReference>,
    /// The claim, at its referenceable version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub composite_resource_claim_type: Option<TypeReference>,
}

/// An API version and kind.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TypeReference {
    /// Group and version.
    pub api_version: String,
    /// The kind.
    pub kind: String,
}
