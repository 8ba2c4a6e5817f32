//! Admission by rule: ValidatingAdmissionPolicy and MutatingAdmissionPolicy, with their bindings.
//!
//! ```text
//! index       policies and bindings, compiled once per version of a policy
//! selection   which of them a request concerns, and with which parameters
//! validating  what they refuse
//! mutating    what they change: apply and json_patch
//! ```
//!
//! Policies and their bindings are out of the reach of policies, or nobody could mend a wrong one.

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

/// Whether there is any mutating policy that is bound.
pub(super) fn any_mutating(server: &Server) -> bool {
    !server.policies.mutating(server).is_empty()
}

/// Policies do not apply to themselves, nor to reviews, which are never stored.
fn is_exempt(resource: &Served) -> bool {
    resource.strategy().dynamic_admission == DynamicAdmission::Exempt
}
