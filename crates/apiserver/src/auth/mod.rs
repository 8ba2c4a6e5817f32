//! Who is asking, and whether they may.
//!
//! ```text
//! request ─► authenticate ─► impersonate ─► authorize ─► rest
//!               │                │             │
//!             tokens           asks …        rbac: an index over roles and bindings
//! ```
//!
//! Everything here is asked at each request and follows the store, so that what was just taken away lets nobody through.

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
