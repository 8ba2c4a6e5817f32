//! The rules of `core.oam.dev`, without a server.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod applications;
mod consumers;
mod definitions;
mod moves;
mod world;
