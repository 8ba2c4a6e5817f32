//! Types of conditions.

/// Applications: every reference has a revision.
pub const RESOLVED: &str = "Resolved";

/// Applications: the manifests could be made.
pub const RENDERED: &str = "Rendered";

/// Applications: the cluster has them, and nothing that is no longer rendered.
pub const APPLIED: &str = "Applied";

/// Applications: what was applied works.
pub const HEALTHY: &str = "Healthy";

/// All: everything above holds; what `kubectl wait` should wait for.
pub const READY: &str = "Ready";

/// Definitions: every version has its revision.
pub const PUBLISHED: &str = "Published";

/// Definitions: a published version was given other content, and the revision keeps what was published first.
pub const CONFLICT: &str = "Conflict";
