//! `cargo xtask bench`: ours beside the other, in one run.

mod cue;

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Result, bail};

use crate::{kubernetes, peers};

/// Runs a benchmark by name.
pub(crate) fn run(name: Option<&str>, options: &[String]) -> Result<()> {
    match name {
        Some("definitions") => definitions(options),
        Some("compositions") => compositions(options),
        Some("apiserver") => apiserver(),
        Some("soak") => alone("soak", options, &["60"]),
        Some("cue") => cue::run(),
        _ => bail!(
            "usage: cargo xtask bench apiserver|cue|soak [SECONDS]|definitions [APPLICATIONS…|--peer [APPLICATIONS]]|\
             compositions [COMPOSITES:REVISIONS…|--peer [COMPOSITES]]"
        ),
    }
}

/// What publishing costs, as applications grow in number; with `--peer`, beside KubeVela on the same Kubernetes.
fn definitions(options: &[String]) -> Result<()> {
    if let [peer, size @ ..] = options
        && peer == "--peer"
    {
        return beside(
            "kubevela",
            peers::kubevela_core()?,
            size.first().map_or("100", String::as_str),
        );
    }
    alone("definitions", options, &["100", "1000", "10000"])
}

/// What an edit of a composition costs, as composite resources and old revisions grow in number; with `--peer`, beside Crossplane on the
/// same Kubernetes.
fn compositions(options: &[String]) -> Result<()> {
    if let [peer, size @ ..] = options
        && peer == "--peer"
    {
        return beside(
            "crossplane",
            peers::crossplane()?,
            size.first().map_or("1000", String::as_str),
        );
    }
    let cases = [
        "100:1",
        "1000:1",
        "1000:100",
        "1000:1000",
        "10000:1",
        "10000:1000",
    ];
    alone("compositions", options, &cases)
}

/// Ours on the embedded server, in these cases or in the usual ones.
fn alone(name: &str, cases: &[String], usual: &[&str]) -> Result<()> {
    let (program, cambium) = programs()?;
    let mut load = Command::new(program);
    load.args([name, &cambium]);
    match cases.is_empty() {
        true => load.args(usual),
        false => load.args(cases),
    };
    succeed(&mut load)
}

/// Ours and another, each on a Kubernetes of its own.
fn beside(name: &str, (rival, crds): (PathBuf, PathBuf), size: &str) -> Result<()> {
    let Some(assets) = kubernetes::built()? else {
        bail!("no Kubernetes to run them on: `cargo xtask kubernetes` builds one");
    };
    let (program, cambium) = programs()?;
    let mut load = Command::new(program);
    load.args(["rivals", name])
        .args([cambium.into(), rival, crds, assets])
        .arg(size);
    succeed(&mut load)
}

fn succeed(load: &mut Command) -> Result<()> {
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
    succeed(&mut load)
}
