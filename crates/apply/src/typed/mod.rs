//! What a schema says about merging.
//!
//! A [`Type`] is a schema read for this one purpose: is a value a map, a list or a scalar, does it merge by parts or as a
//! whole, and what is below it. Where a schema says nothing (unknown fields that are kept, values of any type), the
//! value itself decides: maps merge by entry, lists as a whole.
//!
//! - [`validate`]: does a value have this type, and does no keyed list or set hold the same item twice?
//! - [`to_field_set`]: the fields that a value mentions.
//! - [`merge`]: one value on top of another.
//! - [`atomics`]: what it has that merges only as a whole.
//! - [`compare`]: which fields were added, modified, removed.
//! - [`remove`] and [`extract`]: a value without, or with only, some fields.

mod atomics;
mod compare;
mod errors;
mod field_set;
mod list_item;
mod merge;
mod named_fields;
mod reconcile;
mod remove;
mod shape;
mod validate;

pub use atomics::atomics;
pub use compare::{Comparison, compare};
pub use errors::{TypedError, TypedErrors};
pub use field_set::to_field_set;
pub use merge::merge;
pub(crate) use named_fields::with_named_fields;
pub(crate) use reconcile::reconcile;
pub use remove::{extract, remove};
pub use shape::Type;
pub(crate) use validate::validate_beside;
pub use validate::{Duplicates, validate};

#[cfg(test)]
pub(crate) mod fixtures;
