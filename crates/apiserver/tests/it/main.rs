//! Integration tests of the API server.

#![expect(clippy::panic, clippy::unwrap_used, reason = "a test fails by panicking")]
#![recursion_limit = "256"]

mod acceptance;
mod access;
mod clients;
mod clock;
mod controllers;
mod details;
mod fairness;
mod fuzz;
mod network;
mod policy_access;
mod store_faults;
mod store_model;
