//! Comparisons of written-down contracts.

#![expect(
    clippy::disallowed_methods,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test reads its cases, and fails by panicking"
)]

mod acceptance;
mod laws;
mod rows;
