//! Types of conditions.

/// Applications: every reference has a revision.
pub const RESOLVED: &str = "Resolved";

/// Applications: the manifests could be made.
pub const RENDERED: &str = "Rendered";

/// Applications: the cluster has them, and nothing that is no longer rendered.
pub const APPLIED: &str = "Applied";

/// Applications: what was applied works.
pub const HEALTHY: &str = "Healthy";

/// Applications: they run what their references resolve to. It is there once a reference could not move.
pub const UPGRADED: &str = "Upgraded";

/// All: everything above holds; what `kubectl wait` should wait for.
pub const READY: &str = "Ready";

/// Definitions: every version has its revision.
pub const PUBLISHED: &str = "Published";

/// Definitions: a published version was given other content, and the revision keeps what was published first.
pub const CONFLICT: &str = "Conflict";

/// Definitions of composite resources: composite resources can be made.
pub const ESTABLISHED: &str = "Established";

/// Definitions of composite resources: claims can be made.
pub const OFFERED: &str = "Offered";

/// Composite resources and claims: what should be there was written without an error.
pub const SYNCED: &str = "Synced";

/// Composite resources: it is not being held back for changing too often.
pub const RESPONSIVE: &str = "Responsive";

/// Composition revisions: the steps of the pipeline can be run. Whether their functions answer is found out when they are called.
pub const VALID_PIPELINE: &str = "ValidPipeline";

/// Composition revisions: it holds what was published.
pub const INTACT: &str = "Intact";
