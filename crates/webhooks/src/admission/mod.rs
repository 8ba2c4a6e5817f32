//! Admission webhooks: validators and mutators.
//!
//! A validator is a value behind [`Validator`], a mutator one behind [`Mutator`]. Each names its path and what it wants to see; the rest (decoding,
//! echoing the `uid`, time-outs, panics, registration) is done here, once, for all of them.

mod mutator;
mod request;
mod review;
mod validator;

use std::sync::Arc;

pub(crate) use mutator::ask as ask_mutator;
pub use mutator::{Mutation, Mutator};
pub use request::{AdmissionRequest, GroupVersionKind, GroupVersionResource, Operation, UserInfo};
pub use review::NotAReview;
pub(crate) use review::{answer, decode, mutated};
pub(crate) use validator::ask;
pub use validator::{Unanswered, Validator, Verdict};

/// All validators and mutators.
#[derive(Clone, Default)]
pub struct Admission {
    /// They change objects, before anybody validates them.
    pub mutators: Vec<Arc<dyn Mutator>>,
    /// They refuse objects.
    pub validators: Vec<Arc<dyn Validator>>,
}

impl Admission {
    /// Validators alone.
    pub fn validating(validators: Vec<Arc<dyn Validator>>) -> Self {
        Self {
            validators,
            ..Self::default()
        }
    }
}
