//! Calls of composition functions.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod calls;
mod numbers;
mod server;
