//! The controllers, and what they stand on.
//!
//! A controller observes, decides and acts; it knows a [`kube::Client`] and nothing about the server behind
//! it. [`runtime`] holds what every controller needs and none should write twice: objects in memory, changes
//! told once, a queue, a lease. What is decided, and why, is in `cambium_definitions`.
//!
//! ```text
//!  definitions, DefinitionRevisions ──► Catalogue ─┐
//!  Applications, ApplicationRevisions ─► Consumers ─┼─► who is concerned ──► queues ──► reconcile
//!  what applications made ─────────────► Made ──────┘
//! ```

mod access;
mod acting;
mod application;
mod cluster;
mod composites;
mod definition;
mod gate;
mod kinds;
mod manager;
mod state;
mod write;

pub mod runtime;

pub use cambium_definitions::LocalDefinitions;
pub use cambium_definitions::identity::{Authors, Identities, Otherwise};
pub use cambium_functions::Plain;
pub use manager::{Manager, Settings};
