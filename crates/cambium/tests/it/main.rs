//! The program, as a user runs it.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod commands;
mod completion;
mod guides;
mod kubectl;
mod manager;
mod offline;
mod program;
mod sandbox;
