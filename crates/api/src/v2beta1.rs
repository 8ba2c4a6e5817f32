//! `core.oam.dev/v2beta1`: definitions with all their versions in one object.
//!
//! Served, never stored. An entry of `spec.versions` has the fields of the v1beta1 spec, and `version` is required.

use kube::CustomResource;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};

use crate::v1beta1;
use crate::{DefinitionStatus, Tree};

/// The version, as `apiVersion` has it.
pub const API_VERSION: &str = "core.oam.dev/v2beta1";

/// The versions of a component definition.
#[derive(Debug, Clone, Default, PartialEq, CustomResource, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "core.oam.dev",
    version = "v2beta1",
    kind = "ComponentDefinition",
    doc = "A type of component in all its versions: developers name it in an Application, its template makes the workload.",
    namespaced,
    status = "DefinitionStatus",
    derive = "PartialEq",
    derive = "Default",
    category = "oam",
    shortname = "compdef",
    shortname = "comp",
    storage = false
)]
#[serde(rename_all = "camelCase")]
pub struct ComponentDefinitionSpec {
    /// All versions of the definition. The content of a published version never changes.
    #[serde(default)]
    #[schemars(schema_with = "versions::<v1beta1::ComponentDefinitionSpec>")]
    pub versions: Vec<v1beta1::ComponentDefinitionSpec>,
    /// Fields that we do not know.
    #[serde(flatten)]
    pub other: Tree,
}

/// The versions of a trait definition.
#[derive(Debug, Clone, Default, PartialEq, CustomResource, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "core.oam.dev",
    version = "v2beta1",
    kind = "TraitDefinition",
    doc = "A type of trait in all its versions: attached to a component, it changes the workload or adds objects beside it.",
    namespaced,
    status = "DefinitionStatus",
    derive = "PartialEq",
    derive = "Default",
    category = "oam",
    shortname = "traitdef",
    shortname = "trait",
    storage = false
)]
#[serde(rename_all = "camelCase")]
pub struct TraitDefinitionSpec {
    /// All versions of the definition. The content of a published version never changes.
    #[serde(default)]
    #[schemars(schema_with = "versions::<v1beta1::TraitDefinitionSpec>")]
    pub versions: Vec<v1beta1::TraitDefinitionSpec>,
    /// Fields that we do not know.
    #[serde(flatten)]
    pub other: Tree,
}

/// The versions of a policy definition.
#[derive(Debug, Clone, Default, PartialEq, CustomResource, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "core.oam.dev",
    version = "v2beta1",
    kind = "PolicyDefinition",
    doc = "A type of policy in all its versions: what an Application as a whole asks for.",
    namespaced,
    status = "DefinitionStatus",
    derive = "PartialEq",
    derive = "Default",
    category = "oam",
    shortname = "policydef",
    shortname = "def-policy",
    storage = false
)]
#[serde(rename_all = "camelCase")]
pub struct PolicyDefinitionSpec {
    /// All versions of the definition. The content of a published version never changes.
    #[serde(default)]
    #[schemars(schema_with = "versions::<v1beta1::PolicyDefinitionSpec>")]
    pub versions: Vec<v1beta1::PolicyDefinitionSpec>,
    /// Fields that we do not know.
    #[serde(flatten)]
    pub other: Tree,
}

/// The versions of a workflow step definition.
#[derive(Debug, Clone, Default, PartialEq, CustomResource, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "core.oam.dev",
    version = "v2beta1",
    kind = "WorkflowStepDefinition",
    doc = "A type of workflow step in all its versions. Steps are resolved like components; Cambium does not run them.",
    namespaced,
    status = "DefinitionStatus",
    derive = "PartialEq",
    derive = "Default",
    category = "oam",
    shortname = "workflowstepdef",
    shortname = "workflowstep",
    storage = false
)]
#[serde(rename_all = "camelCase")]
pub struct WorkflowStepDefinitionSpec {
    /// All versions of the definition. The content of a published version never changes.
    #[serde(default)]
    #[schemars(schema_with = "versions::<v1beta1::WorkflowStepDefinitionSpec>")]
    pub versions: Vec<v1beta1::WorkflowStepDefinitionSpec>,
    /// Fields that we do not know.
    #[serde(flatten)]
    pub other: Tree,
}

/// A list of specs, told apart by `version`, which each must have.
fn versions<Spec: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    let mut item = Spec::json_schema(generator);
    item.insert("required".to_owned(), serde_json::json!(["version"]));
    if let Some(version) = item.pointer_mut("/properties/version") {
        *version = serde_json::json!({
            "type": "string", "minLength": 1, "maxLength": 128,
            "description": "The semantic version, such as 1.2.3. \"2\" and \"3.4\" mean 2.0.0 and 3.4.0.",
        });
    }
    schemars::json_schema!({
        "type": "array", "minItems": 1, "items": item,
        "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["version"],
    })
}
