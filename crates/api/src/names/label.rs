//! Labels. `docs/reference/annotations.md` is generated from this file.

// DefinitionRevisions

/// The name of the ComponentDefinition.
///
/// Set on: DefinitionRevision of a ComponentDefinition.
///
/// Set by: the manager.
pub const COMPONENT_DEFINITION: &str = "componentdefinition.oam.dev/name";

/// The name of the TraitDefinition.
///
/// Set on: DefinitionRevision of a TraitDefinition.
///
/// Set by: the manager.
pub const TRAIT_DEFINITION: &str = "trait.oam.dev/name";

/// The name of the PolicyDefinition.
///
/// Set on: DefinitionRevision of a PolicyDefinition.
///
/// Set by: the manager.
pub const POLICY_DEFINITION: &str = "policydefinition.oam.dev/name";

/// The name of the WorkflowStepDefinition.
///
/// Set on: DefinitionRevision of a WorkflowStepDefinition.
///
/// Set by: the manager.
pub const WORKFLOW_STEP_DEFINITION: &str = "workflowstepdefinition.oam.dev/name";

/// The semantic version, if the definition has versions. Build metadata is written with `_` for `+`, which a label cannot hold; a version
/// of more than 63 characters has no label.
///
/// Set on: DefinitionRevision.
///
/// Set by: the manager.
pub const DEFINITION_VERSION: &str = "definitionrevision.oam.dev/version";

/// The first digits of the digest, to select by. The annotation of the same name has the whole digest.
///
/// Set on: DefinitionRevision.
///
/// Set by: the manager.
pub const DIGEST: &str = "definitionrevision.oam.dev/digest";

// Applications and their objects

/// The name of the Application.
///
/// Set on: objects and ApplicationRevisions of an Application.
///
/// Set by: the manager.
pub const APPLICATION: &str = "app.oam.dev/name";

/// The namespace of the Application.
///
/// Set on: objects of an Application.
///
/// Set by: the manager.
pub const APPLICATION_NAMESPACE: &str = "app.oam.dev/namespace";

/// The name of the component.
///
/// Set on: objects of an Application.
///
/// Set by: the manager.
pub const COMPONENT: &str = "app.oam.dev/component";

/// The name of the ApplicationRevision that the object was rendered from.
///
/// Set on: objects of an Application.
///
/// Set by: the manager.
pub const APPLICATION_REVISION: &str = "app.oam.dev/appRevision";

/// The first digits of the digest.
///
/// Set on: ApplicationRevision.
///
/// Set by: the manager.
pub const APPLICATION_REVISION_HASH: &str = "app.oam.dev/app-revision-hash";

/// `WORKLOAD` for the `output` of a component, `TRAIT` for other objects.
///
/// Set on: objects of an Application.
///
/// Set by: the manager.
pub const RESOURCE_TYPE: &str = "app.oam.dev/resourceType";

/// The component's definition, `web@v1.2` as `web-v1.2`.
///
/// Set on: objects of an Application that components render.
///
/// Set by: the manager.
pub const WORKLOAD_TYPE: &str = "workload.oam.dev/type";

/// The trait's definition; `AuxiliaryWorkload` for the `outputs` of a component.
///
/// Set on: objects of an Application other than workloads.
///
/// Set by: the manager.
pub const TRAIT_TYPE: &str = "trait.oam.dev/type";

/// The name in `outputs`.
///
/// Set on: objects of an Application other than workloads.
///
/// Set by: the manager.
pub const TRAIT_RESOURCE: &str = "trait.oam.dev/resource";

// Compositions and composite resources

/// The name of the Composition.
///
/// Set on: CompositionRevision.
///
/// Set by: the manager.
pub const COMPOSITION_NAME: &str = "crossplane.io/composition-name";

/// The first digits of the digest of the spec.
///
/// Set on: CompositionRevision.
///
/// Set by: the manager.
pub const COMPOSITION_SPEC_HASH: &str = "crossplane.io/composition-spec-hash";

/// The same as `crossplane.io/composition-spec-hash`, under the name that newer tools use.
///
/// Set on: CompositionRevision.
///
/// Set by: the manager.
pub const COMPOSITION_HASH: &str = "crossplane.io/composition-hash";

/// The name of the root composite resource.
///
/// Set on: composite resources and composed resources.
///
/// Set by: the manager.
pub const COMPOSITE: &str = "crossplane.io/composite";

/// The name of the claim.
///
/// Set on: composite resources and composed resources of a claim.
///
/// Set by: the manager.
pub const CLAIM_NAME: &str = "crossplane.io/claim-name";

/// The namespace of the claim.
///
/// Set on: composite resources and composed resources of a claim.
///
/// Set by: the manager.
pub const CLAIM_NAMESPACE: &str = "crossplane.io/claim-namespace";

// Other systems

/// The Velero restore that created the object. An Application with it is admitted before its definitions exist.
///
/// Set on: Application.
///
/// Set by: Velero.
pub const VELERO_RESTORE: &str = "velero.io/restore-name";
