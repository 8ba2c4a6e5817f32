//! The built-in Kubernetes kinds, as data.
//!
//! Each kind is one row of [`RESOURCES`] and one static [`cambium_schema::Schema`]; code per kind exists only for
//! defaults, validation and printer cells. This crate is pure.
//!
//! ```text
//! resource, table     the resource table: group, version, kind, verbs, subresources, strategy
//! strategy            differences between kinds in the REST layer and in admission
//! generated           schemas, from `cargo xtask types`
//! lookup              finds resources and types by name
//! partial             PartialObjectMetadata
//! selectable          values of field selectors
//! columns, printer    printer columns and cells of `kubectl get`
//! convert             conversion to and from the storage version
//! decode              decoding as Go's typed decoder does
//! defaults            defaulting
//! validation          validation
//! quantity, amounts   quantities and resource lists
//! pod_resources       total requests and limits of a pod
//! protobuf            the protobuf encoding, driven by the schemas
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
