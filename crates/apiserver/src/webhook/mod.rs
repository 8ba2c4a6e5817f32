//! Calling out: admission and conversion webhooks, over HTTPS.

mod client;
mod connect;

pub(crate) use client::Webhooks;
pub use connect::{ServiceReference, ServiceResolver};
