//! Admission and conversion over HTTPS.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod acceptance_certificates;
mod acceptance_registration;
mod acceptance_webhooks;
mod bad_days;
mod registration_plan;
mod rotation_law;
mod rotation_plan;
mod server;
mod support;
mod trust;
