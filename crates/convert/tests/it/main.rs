//! Conversion between API versions.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod corners;
mod properties;
mod registry;
mod reviews;
mod versions;
