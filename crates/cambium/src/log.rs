//! Progress and errors, on standard error.

use std::io::IsTerminal as _;

use tracing_subscriber::EnvFilter;

use crate::cli::LogFormat;

/// Starts logging. `CAMBIUM_LOG` filters it, as `RUST_LOG` would (`debug`, `cambium_apiserver=trace`).
pub(crate) fn start(format: LogFormat) {
    // What kube's client says of a failed request, whoever asked says better.
    let usual = || EnvFilter::new("info,kube_client=off");
    let filter = EnvFilter::try_from_env("CAMBIUM_LOG").unwrap_or_else(|_| usual());
    let builder = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr);
    match format {
        LogFormat::Json => builder.json().flatten_event(true).with_target(false).init(),
        LogFormat::Text => builder
            .without_time()
            .with_ansi(std::io::stderr().is_terminal() && !crate::output::colours_unwanted())
            .with_target(false)
            .init(),
    }
}
