//! Every name that users and other programs see: one place, one spelling.
//!
//! KubeVela's name, or Crossplane's, is used where it has one for the same thing.

pub mod annotation;
pub mod condition;
pub mod finalizer;
pub mod label;
pub mod reason;

/// The namespace where definitions for everybody live.
pub const SYSTEM_NAMESPACE: &str = "vela-system";
/// Where compositions written for Crossplane have connection secrets put: it is always there with Crossplane.
pub const CROSSPLANE_NAMESPACE: &str = "crossplane-system";

/// The workload type of a component definition whose template says what it makes.
pub const AUTODETECT_WORKLOAD: &str = "autodetects.core.oam.dev";

/// The field manager under which controllers apply what an application renders.
pub const FIELD_MANAGER: &str = "cambium";
