//! Writes to standard output.

use anyhow::Result;
use std::io::Write as _;

/// Writes text to standard output. Whoever stops reading (`| head`) has read enough: that is no failure, and the rest of the command
/// is carried out.
pub(crate) fn write(text: &str) -> Result<()> {
    let mut output = std::io::stdout();
    match output.write_all(text.as_bytes()).and_then(|()| output.flush()) {
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        other => Ok(other?),
    }
}

/// Says something beside the answer, on standard error.
pub(crate) fn note(text: &str) {
    // Nobody can be told that nobody listens.
    let _ = writeln!(std::io::stderr(), "{text}");
}

/// Whether standard output is read by a person who wants colours.
pub(crate) fn in_colour() -> bool {
    std::io::IsTerminal::is_terminal(&std::io::stdout()) && !colours_unwanted()
}

/// Whether the environment says `NO_COLOR`; an empty value says nothing.
pub(crate) fn colours_unwanted() -> bool {
    std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty())
}
