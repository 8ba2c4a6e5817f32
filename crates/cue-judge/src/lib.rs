//! What judges `crates/cue`: Go's own `cue`, and programs to put before both.
//!
//! - [`oracle`] asks Go's `cue`, where `cargo xtask cue-oracle` has built it, and remembers its answers.
//! - [`ours`] asks `crates/cue` the same, and survives its panics and hangs.
//! - [`verdict`] compares the two answers.
//! - [`generate`] makes programs nobody would write, mostly valid ones; [`shrink`] makes them small again.
//! - [`inputs`] are the programs whose speed is measured.

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

/// Notes that a test was skipped, and why, past the test runner's capture, so that whoever adds up the results can count it.
pub fn skip(test: &str, reason: &str) {
    use std::io::Write as _;
    // A closed standard error leaves nobody to tell.
    let _ = std::io::stderr().write_all(format!("SKIPPED {test}: {reason}\n").as_bytes());
}
