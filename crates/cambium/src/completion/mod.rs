//! Shell completion: `cambium completion SHELL` prints a script, which asks `cambium __complete -- WORDS` for what may stand at the cursor.
//!
//! Commands and options come from the command line's own description; names come from the cluster, which is asked for no longer than people
//! wait for a key. Whatever goes wrong, there is nothing to complete.

mod names;
mod scripts;
mod words;

use anyhow::Result;
use clap::CommandFactory as _;
use std::time::Duration;

use crate::cli::{Cli, Complete, Completion, Shell};
use crate::output;
use words::{Expected, expected};

/// The limit of time for requests to the cluster.
const PATIENCE: Duration = Duration::from_millis(1500);

/// A word that may be completed, with its description.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Candidate {
    value: String,
    help: String,
}

impl Candidate {
    fn new(value: impl Into<String>, help: impl Into<String>) -> Self {
        Self {
            value: value.into(),
            help: help.into(),
        }
    }
}

/// Prints the script for a shell.
pub(crate) fn script(options: &Completion) -> Result<()> {
    let generated = |shell: clap_complete::Shell| {
        let mut script = Vec::new();
        clap_complete::generate(shell, &mut Cli::command(), "cambium", &mut script);
        String::from_utf8_lossy(&script).into_owned()
    };
    output::write(&match options.shell {
        Shell::Bash => scripts::with_commands(scripts::BASH),
        Shell::Zsh => scripts::with_commands(scripts::ZSH),
        Shell::Fish => scripts::with_commands(scripts::FISH),
        Shell::Elvish => generated(clap_complete::Shell::Elvish),
        Shell::Powershell => generated(clap_complete::Shell::PowerShell),
    })
}

/// Prints what may stand at the cursor, one candidate per line, with its meaning after a tab.
pub(crate) async fn complete(options: &Complete) -> Result<()> {
    let (current, before) = match options.words.split_last() {
        Some((current, before)) => (current.as_str(), before),
        None => ("", &[][..]),
    };
    let candidates = match expected(&Cli::command(), before, current) {
        Expected::These(candidates) => candidates,
        Expected::Named(what, given) => {
            let asked = names::names(&what, &given, current);
            tokio::time::timeout(PATIENCE, asked)
                .await
                .ok()
                .flatten()
                .unwrap_or_default()
        }
    };
    let mut text = String::new();
    for one in candidates.iter().filter(|one| one.value.starts_with(current)) {
        text.push_str(&format!("{}\t{}\n", one.value, one.help));
    }
    output::write(&text)
}
