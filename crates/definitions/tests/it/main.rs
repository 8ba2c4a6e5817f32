//! The rules of `core.oam.dev`, without a server.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod admission;
mod applications;
mod consumers;
mod definitions;
mod moves;
mod revisions;
mod world;
