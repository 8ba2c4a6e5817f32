//! The `cambium` program: argv, output, exit codes, wiring.

mod caret;
mod cli;
mod client;
mod cue;
mod exit;
mod log;
mod manager;
mod platform;
mod render;
mod table;
mod up;

use std::process::ExitCode;

use clap::Parser;

use crate::cli::{Cli, Command};

fn main() -> ExitCode {
    let cli = Cli::parse();
    log::start(cli.log_format);
    let result = match cli.command {
        Command::Up(options) => up::run(&options),
        Command::Manager(options) => manager::run(&options),
        Command::Cue(command) => cue::run(&command),
        Command::Render(options) => render::run(&options),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => exit::report(&error),
    }
}
