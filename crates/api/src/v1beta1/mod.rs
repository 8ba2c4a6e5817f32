//! `core.oam.dev/v1beta1`: the stored version of every kind.

mod application;
mod application_revision;
mod application_status;
mod component_definition;
mod definition_revision;
mod policy_definition;
mod trait_definition;
mod workflow_step_definition;

pub use application::{
    Application, ApplicationSpec, Component, ComponentTrait, Policy, SubStep, Workflow, WorkflowStep,
};
pub use application_revision::{
    ApplicationRevision, ApplicationRevisionSpec, ApplicationRevisionStatus, DefinitionUse,
};
pub use application_status::{
    ApplicationStatus, AppliedResource, NewerVersion, Phase, ResolvedReference, RunningRevision,
    ServiceStatus, TraitStatus,
};
pub use component_definition::{ComponentDefinition, ComponentDefinitionSpec};
pub use definition_revision::{
    DefinitionRevision, DefinitionRevisionSpec, DefinitionRevisionStatus, DefinitionType,
};
pub use policy_definition::{PolicyDefinition, PolicyDefinitionSpec};
pub use trait_definition::{Stage, TraitDefinition, TraitDefinitionSpec};
pub use workflow_step_definition::{WorkflowStepDefinition, WorkflowStepDefinitionSpec};

/// The version, as `apiVersion` has it.
pub const API_VERSION: &str = "core.oam.dev/v1beta1";
