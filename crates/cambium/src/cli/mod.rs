//! The command line: commands and global options. `docs/reference/cli.md` is generated from it.

mod asking;
mod examples;
mod offline;
#[cfg(test)]
mod reference;
mod running;

pub(crate) use asking::{
    Asking, Cluster, Diff, Follow, Gc, History, Lock, Names, Outdated, Pin, Printed, Resolve, Rollback,
    Upgrade, Verify,
};
pub(crate) use offline::{
    Check, Complete, Completion, Compose, Cue, CueEval, CueSchema, Explain, Render, Shell,
};
pub(crate) use running::{Features, Gate, Manager, Up, Work};

use clap::{Parser, Subcommand, ValueEnum};

/// Under which options are listed that mean the same for every command.
const GLOBAL: &str = "Global options";

/// Version control for Kubernetes platform APIs.
#[derive(Debug, Parser)]
#[command(name = "cambium", version, about, propagate_version = true, after_help = examples::CAMBIUM)]
pub(crate) struct Cli {
    /// How logs and errors are written to standard error.
    #[arg(
        long,
        global = true,
        value_enum,
        default_value_t = LogFormat::Text,
        value_name = "FORMAT",
        help_heading = GLOBAL,
        display_order = 1000
    )]
    pub(crate) log_format: LogFormat,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Log formats.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    /// Text for a person.
    Text,
    /// One JSON object per line.
    Json,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run an API server, the controllers and the webhooks on this machine; no cluster needed.
    Up(Up),
    /// Run the controllers and webhooks against an existing Kubernetes cluster.
    Manager(Manager),
    /// List the revisions of a definition, an application or a composition, and who uses each.
    History(History),
    /// Show which revision each reference of an application resolves to, and why.
    Resolve(Resolve),
    /// Show what changed between two versions of a definition, or two revisions of a composition.
    Diff(Diff),
    /// Upgrade components of an application to other versions.
    Upgrade(Upgrade),
    /// Roll an application back to an earlier revision.
    Rollback(Rollback),
    /// Pin a composite resource to a revision of its composition.
    Pin(Pin),
    /// Let a composite resource follow new revisions of its composition.
    Follow(Follow),
    /// List applications and composite resources that are behind the newest revision.
    Outdated(Outdated),
    /// Show which revisions the manager would delete, which it keeps, and why.
    Gc(Gc),
    /// Compare published versions across clusters.
    Verify(Verify),
    /// Lock the references of an Application to versions and digests.
    Lock(Lock),
    /// Check what a change of CustomResourceDefinitions breaks, and which version it demands.
    Check(Check),
    /// Explain a rule of `cambium check`.
    Explain(Explain),
    /// Print a shell completion script.
    #[command(visible_alias = "completions")]
    Completion(Completion),
    /// What may stand where the cursor is: completion scripts call it.
    #[command(name = "__complete", hide = true)]
    Complete(Complete),
    /// Evaluate CUE, the language of definition templates.
    #[command(subcommand, after_help = examples::CUE)]
    Cue(Cue),
    /// Compose a composite resource without a cluster.
    Compose(Compose),
    /// Render an Application to manifests without a cluster.
    Render(Render),
}

/// Output formats of values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// JSON.
    Json,
    /// YAML.
    Yaml,
}

#[cfg(test)]
mod tests {
    use super::Cli;
    use clap::{Command, CommandFactory as _, Parser as _};

    /// Every command, with the words that call it.
    fn all(command: &Command, words: &str) -> Vec<(String, Command)> {
        let mut found = vec![(words.to_owned(), command.clone())];
        for sub in command
            .get_subcommands()
            .filter(|sub| !sub.is_hide_set() && sub.get_name() != "help")
        {
            found.extend(all(sub, &format!("{words} {}", sub.get_name())));
        }
        found
    }

    #[test]
    fn every_command_has_three_examples_that_it_takes() {
        for (words, command) in all(&Cli::command(), "cambium") {
            let text = command
                .get_after_help()
                .map(ToString::to_string)
                .unwrap_or_default();
            let examples: Vec<&str> = text
                .lines()
                .map(str::trim)
                .filter(|line| line.starts_with("cambium"))
                .collect();
            assert!(
                text.starts_with("Examples:\n") && examples.len() >= 3,
                "{words}: {text}"
            );
            for example in examples {
                assert!(example.starts_with(&words), "{words}: {example}");
                assert!(example.len() <= 78, "too wide for a terminal: {example}");
                let line = example.split(" # ").next().unwrap_or_default();
                let line = line.split(" | ").next().unwrap_or_default();
                let line = line.split(" > ").next().unwrap_or_default();
                let parsed = Cli::try_parse_from(line.split_whitespace());
                let is_help = |error: &clap::Error| error.exit_code() == 0;
                assert!(
                    parsed.as_ref().err().is_none_or(is_help),
                    "{example}: {:?}",
                    parsed.err()
                );
            }
        }
    }

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }
}
