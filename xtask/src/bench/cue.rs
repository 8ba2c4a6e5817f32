//! `cargo xtask bench cue`: `crates/cue` against Go's library, on the same definitions.

use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, bail};

use crate::cargo::cargo;
use crate::{go, kubernetes};

/// The results of one program.
struct Figures {
    compile: u64,
    render: u64,
    export: serde_json::Value,
}

/// Builds and runs both, and prints the results and the speedup.
#[expect(clippy::print_stdout, reason = "the figures are this task's answer")]
pub(super) fn run() -> Result<()> {
    let build = [
        "build",
        "--profile",
        "dist",
        "--package",
        "cambium-cue-judge",
        "--example",
        "timing",
    ];
    if !cargo().args(build).status()?.success() {
        bail!("the build failed");
    }
    let cache = kubernetes::cache()?;
    let peer = cache.join("peers/cue-bench");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/cue/peers/bench");
    go::build(&source.canonicalize()?, ".", &peer)?;

    let target = std::env::var("CARGO_TARGET_DIR").unwrap_or_else(|_| "target".to_owned());
    let inputs = std::env::temp_dir().join(format!("cambium-bench-cue-{}", std::process::id()));
    std::fs::create_dir_all(&inputs)?;
    let ours = figures(Command::new(format!("{target}/dist/examples/timing")).arg(&inputs))?;
    let theirs = figures(Command::new(&peer).arg(&inputs))?;
    std::fs::remove_dir_all(&inputs)?;

    println!(
        "{:14} {:>12} {:>12} {:>7}   {:>12} {:>12} {:>7}",
        "µs", "compile ours", "Go", "times", "render ours", "Go", "times"
    );
    for (name, ours) in &ours {
        let (_, theirs) = theirs
            .iter()
            .find(|(other, _)| other == name)
            .with_context(|| format!("Go says nothing about {name}"))?;
        println!(
            "{name:14} {:>12} {:>12} {:>7}   {:>12} {:>12} {:>7}",
            microseconds(ours.compile),
            microseconds(theirs.compile),
            times(ours.compile, theirs.compile),
            microseconds(ours.render),
            microseconds(theirs.render),
            times(ours.render, theirs.render),
        );
        if ours.export != theirs.export {
            bail!("the two exports of {name} differ");
        }
    }
    Ok(())
}

fn figures(command: &mut Command) -> Result<Vec<(String, Figures)>> {
    let output = command.output()?;
    if !output.status.success() {
        bail!("{}", String::from_utf8_lossy(&output.stderr));
    }
    let text = String::from_utf8(output.stdout)?;
    text.lines()
        .map(|line| {
            let mut columns = line.splitn(4, '\t');
            let mut column = || columns.next().context("a line has four columns");
            let name = column()?.to_owned();
            let figures = Figures {
                compile: column()?.parse()?,
                render: column()?.parse()?,
                export: serde_json::from_str(column()?)?,
            };
            Ok((name, figures))
        })
        .collect()
}

fn microseconds(nanoseconds: u64) -> String {
    format!("{}.{}", nanoseconds / 1_000, nanoseconds % 1_000 / 100)
}

fn times(ours: u64, theirs: u64) -> String {
    let tenths = theirs * 10 / ours.max(1);
    format!("{}.{}", tenths / 10, tenths % 10)
}
