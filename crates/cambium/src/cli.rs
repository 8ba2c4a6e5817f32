//! The command line.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

/// Version control for Kubernetes platform APIs.
#[derive(Debug, Parser)]
#[command(name = "cambium", version, about, propagate_version = true)]
pub(crate) struct Cli {
    /// How progress and errors are written to standard error.
    #[arg(long, global = true, value_enum, default_value_t = LogFormat::Text)]
    pub(crate) log_format: LogFormat,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// How progress and errors are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    /// For a person.
    Text,
    /// One JSON object a line, for a program.
    Json,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run everything on this machine: an embedded Kubernetes API server, no cluster needed.
    Up(Up),
    /// Evaluate CUE, the language that definitions are written in.
    #[command(subcommand)]
    Cue(Cue),
    /// Render an Application without a cluster: its manifests to standard output.
    Render(Render),
}

/// `cambium render`.
#[derive(Debug, Args)]
pub(crate) struct Render {
    /// The Application; `-` reads standard input.
    #[arg(short = 'f', long = "filename", value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// A ComponentDefinition or TraitDefinition, or a directory of them; may be given several times.
    #[arg(short, long, value_name = "PATH", required = true)]
    pub(crate) definitions: Vec<PathBuf>,
    /// The version of Kubernetes to render for.
    #[arg(long, value_name = "VERSION", default_value = "1.36")]
    pub(crate) cluster_version: String,
    /// How to print them.
    #[arg(short, long, value_enum, default_value_t = Format::Yaml)]
    pub(crate) output: Format,
}

/// `cambium cue`.
#[derive(Debug, Subcommand)]
pub(crate) enum Cue {
    /// Print the value of a CUE file.
    Eval(CueEval),
    /// Print the OpenAPI v3 schema of a definition's `parameter`.
    Schema(CueSchema),
}

/// `cambium cue eval`.
#[derive(Debug, Args)]
pub(crate) struct CueEval {
    /// The file; `-` reads standard input.
    pub(crate) file: PathBuf,
    /// Print the value of this expression instead of the whole file, for example `output.spec`.
    #[arg(short, long, value_name = "EXPR")]
    pub(crate) expression: Option<String>,
    /// How to print it.
    #[arg(short, long, value_enum, default_value_t = Format::Json)]
    pub(crate) output: Format,
}

/// `cambium cue schema`.
#[derive(Debug, Args)]
pub(crate) struct CueSchema {
    /// The file: CUE with a `parameter` field; `-` reads standard input.
    pub(crate) file: PathBuf,
    /// How to print it.
    #[arg(short, long, value_enum, default_value_t = Format::Json)]
    pub(crate) output: Format,
}

/// How a value is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// JSON.
    Json,
    /// YAML.
    Yaml,
}

/// `cambium up`.
#[derive(Debug, Args)]
pub(crate) struct Up {
    /// Where data is kept across restarts [default: $XDG_DATA_HOME/cambium or ~/.local/share/cambium]
    #[arg(long, value_name = "DIR", conflicts_with = "ephemeral")]
    pub(crate) data_dir: Option<PathBuf>,
    /// Keep everything in memory, and forget it at the end.
    #[arg(long)]
    pub(crate) ephemeral: bool,
    /// Where to listen [default: 127.0.0.1:6443, or a free port if that is taken]
    #[arg(long, value_name = "ADDR")]
    pub(crate) listen: Option<SocketAddr>,
    /// Where to write the kubeconfig [default: kubeconfig in the data directory]
    #[arg(long, value_name = "FILE")]
    pub(crate) kubeconfig: Option<PathBuf>,
    /// Start this many further, independent clusters (contexts member-1, member-2, …).
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u16).range(0..=64))]
    pub(crate) clusters: u16,
    /// Install an example and show it.
    #[arg(long)]
    pub(crate) demo: bool,
}
