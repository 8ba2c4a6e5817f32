//! Reasons of conditions and events.

/// All is as it should be.
pub const AVAILABLE: &str = "Available";

/// Work is under way.
pub const PROGRESSING: &str = "Progressing";

// Definitions.

/// `spec.version` or a version in `spec.versions` is no semantic version.
pub const INVALID_VERSION: &str = "InvalidVersion";

/// Two entries of `spec.versions` are the same version.
pub const DUPLICATE_VERSION: &str = "DuplicateVersion";

/// Both a version and the revision name annotation are there.
pub const VERSION_AND_NAME: &str = "VersionAndName";

/// A published version was given other content.
pub const CONTENT_CHANGED: &str = "ContentChanged";

/// The object was edited through the API version that it was not written at.
pub const API_VERSION_CHANGED: &str = "ApiVersionChanged";

/// The template does not compile.
pub const INVALID_TEMPLATE: &str = "InvalidTemplate";

/// Something still uses it.
pub const IN_USE: &str = "InUse";

// Resolution.

/// A reference cannot be read, or asks for a range.
pub const INVALID_REFERENCE: &str = "InvalidReference";

/// There is no definition of that name, here or in the system namespace.
pub const DEFINITION_NOT_FOUND: &str = "DefinitionNotFound";

/// The definition is there, the version or revision is not.
pub const VERSION_NOT_FOUND: &str = "VersionNotFound";

/// The reference names no exact version while automatic upgrades are off.
pub const PARTIAL_WHILE_PINNED: &str = "PartialWhilePinned";

/// The revision in use is gone, was replaced, or was edited.
pub const REVISION_CHANGED: &str = "RevisionChanged";

/// The lock allows something else.
pub const LOCKED: &str = "Locked";

/// The annotations ask for something unknown, or contradict each other.
pub const INVALID_ANNOTATIONS: &str = "InvalidAnnotations";

// Rendering and applying.

/// The properties do not fit the definition's parameters.
pub const INVALID_PROPERTIES: &str = "InvalidProperties";

/// The template gave no manifest.
pub const RENDER_FAILED: &str = "RenderFailed";

/// A template takes more steps, memory or time than it may. It is not evaluated again before something of it changes.
pub const TEMPLATE_TOO_EXPENSIVE: &str = "TemplateTooExpensive";

/// The Application asks for a workflow, and nothing here runs one.
pub const WORKFLOW_NOT_SUPPORTED: &str = "WorkflowNotSupported";

/// The Application has a policy, and nothing here carries it out.
pub const POLICY_NOT_SUPPORTED: &str = "PolicyNotSupported";

/// It was applied without the policies and the workflow that are not supported, as an annotation asks.
pub const UNSUPPORTED_IGNORED: &str = "UnsupportedIgnored";

/// An object that it would apply belongs to somebody else.
pub const OWNED_BY_ANOTHER: &str = "OwnedByAnother";

/// Nobody's rights can be used to apply the objects of an Application.
pub const NO_IDENTITY: &str = "NoIdentity";

/// The identity of an Application is not allowed to write one of its objects.
pub const FORBIDDEN: &str = "Forbidden";

/// The API server refused an object.
pub const APPLY_FAILED: &str = "ApplyFailed";

/// Something that was applied does not work, or not yet.
pub const UNHEALTHY: &str = "Unhealthy";

/// An earlier step failed, and what is running was left alone.
pub const BLOCKED: &str = "Blocked";

// Events.

/// A reference moved to another version.
pub const UPGRADED: &str = "Upgraded";

/// A reference moved to a lower version.
pub const DOWNGRADED: &str = "Downgraded";

/// A reference could not move to the revision that it resolves to.
pub const UPGRADE_FAILED: &str = "UpgradeFailed";

/// An object has fields that its kind does not know; they were left out.
pub const FIELDS_IGNORED: &str = "FieldsIgnored";

/// A version was published.
pub const VERSION_PUBLISHED: &str = "VersionPublished";

/// A revision that nobody needs was deleted.
pub const REVISION_DELETED: &str = "RevisionDeleted";

// Definitions of composite resources. The names are Crossplane's, where it has one.

/// Composite resources can be made, and are worked on.
pub const WATCHING_COMPOSITE: &str = "WatchingCompositeResource";

/// Claims can be made, and are worked on.
pub const WATCHING_CLAIM: &str = "WatchingCompositeResourceClaim";

/// The definition is being deleted, and its composite resources with it.
pub const TERMINATING_COMPOSITE: &str = "TerminatingCompositeResource";

/// The definition is being deleted, and its claims with it.
pub const TERMINATING_CLAIM: &str = "TerminatingCompositeResourceClaim";

/// The API server does not serve the kind yet.
pub const WAITING_FOR_CRD: &str = "WaitingForCRD";

/// A CustomResourceDefinition of that name is there, and belongs to somebody else.
pub const CRD_NOT_CONTROLLED: &str = "CRDNotControlled";

/// The definition cannot become a CustomResourceDefinition.
pub const INVALID_DEFINITION: &str = "InvalidDefinition";

// Composite resources and claims.

/// It is being made, or is not ready yet.
pub const CREATING: &str = "Creating";

/// It is there, and does not work.
pub const UNAVAILABLE: &str = "Unavailable";

/// It is being deleted.
pub const DELETING: &str = "Deleting";

/// The last look at it ended well.
pub const RECONCILE_SUCCESS: &str = "ReconcileSuccess";

/// The last look at it ended with an error.
pub const RECONCILE_ERROR: &str = "ReconcileError";

/// Nobody looks at it: the annotation `crossplane.io/paused` is there.
pub const RECONCILE_PAUSED: &str = "ReconcilePaused";

// Compositions.

/// What the composition says cannot be published; the message says why.
pub const INVALID_COMPOSITION: &str = "InvalidComposition";

/// A composition got a new revision.
pub const REVISION_ISSUED: &str = "RevisionIssued";

/// A composition went back to what an earlier revision holds.
pub const REVISION_CURRENT_AGAIN: &str = "RevisionCurrentAgain";

/// Composite resources: a composition, or a revision of it, was selected.
pub const SELECT_COMPOSITION: &str = "SelectComposition";

/// Composite resources: something was composed, or could not be.
pub const COMPOSE_RESOURCES: &str = "ComposeResources";

/// Composite resources: a function failed before this condition could be determined.
pub const FATAL_ERROR: &str = "FatalError";

/// Composite resources: changes are followed as they come.
pub const WATCH_CIRCUIT_CLOSED: &str = "WatchCircuitClosed";

/// Composite resources: connection details were published, or could not be.
pub const PUBLISH_CONNECTION: &str = "PublishConnectionSecret";

// Claims.

/// The composite resource is not ready yet.
pub const WAITING: &str = "Waiting";

/// A composite resource became the claim's, or could not.
pub const BIND_COMPOSITE: &str = "BindCompositeResource";

/// A composite resource went with its claim, or could not.
pub const DELETE_COMPOSITE: &str = "DeleteCompositeResource";

/// Connection details were copied into the claim's namespace, or could not be.
pub const PROPAGATE_CONNECTION: &str = "PropagateConnectionSecret";

/// The steps of a pipeline can be run.
pub const VALID_PIPELINE: &str = "ValidPipeline";

/// The steps of a pipeline cannot be run; the message says which, and why.
pub const INVALID_PIPELINE: &str = "InvalidPipeline";
