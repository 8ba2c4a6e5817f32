//! The processing of custom resources by an API server: decode, prune, default, validate, CEL rules, ratcheting.
//!
//! A [`Pipeline`] is a compiled version of a CRD. Its stages are functions of an object; [`Pipeline::create`] and
//! [`Pipeline::update`] run all of them:
//!
//! ```text
//!   object ─▶ decode ───────────────▶ default ─▶ validate ──────────────▶ CEL rules ─▶ Written
//!             │ metadata takes its     absent     types, limits, lists;    only if the   what would be stored,
//!             │ shape, or is refused   values     forgiven if unchanged    shape is      unknown fields, errors,
//!             └ prune: unknown fields             (ratcheting)             right         warnings
//!               go, nulls, numbers
//! ```
//!
//! Stored objects and those returned by webhooks are not refused: [`Pipeline::read`] prunes and defaults them.
//!
//! The embedded API server, `cambium compose` and `cambium render` run these stages; a test of the server compares
//! [`Pipeline::create`] and [`Pipeline::update`] with its HTTP responses. Names and namespaces, managed fields, admission
//! and subresources are not part of it. This crate is pure: JSON trees in, JSON trees and [`FieldError`]s out.

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
