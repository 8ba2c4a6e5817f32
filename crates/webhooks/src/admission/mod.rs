//! Admission: what a validator is asked, and what it answers.
//!
//! A validator is a value behind [`Validator`]. It names its path and what it wants to see; the rest (decoding, echoing the `uid`, time-outs,
//! panics, registration) is done here, once, for all of them.

mod request;
mod review;
mod validator;

pub use request::{AdmissionRequest, GroupVersionKind, GroupVersionResource, Operation, UserInfo};
pub use review::NotAReview;
pub(crate) use review::{answer, decode};
pub(crate) use validator::ask;
pub use validator::{Validator, Verdict};
