//! `cargo xtask conformance`: runs Kubernetes' e2e specs against the embedded server or against Kubernetes.
//!
//! The specs are listed by the e2e binary; [`selection`] excludes some, with reasons. Results are stored beside the
//! binary, so that the table in `docs/reference/conformance.md` shows both servers.

mod docs;
mod record;
mod selection;
mod servers;
mod suite;

use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::Args;
use regex::Regex;

use record::{Outcome, Record};
use selection::Selection;
use servers::Backend;
use suite::Suite;

/// The arguments.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// The server to run the specs against
    #[arg(long, value_enum, default_value = "embedded")]
    backend: Backend,
    /// The `cambium` to run the specs against; without it, it is built
    #[arg(long, value_name = "PATH")]
    program: Option<PathBuf>,
    /// Only the specs whose name matches
    #[arg(long, value_name = "REGEX")]
    focus: Option<Regex>,
    /// Number of parallel specs; most of them wait most of the time
    #[arg(long = "procs", value_name = "N", default_value = "4")]
    processes: usize,
    /// Prints the selected and the excluded specs with reasons; runs none
    #[arg(long)]
    list: bool,
    /// Writes docs/reference/conformance.md from the last results; runs none
    #[arg(long, conflicts_with = "list")]
    write_docs: bool,
}

/// Runs the specs and prints the results; fails if a spec failed.
#[expect(clippy::print_stdout, reason = "the outcome is this task's answer")]
pub(crate) fn run(options: Options) -> Result<()> {
    let Options {
        backend,
        program,
        focus,
        processes,
        list,
        write_docs,
    } = options;
    let suite = Suite::built()?;
    let mut selection = Selection::of(suite.specs()?)?;
    if let Some(focus) = &focus {
        selection.focus(focus);
    }
    if list {
        print!("{selection}");
        return Ok(());
    }
    if write_docs {
        return docs::write(&selection);
    }
    if selection.taken.is_empty() {
        bail!("no selected spec matches; --list prints the selected specs");
    }
    let server = backend.start(program)?;
    let found = suite.run(&selection.taken, &server, processes)?;
    let mut record = Record::read(backend)?;
    record.learn(&found);
    record.write(backend)?;
    conclude(&found, selection.taken.len())
}

/// Prints the failures and a summary.
#[expect(clippy::print_stdout, reason = "the outcome is this task's answer")]
fn conclude(found: &[(String, Outcome)], asked: usize) -> Result<()> {
    let (mut passed, mut skipped, mut failed) = (0, 0, 0);
    for (name, outcome) in found {
        match outcome {
            Outcome::Passed => passed += 1,
            Outcome::Skipped(reason) => {
                skipped += 1;
                println!("skipped: {name}\n    {reason}");
            }
            Outcome::Failed(reason) => {
                failed += 1;
                println!("failed: {name}\n    {reason}");
            }
        }
    }
    println!("{passed} passed, {failed} failed, {skipped} skipped");
    match failed {
        0 if found.len() < asked => bail!("{} specs were not completed", asked - found.len()),
        0 => Ok(()),
        1 => bail!("one spec failed"),
        _ => bail!("{failed} specs failed"),
    }
}
