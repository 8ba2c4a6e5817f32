//! ValidatingAdmissionPolicy and MutatingAdmissionPolicy, with their bindings.
//!
//! ```text
//! index       policies and bindings, compiled once per revision of a policy
//! selection   which of them match a request, and with which parameters
//! validating  evaluates validations, denies requests
//! mutating    evaluates mutations: apply and json_patch
//! ```
//!
//! Policies do not apply to policies and bindings, or nobody could repair a wrong one.

mod apply;
mod index;
mod json_patch;
mod mutating;
mod mutation;
mod params;
mod selection;
mod validating;
mod validation;

use cambium_builtin::DynamicAdmission;

use crate::registry::Served;
use crate::server::Server;

pub(crate) use index::Policies;
pub(super) use mutating::{mutate, mutate_again};
pub(super) use validating::validate;

/// Whether any mutating policy is bound.
pub(super) fn any_mutating(server: &Server) -> bool {
    !server.policies.mutating(server).is_empty()
}

/// Policies do not apply to themselves, nor to reviews, which are never stored.
fn is_exempt(resource: &Served) -> bool {
    resource.strategy().dynamic_admission == DynamicAdmission::Exempt
}
