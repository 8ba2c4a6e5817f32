//! Finalizers. `docs/reference/annotations.md` is generated from this file.

/// The objects of the Application are deleted first.
///
/// Set on: Application.
///
/// Set by: the manager.
pub const APPLICATION: &str = "app.oam.dev/resource-tracker-finalizer";

/// The objects of the Application are orphaned when it is deleted: they stay, without its labels.
///
/// Set on: Application.
///
/// Set by: the user, before the Application is deleted.
pub const ORPHAN: &str = "app.oam.dev/orphan-resource";

/// The revision is in use: it stays until its last user is gone, even if its definition is deleted.
///
/// Set on: DefinitionRevision.
///
/// Set by: the manager.
pub const IN_USE: &str = "definitionrevision.oam.dev/in-use";

/// The composite resources and their CustomResourceDefinition are deleted first.
///
/// Set on: CompositeResourceDefinition.
///
/// Set by: the manager.
pub const DEFINED: &str = "defined.apiextensions.crossplane.io";

/// The claims and their CustomResourceDefinition are deleted first.
///
/// Set on: CompositeResourceDefinition.
///
/// Set by: the manager.
pub const OFFERED: &str = "offered.apiextensions.crossplane.io";

/// The composed resources are released first; garbage collection deletes them.
///
/// Set on: composite resources.
///
/// Set by: the manager.
pub const COMPOSITE: &str = "composite.apiextensions.crossplane.io";

/// The composite resource of the claim is deleted first.
///
/// Set on: claims.
///
/// Set by: the manager.
pub const CLAIM: &str = "finalizer.apiextensions.crossplane.io";
