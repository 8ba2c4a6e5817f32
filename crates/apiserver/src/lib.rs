//! An embedded Kubernetes API server.
//!
//! In-process it is a [`tower_service::Service`] that `kube::Client::new` takes directly; over the
//! network it speaks TLS to `kubectl` and everybody else. It keeps its objects in memory and, when
//! told to, on disk.
//!
//! ```text
//!            HTTP request
//!                 │
//!   serve ── TLS, client certificates           (over the network only)
//!                 │
//!   server ── authenticate, authorise, route
//!      │          │            │
//!   health    discovery      rest ── get list watch create update patch delete
//!   openapi                    │         │
//!                          admission   registry ── builtin kinds │ crd
//!                            quota       │
//!                            store ── buckets in memory, redb on disk
//!                              │
//!                         controllers ── garbage, namespaces, quotas, workloads
//! ```

mod admission;
mod aggregation;
mod allocate;
mod auth;
mod bootstrap;
mod builder;
mod controllers;
mod convert;
mod crd;
mod discovery;
mod disruption;
mod fairness;
mod health;
mod loopback;
mod object;
mod openapi;
pub mod pki;
mod quota;
mod registry;
mod request;
mod rest;
mod selector;
pub mod serve;
mod server;
mod source;
pub mod status;
pub mod store;
mod validation;
mod webhook;
mod wire;

pub use auth::{
    Action, Authorizer, Decision, Held, MASTERS, MastersOnly, Rbac, ResourceAction, Rule, SigningKey, Tokens,
    User,
};
pub use builder::{ApiServer, Builder};
pub use controllers::{Controllers, Simulation, annotations};
pub use health::KUBERNETES_VERSION;
pub use source::{Clock, Entropy};
pub use webhook::{ServiceReference, ServiceResolver};
pub use wire::Body;
