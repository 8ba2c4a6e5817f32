//! Annotations.

/// On an Application: whether references follow new versions, `"true"` or `"false"`. Nothing else is accepted.
pub const AUTO_UPDATE: &str = "app.oam.dev/autoUpdate";

/// On an Application: it is frozen at what it was when this value was set, until the value changes.
pub const PUBLISH_VERSION: &str = "app.oam.dev/publishVersion";

/// On an Application: version and digest for each reference; resolving to anything else is refused.
pub const LOCK: &str = "app.oam.dev/lock";

/// On an Application: `"true"` applies it without the policies and the workflow that it asks for and Cambium does not carry out.
pub const IGNORE_UNSUPPORTED: &str = "app.oam.dev/ignore-unsupported";

/// On an Application that is created: `"true"` accepts it though its definitions are not there yet, as in a backup that is restored in
/// any order.
pub const RESTORED: &str = "app.oam.dev/restored";

/// On an Application: the ServiceAccount of its namespace whose rights its objects are applied with.
pub const SERVICE_ACCOUNT: &str = "app.oam.dev/service-account-name";

/// On an Application: the user whose rights its objects are applied with. Written by admission alone.
pub const USERNAME: &str = "app.oam.dev/username";

/// On an Application: the groups of that user, joined by commas. Written by admission alone.
pub const GROUP: &str = "app.oam.dev/group";

/// On what an Application made: the `uid` of the Application. Labels are copied by people and programs; an object without this is not
/// adopted for its labels.
pub const APPLICATION_UID: &str = "app.oam.dev/application-uid";

/// On what an Application made: the application revision that it comes from.
pub const APPLICATION_REVISION: &str = "app.oam.dev/app-revision";

/// On a definition without versions: the name of the revision that its spec becomes.
pub const REVISION_NAME: &str = "definitionrevision.oam.dev/name";

/// On a revision: `sha256:` and the digest of what it snapshots.
pub const DIGEST: &str = "definitionrevision.oam.dev/digest";

/// On a revision that nothing keeps: since when. It is deleted if it stays marked.
pub const UNUSED_SINCE: &str = "definitionrevision.oam.dev/unused-since";

/// On a definition: what the other API version cannot say. Written and read by conversion alone.
///
/// At v1beta1 it carries the versions besides the one in `spec`; at v2beta1 it marks an object that was written at v1beta1.
pub const CONVERSION: &str = "definition.oam.dev/conversion";

/// On a definition: the earlier name of [`ALLOW_ORPHANS`], which still counts.
pub const ORPHAN: &str = "definition.oam.dev/orphan";

/// On a definition: what it is, for people.
pub const DESCRIPTION: &str = "definition.oam.dev/description";

// Compositions. The names are Crossplane's, where it has one.

/// On what a composite resource composed: which of the composition's resources it is.
pub const COMPOSITION_RESOURCE_NAME: &str = "crossplane.io/composition-resource-name";

/// On a composite resource or a claim: `"true"` leaves it and what it composed alone.
pub const PAUSED: &str = "crossplane.io/paused";

/// On a composite resource or a claim: any new value asks for another look at it.
pub const RECONCILE_REQUESTED_AT: &str = "crossplane.io/reconcile-requested-at";

/// On a composed resource, a composite resource or a claim: what the thing outside is called.
pub const EXTERNAL_NAME: &str = "crossplane.io/external-name";

/// On a Composition: how many of its old revisions are kept besides those in use.
pub const REVISION_LIMIT: &str = "composition.cambium.dev/revision-limit";

/// On a composition revision: `sha256:` and the digest of what it snapshots.
pub const COMPOSITION_DIGEST: &str = "composition.cambium.dev/digest";

/// On a composition revision: the composition's name, which may be longer than a label can be.
pub const COMPOSITION: &str = "composition.cambium.dev/name";

/// On a composition revision: the labels that were copied from the composition, as JSON.
pub const COPIED_LABELS: &str = "composition.cambium.dev/copied-labels";

/// On a composed resource: the first digits of the digest of what was applied.
pub const APPLIED: &str = "composition.cambium.dev/applied";

/// On whatever is published: `"true"` lets it be deleted while somebody uses it. Who uses a definition or a Composition keeps running as it is; what a
/// CompositeResourceDefinition defines is deleted with it.
pub const ALLOW_ORPHANS: &str = "cambium.dev/allow-orphans";

/// On a Composition: how it is judged by the schemas of what it composes: `strict`, `loose` or `warn`, which is the default.
pub const VALIDATION_MODE: &str = "crossplane.io/composition-schema-aware-validation-mode";
