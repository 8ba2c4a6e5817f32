//! `cargo xtask bench`: ours beside the other, in one run.

mod cue;

use std::process::Command;

use anyhow::{Result, bail};

use crate::kubernetes;

/// Runs a benchmark by name.
pub(crate) fn run(name: Option<&str>) -> Result<()> {
    match name {
        Some("apiserver") => apiserver(),
        Some("cue") => cue::run(),
        _ => bail!("usage: cargo xtask bench apiserver|cue"),
    }
}

/// Builds the server and the load program, and runs one against the other.
#[expect(clippy::print_stderr, reason = "a task talks to the person who runs it")]
fn apiserver() -> Result<()> {
    let build = [
        "build",
        "--release",
        "--package",
        "cambium",
        "--package",
        "cambium-bench",
    ];
    if !Command::new(env!("CARGO")).args(build).status()?.success() {
        bail!("the build failed");
    }
    let target = std::env::var("CARGO_TARGET_DIR").unwrap_or_else(|_| "target".to_owned());
    let mut load = Command::new(format!("{target}/release/cambium-bench"));
    load.arg(format!("{target}/release/cambium"));
    match kubernetes::built()? {
        Some(assets) => load.arg(assets),
        None => {
            eprintln!("no Kubernetes to compare with: `cargo xtask kubernetes` builds one");
            &mut load
        }
    };
    if !load.status()?.success() {
        bail!("the load program failed");
    }
    Ok(())
}
