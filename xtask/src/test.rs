//! `cargo xtask test`: runs all test programs of the workspace, several in parallel, and prints the slowest tests.
//!
//! `cargo test` runs one program after the other, and each ends with idle cores. Tests mostly wait for servers, so more of
//! them run at once than there are cores; for the same reason, tests on Kubernetes run beside those on the embedded
//! server.

use std::collections::{BTreeMap, VecDeque};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use serde_json::Value;

use crate::cargo::cargo;
use crate::kubernetes;

/// The tests that also run on Kubernetes: package, and name prefixes.
const JUDGED: [(&str, &[&str]); 6] = [
    (
        "cambium-controllers",
        &[
            "acceptance::",
            "runtime::watch::",
            "runtime::lease::",
            "runtime::dynamic_caches::",
        ],
    ),
    (
        "cambium-apiserver",
        &["acceptance::", "controllers::gc::", "controllers::namespaces::"],
    ),
    ("cambium-webhooks", &["acceptance_"]),
    ("cambium-testing", &["faults::"]),
    ("cambium-evolve", &["acceptance::"]),
    ("cambium", &["manager::a_manager_serves_kubernetes_itself"]),
];

/// Number of slowest tests to print.
const SLOWEST: usize = 10;

/// Parallel test programs per backend, and parallel tests of each.
const PROGRAMS: usize = 2;
const THREADS: usize = 4;

/// The log of rights that the manager used. Only tests on Kubernetes write it.
const RIGHTS_LOG: &str = "CAMBIUM_RIGHTS_LOG";

/// The API server that tests run on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Backend {
    /// The embedded one: all tests
    Embedded,
    /// Kubernetes, as built by `cargo xtask kubernetes`: the tests that support it
    Kubernetes,
    /// Both in parallel
    Both,
}

/// The arguments.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// The API server that they run on
    #[arg(long, value_enum, default_value_t = Backend::Embedded)]
    backend: Backend,
    /// Only tests whose name contains one of these
    filter: Vec<String>,
}

/// A test program.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Program {
    /// The package and the type of program, for output.
    name: String,
    executable: PathBuf,
    /// The directory of its package, where tests run.
    directory: PathBuf,
    filter: Vec<String>,
}

impl Program {
    /// Whether it is the integration test program of a package.
    fn holds(&self, package: &str) -> bool {
        self.name == format!("{package} it")
    }
}

/// The result of a program.
#[derive(Debug)]
struct Outcome {
    program: String,
    failed: bool,
    tests: Vec<(Duration, String)>,
}

