//! Exit codes. They are documented in `docs/reference/exit-codes.md`; a changed number is a breaking change.

use std::process::ExitCode;

use cambium_api::names::reason;
use cambium_apiserver::store::OpenError;
use cambium_definitions::Refused;
use cambium_reports::Unanswered;

use crate::cli::LogFormat;
use crate::client::Unreachable;
use crate::output;
use crate::up::UpError;

/// An unexpected error: a bug to report.
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

/// Invalid input, or an object that the cluster refused; the problems have been printed.
const INPUT: u8 = 7;

/// The cluster cannot be reached, or refuses the credentials.
const CLUSTER: u8 = 8;

/// The user's input is wrong, and every problem of it has been written to standard error.
#[derive(Debug, thiserror::Error)]
#[error("{count} problem{} found", if *.count == 1 { "" } else { "s" })]
pub(crate) struct WrongInput {
    /// The number of problems that were printed.
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
/// A comparison found differences.
const DIFFERS: u8 = 10;

/// A change breaks somebody.
const BREAKING: u8 = 11;

/// The number of breaking changes that a check found.
#[derive(Debug, thiserror::Error)]
#[error("{count} breaking change{s} found", count = .0, s = if *.0 == 1 { "" } else { "s" })]
pub(crate) struct Breaking(pub(crate) usize);

/// The command was used in a way that cannot work; the text says how it can.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct WrongUse(pub(crate) String);

/// Something that was asked for is not there.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct NotFound(pub(crate) String);

/// The number of differences that a comparison found.
#[derive(Debug, thiserror::Error)]
#[error("{count} difference{s} found", count = .0, s = if *.0 == 1 { "" } else { "s" })]
pub(crate) struct Differences(pub(crate) usize);

/// Refusals by the rules of definitions and applications.
#[derive(Debug, thiserror::Error)]
#[error("{}", messages(.0))]
pub(crate) struct Refusals(Vec<Refused>);

impl From<Vec<Refused>> for Refusals {
    fn from(refused: Vec<Refused>) -> Self {
        Self(refused)
    }
}

/// Something that is not there is told apart from what is not allowed.
fn code_of_refusals(refused: &[Refused]) -> u8 {
    let absent = [reason::DEFINITION_NOT_FOUND, reason::VERSION_NOT_FOUND];
    match refused.iter().all(|one| absent.contains(&one.reason)) {
        true => NOT_FOUND,
        false => INPUT,
    }
}

/// The exit code for a report that cannot be made.
fn code_of_unanswered(unanswered: &Unanswered) -> u8 {
    match unanswered {
        Unanswered::NotFound(_) => NOT_FOUND,
        Unanswered::Unclear(_) => USAGE,
        Unanswered::Forbidden(_) => CLUSTER,
        Unanswered::Refused(refused) => code_of_refusals(refused),
    }
}

fn messages(refused: &[Refused]) -> String {
    let messages: Vec<&str> = refused.iter().map(|one| one.message.as_str()).collect();
    messages.join("\n")
}

/// Says what went wrong, and gives the code for it.
pub(crate) fn report(error: &anyhow::Error, format: LogFormat) -> ExitCode {
    let code = if error.is::<WrongInput>() {
        INPUT
    } else if error.is::<UnreadableFile>() {
        FILE
    } else if error.is::<Unreachable>() {
        CLUSTER
    } else if error.is::<WrongUse>() {
        USAGE
    } else if error.is::<NotFound>() {
        NOT_FOUND
    } else if error.is::<Differences>() {
        DIFFERS
    } else if error.is::<Breaking>() {
        BREAKING
    } else if let Some(unanswered) = error.downcast_ref::<Unanswered>() {
        code_of_unanswered(unanswered)
    } else if let Some(refusals) = error.downcast_ref::<Refusals>() {
        code_of_refusals(&refusals.0)
    } else if let Some(answer) = error.downcast_ref::<kube::Error>() {
        code_of_answer(answer)
    } else {
        error.downcast_ref::<UpError>().map_or(UNEXPECTED, code)
    };
    let said = said(error);
    match format {
        LogFormat::Text => output::note(&format!("error: {said}")),
        LogFormat::Json => tracing::error!(code, "{said}"),
    }
    ExitCode::from(code)
}

/// The error and its causes, in one line.
pub(crate) fn said(error: &anyhow::Error) -> String {
    // What a cluster answered says everything that is under it, too.
    let answered = |error: &&(dyn std::error::Error + 'static)| {
        matches!(error.downcast_ref(), Some(kube::Error::Api(_)))
    };
    let upto = error
        .chain()
        .position(|cause| answered(&cause))
        .unwrap_or(usize::MAX - 1);
    let mut said = String::new();
    for cause in error.chain().take(upto + 1).map(cause) {
        // Errors of ours may have what is under them in their own text.
        if said.is_empty() {
            said = cause;
        } else if !said.contains(&cause) {
            said = format!("{said}: {cause}");
        }
    }
    said
}

/// The exit code for the response of a cluster, or for no response.
fn code_of_answer(error: &kube::Error) -> u8 {
    match error {
        kube::Error::HyperError(_) | kube::Error::Service(_) => CLUSTER,
        kube::Error::Api(status) => match status.code {
            401 | 403 => CLUSTER,
            400..500 => INPUT,
            _ => UNEXPECTED,
        },
        _ => UNEXPECTED,
    }
}

/// One cause as a person reads it: of an answer of the cluster, what it says.
fn cause(error: &(dyn std::error::Error + 'static)) -> String {
    match error.downcast_ref::<kube::Error>() {
        Some(kube::Error::Api(status)) => status.message.clone(),
        Some(kube::Error::HyperError(_) | kube::Error::Service(_)) => "connection failed".to_owned(),
        _ => error.to_string(),
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_operating_system_said_is_told_once() {
        let in_use = || std::io::Error::from(std::io::ErrorKind::AddrInUse);
        let listen = UpError::Listen {
            address: ([127, 0, 0, 1], 6443).into(),
            source: in_use(),
        };
        let directory = UpError::Directory {
            path: "/data".into(),
            source: in_use(),
        };
        for error in [listen, directory] {
            let told = said(&anyhow::Error::from(error));
            assert_eq!(told.matches(&in_use().to_string()).count(), 1, "{told}");
        }
        let told = said(&anyhow::Error::from(in_use()).context("failed to start"));
        assert_eq!(told, format!("failed to start: {}", in_use()));
    }
}
