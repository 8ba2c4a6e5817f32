//! Downloads and builds Go modules.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};

/// A version of a published Go module.
pub(crate) struct Module {
    pub(crate) path: &'static str,
    pub(crate) version: &'static str,
}

impl Module {
    /// Downloads the module if necessary; returns its source directory.
    pub(crate) fn download(&self) -> Result<PathBuf> {
        let output = Command::new("go")
            .args(["mod", "download", "-json"])
            .arg(format!("{}@{}", self.path, self.version))
            .current_dir(std::env::temp_dir())
            .output()
            .with_context(|| format!("Go is needed to download {}, and was not found", self.path))?;
        if !output.status.success() {
            let message = String::from_utf8_lossy(&output.stderr);
            bail!("go mod download {} failed: {message}", self.path);
        }
        let answer: serde_json::Value = serde_json::from_slice(&output.stdout)?;
        let directory = answer["Dir"]
            .as_str()
            .context("go mod download names no directory")?;
        Ok(PathBuf::from(directory))
    }
}

/// Builds a package of a module into a binary, atomically.
pub(crate) fn build(directory: &Path, package: &str, binary: &Path) -> Result<()> {
    if let Some(parent) = binary.parent() {
        std::fs::create_dir_all(parent)?;
    }
    let aside = binary.with_extension("new");
    let status = Command::new("go")
        .arg("build")
        .arg("-C")
        .arg(directory)
        .args(["-trimpath", "-ldflags", "-s -w", "-o"])
        .arg(&aside)
        .arg(package)
        .status()
        .context("Go is needed to build it, and was not found")?;
    if !status.success() {
        bail!("go build {package} failed in {}", directory.display());
    }
    std::fs::rename(&aside, binary)?;
    Ok(())
}
