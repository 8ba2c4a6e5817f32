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
    /// Run the controllers and webhooks against a Kubernetes that is there already.
    Manager(Manager),
    /// Evaluate CUE, the language that definitions are written in.
    #[command(subcommand)]
    Cue(Cue),
    /// Render an Application without a cluster: its manifests to standard output.
    Render(Render),
}

/// `cambium manager`.
#[derive(Debug, Args)]
pub(crate) struct Manager {
    /// The kubeconfig, and the context in it.
    #[command(flatten)]
    pub(crate) cluster: Cluster,
    /// Where the system's own objects are: certificates, the lease, shared definitions.
    #[arg(long, value_name = "NAME", default_value = "vela-system")]
    pub(crate) namespace: String,
    /// Where to serve webhooks.
    #[arg(
        long,
        value_name = "ADDR",
        default_value = "0.0.0.0:9443",
        conflicts_with = "no_webhooks"
    )]
    pub(crate) webhook_listen: SocketAddr,
    /// The Service through which the API server reaches the webhooks.
    #[arg(long, value_name = "NAME", conflicts_with_all = ["webhook_url", "no_webhooks"], required_unless_present_any = ["webhook_url", "no_webhooks"])]
    pub(crate) webhook_service: Option<String>,
    /// The URL at which the API server reaches the webhooks, as in https://10.0.0.5:9443.
    #[arg(long, value_name = "URL", conflicts_with = "no_webhooks")]
    pub(crate) webhook_url: Option<String>,
    /// Serve no webhooks: definitions have one API version, and wrong input is told in conditions alone.
    #[arg(long)]
    pub(crate) no_webhooks: bool,
    /// Do not stand for election: there is no other replica.
    #[arg(long)]
    pub(crate) no_leader_election: bool,
    /// The name to stand for election with [default: the host's name and the process number]
    #[arg(long, value_name = "NAME")]
    pub(crate) identity: Option<String>,
    /// How many revisions of a definition are kept besides the current one and those in use.
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub(crate) definition_revision_limit: usize,
    /// How many revisions of an application are kept besides the current one.
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub(crate) application_revision_limit: usize,
    /// How many applications are worked on at the same time.
    #[arg(long, value_name = "N", default_value_t = 8)]
    pub(crate) workers: usize,
}

/// Which cluster.
#[derive(Debug, Clone, Args)]
pub(crate) struct Cluster {
    /// The kubeconfig [default: $KUBECONFIG, ~/.kube/config, or the cluster that this runs in]
    #[arg(long, value_name = "FILE")]
    pub(crate) kubeconfig: Option<PathBuf>,
    /// The context in it [default: the current one]
    #[arg(long, value_name = "NAME")]
    pub(crate) context: Option<String>,
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
