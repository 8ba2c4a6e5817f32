//! Logs on standard error.

use std::io::IsTerminal as _;

use tracing_subscriber::EnvFilter;

use crate::cli::LogFormat;

/// The prefix of a log line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stamps {
    /// The time, of a program that runs for long.
    Time,
    /// None: for a terminal.
    None,
}

/// Starts logging. `CAMBIUM_LOG` filters it, as `RUST_LOG` would (`debug`, `cambium_apiserver=trace`).
pub(crate) fn start(format: LogFormat, stamps: Stamps) {
    // What kube's client says of a failed request, whoever asked says better.
    let usual = || EnvFilter::new("info,kube_client=off");
    let filter = EnvFilter::try_from_env("CAMBIUM_LOG").unwrap_or_else(|_| usual());
    let builder = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr);
    match format {
        LogFormat::Json => builder.json().flatten_event(true).with_target(false).init(),
        LogFormat::Text => {
            let ansi = std::io::stderr().is_terminal() && !crate::output::colours_unwanted();
            let builder = builder.with_ansi(ansi).with_target(false);
            match stamps {
                Stamps::Time => builder.init(),
                Stamps::None => builder.without_time().init(),
            }
        }
    }
}
