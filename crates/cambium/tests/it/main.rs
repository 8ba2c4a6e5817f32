//! The program, as a user runs it.

#![expect(clippy::panic, clippy::unwrap_used, reason = "a test fails by panicking")]

mod commands;
mod completion;
mod guides;
mod kubectl;
mod manager;
mod offline;
mod program;
mod sandbox;
