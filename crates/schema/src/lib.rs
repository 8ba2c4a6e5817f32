//! Structural schemas as Kubernetes has them.
//!
//! One [`Schema`] type describes both worlds: the built-in kinds (static tables, no start-up cost,
//! may refer to each other in cycles) and the `openAPIV3Schema` of a CustomResourceDefinition
//! (parsed, owned). Everything that walks an object by its type takes a `&Schema`: validation,
//! defaulting, pruning, server-side apply, strategic merge, protobuf.
//!
//! This crate is pure: JSON trees in, JSON trees and [`FieldError`]s out.

mod field;
mod model;
mod pattern;
mod show;

pub use field::{ErrorKind, FieldError, FieldPath};
pub use model::{
    Additional, Child, Constraints, JsonType, ListType, MapType, PatchStrategy, Property, Rule, Schema,
};
pub use pattern::Matcher;
