//! Conversion and admission over HTTPS, with certificates that it makes and rotates itself.
//!
//! ```text
//!    API server ──HTTPS──► server ─┬─ /convert ───────► cambium_convert
//!        ▲                   ▲     ├─ /admit/<path> ──► a Validator
//!        │                   │     └─ /mutate/<path> ─► a Mutator
//!        │                   │ leaf
//!        │ caBundle, URL   reconciler ── observe ─► certificates::plan ─► act
//!        └───────────────────┘  └── Secret: the authority of all replicas
//! ```
//!
//! [`Webhooks::start`] wires it. It knows only a `kube::Client`, and cannot tell an embedded API server from a real one. What is decided is decided by
//! pure functions: [`certificates::plan`] and [`registration::plan`].

pub mod admission;
pub mod certificates;
pub mod names;
mod reconciler;
pub mod registration;
pub mod server;
mod webhooks;

pub use reconciler::{Clock, ReconcileError};
pub use webhooks::{Options, StartError, Webhooks};
