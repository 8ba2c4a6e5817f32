//! The built-in Kubernetes kinds, as data.
//!
//! One row of [`RESOURCES`] and one static [`cambium_schema::Schema`] per kind; no code per kind
//! but for what really differs (defaults, validation, the cells of a printed row).
//! This crate is pure.

mod resource;

pub use resource::{Column, RESOURCES, Resource, Scope, Subresource, Verbs};
