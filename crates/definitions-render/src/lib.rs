//! The rendering engine of `core.oam.dev`: an application and its definitions' templates become manifests.
//!
//! ```text
//! Application ─┐
//! Definitions ─┼─> render ─> for each component: the workload, then its outputs and those of its traits, labelled
//! Environment ─┘
//! ```
//!
//! A component's template gives `output` and `outputs`. Each trait, in order, sees them as `context.output` and
//! `context.outputs`, adds `outputs` of its own, and changes the others through `patch` and `patchOutputs` (`patch`).
//! The result carries the labels and annotations that KubeVela gives it (`contract`).
//!
//! Everything is data in and data out: no files, no network, no clock. Definitions behave as in KubeVela v1.10, which
//! carries CUE v0.9.2.

mod application;
mod component;
mod contract;
mod definition;
mod environment;
mod explanation;
mod failure;
mod generated_name;
mod manifest;
mod parameters;
mod patch;
mod schema;
mod status;
mod status_text;
mod template;
mod traits;
mod unknown_properties;
mod unusable;

pub use cambium_cue::{Limits, with_deadline};

pub use application::{Application, Component, InvalidApplication, TraitUse};
pub use component::render;
pub use definition::{Definition, DefinitionKind, Definitions, InvalidDefinition, Stage, StatusText};
pub use environment::{ClusterVersion, Environment};
pub use failure::{Failure, Failures, Reason};
pub use manifest::{Manifest, Origin, Rendered, RenderedComponent};
pub use schema::ParameterSchema;
pub use status::{Live, Status};
pub use template::Template;
pub use unknown_properties::UnknownProperty;
