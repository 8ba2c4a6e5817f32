//! `cargo xtask peers`: Go programs that are clients as the world writes them, for tests to talk to.

use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, bail};

use crate::kubernetes;

/// Builds every program under `crates/testing/peers`; Go's own cache knows what has changed.
pub(crate) fn build() -> Result<()> {
    let bin = kubernetes::cache()?.join("peers");
    std::fs::create_dir_all(&bin)?;
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/testing/peers");
    for entry in std::fs::read_dir(&sources)? {
        let (source, name) = entry.map(|entry| (entry.path(), entry.file_name()))?;
        let output = bin.join(&name);
        let aside = output.with_extension("new");
        let status = Command::new("go")
            .args(["build", "-ldflags", "-s -w", "-o"])
            .arg(&aside)
            .arg(".")
            .current_dir(&source)
            .status()
            .context("Go is needed to build the peers, and was not found")?;
        if !status.success() {
            bail!("go build failed in {}", source.display());
        }
        std::fs::rename(&aside, &output)?;
    }
    Ok(())
}
