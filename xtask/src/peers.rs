//! `cargo xtask peers`: Go programs that are clients as the world writes them, for tests to talk to, and KubeVela's own CLI.

use std::path::{Path, PathBuf};

use anyhow::Result;

use crate::go::{self, Module};
use crate::kubernetes;

/// The KubeVela whose rendering is the measure.
const KUBEVELA: Module = Module {
    path: "github.com/oam-dev/kubevela",
    version: "v1.10.9",
};

/// Builds every program under `crates/testing/peers` (Go's own cache knows what has changed), and KubeVela's CLI once.
#[expect(clippy::print_stdout, reason = "the places are this task's answer")]
pub(crate) fn build() -> Result<()> {
    let bin = kubernetes::cache()?.join("peers");
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/testing/peers");
    for entry in std::fs::read_dir(&sources)? {
        let (source, name) = entry.map(|entry| (entry.path(), entry.file_name()))?;
        let binary = bin.join(&name);
        go::build(&source, ".", &binary)?;
        println!("{}", binary.display());
    }
    println!("{}", kubevela()?.display());
    Ok(())
}

/// KubeVela's CLI, built if it is not there: six minutes on two cores.
fn kubevela() -> Result<PathBuf> {
    let binary = kubernetes::cache()?
        .join("kubevela")
        .join(KUBEVELA.version)
        .join("bin/vela");
    if !binary.is_file() {
        go::build(&KUBEVELA.download()?, "./references/cmd/cli", &binary)?;
    }
    Ok(binary)
}

/// KubeVela's controller, built if it is not there, and the directory of its CRDs.
pub(crate) fn kubevela_core() -> Result<(PathBuf, PathBuf)> {
    let source = KUBEVELA.download()?;
    let binary = kubernetes::cache()?
        .join("kubevela")
        .join(KUBEVELA.version)
        .join("bin/vela-core");
    if !binary.is_file() {
        go::build(&source, "./cmd/core", &binary)?;
    }
    Ok((binary, source.join("charts/vela-core/crds")))
}
