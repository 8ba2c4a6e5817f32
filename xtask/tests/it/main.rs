//! What holds for the workspace as a whole.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod walls;
