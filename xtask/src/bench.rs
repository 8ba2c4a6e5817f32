//! `cargo xtask bench`: ours beside the other, in one run.

mod cue;

use std::process::Command;

use anyhow::{Result, bail};

use crate::{kubernetes, peers};

/// Runs a benchmark by name.
pub(crate) fn run(name: Option<&str>, options: &[String]) -> Result<()> {
    match name {
        Some("definitions") => definitions(options),
        Some("compositions") => compositions(options),
        Some("apiserver") => apiserver(),
        Some("cue") => cue::run(),
        _ => bail!(
            "usage: cargo xtask bench apiserver|cue|definitions [--peer] [APPLICATIONS…]|compositions [COMPOSITES:REVISIONS…]"
        ),
    }
}

/// What publishing costs, as applications grow in number; with `--peer`, beside KubeVela on the same Kubernetes.
fn definitions(options: &[String]) -> Result<()> {
    let (program, cambium) = programs()?;
    let peer = options.iter().any(|option| option == "--peer");
    let mut sizes: Vec<String> = options
        .iter()
        .filter(|option| *option != "--peer")
        .cloned()
        .collect();
    let mut load = Command::new(program);
    if peer {
        let Some(assets) = kubernetes::built()? else {
            bail!("no Kubernetes to run them on: `cargo xtask kubernetes` builds one");
        };
        let (core, crds) = peers::kubevela_core()?;
        let size = sizes.pop().unwrap_or_else(|| "100".to_owned());
        load.arg("rivals")
            .args([cambium.into(), core, crds, assets])
            .arg(size);
    } else {
        if sizes.is_empty() {
            sizes = ["100", "1000", "10000"].map(str::to_owned).to_vec();
        }
        load.arg("definitions").arg(cambium).args(sizes);
    }
    if !load.status()?.success() {
        bail!("the load program failed");
    }
    Ok(())
}

/// What an edit of a composition costs, as composite resources and old revisions grow in number.
fn compositions(options: &[String]) -> Result<()> {
    let (program, cambium) = programs()?;
    let mut load = Command::new(program);
    load.arg("compositions").arg(cambium);
    match options.is_empty() {
        true => load.args([
            "100:1",
            "1000:1",
            "1000:100",
            "1000:1000",
            "10000:1",
            "10000:1000",
        ]),
        false => load.args(options),
    };
    if !load.status()?.success() {
        bail!("the load program failed");
    }
    Ok(())
}

/// Builds the load program and the server: where they are.
fn programs() -> Result<(String, String)> {
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
    Ok((
        format!("{target}/release/cambium-bench"),
        format!("{target}/release/cambium"),
    ))
}

/// Builds the server and the load program, and runs one against the other.
#[expect(clippy::print_stderr, reason = "a task talks to the person who runs it")]
fn apiserver() -> Result<()> {
    let (program, cambium) = programs()?;
    let mut load = Command::new(program);
    load.arg(cambium);
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
