//! Completes commands, options and values from the description of the command line.

use super::Candidate;
use clap::{Arg, ArgAction, Command};
use std::collections::BTreeMap;

/// The kind of word that is expected at the cursor.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Expected {
    /// One of these; a file, if there are none.
    These(Vec<Candidate>),
    /// A name that a cluster knows, given what else stands there.
    Named(Name, Given),
}

/// The kind of name that is expected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Name {
    /// Something that has revisions: a kind and a name.
    Subject,
    /// A composite resource or a claim: a kind and a name.
    Composite,
    /// An Application.
    Application,
    /// A component of the Application, and a version of its definition, as in `web=1.2.5`.
    Upgrade,
    /// A version of a definition, as in `web@1.2.5`, or a CompositionRevision.
    Version,
    /// A revision of the Application.
    ApplicationRevision,
    /// A revision of the composition of the composite resource.
    CompositionRevision,
    /// A namespace.
    Namespace,
    /// A context of the kubeconfig.
    Context,
}

/// The words before the cursor.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Given {
    /// Values of options, by their long names.
    pub(super) options: BTreeMap<String, String>,
    /// All words that are neither options nor their values nor commands.
    pub(super) words: Vec<String>,
}

/// What may stand after these words; `current` is what stands at the cursor already.
pub(super) fn expected(root: &Command, before: &[String], current: &str) -> Expected {
    let mut command = root;
    let mut path = Vec::new();
    let mut given = Given::default();
    let mut pending: Option<&Arg> = None;
    for word in before {
        if let Some(option) = pending.take() {
            let long = option.get_long().unwrap_or_default();
            given.options.insert(long.to_owned(), word.clone());
        } else if let Some((option, value)) = option(root, command, word) {
            match value {
                Some(value) => {
                    let long = option.get_long().unwrap_or_default();
                    given.options.insert(long.to_owned(), value.to_owned());
                }
                None => pending = Some(option).filter(|option| takes_value(option)),
            }
        } else if word.starts_with('-') && word != "-" {
            // An option that nobody knows.
        } else if let Some(sub) = command.find_subcommand(word).filter(|sub| !sub.is_hide_set()) {
            command = sub;
            path.push(sub.get_name());
        } else {
            given.words.push(word.clone());
        }
    }
    if let Some(option) = pending {
        return value_of(option, &path, given);
    }
    if current.starts_with('-') {
        return Expected::These(options(root, command));
    }
    if command.has_subcommands() {
        let shown = command.get_subcommands().filter(|sub| !sub.is_hide_set());
        return Expected::These(
            shown
                .map(|sub| Candidate::new(sub.get_name(), text(sub.get_about())))
                .collect(),
        );
    }
    let first = given.words.is_empty();
    match (path.as_slice(), first) {
        (["history"], _) => Expected::Named(Name::Subject, given),
        (["pin" | "follow"], _) => Expected::Named(Name::Composite, given),
        (["resolve" | "upgrade" | "rollback"], true) => Expected::Named(Name::Application, given),
        (["upgrade"], false) => Expected::Named(Name::Upgrade, given),
        (["diff"], _) => Expected::Named(Name::Version, given),
        _ => {
            let positional = command.get_positionals().nth(given.words.len());
            positional.map_or(Expected::These(Vec::new()), |one| value_of(one, &path, given))
        }
    }
}

/// The option that a word is, with its value if that is in the word.
fn option<'c, 'w>(
    root: &'c Command,
    command: &'c Command,
    word: &'w str,
) -> Option<(&'c Arg, Option<&'w str>)> {
    let known = || {
        command
            .get_arguments()
            .chain(root.get_arguments().filter(|arg| arg.is_global_set()))
    };
    if let Some(long) = word.strip_prefix("--") {
        let (name, value) = long
            .split_once('=')
            .map_or((long, None), |(name, value)| (name, Some(value)));
        let found = known().find(|arg| arg.get_long() == Some(name))?;
        return Some((found, value));
    }
    let mut letters = word.strip_prefix('-')?.chars();
    let letter = letters.next()?;
    let found = known().find(|arg| arg.get_short() == Some(letter))?;
    let rest = letters.as_str();
    Some((found, Some(rest).filter(|rest| !rest.is_empty())))
}

