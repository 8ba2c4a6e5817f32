//! Cargo, called by a program that cargo itself has started.

use std::process::Command;

/// What `cargo run` tells the program that it starts. Build scripts look at some of it, and compile again what others have compiled.
const TOLD: [&str; 4] = [
    "CARGO_MANIFEST_DIR",
    "CARGO_MANIFEST_PATH",
    "CARGO_BIN_NAME",
    "CARGO_CRATE_NAME",
];

/// Cargo, as somebody calls it in a shell.
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
