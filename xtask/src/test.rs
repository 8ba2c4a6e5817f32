//! `cargo xtask test`: every test program of the workspace, a few side by side, with the slowest tests named at the end.
//!
//! `cargo test` runs one program after the other, and each ends with one core idle. A test waits for a server most of its time, so more of them run at once than there
//! are cores.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use serde_json::Value;

use crate::cargo::cargo;
use crate::kubernetes;

/// The tests that Kubernetes judges too: package, and what their names begin with.
const JUDGED: [(&str, &[&str]); 5] = [
    (
        "cambium-controllers",
        &[
            "acceptance::",
            "runtime::watch::",
            "runtime::lease::",
            "runtime::children::",
        ],
    ),
    (
        "cambium-apiserver",
        &["acceptance::", "controllers::gc::", "controllers::namespaces::"],
    ),
    ("cambium-webhooks", &["acceptance_"]),
    ("cambium-testing", &["faults::"]),
    ("cambium", &["manager::a_manager_serves_kubernetes_itself"]),
];

/// How many of the slowest tests are named.
const SLOWEST: usize = 10;

/// How many test programs run side by side, and how many tests of each.
const PROGRAMS: usize = 2;
const THREADS: usize = 4;

/// What to test.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// Only the tests that Kubernetes judges, on Kubernetes (`cargo xtask kubernetes` builds it)
    #[arg(long)]
    kubernetes: bool,
    /// Only the tests whose name contains one of these
    filter: Vec<String>,
}

/// A program with tests in it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Program {
    /// The package and what kind of program it is, as people name it.
    name: String,
    executable: PathBuf,
    /// Where its package is: tests run there.
    directory: PathBuf,
    filter: Vec<String>,
}

/// What came of a program.
#[derive(Debug, Default)]
struct Outcome {
    failed: bool,
    tests: Vec<(Duration, String)>,
}

/// Builds and runs the tests; an error if one fails.
#[expect(clippy::print_stdout, reason = "what the tests say is this task's answer")]
pub(crate) fn run(options: &Options) -> Result<()> {
    let mut environment = Vec::new();
    if options.kubernetes {
        let Some(assets) = kubernetes::built()? else {
            println!(
                "SKIPPED acceptance tests on Kubernetes: it is not built (cargo xtask kubernetes builds it)"
            );
            return Ok(());
        };
        environment.push(("CAMBIUM_TEST_BACKEND", "kubernetes".into()));
        environment.push(("KUBEBUILDER_ASSETS", assets));
    }
    let begin = Instant::now();
    let programs = chosen(built()?, options);
    println!("built in {} s", begin.elapsed().as_secs());
    let waiting = Mutex::new(VecDeque::from(programs));
    let outcomes = Mutex::new(Vec::new());
    let work = || -> Result<()> {
        loop {
            let next = waiting.lock().map_err(poisoned)?.pop_front();
            let Some(program) = next else { return Ok(()) };
            let outcome = run_one(&program, &environment)?;
            outcomes.lock().map_err(poisoned)?.push((program, outcome));
        }
    };
    std::thread::scope(|scope| {
        let running: Vec<_> = (0..PROGRAMS).map(|_| scope.spawn(work)).collect();
        running
            .into_iter()
            .try_for_each(|thread| thread.join().map_err(poisoned)?)
    })?;
    let outcomes = outcomes.into_inner().map_err(poisoned)?;
    println!("the slowest tests:");
    for line in slowest(&outcomes) {
        println!("{line}");
    }
    let failed: Vec<&str> = outcomes
        .iter()
        .filter(|(_, outcome)| outcome.failed)
        .map(|(program, _)| program.name.as_str())
        .collect();
    match failed.as_slice() {
        [] => Ok(()),
        failed => bail!("tests failed in {}", failed.join(", ")),
    }
}

fn poisoned<T>(_: T) -> anyhow::Error {
    anyhow::anyhow!("a thread of this task panicked")
}

/// Builds all test programs. Those of the whole workspace at once: a package alone has other features, and everything would be compiled again.
fn built() -> Result<Vec<Program>> {
    let output = cargo()
        .args([
            "test",
            "--workspace",
            "--no-run",
            "--message-format=json-render-diagnostics",
        ])
        .stderr(Stdio::inherit())
        .output()?;
    if !output.status.success() {
        bail!("the build failed");
    }
    let lines = String::from_utf8(output.stdout)?;
    let programs = lines.lines().filter_map(|line| program(line).transpose());
    programs.collect()
}

