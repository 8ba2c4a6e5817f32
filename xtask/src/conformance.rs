//! `cargo xtask conformance`: Kubernetes' own specs, run against the embedded server or against Kubernetes.
//!
//! Which specs there are is read from the binary that runs them; [`selection`] says which are left out, and why. What a run found is kept
//! beside the binary, so that the table in `docs/conformance.md` shows both servers.

mod docs;
mod record;
mod selection;
mod servers;
mod suite;

use anyhow::{Context as _, Result, bail};
use regex::Regex;

use record::{Outcome, Record};
use selection::Selection;
use servers::Backend;
use suite::Suite;

const USAGE: &str =
    "usage: cargo xtask conformance [--backend embedded|kubernetes] [--focus REGEX] [--list] [--write-docs]
  --backend      the server to run the specs against; embedded without it
  --focus        only the specs whose name matches
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
    let (task, backend, focus) = parse(arguments)?;
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
            let server = backend.start()?;
            let found = suite.run(&selection.taken, &server)?;
            let mut record = Record::read(backend)?;
            record.learn(&found);
            record.write(backend)?;
            conclude(&found)
        }
    }
}

fn parse(arguments: &[String]) -> Result<(Task, Backend, Option<Regex>)> {
    let (mut task, mut backend, mut focus) = (Task::Run, Backend::Embedded, None);
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        let mut value = || {
            rest.next()
                .with_context(|| format!("{argument} needs a value\n{USAGE}"))
        };
        match argument.as_str() {
            "--list" => task = Task::List,
            "--write-docs" => task = Task::WriteDocs,
            "--focus" => focus = Some(Regex::new(value()?)?),
            "--backend" => {
                let name = value()?;
                backend =
                    Backend::named(name).with_context(|| format!("no backend is called {name}\n{USAGE}"))?;
            }
            other => bail!("unknown option {other}\n{USAGE}"),
        }
    }
    Ok((task, backend, focus))
}

/// Prints what failed and how many did not.
#[expect(clippy::print_stdout, reason = "the outcome is this task's answer")]
fn conclude(found: &[(String, Outcome)]) -> Result<()> {
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
        0 => Ok(()),
        1 => bail!("one spec failed"),
        _ => bail!("{failed} specs failed"),
    }
}
