//! `cargo xtask peers`: builds Go clients for tests, KubeVela's CLI, and Crossplane's controllers.

use std::path::{Path, PathBuf};

use anyhow::Result;

use crate::go::{self, Module};
use crate::kubernetes;

/// The reference KubeVela.
const KUBEVELA: Module = Module {
    path: "github.com/oam-dev/kubevela",
    version: "v1.10.9",
};

/// The reference Crossplane: the last one with a native composition engine.
const CROSSPLANE: Module = Module {
    path: "github.com/crossplane/crossplane",
    version: "v1.20.11",
};

/// Builds every program under `crates/testing/peers` (incrementally, by Go's cache), and KubeVela's CLI and Crossplane
/// once.
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
    println!("{}", crossplane()?.0.display());
    Ok(())
}

/// KubeVela's CLI, built if missing: six minutes on two cores.
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

/// KubeVela's controller, built if missing, and the directory of its CRDs.
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

/// Crossplane's controllers, built if missing, and the directory of its CRDs.
pub(crate) fn crossplane() -> Result<(PathBuf, PathBuf)> {
    let root = kubernetes::cache()?.join("crossplane").join(CROSSPLANE.version);
    let (binary, crds) = (root.join("bin/crossplane"), root.join("crds"));
    if !crds.is_dir() {
        let aside = root.join("crds.new");
        std::fs::create_dir_all(&aside)?;
        for entry in std::fs::read_dir(CROSSPLANE.download()?.join("cluster/crds"))? {
            let entry = entry?;
            // Written anew: what Go has downloaded cannot be changed, nor could a copy of it.
            std::fs::write(aside.join(entry.file_name()), std::fs::read(entry.path())?)?;
        }
        std::fs::rename(&aside, &crds)?;
    }
    if !binary.is_file() {
        go::build(&CROSSPLANE.download()?, "./cmd/crossplane", &binary)?;
    }
    Ok((binary, crds))
}
