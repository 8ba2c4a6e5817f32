//! What a developer asks for.

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::ApplicationStatus;

/// What the application is made of.
#[derive(Debug, Clone, Default, PartialEq, CustomResource, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "core.oam.dev",
    version = "v1beta1",
    kind = "Application",
    doc = "Components with their traits, each of a type that a platform team has defined and versioned.",
    namespaced,
    status = "ApplicationStatus",
    derive = "PartialEq",
    derive = "Default",
    category = "oam",
    shortname = "app",
    shortname = "velaapp"
)]
#[serde(rename_all = "camelCase")]
pub struct ApplicationSpec {
    /// The components, in the order in which they are applied.
    pub components: Vec<Component>,
    /// What the application as a whole asks for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub policies: Vec<Policy>,
    /// How it is rolled out. Its steps are resolved and checked; Cambium does not run them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workflow: Option<Workflow>,
}

/// One component of an application.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Component {
    /// Its name.
    pub name: String,
    /// A reference to a component definition: `web`, `web@1.2`, `web@1.2.3`.
    #[serde(rename = "type")]
    pub type_: String,
    /// What the definition's template sees as `parameter`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "crate::keep::any_object")]
    pub properties: Option<Value>,
    /// What is attached to it, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub traits: Vec<ComponentTrait>,
    /// The components that must be applied and healthy before this one is applied.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub depends_on: Vec<String>,
    /// Values that a workflow would pass to it. Cambium runs none, and an application with them is not applied.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "crate::keep::any_objects")]
    pub inputs: Vec<Value>,
    /// Values that a workflow would take from it. Cambium runs none, and an application with them is not applied.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "crate::keep::any_objects")]
    pub outputs: Vec<Value>,
    /// KubeVela's: a revision that is made elsewhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub external_revision: Option<String>,
    /// KubeVela's: which copy of a replicated component it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replica_key: Option<String>,
    /// KubeVela's, which does not use them any longer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "crate::keep::any_object")]
    pub scopes: Option<Value>,
}

/// A trait of a component.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ComponentTrait {
    /// A reference to a trait definition.
    #[serde(rename = "type")]
    pub type_: String,
    /// What the definition's template sees as `parameter`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "crate::keep::any_object")]
    pub properties: Option<Value>,
}

/// A policy of an application.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Policy {
    /// Its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// A reference to a policy definition.
    #[serde(rename = "type")]
    pub type_: String,
    /// What it asks for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "crate::keep::any_object")]
    pub properties: Option<Value>,
}

/// How an application is rolled out.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Workflow {
    /// The name of a workflow that is kept elsewhere.
    #[serde(rename = "ref", default, skip_serializing_if = "Option::is_none")]
    pub ref_: Option<String>,
    /// How steps are run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "crate::keep::any_object")]
    pub mode: Option<Value>,
    /// The steps.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<WorkflowStep>,
}

/// One step of a workflow.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkflowStep {
    /// Its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// A reference to a workflow step definition.
    #[serde(rename = "type")]
    pub type_: String,
    /// What the step gets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "crate::keep::any_object")]
    pub properties: Option<Value>,
    /// The steps inside a group.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sub_steps: Vec<SubStep>,
    /// When it is run.
    #[serde(rename = "if", default, skip_serializing_if = "Option::is_none")]
    pub if_: Option<String>,
    /// How long it may take.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<String>,
    /// The steps that come before it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub depends_on: Vec<String>,
    /// The values that it gets.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "crate::keep::any_objects")]
    pub inputs: Vec<Value>,
    /// The values that it gives.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "crate::keep::any_objects")]
    pub outputs: Vec<Value>,
    /// What is said about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "crate::keep::any_object")]
    pub meta: Option<Value>,
    /// How the steps inside a group are run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
}

/// A step inside a group.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SubStep {
    /// Its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// A reference to a workflow step definition.
    #[serde(rename = "type")]
    pub type_: String,
    /// What the step gets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "crate::keep::any_object")]
    pub properties: Option<Value>,
    /// When it is run.
    #[serde(rename = "if", default, skip_serializing_if = "Option::is_none")]
    pub if_: Option<String>,
    /// How long it may take.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<String>,
    /// The steps that come before it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub depends_on: Vec<String>,
    /// The values that it gets.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "crate::keep::any_objects")]
    pub inputs: Vec<Value>,
    /// The values that it gives.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "crate::keep::any_objects")]
    pub outputs: Vec<Value>,
    /// What is said about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "crate::keep::any_object")]
    pub meta: Option<Value>,
}
