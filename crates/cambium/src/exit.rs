//! Exit codes. They are documented in `docs/cli.md`; a changed number is a breaking change.

use std::process::ExitCode;

use cambium_apiserver::store::OpenError;

use crate::client::Unreachable;
use crate::up::UpError;

/// Something nobody expected: please report it.
const UNEXPECTED: u8 = 1;
/// The command line is wrong.
const USAGE: u8 = 2;
/// Another process has the data directory.
const IN_USE: u8 = 3;
/// The data cannot be trusted or read.
const DATA: u8 = 4;
/// The address cannot be listened on.
const ADDRESS: u8 = 5;
/// A file of the user's stands in the way, or cannot be written.
const FILE: u8 = 6;

/// What the user wrote is wrong; the problems have been shown.
const INPUT: u8 = 7;

/// No cluster can be reached.
const CLUSTER: u8 = 8;

/// The user's input is wrong, and every problem of it has been written to standard error.
#[derive(Debug, thiserror::Error)]
#[error("{count} problem{} found", if *.count == 1 { "" } else { "s" })]
pub(crate) struct WrongInput {
    /// How many problems were shown.
    pub(crate) count: usize,
}

/// A file that the command line names cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("cannot read {path}")]
pub(crate) struct UnreadableFile {
    /// As it was given.
    pub(crate) path: String,
    #[source]
    pub(crate) source: std::io::Error,
}

/// Something that was asked for is not there.
const NOT_FOUND: u8 = 9;
/// What was compared is not the same.
const DIFFERS: u8 = 10;

/// The command was used in a way that cannot work; the text says how it can.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct WrongUse(pub(crate) String);

/// Something that was asked for is not there.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct NotFound(pub(crate) String);

/// So many things that should be the same are not.
#[derive(Debug, thiserror::Error)]
#[error("{count} difference{s} found", count = .0, s = if *.0 == 1 { "" } else { "s" })]
pub(crate) struct Differences(pub(crate) usize);

/// What the rules of definitions and applications do not allow.
#[derive(Debug, thiserror::Error)]
#[error("{}", .0.join("\n"))]
pub(crate) struct Refusals(Vec<String>);

impl From<Vec<cambium_oam::Refused>> for Refusals {
    fn from(refused: Vec<cambium_oam::Refused>) -> Self {
        Self(refused.into_iter().map(|one| one.message).collect())
    }
}

/// Says what went wrong, and gives the code for it.
pub(crate) fn report(error: &anyhow::Error) -> ExitCode {
    let code = if error.is::<WrongInput>() {
        INPUT
    } else if error.is::<UnreadableFile>() {
        FILE
    } else if error.is::<Unreachable>() || is_connection(error) {
        CLUSTER
    } else if error.is::<WrongUse>() {
        USAGE
    } else if error.is::<NotFound>() {
        NOT_FOUND
    } else if error.is::<Differences>() {
        DIFFERS
    } else if error.is::<Refusals>() {
        INPUT
    } else {
        error.downcast_ref::<UpError>().map_or(UNEXPECTED, code)
    };
    let causes: Vec<String> = error.chain().map(ToString::to_string).collect();
    tracing::error!(code, "{}", causes.join(": "));
    ExitCode::from(code)
}

/// Whether nobody answered.
fn is_connection(error: &anyhow::Error) -> bool {
    let failed = error.downcast_ref::<kube::Error>();
    matches!(failed, Some(kube::Error::HyperError(_) | kube::Error::Service(_)))
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
