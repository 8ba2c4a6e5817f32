//! Admission and conversion over HTTPS.

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
