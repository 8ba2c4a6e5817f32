//! The built-in Kubernetes kinds, as data.
//!
//! One row of [`RESOURCES`] and one static [`cambium_schema::Schema`] per kind; no code per kind
//! but for what really differs (defaults, validation, the cells of a printed row).
//! This crate is pure.
//!
//! ```text
//! resource, table     what is served: the rows of RESOURCES
//! strategy            how the REST layer treats a kind, where kinds differ
//! generated           the types, from `cargo xtask types`
//! lookup              finding rows and types by name
//! partial             the kinds that carry nothing but metadata
//! selectable          the values that field selectors compare
//! columns, printer    what `kubectl get` shows
//! convert             rows that are stored in another row's form
//! decode              reading an object into its type
//! defaults            what the server fills in
//! validation          what the server refuses
//! quantity, amounts   how much of a resource, and of several
//! pod_resources       what a pod asks for, altogether
//! protobuf            the other wire format, along the same schemas
//! ```

pub mod convert;
pub mod protobuf;

mod amounts;
mod columns;
mod constructors;
mod decode;
mod defaults;
mod generated;
mod lookup;
mod partial;
mod pod_resources;
mod printer;
mod quantity;
mod resource;
mod row;
mod selectable;
mod strategy;
mod table;
mod validation;

pub use amounts::Amounts;
pub use decode::decode;
pub use defaults::{default, initial_status, prepare_for_create, quality_of_service};
pub use lookup::{field_default, find, find_kind, kind_schema, type_named, types_in};
pub use pod_resources::{Basis, has_pod_level_resources, pod_limits, pod_requests};
pub use printer::human_duration;
pub use quantity::Quantity;
pub use resource::{Column, Resource, Scope, Subresource, Verbs};
pub use strategy::{
    AdmissionPlugin, Dependents, DynamicAdmission, Generation, LimitedAs, NameRule, OnWrite, Strategy,
    Termination,
};
pub use table::RESOURCES;
pub use validation::{validate, validate_resize};