/// The programs for one backend.
#[derive(Debug)]
struct Half {
    /// The suffix of program names in the output.
    suffix: &'static str,
    programs: Mutex<VecDeque<Program>>,
    environment: Vec<(&'static str, PathBuf)>,
    removed: Option<&'static str>,
}

/// Builds and runs the tests; fails if one fails.
#[expect(clippy::print_stdout, reason = "what the tests say is this task's answer")]
pub(crate) fn run(options: &Options) -> Result<()> {
    let assets = match options.backend {
        Backend::Embedded => None,
        Backend::Kubernetes | Backend::Both => kubernetes::built()?,
    };
    if options.backend != Backend::Embedded && assets.is_none() {
        println!(
            "SKIPPED acceptance tests on Kubernetes: it is not built (cargo xtask kubernetes builds it)"
        );
    }
    let begin = Instant::now();
    let programs = built()?;
    println!("built in {} s", begin.elapsed().as_secs());
    let mut halves = Vec::new();
    if options.backend != Backend::Kubernetes {
        halves.push(Half {
            suffix: "",
            programs: Mutex::new(chosen(&programs, &options.filter)),
            environment: Vec::new(),
            removed: Some(RIGHTS_LOG).filter(|_| options.backend == Backend::Both),
        });
    }
    if let Some(assets) = assets {
        halves.push(Half {
            suffix: " on Kubernetes",
            programs: Mutex::new(judged(&programs, &options.filter)),
            environment: vec![
                ("CAMBIUM_TEST_BACKEND", "kubernetes".into()),
                ("KUBEBUILDER_ASSETS", assets),
            ],
            removed: None,
        });
    }
    let outcomes = Mutex::new(Vec::new());
    let begin = Instant::now();
    let work = |half: &Half| -> Result<(&'static str, Duration)> {
        loop {
            let next = half.programs.lock().map_err(poisoned)?.pop_front();
            let Some(program) = next else {
                return Ok((half.suffix, begin.elapsed()));
            };
            let outcome = run_one(&program, half)?;
            outcomes.lock().map_err(poisoned)?.push(outcome);
        }
    };
    let mut ended = BTreeMap::new();
    std::thread::scope(|scope| -> Result<()> {
        let running: Vec<_> = halves
            .iter()
            .flat_map(|half| (0..PROGRAMS).map(move |_| half))
            .map(|half| scope.spawn(move || work(half)))
            .collect();
        for thread in running {
            let (suffix, took) = thread.join().map_err(poisoned)??;
            let last = ended.entry(suffix).or_insert(took);
            *last = took.max(*last);
        }
        Ok(())
    })?;
    for (suffix, took) in ended {
        println!("tests{suffix} took {} s", took.as_secs());
    }
    let outcomes = outcomes.into_inner().map_err(poisoned)?;
    println!("the slowest tests:");
    for line in slowest(&outcomes) {
        println!("{line}");
    }
    let failed = outcomes.iter().filter(|outcome| outcome.failed);
    match failed.map(|outcome| outcome.program.as_str()).collect::<Vec<_>>() {
        failed if failed.is_empty() => Ok(()),
        failed => bail!("tests failed in {}", failed.join(", ")),
    }
}

fn poisoned<T>(_: T) -> anyhow::Error {
    anyhow::anyhow!("a thread of this task panicked")
}

/// Builds all test programs of the workspace at once: a single package has other features, and would be compiled again.
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

/// The test program of a cargo message, if it is one.
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

/// The programs to run, the longest-running first.
fn chosen(programs: &[Program], filter: &[String]) -> VecDeque<Program> {
    let order = |program: &Program| JUDGED.iter().position(|(package, _)| program.holds(package));
    let mut chosen = programs.to_vec();
    chosen.sort_by_key(|program| order(program).unwrap_or(JUDGED.len()));
    for program in &mut chosen {
        program.filter = filter.to_vec();
    }
    chosen.into()
}

/// The programs with tests for Kubernetes, with those tests, or the filtered ones.
fn judged(programs: &[Program], filter: &[String]) -> VecDeque<Program> {
    let judged = JUDGED.iter().filter_map(|(package, tests)| {
        let mut program = programs.iter().find(|program| program.holds(package))?.clone();
        program.filter = match filter {
            [] => tests.iter().map(ToString::to_string).collect(),
            filter => filter.to_vec(),
        };
        Some(program)
    });
    judged.collect()
}

/// Runs a program and prints its output at its end, as several run in parallel.
#[expect(clippy::print_stdout, reason = "what the tests say is this task's answer")]
fn run_one(program: &Program, half: &Half) -> Result<Outcome> {
    let output = tempfile::NamedTempFile::new()?;
    let mut command = Command::new(&program.executable);
    command
        .args(&program.filter)
        .args(["--test-threads", &THREADS.to_string()])
        // Test durations need unstable options.
        .args(["-Zunstable-options", "--report-time"])
        .env("RUSTC_BOOTSTRAP", "1")
        .envs(half.environment.iter().map(|(name, value)| (name, value)))
        .current_dir(&program.directory)
        .stdin(Stdio::null())
        .stdout(output.as_file().try_clone()?)
        .stderr(output.as_file().try_clone()?);
    if let Some(name) = half.removed {
        command.env_remove(name);
    }
    let status = command.status()?;
    let text = std::fs::read(output.path())?;
    let text = String::from_utf8_lossy(&text);
    let name = format!("{}{}", program.name, half.suffix);
    println!("== {name}\n{text}");
    Ok(Outcome {
        program: name,
        failed: !status.success(),
        tests: text.lines().filter_map(timed).collect(),
    })
}

/// Parses a test and its duration: `test a::b ... ok <1.234s>`.
fn timed(line: &str) -> Option<(Duration, String)> {
    let (name, rest) = line.strip_prefix("test ")?.split_once(" ... ")?;
    let seconds = rest.split_once('<')?.1.strip_suffix("s>")?;
    Some((
        Duration::try_from_secs_f64(seconds.parse().ok()?).ok()?,
        name.to_owned(),
    ))
}

fn slowest(outcomes: &[Outcome]) -> Vec<String> {
    let mut tests: Vec<(Duration, &str, &str)> = outcomes
        .iter()
        .flat_map(|outcome| {
            let tests = outcome.tests.iter();
            tests.map(|(took, test)| (*took, outcome.program.as_str(), test.as_str()))
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
