//! `cargo xtask cue-oracle`: builds Go's `cue`, the reference of `crates/cue`.

use std::path::PathBuf;

use anyhow::Result;

use crate::go::{self, Module};
use crate::kubernetes;

/// The version of the language that `crates/cue` follows.
pub(crate) const CUE: Module = Module {
    path: "cuelang.org/go",
    version: "v0.14.1",
};

/// Builds the oracle if it is missing; prints its path.
#[expect(clippy::print_stdout, reason = "the place is this task's answer")]
pub(crate) fn prepare() -> Result<()> {
    println!("{}", built()?.display());
    Ok(())
}

/// The oracle, built if missing.
pub(crate) fn built() -> Result<PathBuf> {
    let binary = directory()?.join("bin/cue");
    if !binary.is_file() {
        go::build(&CUE.download()?, "./cmd/cue", &binary)?;
    }
    Ok(binary)
}

/// The cache directory of the oracle.
pub(crate) fn directory() -> Result<PathBuf> {
    Ok(kubernetes::cache()?.join("cue").join(CUE.version))
}
