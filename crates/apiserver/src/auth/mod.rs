//! Authentication, impersonation and authorization.
//!
//! ```text
//! request ─► authenticate ─► impersonate ─► authorize ─► rest
//!               │                │             │
//!             tokens           asks …        rbac: an index over roles and bindings
//! ```
//!
//! Every request is checked against the current store, so a revoked token or role has no effect a moment later.

mod action;
pub(crate) mod impersonation;
mod rbac;
pub(crate) mod tokens;
mod user;

pub(crate) use action::require;
pub use action::{Action, Authorizer, Decision, Held, MastersOnly, ResourceAction};
pub use rbac::{Rbac, Rule};
pub(crate) use rbac::{aggregate, escalation, standard, together};
pub use tokens::{SigningKey, Tokens};
pub use user::{MASTERS, User};
