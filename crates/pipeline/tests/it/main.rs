//! Pipelines of custom resources, stage by stage and as a whole.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod stages;
mod versions;
