//! HTTPS calls to admission and conversion webhooks.

mod client;
mod connect;
mod services;

pub(crate) use client::{Webhooks, root_cause};
pub(crate) use connect::Connector;
pub use connect::{ServiceReference, ServiceResolver};
