//! The resource types of Cambium, and nothing else.
//!
//! ```text
//!  ComponentDefinition ┐  v1beta1 (stored), v2beta1 (served, `spec.versions`)
//!  TraitDefinition     │
//!  PolicyDefinition    ├──► DefinitionRevision ◄──── by name and digest ──── ApplicationRevision
//!  WorkflowStep…       ┘    one per version                                          ▲
//!                                                                               Application
//! ```
//!
//! These are in the group `core.oam.dev`, with the field names that KubeVela gave them, so that its manifests are ours. [`crossplane`] has
//! the kinds of compositions, in the same way.
//! A field that a type does not know is kept in the `other` map of the struct that it was found in, and is written back.
//!
//! - [`names`]: every label, annotation, finalizer, condition and reason.
//! - [`v1beta1`], [`v2beta1`]: definitions and applications.
//! - [`crossplane`]: platform APIs and compositions.
//! - [`rbac`]: the rights of the manager and of people. `crates/api/rbac` holds them.
//! - [`crds`]: the `CustomResourceDefinition`s, made from the types and committed under `crates/api/crds`.
//!
//! `docs/design/0004-kinds.md` says why it is so.

pub mod crds;
pub mod crossplane;
pub mod names;
mod parts;
mod preserve;
pub mod rbac;
mod tidy;
pub mod v1beta1;
pub mod v2beta1;

pub use parts::{
    ChildResourceKind, Cue, DefinitionReference, DefinitionStatus, GroupVersionKind, PublishedVersion,
    Revision, Schematic, StatusTemplates, VersionState, Workload,
};
pub use preserve::Tree;

/// The group of definitions and applications.
pub const GROUP: &str = "core.oam.dev";
