//! Tests that cannot run here say so.

use std::io::Write as _;

/// Notes that a test was skipped, and why. The line goes past the test runner's capture, so that
/// whoever adds up the results can count it.
pub fn skip(test: &str, reason: &str) {
    let line = format!("SKIPPED {test}: {reason}\n");
    // A closed standard error leaves nobody to tell.
    let _ = std::io::stderr().write_all(line.as_bytes());
}
