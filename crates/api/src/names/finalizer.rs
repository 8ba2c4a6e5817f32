//! Finalizers.

/// On an Application: what it made must be removed first.
pub const APPLICATION: &str = "app.oam.dev/resource-tracker-finalizer";

/// On a DefinitionRevision in use: it stays, even when its definition goes.
pub const IN_USE: &str = "definitionrevision.oam.dev/in-use";
