//! CUE, as Go's `cue` evaluates it.

mod bad_input;
mod corpus;
mod differential;
mod growth;
mod laws;
mod openapi;
