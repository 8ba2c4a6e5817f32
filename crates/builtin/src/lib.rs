//! The built-in Kubernetes kinds, as data.
//!
//! One row of [`RESOURCES`] and one static [`cambium_schema::Schema`] per kind; no code per kind
//! but for what really differs (defaults, validation, the cells of a printed row).
//! This crate is pure.
//!
//! ```text
//! resource, table     what is served: the rows of RESOURCES
//! generated           the types, from `cargo xtask types`
//! lookup              finding rows and types by name
//! columns, printer    what `kubectl get` shows
//! ```

mod columns;
mod constructors;
mod generated;
mod lookup;
mod printer;
mod resource;
mod table;

pub use lookup::{field_default, find, find_kind, type_named, types_in};
pub use resource::{Column, Resource, Scope, Subresource, Verbs};
pub use table::RESOURCES;
