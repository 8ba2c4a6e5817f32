//! Comparisons of written-down contracts.

#![expect(clippy::disallowed_methods, reason = "a test reads its cases")]

mod acceptance;
mod laws;
mod rows;
