//! Reasons of conditions and events. `docs/reference/conditions.md` is generated from this file.
//!
//! Each says what it means, where it is set, and what to do; a comment begins a section of the page.

// Several kinds

/// The condition is as it should be.
///
/// Set on: conditions of every kind with the status that is not a problem: `True`, and `False` for `Conflict`.
pub const AVAILABLE: &str = "Available";

/// Work is in progress: components wait for the components that they depend on, or objects are being deleted.
///
/// Set on: `Applied` and `Ready` of an Application.
///
/// What to do: wait. The message has the number of objects.
pub const PROGRESSING: &str = "Progressing";

/// The object is in use, so it cannot be deleted, or a version cannot be removed from a definition.
///
/// Set on: refusals by admission.
///
/// What to do: move or delete the users that the message names, or set the annotation `cambium.dev/allow-orphans: "true"`.
pub const IN_USE: &str = "InUse";

/// An object of that name exists and belongs to somebody else; it is not overwritten.
///
/// Set on: `Applied` and `Ready` of an Application; `Ready` of a Composition while the revisions of a deleted Composition of the same name are garbage collected.
///
/// What to do: rename the component, or delete the other object.
pub const OWNED_BY_ANOTHER: &str = "OwnedByAnother";

/// A template, a patch or a function takes more steps, memory or time than its budget allows. It is evaluated again only when it or its input changes.
///
/// Set on: `Rendered` and `Ready` of an Application; `Published` of a definition; `Synced` of a composite resource.
///
/// What to do: make the template cheaper at the place in the message.
pub const TEMPLATE_TOO_EXPENSIVE: &str = "TemplateTooExpensive";

/// Objects have fields that their kind does not have. The fields were left out, and the rest was applied.
///
/// Set on: `Applied` (True) of an Application; `Synced` (True) of a composite resource; events of both.
///
/// What to do: remove the fields that the message names from the template, or install a CRD that has them.
pub const FIELDS_IGNORED: &str = "FieldsIgnored";

/// The manager deleted a revision that was not in use.
///
/// Set on: events of definitions and Compositions.
pub const REVISION_DELETED: &str = "RevisionDeleted";

// Definitions: ComponentDefinition, TraitDefinition, PolicyDefinition, WorkflowStepDefinition

/// `spec.version`, or a version in `spec.versions`, is not a semantic version.
///
/// Set on: `Published` of a definition.
///
/// What to do: write three numbers without a leading `v`, like `1.2.3` or `2.0.0-rc.1`.
pub const INVALID_VERSION: &str = "InvalidVersion";

/// Two entries of `spec.versions` are the same version.
///
/// Set on: `Published` of a definition.
///
/// What to do: remove one of them; `"1"` is `"1.0.0"`.
pub const DUPLICATE_VERSION: &str = "DuplicateVersion";

/// The definition has both a version and the annotation `definitionrevision.oam.dev/name`.
///
/// Set on: `Published` of a definition.
///
/// What to do: remove the annotation, or the version.
pub const VERSION_AND_NAME: &str = "VersionAndName";

/// The content of a published version, or of a revision, was changed. The revision keeps the published content.
///
/// Set on: `Conflict` (True) and `Published` of a definition; `Intact` of a CompositionRevision.
///
/// What to do: publish the change as a new version; restore an edited revision from its source.
pub const CONTENT_CHANGED: &str = "ContentChanged";

/// The definition was written at v2beta1 and edited at v1beta1, while admission was off.
///
/// Set on: `Conflict` (True) of a definition.
///
/// What to do: apply it at v2beta1 again.
pub const API_VERSION_CHANGED: &str = "ApiVersionChanged";

/// The CUE template does not compile, or can only fail.
///
/// Set on: `Published` of a definition; `Rendered` and `Ready` of an Application that uses such a revision.
///
/// What to do: correct the template at the line and column in the message.
pub const INVALID_TEMPLATE: &str = "InvalidTemplate";

