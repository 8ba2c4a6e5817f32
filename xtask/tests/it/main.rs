//! What holds for the workspace as a whole.

#![expect(clippy::panic, clippy::unwrap_used, reason = "a test fails by panicking")]

mod demo;
mod documents;
mod examples;
mod exit_codes;
mod links;
mod reference;
mod walls;