/// The program that a message of cargo tells about, if it holds tests.
fn program(message: &str) -> Result<Option<Program>> {
    let message: Value = serde_json::from_str(message)?;
    let is_test = message["profile"]["test"] == true;
    let (Some(executable), true) = (message["executable"].as_str(), is_test) else {
        return Ok(None);
    };
    let manifest = PathBuf::from(message["manifest_path"].as_str().context("a manifest")?);
    let directory = manifest.parent().context("a manifest is in a directory")?;
    let package = message["package_id"].as_str().unwrap_or_default();
    // "path+file:///…/crates/api#cambium-api@0.1.0", or without a name where the directory has it.
    let package = package
        .rsplit(['#', '/'])
        .find(|part| part.contains(char::is_alphabetic));
    let package = package.unwrap_or_default().split('@').next().unwrap_or_default();
    Ok(Some(Program {
        name: format!(
            "{package} {}",
            message["target"]["name"].as_str().unwrap_or_default()
        ),
        executable: executable.into(),
        directory: directory.to_owned(),
        filter: Vec::new(),
    }))
}

/// The programs to run and the tests of each, those that take longest first.
fn chosen(programs: Vec<Program>, options: &Options) -> Vec<Program> {
    let order = |program: &Program| {
        JUDGED
            .iter()
            .position(|(package, _)| program.name == format!("{package} it"))
    };
    let mut chosen: Vec<Program> = programs
        .into_iter()
        .filter_map(|mut program| {
            let judged = order(&program).map(|at| JUDGED[at].1);
            program.filter = match (options.filter.as_slice(), judged) {
                ([], Some(judged)) if options.kubernetes => judged.iter().map(ToString::to_string).collect(),
                (filter, Some(_)) => filter.to_vec(),
                (_, None) if options.kubernetes => return None,
                (filter, None) => filter.to_vec(),
            };
            Some(program)
        })
        .collect();
    chosen.sort_by_key(|program| order(program).unwrap_or(JUDGED.len()));
    chosen
}

/// Runs a program and prints what it said when it has ended: several run side by side.
#[expect(clippy::print_stdout, reason = "what the tests say is this task's answer")]
fn run_one(program: &Program, environment: &[(&str, PathBuf)]) -> Result<Outcome> {
    let output = tempfile::NamedTempFile::new()?;
    let status = Command::new(&program.executable)
        .args(&program.filter)
        .args(["--test-threads", &THREADS.to_string()])
        // How long a test took is told by unstable options only.
        .args(["-Zunstable-options", "--report-time"])
        .env("RUSTC_BOOTSTRAP", "1")
        .envs(environment.iter().map(|(name, value)| (name, value)))
        .current_dir(&program.directory)
        .stdin(Stdio::null())
        .stdout(output.as_file().try_clone()?)
        .stderr(output.as_file().try_clone()?)
        .status()?;
    let text = std::fs::read(output.path())?;
    let text = String::from_utf8_lossy(&text);
    println!("== {}\n{text}", program.name);
    Ok(Outcome {
        failed: !status.success(),
        tests: text.lines().filter_map(timed).collect(),
    })
}

/// A test and how long it took: `test a::b ... ok <1.234s>`.
fn timed(line: &str) -> Option<(Duration, String)> {
    let (name, rest) = line.strip_prefix("test ")?.split_once(" ... ")?;
    let seconds = rest.split_once('<')?.1.strip_suffix("s>")?;
    Some((
        Duration::try_from_secs_f64(seconds.parse().ok()?).ok()?,
        name.to_owned(),
    ))
}

fn slowest(outcomes: &[(Program, Outcome)]) -> Vec<String> {
    let mut tests: Vec<(Duration, &str, &str)> = outcomes
        .iter()
        .flat_map(|(program, outcome)| {
            let tests = outcome.tests.iter();
            tests.map(|(took, test)| (*took, program.name.as_str(), test.as_str()))
        })
        .collect();
    tests.sort_by(|one, other| other.cmp(one));
    let lines = tests.iter().take(SLOWEST);
    lines
        .map(|(took, program, test)| format!("{:>7.1} s  {program}  {test}", took.as_secs_f64()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_about_a_test_program_is_understood() -> Result<()> {
        let message = r##"{"reason":"compiler-artifact","package_id":"path+file:///src/crates/api#cambium-api@0.1.0",
            "manifest_path":"/src/crates/api/Cargo.toml","target":{"kind":["test"],"name":"it"},"profile":{"test":true},"executable":"/t/it-1"}"##;
        let found = program(message)?.context("a program")?;
        assert_eq!(found.name, "cambium-api it");
        assert_eq!(found.directory, PathBuf::from("/src/crates/api"));
        let bare = message.replace("crates/api#cambium-api@0.1.0", "xtask#0.1.0");
        assert_eq!(program(&bare)?.context("a program")?.name, "xtask it");
        assert_eq!(program(&message.replace("true", "false"))?, None);
        Ok(())
    }

    #[test]
    fn how_long_a_test_took_is_read() {
        let (took, name) = timed("test a::b ... ok <1.250s>").unwrap_or_default();
        assert_eq!((took, name.as_str()), (Duration::from_millis(1250), "a::b"));
        assert_eq!(timed("test result: ok. 1 passed; finished in 1.0s"), None);
    }
}
