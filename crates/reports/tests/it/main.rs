//! Answers about clusters that are written down, without a server.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod cluster;
mod gc;
mod history;
mod inventory;