/// A version was published as a DefinitionRevision.
///
/// Set on: events of a definition.
pub const VERSION_PUBLISHED: &str = "VersionPublished";

// Applications: resolving references

/// A reference is malformed, or is a range.
///
/// Set on: `Resolved` and `Ready` of an Application.
///
/// What to do: write the nearest legal reference, which the message names.
pub const INVALID_REFERENCE: &str = "InvalidReference";

/// No definition of that name exists in the Application's namespace or in `vela-system`.
///
/// Set on: `Resolved` and `Ready` of an Application.
///
/// What to do: check the name and the kind, or publish the definition.
pub const DEFINITION_NOT_FOUND: &str = "DefinitionNotFound";

/// The definition has no such version or revision.
///
/// Set on: `Resolved` and `Ready` of an Application.
///
/// What to do: `cambium history compdef/NAME` lists the versions.
pub const VERSION_NOT_FOUND: &str = "VersionNotFound";

/// The reference is a series (`web@1.2`), and the annotation `app.oam.dev/autoUpdate` is `"false"`.
///
/// Set on: `Resolved` and `Ready` of an Application.
///
/// What to do: name the exact version.
pub const PARTIAL_WHILE_PINNED: &str = "PartialWhilePinned";

/// The revision in use was deleted, replaced or edited. Running objects are unchanged.
///
/// Set on: `Resolved` and `Ready` of an Application.
///
/// What to do: ask the authors of the definition, or `cambium upgrade` to another version.
pub const REVISION_CHANGED: &str = "RevisionChanged";

/// A reference resolves to another version or digest than the annotation `app.oam.dev/lock` has.
///
/// Set on: `Resolved` and `Ready` of an Application.
///
/// What to do: `cambium lock` again if the change is intended.
pub const LOCKED: &str = "Locked";

/// Annotations of the Application have invalid values, or contradict each other.
///
/// Set on: `Resolved` and `Ready` of an Application.
///
/// What to do: correct the annotation that the message names.
pub const INVALID_ANNOTATIONS: &str = "InvalidAnnotations";

// Applications: rendering and applying

/// The properties do not match the `parameter` of the definition.
///
/// Set on: `Rendered` and `Ready` of an Application.
///
/// What to do: correct the property at the path in the message.
pub const INVALID_PROPERTIES: &str = "InvalidProperties";

/// The template gave no object, two components gave the same one, or `dependsOn` names an unknown component or has a cycle.
///
/// Set on: `Rendered` and `Ready` of an Application.
///
/// What to do: the message has the place in the template or in the Application.
pub const RENDER_FAILED: &str = "RenderFailed";

/// The Application has a workflow, or `inputs` or `outputs` of components, which Cambium does not run. It is not applied, and running objects are unchanged.
///
/// Set on: `Applied` and `Ready` of an Application.
///
/// What to do: remove `spec.workflow`, or set the annotation `app.oam.dev/ignore-unsupported: "true"`.
pub const WORKFLOW_NOT_SUPPORTED: &str = "WorkflowNotSupported";

/// The Application has a policy, which Cambium does not enforce. It is not applied, and running objects are unchanged.
///
/// Set on: `Applied` and `Ready` of an Application.
///
/// What to do: remove the policy, or set the annotation `app.oam.dev/ignore-unsupported: "true"`.
pub const POLICY_NOT_SUPPORTED: &str = "PolicyNotSupported";

/// The Application was applied without its policies and workflow, because it has the annotation `app.oam.dev/ignore-unsupported`.
///
/// Set on: `Applied` (True) of an Application; events of it.
pub const UNSUPPORTED_IGNORED: &str = "UnsupportedIgnored";

/// There is no identity to apply the objects as: no ServiceAccount is named, no author is recorded, and the manager has no default.
///
/// Set on: `Applied` and `Ready` of an Application.
///
/// What to do: set the annotation `app.oam.dev/service-account-name`, or one of the others that the message names.
pub const NO_IDENTITY: &str = "NoIdentity";

