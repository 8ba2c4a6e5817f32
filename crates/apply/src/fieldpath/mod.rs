//! Names of fields inside an object, and sets of them.
//!
//! A [`Path`] is a sequence of [`PathElement`]s; a [`Set`] is a tree of them in which every node may or may not be a
//! member. `.spec` being a member says nothing about `.spec.replicas`, and the other way round.

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
