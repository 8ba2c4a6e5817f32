//! Development tasks: `cargo xtask <task>`.

mod bench;
mod cargo;
mod conformance;
mod crates;
mod cue_conformance;
mod demo;
mod faults;
mod go;
mod kubernetes;
mod oracle;
mod peers;
mod test;
mod texts;
mod types;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Development tasks of this repository.
#[derive(Debug, Parser)]
#[command(bin_name = "cargo xtask", disable_help_subcommand = true)]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Debug, Subcommand)]
enum Task {
    /// Regenerates crates/builtin/src/generated from the published Kubernetes modules
    Types,
    /// Builds etcd, kube-apiserver and kube-controller-manager into a cache, and prints where
    Kubernetes,
    /// Runs Kubernetes' e2e specs against the embedded server or against Kubernetes
    Conformance(conformance::Options),
    /// Builds the Go programs of tests (crates/testing/peers), KubeVela's CLI and Crossplane into the same cache
    Peers,
    /// Builds Go's cue, the reference of crates/cue, into the same cache, and prints where
    CueOracle,
    /// Compares crates/cue with Go's cue on the test archives of Go's module
    CueConformance(cue_conformance::Options),
    /// Prints the table of crates that ARCHITECTURE.md shows: lines, public items, dependencies
    Crates(crates::Options),
    /// Draws docs/demo.svg from what `cambium up --demo` prints
    Demo(demo::Options),
    /// Lists every text that people can read in conditions, events, errors and logs
    Texts(texts::Options),
    /// Runs all tests, several test programs in parallel, and prints the slowest
    Test(test::Options),
    /// Runs the randomized tests of faults and edits with new seeds
    Faults(faults::Options),
    /// Runs benchmarks against the alternatives
    #[command(subcommand, disable_help_subcommand = true)]
    Bench(bench::Bench),
}

impl Task {
    fn run(self) -> anyhow::Result<()> {
        match self {
            Self::Types => types::write(),
            Self::Kubernetes => kubernetes::prepare(),
            Self::Conformance(options) => conformance::run(options),
            Self::Peers => peers::build(),
            Self::CueOracle => oracle::prepare(),
            Self::CueConformance(options) => cue_conformance::run(&options),
            Self::Crates(options) => crates::run(&options),
            Self::Demo(options) => demo::run(&options),
            Self::Texts(options) => texts::run(&options),
            Self::Test(options) => test::run(&options),
            Self::Faults(options) => faults::run(&options),
            Self::Bench(bench) => bench.run(),
        }
    }
}

#[expect(clippy::print_stderr, reason = "a task talks to the person who runs it")]
fn main() -> ExitCode {
    match Arguments::parse().task.run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;
    use clap::error::ErrorKind;

    use super::*;

    /// All tasks and subtasks by name.
    fn tasks() -> Vec<Vec<String>> {
        fn add(command: &clap::Command, path: &[String], tasks: &mut Vec<Vec<String>>) {
            for task in command.get_subcommands() {
                let path = [path, &[task.get_name().to_owned()]].concat();
                add(task, &path, tasks);
                tasks.push(path);
            }
        }
        let mut tasks = Vec::new();
        add(&Arguments::command(), &["xtask".to_owned()], &mut tasks);
        tasks
    }

    fn refused(task: &[String], argument: &str) -> clap::Error {
        let arguments = task.iter().map(String::as_str).chain([argument]);
        let parsed = Arguments::try_parse_from(arguments);
        parsed
            .map(|parsed| parsed.task)
            .expect_err("neither help nor an unknown option runs a task")
    }

    #[test]
    fn the_arguments_are_well_formed() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn every_task_prints_its_help_and_does_nothing_else() {
        let tasks = tasks();
        assert!(tasks.len() > 10, "{tasks:?}");
        for task in tasks {
            let help = refused(&task, "--help");
            assert_eq!(help.kind(), ErrorKind::DisplayHelp, "{task:?}");
            let usage = format!("Usage: cargo {}", task.join(" "));
            assert!(help.to_string().contains(&usage), "{usage}: {help}");
        }
    }

    #[test]
    fn unknown_options_are_refused() {
        for task in tasks() {
            let kind = refused(&task, "--no-such-option").kind();
            assert_eq!(kind, ErrorKind::UnknownArgument, "{task:?}");
        }
    }

    #[test]
    fn the_documented_calls_are_understood() {
        for call in [
            "conformance --backend kubernetes --focus Watchers --procs 2",
            "conformance --list",
            "conformance --write-docs",
            "cue-conformance --list",
            "demo",
            "demo story.txt",
            "test",
            "test --backend kubernetes claims::",
            "faults",
            "faults 30",
            "bench apiserver",
            "bench cue",
            "bench definitions",
            "bench definitions 100 1000",
            "bench definitions --peer",
            "bench definitions --peer 100",
            "bench compositions 1000:1 1000:100",
            "bench compositions --peer 1000",
            "bench soak 60",
        ] {
            let arguments = ["xtask"].into_iter().chain(call.split(' '));
            let parsed = Arguments::try_parse_from(arguments);
            assert!(parsed.is_ok(), "{call}: {}", parsed.unwrap_err());
        }
    }
}