/// The API server denied a request: the identity of the Application lacks a permission.
///
/// Set on: `Applied` and `Ready` of an Application; refusals by admission.
///
/// What to do: grant the verb on the object that the message names, or name another ServiceAccount.
pub const FORBIDDEN: &str = "Forbidden";

/// The API server refused an object.
///
/// Set on: `Applied` and `Ready` of an Application.
///
/// What to do: the message is the API server's.
pub const APPLY_FAILED: &str = "ApplyFailed";

/// Applied objects are not healthy, or not yet, by the health policy of their definition.
///
/// Set on: `Healthy` and `Ready` of an Application.
///
/// What to do: wait, or look at the component that the message names; the text is the definition's.
pub const UNHEALTHY: &str = "Unhealthy";

/// An earlier condition is False, so this one is not known. Running objects, and versions that were published before, are unchanged.
///
/// Set on: `Rendered`, `Applied` and `Healthy` (Unknown) of an Application; `Ready` of a definition.
///
/// What to do: look at the condition that the message names.
pub const BLOCKED: &str = "Blocked";

/// A reference was upgraded to a higher version.
///
/// Set on: events of an Application.
pub const UPGRADED: &str = "Upgraded";

/// A reference was moved to a lower version, because the version that it had is gone or the reference was changed.
///
/// Set on: events of an Application.
pub const DOWNGRADED: &str = "Downgraded";

/// A reference could not be moved to the revision that it resolves to, because that cannot be rendered or applied. Running objects are unchanged.
///
/// Set on: `Upgraded` of an Application; events of it.
///
/// What to do: change the properties, or pin the running version with `cambium upgrade APP COMPONENT=VERSION`.
pub const UPGRADE_FAILED: &str = "UpgradeFailed";

// CompositeResourceDefinitions

/// Composite resources can be created, and are reconciled.
///
/// Set on: `Established` (True) of a CompositeResourceDefinition.
pub const WATCHING_COMPOSITE: &str = "WatchingCompositeResource";

/// Claims can be created, and are reconciled.
///
/// Set on: `Offered` (True) of a CompositeResourceDefinition.
pub const WATCHING_CLAIM: &str = "WatchingCompositeResourceClaim";

/// The definition is being deleted, and its composite resources with it.
///
/// Set on: `Established` of a CompositeResourceDefinition.
///
/// What to do: wait. `kubectl get composite` lists those that are left.
pub const TERMINATING_COMPOSITE: &str = "TerminatingCompositeResource";

/// The definition is being deleted, and its claims with it.
///
/// Set on: `Offered` of a CompositeResourceDefinition.
///
/// What to do: wait. `kubectl get claim -A` lists those that are left.
pub const TERMINATING_CLAIM: &str = "TerminatingCompositeResourceClaim";

/// The CustomResourceDefinition is not established: it is new, or its names are taken.
///
/// Set on: `Established` and `Offered` of a CompositeResourceDefinition.
///
/// What to do: wait; if the message names a conflict, delete the CustomResourceDefinition that has the names, or choose others.
pub const WAITING_FOR_CRD: &str = "WaitingForCRD";

/// A CustomResourceDefinition of that name exists and is not controlled by this definition. It is not changed.
///
/// Set on: `Established` and `Offered` of a CompositeResourceDefinition.
///
/// What to do: delete the CustomResourceDefinition, or choose another name.
pub const CRD_NOT_CONTROLLED: &str = "CRDNotControlled";

/// The definition is invalid, or the API server refused its CustomResourceDefinition.
///
/// Set on: `Established` and `Offered` of a CompositeResourceDefinition.
///
/// What to do: correct the field that the message names.
pub const INVALID_DEFINITION: &str = "InvalidDefinition";

// Compositions and CompositionRevisions

