//! Facts from Go reflection on the API types, collected by our Go program.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};

/// Whether Go may fetch modules that are missing.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Modules {
    /// It may.
    Fetched,
    /// It may not: what is missing is an error.
    #[cfg(test)]
    Cached,
}

/// The file that is written.
pub(super) fn path() -> PathBuf {
    builtin().join("src/decode/go_types.rs")
}

/// Its text, from the program `crates/builtin/tools/go-types`, which reads `src/generated`; that must be written first.
pub(super) fn text(modules: Modules) -> Result<String> {
    let mut command = Command::new("go");
    command
        .args(["run", "."])
        .current_dir(builtin().join("tools/go-types"));
    if modules != Modules::Fetched {
        command.env("GOPROXY", "off");
    }
    let output = command
        .output()
        .context("Go is needed to read its types, but `go` does not run")?;
    if !output.status.success() {
        bail!(
            "go run failed: {}",
            String::from_utf8_lossy(&output.stderr).trim()
        );
    }
    Ok(String::from_utf8(output.stdout)?)
}

fn builtin() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/builtin")
}
