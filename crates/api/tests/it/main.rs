//! Kinds and their CRDs.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod crds;
mod crossplane;
mod round_trip;
