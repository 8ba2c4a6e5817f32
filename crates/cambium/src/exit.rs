//! Exit codes. They are documented in `docs/cli.md`; a changed number is a breaking change.

use std::process::ExitCode;

use cambium_apiserver::store::OpenError;

use crate::up::UpError;

/// Something nobody expected: please report it.
const UNEXPECTED: u8 = 1;
/// Another process has the data directory.
const IN_USE: u8 = 3;
/// The data cannot be trusted or read.
const DATA: u8 = 4;
/// The address cannot be listened on.
const ADDRESS: u8 = 5;
/// A file of the user's stands in the way, or cannot be written.
const FILE: u8 = 6;

/// Says what went wrong, and gives the code for it.
pub(crate) fn report(error: &anyhow::Error) -> ExitCode {
    let code = error.downcast_ref::<UpError>().map_or(UNEXPECTED, code);
    let causes: Vec<String> = error.chain().map(ToString::to_string).collect();
    tracing::error!(code, "{}", causes.join(": "));
    ExitCode::from(code)
}

fn code(error: &UpError) -> u8 {
    match error {
        UpError::Store {
            source: OpenError::InUse,
            ..
        } => IN_USE,
        UpError::Store { .. } => DATA,
        UpError::Listen { .. } => ADDRESS,
        UpError::Directory { .. } | UpError::ForeignKubeconfig { .. } | UpError::NoHome => FILE,
    }
}
