//! `docs/reference/cli.md`, generated from the command line's description.
//!
//! `CAMBIUM_WRITE_REFERENCE=1 cargo test -p cambium reference` writes it.

use super::Cli;
use clap::{Arg, Command, CommandFactory as _};

/// The reference, as Markdown.
fn reference() -> String {
    let mut root = Cli::command();
    root.build();
    let mut text = "\
# Command line

<!-- Generated from crates/cambium/src/cli by `CAMBIUM_WRITE_REFERENCE=1 cargo test -p cambium reference`; do not edit. -->

`cambium COMMAND --help` says the same. [Questions and tasks](../guides/command-line.md) is the guide; there is also a list of [exit codes](exit-codes.md).

"
    .to_owned();
    let commands = shown(&root);
    text.push_str("| command | |\n|---|---|\n");
    for command in &commands {
        let name = command.get_name();
        text.push_str(&format!(
            "| [`cambium {name}`](#cambium-{name}) | {} |\n",
            about(command)
        ));
    }
    text.push_str("\n## Global options\n\nEvery command takes:\n\n");
    text.push_str(&options(root.get_arguments().filter(|arg| arg.is_global_set())));
    for command in &commands {
        describe(&mut text, command, "cambium", 2);
    }
    text
}

fn describe(text: &mut String, command: &Command, parent: &str, depth: usize) {
    let words = format!("{parent} {}", command.get_name());
    text.push_str(&format!(
        "\n{} {words}\n\n{}\n",
        "#".repeat(depth),
        about(command)
    ));
    let usage = command.clone().render_usage().to_string();
    let usage = usage.trim_start_matches("Usage: ").trim();
    text.push_str(&format!("\n```text\n{usage}\n```\n"));
    let examples = command.get_after_help().map(ToString::to_string);
    if let Some(examples) = examples.filter(|_| !command.has_subcommands()) {
        let lines = examples.lines().skip(1).map(str::trim);
        let lines: Vec<&str> = lines.collect();
        text.push_str(&format!("\n```sh\n{}\n```\n", lines.join("\n")));
    }
    let own = || command.get_arguments().filter(|arg| !arg.is_global_set());
    let positionals: Vec<&Arg> = own().filter(|arg| arg.is_positional()).collect();
    if !positionals.is_empty() {
        text.push_str("\n| argument | |\n|---|---|\n");
        for one in positionals {
            let names = one.get_value_names().unwrap_or_default();
            let name = names.first().map_or("", |name| name.as_str());
            text.push_str(&format!("| `{name}` | {} |\n", help(one)));
        }
    }
    let named = || {
        own().filter(|arg| {
            !arg.is_positional() && !arg.is_hide_set() && arg.get_id() != "help" && arg.get_id() != "version"
        })
    };
    if named().next().is_some() {
        text.push('\n');
        text.push_str(&options(named()));
    }
    for sub in shown(command) {
        describe(text, &sub, &words, depth + 1);
    }
}

/// The commands that people call.
fn shown(command: &Command) -> Vec<Command> {
    let all = command.get_subcommands();
    let shown = all.filter(|sub| !sub.is_hide_set() && sub.get_name() != "help");
    shown.cloned().collect()
}

fn options<'a>(arguments: impl Iterator<Item = &'a Arg>) -> String {
    let mut rows: Vec<(&str, String)> = arguments
        .filter_map(|one| {
            let long = one.get_long()?;
            let mut name = match one.get_short() {
                Some(short) => format!("-{short}, --{long}"),
                None => format!("--{long}"),
            };
            if one.get_action().takes_values() {
                let names = one.get_value_names().unwrap_or_default();
                name.push_str(&format!(" {}", names.first().map_or("", |name| name.as_str())));
            }
            Some((long, format!("| `{name}` | {} |\n", help(one))))
        })
        .collect();
    rows.sort();
    let rows: String = rows.into_iter().map(|(_, row)| row).collect();
    format!("| option | |\n|---|---|\n{rows}")
}

/// What an option means, its values and its default, in one line.
fn help(argument: &Arg) -> String {
    let mut text = sentence(&argument.get_help().map(ToString::to_string).unwrap_or_default());
    if argument.get_action().takes_values() {
        let values: Vec<String> = argument
            .get_possible_values()
            .iter()
            .filter(|value| !value.is_hide_set())
            .map(|value| format!("`{}`", value.get_name()))
            .collect();
        if !values.is_empty() {
            text.push_str(&format!(" One of {}.", values.join(", ")));
        }
        let defaults: Vec<String> = argument
            .get_default_values()
            .iter()
            .map(|value| value.to_string_lossy().into_owned())
            .collect();
        if !defaults.is_empty() {
            text.push_str(&format!(" Default: `{}`.", defaults.join(", ")));
        }
    }
    text.replace('\n', " ").replace('|', "\\|").replace('<', "\\<")
}

fn about(command: &Command) -> String {
    sentence(&command.get_about().map(ToString::to_string).unwrap_or_default())
}

fn sentence(text: &str) -> String {
    match text.ends_with(['.', ']']) || text.is_empty() {
        true => text.to_owned(),
        false => format!("{text}."),
    }
}

#[test]
fn the_reference_is_what_the_command_line_says() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/cli.md");
    let expected = reference();
    if std::env::var_os("CAMBIUM_WRITE_REFERENCE").is_some() {
        std::fs::write(&path, &expected).unwrap();
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        found == expected,
        "docs/reference/cli.md is stale: CAMBIUM_WRITE_REFERENCE=1 cargo test -p cambium reference writes it"
    );
}
