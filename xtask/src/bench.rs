//! `cargo xtask bench`: benchmarks against the alternatives, in one run.

mod cue;

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Result, bail};
use clap::Subcommand;

use crate::cargo::cargo;
use crate::{kubernetes, peers};

/// The benchmark to run.
#[derive(Debug, Subcommand)]
pub(crate) enum Bench {
    /// The embedded API server against Kubernetes, under the same load
    Apiserver,
    /// crates/cue against Go's cue library, on the same definitions
    Cue,
    /// The cost of publishing a version, by number of applications
    Definitions {
        /// On Kubernetes, against KubeVela's controller, with one number of applications (100)
        #[arg(long)]
        peer: bool,
        /// Numbers of applications, one run each [default: 100 1000 10000]
        applications: Vec<String>,
    },
    /// The cost of a composition edit, by number of composite resources and old revisions
    Compositions {
        /// On Kubernetes, against Crossplane, with one number of composite resources (1000)
        #[arg(long)]
        peer: bool,
        /// Numbers of both, as COMPOSITES:REVISIONS, one run each [default: from 100:1 to 10000:1000]
        cases: Vec<String>,
    },
    /// Memory of the embedded API server under full load, and with 1000 idle watches for a sixth of the time
    Soak {
        /// Duration
        #[arg(default_value = "60")]
        seconds: u64,
    },
}

impl Bench {
    /// Builds the programs and runs the benchmark.
    pub(crate) fn run(self) -> Result<()> {
        let first = |cases: &[String], usual: &str| cases.first().map_or(usual, String::as_str).to_owned();
        match self {
            Self::Apiserver => apiserver(),
            Self::Cue => cue::run(),
            Self::Soak { seconds } => alone("soak", &[seconds.to_string()], &[]),
            Self::Definitions {
                peer: true,
                applications,
            } => beside("kubevela", peers::kubevela_core()?, &first(&applications, "100")),
            Self::Definitions { applications, .. } => {
                alone("definitions", &applications, &["100", "1000", "10000"])
            }
            Self::Compositions { peer: true, cases } => {
                beside("crossplane", peers::crossplane()?, &first(&cases, "1000"))
            }
            Self::Compositions { cases, .. } => {
                let usual = [
                    "100:1",
                    "1000:1",
                    "1000:100",
                    "1000:1000",
                    "10000:1",
                    "10000:1000",
                ];
                alone("compositions", &cases, &usual)
            }
        }
    }
}

/// Runs ours on the embedded server, with these cases or the default ones.
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

/// Runs ours and a rival, each on its own Kubernetes.
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

/// Builds the load program and the server; returns their paths.
fn programs() -> Result<(String, String)> {
    let build = [
        "build",
        "--profile",
        "dist",
        "--package",
        "cambium",
        "--package",
        "cambium-bench",
    ];
    if !cargo().args(build).status()?.success() {
        bail!("the build failed");
    }
    let target = std::env::var("CARGO_TARGET_DIR").unwrap_or_else(|_| "target".to_owned());
    Ok((
        format!("{target}/dist/cambium-bench"),
        format!("{target}/dist/cambium"),
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
