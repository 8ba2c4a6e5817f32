//! Annotations. `docs/reference/annotations.md` is generated from this file.
//!
//! Each says its effect, the objects that it is set on, and who sets it; a comment begins a section of the page.

// Applications

/// Whether references follow new versions: `"true"` or `"false"`. Other values are refused.
///
/// Set on: Application.
///
/// Set by: the user.
pub const AUTO_UPDATE: &str = "app.oam.dev/autoUpdate";

/// Freezes the Application: its objects stay as they were when this value was set, until the value changes or is removed.
///
/// Set on: Application.
///
/// Set by: the user.
pub const PUBLISH_VERSION: &str = "app.oam.dev/publishVersion";

/// The version and digest of each reference, as JSON. A reference that resolves to anything else is refused.
///
/// Set on: Application.
///
/// Set by: `cambium lock`; `cambium upgrade` and `cambium rollback` update it.
pub const LOCK: &str = "app.oam.dev/lock";

/// `"true"` applies the Application without its policies and workflow, which Cambium does not run.
///
/// Set on: Application.
///
/// Set by: the user.
pub const IGNORE_UNSUPPORTED: &str = "app.oam.dev/ignore-unsupported";

/// `"true"` admits the Application on creation although its definitions do not exist yet, as when a backup is restored in any order.
///
/// Set on: Application.
///
/// Set by: the user, or a backup tool.
pub const RESTORED: &str = "app.oam.dev/restored";

/// The ServiceAccount in the Application's namespace whose permissions its objects are applied with.
///
/// Set on: Application.
///
/// Set by: the user.
pub const SERVICE_ACCOUNT: &str = "app.oam.dev/service-account-name";

/// The user whose permissions the objects are applied with.
///
/// Set on: Application.
///
/// Set by: the mutating webhook; other values are reset.
pub const USERNAME: &str = "app.oam.dev/username";

/// The groups of that user, separated by commas.
///
/// Set on: Application.
///
/// Set by: the mutating webhook; other values are reset.
pub const GROUP: &str = "app.oam.dev/group";

/// The `uid` of the Application. Labels are copied by people and programs; an object without this annotation is not
/// adopted for its labels.
///
/// Set on: objects of an Application.
///
/// Set by: the manager.
pub const APPLICATION_UID: &str = "app.oam.dev/application-uid";

// Definitions and their revisions

/// The name of the DefinitionRevision of the spec, for a definition without versions.
///
/// Set on: definitions.
///
/// Set by: the user.
pub const REVISION_NAME: &str = "definitionrevision.oam.dev/name";

/// `sha256:` and the digest of the content.
///
/// Set on: DefinitionRevision.
///
/// Set by: the manager.
pub const DIGEST: &str = "definitionrevision.oam.dev/digest";

/// The time since which the revision is unused. It is deleted if it stays unused.
///
/// Set on: DefinitionRevision.
///
/// Set by: the manager.
pub const UNUSED_SINCE: &str = "definitionrevision.oam.dev/unused-since";

/// The content that the other API version cannot represent. At v1beta1 it has the versions besides the one in `spec`; at v2beta1 it
/// marks an object that was written at v1beta1.
///
/// Set on: definitions.
///
/// Set by: the conversion webhook; edits are refused.
pub const CONVERSION: &str = "definition.oam.dev/conversion";

/// The earlier name of `cambium.dev/allow-orphans`, which still works.
///
/// Set on: definitions.
///
/// Set by: the user.
pub const ORPHAN: &str = "definition.oam.dev/orphan";

/// A description of the definition, for people.
///
/// Set on: definitions.
///
/// Set by: the user.
pub const DESCRIPTION: &str = "definition.oam.dev/description";

// Compositions and composite resources

/// The name of the resource in the Composition, or in the response of a function.
///
/// Set on: composed resources.
///
/// Set by: the manager.
pub const COMPOSITION_RESOURCE_NAME: &str = "crossplane.io/composition-resource-name";

/// `"true"` pauses reconciling, deletion included.
///
/// Set on: composite resources, claims.
///
/// Set by: the user.
pub const PAUSED: &str = "crossplane.io/paused";

/// Any new value requests a reconcile.
///
/// Set on: composite resources, claims.
///
/// Set by: the user.
pub const RECONCILE_REQUESTED_AT: &str = "crossplane.io/reconcile-requested-at";

/// The name of the external resource. It is copied between a claim and its composite resource.
///
/// Set on: composed resources, composite resources, claims.
///
/// Set by: the user, the Composition, or a provider.
pub const EXTERNAL_NAME: &str = "crossplane.io/external-name";

/// How many old revisions are kept besides those in use.
///
/// Set on: Composition.
///
/// Set by: the user.
pub const REVISION_LIMIT: &str = "composition.cambium.dev/revision-limit";

/// `sha256:` and the digest of the spec.
///
/// Set on: CompositionRevision.
///
/// Set by: the manager.
pub const COMPOSITION_DIGEST: &str = "composition.cambium.dev/digest";

/// The name of the Composition, which may be longer than a label value.
///
/// Set on: CompositionRevision.
///
/// Set by: the manager.
pub const COMPOSITION: &str = "composition.cambium.dev/name";

/// The labels that were copied from the Composition, as JSON. Other labels of the revision were set by hand, and are kept.
///
/// Set on: CompositionRevision.
///
/// Set by: the manager.
pub const COPIED_LABELS: &str = "composition.cambium.dev/copied-labels";

/// The first digits of the digest of the manifest that was applied. If it is unchanged, nothing is written.
///
/// Set on: composed resources.
///
/// Set by: the manager.
pub const APPLIED: &str = "composition.cambium.dev/applied";

/// How a Composition is validated against the schemas of its resources: `strict`, `loose` or `warn` (the default).
///
/// Set on: Composition.
///
/// Set by: the user.
pub const VALIDATION_MODE: &str = "crossplane.io/composition-schema-aware-validation-mode";

// All published objects

/// `"true"` allows deletion while in use. Users of a definition or a Composition keep running and are no longer updated; composite resources and claims of a
/// CompositeResourceDefinition are deleted with it.
///
/// Set on: definitions, DefinitionRevision, ApplicationRevision, Composition, CompositionRevision, CompositeResourceDefinition.
///
/// Set by: the user.
pub const ALLOW_ORPHANS: &str = "cambium.dev/allow-orphans";