/// The Composition cannot be published as a revision. Composite resources keep the revision that they use.
///
/// Set on: `Ready` of a Composition.
///
/// What to do: correct what the message names.
pub const INVALID_COMPOSITION: &str = "InvalidComposition";

/// An edit of a Composition was published as a new CompositionRevision.
///
/// Set on: events of a Composition.
pub const REVISION_ISSUED: &str = "RevisionIssued";

/// A Composition was changed back to the content of an earlier revision, which got a new number.
///
/// Set on: events of a Composition.
pub const REVISION_CURRENT_AGAIN: &str = "RevisionCurrentAgain";

/// The steps of the pipeline are valid.
///
/// Set on: `ValidPipeline` (True) of a CompositionRevision.
pub const VALID_PIPELINE: &str = "ValidPipeline";

/// The steps of the pipeline are invalid.
///
/// Set on: `ValidPipeline` of a CompositionRevision.
///
/// What to do: correct the step that the message names, in the Composition.
pub const INVALID_PIPELINE: &str = "InvalidPipeline";

// Composite resources and claims

/// Composed resources are being created, or are not ready.
///
/// Set on: `Ready` of a composite resource.
///
/// What to do: wait, or look at the composed resources that the message names.
pub const CREATING: &str = "Creating";

/// The claim is being deleted.
///
/// Set on: `Ready` of a claim.
///
/// What to do: wait until its composite resource is deleted.
pub const DELETING: &str = "Deleting";

/// The last reconcile succeeded.
///
/// Set on: `Synced` (True) of a composite resource or a claim.
pub const RECONCILE_SUCCESS: &str = "ReconcileSuccess";

/// The last reconcile failed. Composed resources that the message does not name are up to date.
///
/// Set on: `Synced` of a composite resource or a claim.
///
/// What to do: correct what the message names; it is retried with back-off.
pub const RECONCILE_ERROR: &str = "ReconcileError";

/// The object is not reconciled, because it has the annotation `crossplane.io/paused`.
///
/// Set on: `Synced` of a composite resource or a claim.
///
/// What to do: remove the annotation.
pub const RECONCILE_PAUSED: &str = "ReconcilePaused";

/// A Composition, or a revision of it, was selected, or could not be.
///
/// Set on: events of a composite resource.
pub const SELECT_COMPOSITION: &str = "SelectComposition";

/// Resources were composed, or could not be.
///
/// Set on: events of a composite resource.
///
/// What to do: if it is a warning, correct what the message names.
pub const COMPOSE_RESOURCES: &str = "ComposeResources";

/// A function failed before it set this condition, which is Unknown.
///
/// Set on: conditions of a composite resource that functions set.
///
/// What to do: look at `Synced`, which has the error.
pub const FATAL_ERROR: &str = "FatalError";

/// Changes of composed resources are watched, and reconciled as they come.
///
/// Set on: `Responsive` (True) of a composite resource.
pub const WATCH_CIRCUIT_CLOSED: &str = "WatchCircuitClosed";

/// Connection details were written to the connection secret, or could not be.
///
/// Set on: events of a composite resource.
///
/// What to do: if it is a warning, correct what the message names.
pub const PUBLISH_CONNECTION: &str = "PublishConnectionSecret";

/// The composite resource of the claim is not ready.
///
/// Set on: `Ready` of a claim.
///
/// What to do: wait, or look at the composite resource in `spec.resourceRef`.
pub const WAITING: &str = "Waiting";

/// The claim was bound to its composite resource, or could not be.
///
/// Set on: events of a claim.
pub const BIND_COMPOSITE: &str = "BindCompositeResource";

/// The composite resource of a deleted claim was deleted, or could not be.
///
/// Set on: events of a claim.
pub const DELETE_COMPOSITE: &str = "DeleteCompositeResource";

/// Connection details were copied to the secret of the claim, or could not be.
///
/// Set on: events of a claim.
///
/// What to do: if it is a warning, correct what the message names.
pub const PROPAGATE_CONNECTION: &str = "PropagateConnectionSecret";
