//! Tests of the whole workspace.

#![expect(clippy::panic, clippy::unwrap_used, reason = "a test fails by panicking")]

mod walls;
