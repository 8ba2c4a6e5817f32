//! `apiextensions.crossplane.io` and `pkg.crossplane.io`: compositions, and the platform APIs that they are behind.
//!
//! ```text
//!  CompositeResourceDefinition ──► CRDs of an XR and of its claim
//!                                          │ compositionRef, compositionRevisionRef
//!  Composition ──► CompositionRevision ◄───┘
//!                          │ pipeline[].functionRef
//!                          └──► Function
//! ```
//!
//! The groups, names and fields are Crossplane's, so that manifests written for its 1.x and 2.x apply as they are. What a Composition
//! says is a JSON tree: a revision snapshots it as it was written, and those who compose read what they know.

mod composite_resource_definition;
mod composition;
mod composition_revision;
mod composition_schema;
mod definition_schema;
mod function;
mod patch_schema;

pub use composite_resource_definition::{
    CompositeDeletePolicy, CompositeResourceDefinition, CompositeResourceDefinitionSpec,
    CompositeResourceDefinitionStatus, ControllerTypes, CrdMetadata, DefinitionVersion, LabelRequirement,
    LabelSelector, NamedReference, Names, Scope, SubresourceTemplates, TypeReference, UpdatePolicy,
    VersionSchema,
};
pub use composition::{Composition, CompositionSpec, CompositionStatus, Mode};
pub use composition_revision::{CompositionRevision, CompositionRevisionSpec, CompositionRevisionStatus};
pub use function::{Function, FunctionSpec, FunctionStatus, FunctionTls, SecretReference};

/// The group of definitions, compositions and their revisions.
pub const GROUP: &str = "apiextensions.crossplane.io";

/// The group of functions.
pub const PACKAGE_GROUP: &str = "pkg.crossplane.io";

/// The stored version of everything in [`GROUP`], as `apiVersion` has it.
pub const API_VERSION: &str = "apiextensions.crossplane.io/v1";
