//! Differential testing of `crates/cue` against Go's `cue`.
//!
//! - [`oracle`] runs Go's `cue`, built by `cargo xtask cue-oracle`, and caches its results.
//! - [`ours`] runs `crates/cue`, and survives panics and hangs.
//! - [`verdict`] compares the two results.
//! - [`generate`] generates mostly valid programs; [`shrink`] minimizes failing ones.
//! - [`inputs`] are the benchmark programs.

pub mod generate;
pub mod inputs;
pub mod json;
pub mod oracle;
pub mod ours;
pub mod random;
pub mod shrink;
pub mod verdict;

pub use oracle::{Answer, Oracle};
pub use random::Random;
pub use verdict::Verdict;

/// Reports a skipped test and the reason, past the test runner's capture, so that `cargo xtask test` counts it.
pub fn skip(test: &str, reason: &str) {
    use std::io::Write as _;
    // Nothing can be reported if standard error is closed.
    let _ = std::io::stderr().write_all(format!("SKIPPED {test}: {reason}\n").as_bytes());
}
