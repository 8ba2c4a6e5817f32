//! Integration tests of CUE.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod bad_input;
mod corpus;
mod differential;
mod growth;
mod laws;
mod openapi;
