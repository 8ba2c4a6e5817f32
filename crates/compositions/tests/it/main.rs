//! What compositions publish, and what composite resources get.

#![expect(clippy::panic, clippy::unwrap_used, reason = "a test fails by panicking")]

mod admission;
mod claim;
mod concerned;
mod definition_crds;
mod definition_read;
mod definition_status;
mod definitions;
mod layout;
mod pipeline;
mod revisions;
mod selection;
