//! Application: components, their traits, policies and a workflow.

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::ApplicationStatus;

/// The components of an application, and how they are deployed.
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
    /// Policies of the application as a whole.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub policies: Vec<Policy>,
    /// The workflow. Its steps are resolved and checked; Cambium does not run them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workflow: Option<Workflow>,
}

/// One component of an application.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Component {
    /// The name of the component, unique in the application.
    pub name: String,
    /// A reference to a component definition: `web`, `web@1.2`, `web@1.2.3`.
    #[serde(rename = "type")]
    pub type_: String,
    /// The parameters of the definition's template.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "crate::preserve::any_object")]
    pub properties: Option<Value>,
    /// The traits of the component, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub traits: Vec<ComponentTrait>,
    /// The components that must be applied and healthy before this one is applied.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub depends_on: Vec<String>,
    /// Inputs from a workflow. Cambium runs no workflows, and an application with inputs is not applied.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "crate::preserve::any_objects")]
    pub inputs: Vec<Value>,
    /// Outputs for a workflow. Cambium runs no workflows, and an application with outputs is not applied.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "crate::preserve::any_objects")]
    pub outputs: Vec<Value>,
    /// A KubeVela field: the name of a revision that is created elsewhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub external_revision: Option<String>,
    /// A KubeVela field: which copy of a replicated component this is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replica_key: Option<String>,
    /// A KubeVela field that is no longer used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "crate::preserve::any_object")]
    pub scopes: Option<Value>,
}

/// A trait of a component.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ComponentTrait {
    /// A reference to a trait definition.
    #[serde(rename = "type")]
    pub type_: String,
    /// The parameters of the definition's template.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "crate::preserve::any_object")]
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
    /// The parameters of the policy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "crate::preserve::any_object")]
    pub properties: Option<Value>,
}

/// The workflow of an application.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Workflow {
    /// The name of a Workflow object.
    #[serde(rename = "ref", default, skip_serializing_if = "Option::is_none")]
    pub ref_: Option<String>,
    /// The execution mode of the steps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "crate::preserve::any_object")]
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
    /// The parameters of the step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "crate::preserve::any_object")]
    pub properties: Option<Value>,
    /// The steps inside a group.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sub_steps: Vec<SubStep>,
    /// The condition under which the step runs.
    #[serde(rename = "if", default, skip_serializing_if = "Option::is_none")]
    pub if_: Option<String>,
    /// The timeout of the step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<String>,
    /// The steps that must run before this one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub depends_on: Vec<String>,
    /// The inputs of the step.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "crate::preserve::any_objects")]
    pub inputs: Vec<Value>,
    /// The outputs of the step.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "crate::preserve::any_objects")]
    pub outputs: Vec<Value>,
    /// Metadata of the step, such as an alias.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "crate::preserve::any_object")]
    pub meta: Option<Value>,
    /// The execution mode of the sub-steps.
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
    /// The parameters of the step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "crate::preserve::any_object")]
    pub properties: Option<Value>,
    /// The condition under which the step runs.
    #[serde(rename = "if", default, skip_serializing_if = "Option::is_none")]
    pub if_: Option<String>,
    /// The timeout of the step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<String>,
    /// The steps that must run before this one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub depends_on: Vec<String>,
    /// The inputs of the step.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "crate::preserve::any_objects")]
    pub inputs: Vec<Value>,
    /// The outputs of the step.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "crate::preserve::any_objects")]
    pub outputs: Vec<Value>,
    /// Metadata of the step, such as an alias.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "crate::preserve::any_object")]
    pub meta: Option<Value>,
}
