//! Crossplane and Cambium at work on clusters of their own, with the same manifests.
//!
//! ```text
//! scenario ─► side (Crossplane) ─► snapshot ─┐
//!          └► side (Cambium)    ─► snapshot ─┴─► differences, each of which has a reason
//! ```

pub(crate) mod differences;
pub(crate) mod scenario;
pub(crate) mod side;
pub(crate) mod snapshot;
