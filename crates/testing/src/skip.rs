//! Reporting of skipped tests.

use std::io::Write as _;

/// Reports a skipped test and the reason, past the test runner's capture, so that `cargo xtask test` counts it.
pub fn skip(test: &str, reason: &str) {
    let line = format!("SKIPPED {test}: {reason}\n");
    // Nothing can be reported if standard error is closed.
    let _ = std::io::stderr().write_all(line.as_bytes());
}
