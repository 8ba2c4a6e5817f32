//! `cargo xtask conformance`: Kubernetes' own specs, run against the embedded server or against Kubernetes.
//!
//! Which specs there are is read from the binary that runs them; [`selection`] says which are left out, and why. What a run found is kept
//! beside the binary, so that the table in `docs/conformance.md` shows both servers.

mod docs;
mod record;
mod selection;
mod servers;
mod suite;

use std::path::PathBuf;

use anyhow::{Context as _, Result, bail};
use regex::Regex;

use record::{Outcome, Record};
use selection::Selection;
use servers::Backend;
use suite::Suite;

const USAGE: &str =
    "usage: cargo xtask conformance [--backend embedded|kubernetes] [--program PATH] [--focus REGEX] [--procs N] [--list] [--write-docs]
  --backend      the server to run the specs against; embedded without it
  --program      the `cambium` to run the specs against; without it, it is built
  --focus        only the specs whose name matches
  --procs        how many specs run at a time; 4 without it
  --list         prints which specs run, and which are left out and why; runs none
  --write-docs   writes docs/conformance.md from what was found last; runs none";

/// What is asked for.
enum Task {
    Run,
    List,
    WriteDocs,
}

/// Runs the specs and prints what came of it; an error if one of them failed.
#[expect(clippy::print_stdout, reason = "the outcome is this task's answer")]
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let Options {
        task,
        backend,
        program,
        focus,
        processes,
    } = Options::parse(arguments)?;
    let suite = Suite::built()?;
    let mut selection = Selection::of(suite.specs()?)?;
    if let Some(focus) = &focus {
        selection.focus(focus);
    }
    match task {
        Task::List => {
            print!("{selection}");
            Ok(())
        }
        Task::WriteDocs => docs::write(&selection),
        Task::Run => {
            if selection.taken.is_empty() {
                bail!("no spec that runs has such a name; --list shows those that do");
            }
            let server = backend.start(program)?;
            let found = suite.run(&selection.taken, &server, processes)?;
            let mut record = Record::read(backend)?;
            record.learn(&found);
            record.write(backend)?;
            conclude(&found, selection.taken.len())
        }
    }
}

struct Options {
    task: Task,
    backend: Backend,
    program: Option<PathBuf>,
    focus: Option<Regex>,
    processes: usize,
}

impl Options {
    fn parse(arguments: &[String]) -> Result<Self> {
        let mut options = Self {
            task: Task::Run,
            backend: Backend::Embedded,
            program: None,
            focus: None,
            // Most specs wait for something most of the time.
            processes: 4,
        };
        let mut rest = arguments.iter();
        while let Some(argument) = rest.next() {
            let mut value = || {
                rest.next()
                    .with_context(|| format!("{argument} needs a value\n{USAGE}"))
            };
            match argument.as_str() {
                "--list" => options.task = Task::List,
                "--write-docs" => options.task = Task::WriteDocs,
                "--program" => options.program = Some(PathBuf::from(value()?)),
                "--focus" => options.focus = Some(Regex::new(value()?)?),
                "--procs" => options.processes = value()?.parse().context("--procs is a number")?,
                "--backend" => {
                    let name = value()?;
                    let known = Backend::named(name);
                    options.backend =
                        known.with_context(|| format!("no backend is called {name}\n{USAGE}"))?;
                }
                other => bail!("unknown option {other}\n{USAGE}"),
            }
        }
        Ok(options)
    }
}

/// Prints what failed and how many did not.
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
        0 if found.len() < asked => bail!("{} specs did not end", asked - found.len()),
        0 => Ok(()),
        1 => bail!("one spec failed"),
        _ => bail!("{failed} specs failed"),
    }
}
