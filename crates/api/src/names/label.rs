//! Labels.

/// On a revision of a component definition: the definition's name.
pub const COMPONENT_DEFINITION: &str = "componentdefinition.oam.dev/name";

/// On a revision of a trait definition: the definition's name.
pub const TRAIT_DEFINITION: &str = "trait.oam.dev/name";

/// On a revision of a policy definition: the definition's name.
pub const POLICY_DEFINITION: &str = "policydefinition.oam.dev/name";

/// On a revision of a workflow step definition: the definition's name.
pub const WORKFLOW_STEP_DEFINITION: &str = "workflowstepdefinition.oam.dev/name";

/// On a definition's revision: its semantic version, if the definition has versions.
///
/// Build metadata is written with `_` for `+`, which a label cannot hold; a version of more than 63 characters has no label.
pub const DEFINITION_VERSION: &str = "definitionrevision.oam.dev/version";

/// On a revision: the first digits of its digest, enough to select by. The annotation of the same name has them all.
pub const DIGEST: &str = "definitionrevision.oam.dev/digest";

/// On what an application made, and on its revisions: the application's name.
pub const APPLICATION: &str = "app.oam.dev/name";

/// On what an application made: the application's namespace.
pub const APPLICATION_NAMESPACE: &str = "app.oam.dev/namespace";

/// On what an application made: the component that it belongs to.
pub const COMPONENT: &str = "app.oam.dev/component";

/// On what an application made: the application revision that it comes from.
pub const APPLICATION_REVISION: &str = "app.oam.dev/appRevision";

/// On an application revision: the first digits of its digest.
pub const APPLICATION_REVISION_HASH: &str = "app.oam.dev/app-revision-hash";

/// On what an application made: `WORKLOAD` or `TRAIT`.
pub const RESOURCE_TYPE: &str = "app.oam.dev/resourceType";

/// On what a component made: the component's definition.
pub const WORKLOAD_TYPE: &str = "workload.oam.dev/type";

/// On what a trait made: the trait's definition.
pub const TRAIT_TYPE: &str = "trait.oam.dev/type";

/// On what a trait made: the name of the output.
pub const TRAIT_RESOURCE: &str = "trait.oam.dev/resource";

// Compositions. The names are Crossplane's.

/// On a composition revision: the composition's name.
pub const COMPOSITION_NAME: &str = "crossplane.io/composition-name";

/// On a composition revision: the first digits of the digest of the spec.
pub const COMPOSITION_SPEC_HASH: &str = "crossplane.io/composition-spec-hash";

/// On a composition revision: the same, under the name that newer tools look for.
pub const COMPOSITION_HASH: &str = "crossplane.io/composition-hash";

/// On what a composite resource composed, and on itself: the name of the composite resource at the top.
pub const COMPOSITE: &str = "crossplane.io/composite";

/// On a composite resource and what it composed: the claim's name.
pub const CLAIM_NAME: &str = "crossplane.io/claim-name";

/// On a composite resource and what it composed: the claim's namespace.
pub const CLAIM_NAMESPACE: &str = "crossplane.io/claim-namespace";

/// On what Velero restores: which restore brought it.
pub const VELERO_RESTORE: &str = "velero.io/restore-name";
