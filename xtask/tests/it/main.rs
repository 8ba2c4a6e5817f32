//! Tests of the whole workspace.

#![expect(clippy::panic, clippy::unwrap_used, reason = "a test fails by panicking")]

mod demo;
mod documents;
mod examples;
mod exit_codes;
mod links;
mod reference;
mod walls;
