//! Finalizers.

/// On an Application: what it made must be removed first.
pub const APPLICATION: &str = "app.oam.dev/resource-tracker-finalizer";

/// On an Application: what it made stays when it goes, and is nobody's then.
pub const ORPHAN: &str = "app.oam.dev/orphan-resource";

/// On a DefinitionRevision in use: it stays, even when its definition goes.
pub const IN_USE: &str = "definitionrevision.oam.dev/in-use";

/// On a CompositeResourceDefinition: composite resources and their kind must be removed first.
pub const DEFINED: &str = "defined.apiextensions.crossplane.io";

/// On a CompositeResourceDefinition: claims and their kind must be removed first.
pub const OFFERED: &str = "offered.apiextensions.crossplane.io";

/// On a composite resource: it must be let go of first.
pub const COMPOSITE: &str = "composite.apiextensions.crossplane.io";

/// On a claim: its composite resource must be removed first.
pub const CLAIM: &str = "finalizer.apiextensions.crossplane.io";
