//! Answers about clusters that are written down, without a server.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod cluster;
mod gc;
mod history;
mod inventory;
