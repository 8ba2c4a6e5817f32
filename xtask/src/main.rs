//! Tasks that need a program: `cargo xtask <task>`.

mod types;

use std::process::ExitCode;

#[expect(clippy::print_stderr, reason = "a task talks to the person who runs it")]
fn main() -> ExitCode {
    let task = std::env::args().nth(1);
    let result = match task.as_deref() {
        Some("types") => types::write(),
        _ => Err(anyhow::anyhow!(
            "usage: cargo xtask types    regenerates crates/builtin/src/generated"
        )),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
