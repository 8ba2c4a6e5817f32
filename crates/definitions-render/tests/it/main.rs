//! Applications and definitions become manifests.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod contract;
mod definitions;
mod kubevela;
mod status;
mod support;
