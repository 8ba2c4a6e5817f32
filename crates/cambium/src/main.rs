//! The `cambium` program: argv, output, exit codes, wiring.

mod caret;
mod check;
mod cli;
mod client;
mod commands;
mod completion;
mod compose;
mod cue;
mod exit;
mod log;
mod malloc_arenas;
mod manager;
mod output;
mod platform;
mod probes;
mod render;
mod table;
mod up;
mod validation;

use std::process::ExitCode;

use clap::Parser as _;

use crate::cli::{Cli, Command};
use crate::log::Stamps;

fn main() -> ExitCode {
    let cli = Cli::parse();
    if matches!(cli.command, Command::Manager(_)) {
        malloc_arenas::limit();
    }
    let format = cli.log_format;
    if let Command::Complete(options) = &cli.command {
        // Whoever types does not want to read why there is nothing to complete.
        let _ = commands::run(completion::complete(options));
        return ExitCode::SUCCESS;
    }
    let lives = matches!(cli.command, Command::Up(_) | Command::Manager(_));
    log::start(format, if lives { Stamps::Time } else { Stamps::None });
    let result = match cli.command {
        Command::Up(options) => up::run(&options),
        Command::Manager(options) => manager::run(&options),
        Command::History(options) => commands::run(commands::history(&options)),
        Command::Resolve(options) => commands::run(commands::resolve(&options)),
        Command::Diff(options) => commands::run(commands::diff(&options)),
        Command::Upgrade(options) => commands::run(commands::upgrade(&options)),
        Command::Rollback(options) => commands::run(commands::rollback(&options)),
        Command::Outdated(options) => commands::run(commands::outdated(&options)),
        Command::Gc(options) => commands::run(commands::gc(&options)),
        Command::Pin(options) => commands::run(commands::pin(&options)),
        Command::Follow(options) => commands::run(commands::follow(&options)),
        Command::Verify(options) => commands::run(commands::verify(&options)),
        Command::Lock(options) => commands::run(commands::lock(&options)),
        Command::Check(options) => check::check(&options),
        Command::Explain(options) => check::explain(&options),
        Command::Completion(options) => completion::script(&options),
        Command::Complete(_) => Ok(()),
        Command::Cue(command) => cue::run(&command),
        Command::Compose(options) => compose::run(&options),
        Command::Render(options) => render::run(&options),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => exit::report(&error, format),
    }
}
