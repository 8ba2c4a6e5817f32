//! What an API server does with an object of a CustomResourceDefinition, in its order.
//!
//! A [`Pipeline`] is one version of a CRD, compiled. Its stages are functions of an object, and [`Pipeline::create`] and [`Pipeline::update`] run
//! all of them:
//!
//! ```text
//!   object ─▶ decode ───────────────▶ default ─▶ validate ──────────────▶ CEL rules ─▶ Written
//!             │ metadata takes its     absent     types, limits, lists;    only if the   what would be stored,
//!             │ shape, or is refused   values     forgiven if unchanged    shape is      unknown fields, errors,
//!             └ prune: unknown fields             (ratcheting)             right         warnings
//!               go, nulls, numbers
//! ```
//!
//! What is stored, or comes back from a webhook, is not refused: [`Pipeline::read`] prunes it and fills in its defaults.
//!
//! The embedded API server, `cambium compose` and `cambium render` run these stages; a test of the server compares [`Pipeline::create`] and
//! [`Pipeline::update`] with its HTTP answers. What needs a cluster is not here: names and namespaces, managed fields, admission, subresources.
//! This crate is pure: JSON trees in, JSON trees and [`FieldError`]s out.

mod compile;
mod metadata;
mod numbers;
mod pipeline;
mod written;

pub use cambium_cel::rules::Judgement;
pub use cambium_schema::{FieldError, FieldPath};
pub use compile::CompileError;
pub use metadata::{Malformed, decode_metadata};
pub use numbers::normalize_numbers;
pub use pipeline::Pipeline;
pub use written::Written;
