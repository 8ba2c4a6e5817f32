//! Field paths and field sets.
//!
//! A [`Path`] is a sequence of [`PathElement`]s; a [`Set`] is a tree of them in which every node may or may not be a
//! member. Membership of `.spec` and of `.spec.replicas` are independent.

mod algebra;
mod codec;
mod element;
mod path;
mod set;
mod value_order;

pub use codec::FieldsError;
pub use element::{Key, PathElement};
pub use path::Path;
pub use set::Set;
pub(crate) use value_order::equal_values;