fn takes_value(option: &Arg) -> bool {
    matches!(option.get_action(), ArgAction::Set | ArgAction::Append)
}

/// What the value of an option, or a word of its own, may be.
fn value_of(option: &Arg, path: &[&str], given: Given) -> Expected {
    let name = match (option.get_long(), path) {
        (Some("namespace"), _) => Name::Namespace,
        (Some("context"), _) => Name::Context,
        (Some("to"), ["rollback"]) => Name::ApplicationRevision,
        (Some("to"), ["pin"]) => Name::CompositionRevision,
        _ => {
            let values = option.get_possible_values();
            let shown = values.iter().filter(|value| !value.is_hide_set());
            let value = |value: &clap::builder::PossibleValue| {
                Candidate::new(value.get_name(), text(value.get_help()))
            };
            return Expected::These(shown.map(value).collect());
        }
    };
    Expected::Named(name, given)
}

fn options(root: &Command, command: &Command) -> Vec<Candidate> {
    let global = root.get_arguments().filter(|arg| arg.is_global_set());
    let all = command.get_arguments().chain(global);
    let named = all.filter(|arg| !arg.is_hide_set()).filter_map(|arg| {
        let long = arg.get_long()?;
        Some(Candidate::new(format!("--{long}"), text(arg.get_help())))
    });
    let mut found: Vec<Candidate> = named.collect();
    found.push(Candidate::new("--help", "Print help"));
    found.sort_by(|left, right| left.value.cmp(&right.value));
    found.dedup_by(|left, right| left.value == right.value);
    found
}

fn text(help: Option<&clap::builder::StyledStr>) -> String {
    let help = help.map(ToString::to_string).unwrap_or_default();
    help.lines().next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::Cli;
    use clap::CommandFactory as _;

    fn at(line: &str) -> Expected {
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        let (current, before) = words.split_last().unwrap();
        expected(&Cli::command(), before, current)
    }

    fn values(line: &str) -> Vec<String> {
        match at(line) {
            Expected::These(candidates) => candidates.into_iter().map(|one| one.value).collect(),
            Expected::Named(name, _) => panic!("{line}: {name:?}"),
        }
    }

    fn name(line: &str) -> Name {
        match at(line) {
            Expected::Named(name, _) => name,
            Expected::These(candidates) => panic!("{line}: {candidates:?}"),
        }
    }

    #[test]
    fn commands_options_and_values_come_from_the_command_line_itself() {
        assert!(values("").contains(&"history".to_owned()));
        assert!(!values("").contains(&"__complete".to_owned()));
        assert!(values("history --").contains(&"--output".to_owned()));
        assert!(values("history --").contains(&"--log-format".to_owned()));
        assert_eq!(values("history web -o "), ["json", "yaml", "wide"]);
        assert_eq!(values("cue "), ["eval", "schema"]);
        assert_eq!(
            values("completion "),
            ["bash", "zsh", "fish", "elvish", "powershell"]
        );
        assert!(values("render -f ").is_empty(), "a file");
    }

    #[test]
    fn names_are_of_what_the_place_says() {
        assert_eq!(name("history "), Name::Subject);
        assert_eq!(name("history compdef "), Name::Subject);
        assert_eq!(name("resolve -n team "), Name::Application);
        assert_eq!(name("upgrade shop "), Name::Upgrade);
        assert_eq!(name("rollback shop --to "), Name::ApplicationRevision);
        assert_eq!(name("pin xdatabase/orders --to "), Name::CompositionRevision);
        assert_eq!(name("outdated -n "), Name::Namespace);
        assert_eq!(name("verify --context "), Name::Context);
        assert_eq!(name("diff web@"), Name::Version);
    }

    #[test]
    fn what_was_given_is_known() {
        let Expected::Named(_, given) = at("--log-format json upgrade -n team --context=dev shop f") else {
            panic!("names are expected");
        };
        assert_eq!(given.words, ["shop"]);
        assert_eq!(given.options["namespace"], "team");
        assert_eq!(given.options["context"], "dev");
    }
}
