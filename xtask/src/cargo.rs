//! Calls cargo from a program that cargo has started.

use std::process::Command;

/// Environment variables that `cargo run` sets. Build scripts depend on some of them, which would cause rebuilds.
const TOLD: [&str; 4] = [
    "CARGO_MANIFEST_DIR",
    "CARGO_MANIFEST_PATH",
    "CARGO_BIN_NAME",
    "CARGO_CRATE_NAME",
];

/// Cargo with the environment of a shell.
pub(crate) fn cargo() -> Command {
    let mut command = Command::new(env!("CARGO"));
    for (name, _) in std::env::vars_os() {
        let told = name.to_string_lossy();
        if told.starts_with("CARGO_PKG_") || TOLD.contains(&told.as_ref()) {
            command.env_remove(&name);
        }
    }
    command
}
