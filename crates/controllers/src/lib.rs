//! Controllers: reconcilers of definitions, Applications, compositions and composite resources, and their runtime.
//!
//! A controller observes, decides and acts; it knows a [`kube::Client`] and nothing about the server behind
//! it. [`runtime`] holds what every controller needs and none should write twice: objects in memory, changes
//! told once, a queue, a lease. What is decided, and why, is in `cambium_definitions` and
//! `cambium_compositions`.
//!
//! ```text
//!  Manager ─┬─ definitions::Context ──┬─ Cluster: requests, watches, events
//!           └─ compositions::Context ─┤
//!                                     └─ runtime: caches, queues, threads for templates
//! ```

mod access;
mod cluster;
mod compositions;
mod debounce;
mod definitions;
mod impersonation;
mod kinds;
mod manager;
mod settings;
mod write;

pub mod runtime;

pub use cambium_definitions::LocalDefinitions;
pub use cambium_definitions::identity::{Authors, Identities, Otherwise};
pub use cambium_functions::Plain;
pub use manager::{LEASE, Manager};
pub use settings::Settings;
