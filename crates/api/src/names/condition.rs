//! Types of conditions. `docs/reference/conditions.md` is generated from this file.
//!
//! Each says when it is True and where it is set; a comment begins a section of the page.

// All kinds

/// The object is reconciled and works: what `kubectl wait --for=condition=Ready` waits for.
///
/// Set on: Applications, definitions, Compositions, composite resources and claims.
///
/// What to do: its reason and message are those of the condition that is False.
pub const READY: &str = "Ready";

// Applications

/// Every reference has a revision.
///
/// Set on: Applications.
///
/// What to do: `cambium resolve APP --explain` lists every version and why it was not chosen.
pub const RESOLVED: &str = "Resolved";

/// Every component was rendered.
///
/// Set on: Applications.
///
/// What to do: correct the properties, or ask the authors of the definition.
pub const RENDERED: &str = "Rendered";

/// All rendered objects are applied, and objects that are no longer rendered are deleted.
///
/// Set on: Applications.
///
/// What to do: the message has a line for each object.
pub const APPLIED: &str = "Applied";

/// The applied objects are healthy, by the health policies of their definitions.
///
/// Set on: Applications.
///
/// What to do: `status.services` has a message for each component.
pub const HEALTHY: &str = "Healthy";

/// Every reference runs the version that it resolves to. Present once an upgrade failed; it has no effect on `Ready`.
///
/// Set on: Applications.
///
/// What to do: change the properties so that the new version renders, or pin the running one.
pub const UPGRADED: &str = "Upgraded";

// Definitions: ComponentDefinition, TraitDefinition, PolicyDefinition, WorkflowStepDefinition

/// Every version has a DefinitionRevision.
///
/// Set on: definitions.
///
/// What to do: `status.versions` has the state of each version.
pub const PUBLISHED: &str = "Published";

/// The content of a published version was changed while admission was off. The revision keeps the published content. False is the good state.
///
/// Set on: definitions.
///
/// What to do: publish the change as a new version.
pub const CONFLICT: &str = "Conflict";

// CompositeResourceDefinitions

/// Composite resources can be created.
///
/// Set on: CompositeResourceDefinitions.
///
/// What to do: correct the definition, or wait for its CustomResourceDefinition.
pub const ESTABLISHED: &str = "Established";

/// Claims can be created.
///
/// Set on: CompositeResourceDefinitions with `claimNames`.
///
/// What to do: correct the definition, or wait for its CustomResourceDefinition.
pub const OFFERED: &str = "Offered";

// CompositionRevisions

/// The steps of the pipeline are valid. Whether their functions answer is only known when they are called.
///
/// Set on: CompositionRevisions in `mode: Pipeline`.
///
/// What to do: correct the step in the Composition.
pub const VALID_PIPELINE: &str = "ValidPipeline";

/// The revision has the content that was published. If not, it is not used.
///
/// Set on: CompositionRevisions.
///
/// What to do: delete the revision, or restore its spec.
pub const INTACT: &str = "Intact";

// Composite resources and claims

/// The last reconcile succeeded: all composed resources are applied.
///
/// Set on: composite resources and claims.
///
/// What to do: the message has the error.
pub const SYNCED: &str = "Synced";

/// Reconciles are not held back for changing too often.
///
/// Set on: composite resources of CompositeResourceDefinitions v2.
pub const RESPONSIVE: &str = "Responsive";
