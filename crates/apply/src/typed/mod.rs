//! Typed operations: merging, comparing and removing fields by schema.
//!
//! A [`Type`] is the view of a schema for merging: whether a value is a map, a list or a scalar, granular or atomic, and
//! the types below it. Where a schema declares nothing (preserved unknown fields, values of any type), the type is
//! deduced from the value: maps are granular, lists atomic.
//!
//! - [`validate`]: checks that a value has this type, and list maps and sets have no duplicates.
//! - [`to_field_set`]: the field set of a value.
//! - [`merge`]: merges a configuration into a value.
//! - [`atomics`]: the atomic lists and maps of a value.
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
