//! The command line.

use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::path::PathBuf;

use cambium_api::v1beta1::DefinitionType;
use cambium_controllers::{Identities, LocalDefinitions, Otherwise};
use clap::{ArgGroup, Args, Parser, Subcommand, ValueEnum};

/// Version control for Kubernetes platform APIs.
#[derive(Debug, Parser)]
#[command(name = "cambium", version, about, propagate_version = true)]
pub(crate) struct Cli {
    /// How progress and errors are written to standard error.
    #[arg(
        long,
        global = true,
        value_enum,
        default_value_t = LogFormat::Text,
        value_name = "FORMAT",
        display_order = 1000
    )]
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
    /// Show the revisions of a definition, an application or a composition, and who uses each.
    History(History),
    /// Show what the references of an application get, and why.
    Resolve(Resolve),
    /// Show what changed between two versions of a definition, or two revisions of a composition.
    Diff(Diff),
    /// Move an application's components to other versions.
    Upgrade(Upgrade),
    /// Make an application what it was.
    Rollback(Rollback),
    /// Keep a composite resource at a revision of its composition.
    Pin(Pin),
    /// Let a composite resource take new revisions of its composition.
    Follow(Follow),
    /// Show every application and composite resource that could move to something newer.
    Outdated(Outdated),
    /// Show which revisions would be deleted, which stay, and why.
    Gc(Gc),
    /// Compare what is published in several clusters.
    Verify(Verify),
    /// Write into an Application what each of its references must resolve to.
    Lock(Lock),
    /// Print completions for a shell.
    Completions(Completions),
    /// Evaluate CUE, the language that definitions are written in.
    #[command(subcommand)]
    Cue(Cue),
    /// Compose without a cluster: what a composition makes of a composite resource.
    Compose(Compose),
    /// Render an Application without a cluster: its manifests to standard output.
    Render(Render),
}

/// `cambium manager`.
#[derive(Debug, Args)]
#[command(group(ArgGroup::new("webhooks").required(true).args(["webhook_service", "webhook_url", "no_webhooks", "print_rbac"])))]
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
    #[arg(long, value_name = "NAME")]
    pub(crate) webhook_service: Option<String>,
    /// The URL at which the API server reaches the webhooks, as in https://10.0.0.5:9443.
    #[arg(long, value_name = "URL")]
    pub(crate) webhook_url: Option<String>,
    /// Serve no webhooks: definitions have one API version, and wrong input is told in conditions alone.
    #[arg(long)]
    pub(crate) no_webhooks: bool,
    /// Print the ClusterRoles that the manager and people need, as YAML to apply, and do nothing else.
    #[arg(long)]
    pub(crate) print_rbac: bool,
    /// Answer only API servers whose certificates are signed by an authority in this PEM file; everybody may ask for /healthz.
    #[arg(long, value_name = "FILE", conflicts_with = "no_webhooks")]
    pub(crate) webhook_client_ca: Option<PathBuf>,
    /// Do not stand for election: there is no other replica.
    #[arg(long)]
    pub(crate) no_leader_election: bool,
    /// The name to stand for election with [default: the host's name and the process number]
    #[arg(long, value_name = "NAME")]
    pub(crate) identity: Option<String>,
    #[command(flatten)]
    pub(crate) work: Work,
}

/// Whose rights objects of Applications are applied with.
#[derive(Debug, Clone, Args)]
pub(crate) struct ApplicationIdentities {
    /// Applications that name no ServiceAccount and have no recorded author are applied as this ServiceAccount of their namespace.
    #[arg(long, value_name = "NAME", conflicts_with = "application_identity")]
    pub(crate) default_service_account: Option<String>,
    /// Let Applications use shared definitions alone, and not those of their own namespace.
    #[arg(long)]
    pub(crate) no_local_definitions: bool,
    /// Who applies such Applications: nobody (author), or the manager with its own rights (manager).
    #[arg(long, value_enum, value_name = "WHO", default_value_t = ApplicationIdentity::Author)]
    pub(crate) application_identity: ApplicationIdentity,
}

/// Who applies an Application that names no ServiceAccount and has no recorded author.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ApplicationIdentity {
    /// Its author, and nobody if there is none.
    Author,
    /// The manager, with its own rights.
    Manager,
}

impl ApplicationIdentities {
    /// Which definitions Applications use.
    pub(crate) fn local_definitions(&self) -> LocalDefinitions {
        match self.no_local_definitions {
            true => LocalDefinitions::Ignored,
            false => LocalDefinitions::Used,
        }
    }

    /// As the controllers take it. Whether authors are believed depends on the webhooks.
    pub(crate) fn identities(&self) -> Identities {
        let otherwise = match (&self.default_service_account, self.application_identity) {
            (Some(name), _) => Otherwise::ServiceAccount(name.clone()),
            (None, ApplicationIdentity::Manager) => Otherwise::Manager,
            (None, ApplicationIdentity::Author) => Otherwise::Nobody,
        };
        Identities {
            otherwise,
            ..Identities::default()
        }
    }
}

/// How the controllers work.
#[derive(Debug, Clone, Args)]
pub(crate) struct Work {
    /// How many revisions of a definition are kept besides the current one and those in use.
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub(crate) definition_revision_limit: usize,
    /// How many revisions of an application are kept besides the current one.
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub(crate) application_revision_limit: usize,
    /// How many revisions of a composition are kept besides the current one and those in use.
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub(crate) composition_revision_limit: usize,
    /// How many applications, and how many composite resources, are worked on at the same time.
    #[arg(long, value_name = "N", default_value_t = 8, alias = "workers")]
    pub(crate) max_concurrent_reconciles: usize,
    /// How many composite resources of a kind follow what is published, in a second [default: as many as can]
    #[arg(long, value_name = "N")]
    pub(crate) automatic_moves_per_second: Option<NonZeroU32>,
    /// Where a composition function is, as in function-x=10.0.0.7:9443; may be given several times. Without it, its Function says.
    #[arg(long = "function", value_name = "NAME=ADDRESS", value_parser = function)]
    pub(crate) functions: Vec<(String, String)>,
    /// Call functions without TLS, wherever they are. Without it, only on loopback.
    #[arg(long)]
    pub(crate) allow_plain_functions: bool,
    /// How long a function may take, in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 20)]
    pub(crate) function_deadline: u64,
    #[command(flatten)]
    pub(crate) identities: ApplicationIdentities,
    #[command(flatten)]
    pub(crate) features: Features,
}

/// What can be turned on and off.
#[derive(Debug, Clone, Args)]
pub(crate) struct Features {
    /// NAME=true or NAME=false, several with commas: CompositionRevisions (on unless said: composite resources use revisions, and not
    /// compositions as they are), CompositionLabelRevisions (off unless said: edits of labels make revisions, too).
    #[arg(long = "feature-gates", value_name = "NAME=BOOL", value_delimiter = ',', value_parser = gate)]
    pub(crate) gates: Vec<(Gate, bool)>,
}

/// A feature that can be turned on and off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Gate {
    /// Composite resources use revisions.
    CompositionRevisions,
    /// Edits of labels make revisions.
    CompositionLabelRevisions,
}

impl Features {
    /// Whether a feature is on; the last word counts.
    pub(crate) fn is_on(&self, gate: Gate, unless_said: bool) -> bool {
        let said = self.gates.iter().rev().find(|(named, _)| *named == gate);
        said.map_or(unless_said, |(_, on)| *on)
    }
}

fn function(text: &str) -> Result<(String, String), String> {
    let (name, address) = text.split_once('=').ok_or("expected NAME=ADDRESS")?;
    match name.is_empty() || address.is_empty() {
        true => Err("expected NAME=ADDRESS".to_owned()),
        false => Ok((name.to_owned(), address.to_owned())),
    }
}

fn gate(text: &str) -> Result<(Gate, bool), String> {
    let (name, on) = text.split_once('=').ok_or("expected NAME=true or NAME=false")?;
    let gate = match name {
        "CompositionRevisions" => Gate::CompositionRevisions,
        "CompositionLabelRevisions" => Gate::CompositionLabelRevisions,
        _ => {
            return Err(format!(
                "there is no feature {name:?}; there are CompositionRevisions and CompositionLabelRevisions"
            ));
        }
    };
    on.parse()
        .map(|on| (gate, on))
        .map_err(|_| format!("{on:?} is neither true nor false"))
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

/// What is asked, and how the answer is printed.
#[derive(Debug, Clone, Args)]
pub(crate) struct Asking {
    #[command(flatten)]
    pub(crate) cluster: Cluster,
    /// The namespace [default: that of the context]
    #[arg(short = 'n', long, value_name = "NAME")]
    pub(crate) namespace: Option<String>,
    /// Print for a program.
    #[arg(short, long, value_enum, value_name = "FORMAT")]
    pub(crate) output: Option<Format>,
}

impl Asking {
    /// How the answer is printed for a program; none for a person.
    pub(crate) fn format(&self) -> Option<Format> {
        self.output
    }
}

/// `cambium history`.
#[derive(Debug, Args)]
pub(crate) struct History {
    /// What, as in compdef/web, compdef web, or web alone if nothing else has that name.
    #[arg(value_name = "KIND/NAME")]
    pub(crate) subject: String,
    /// The name, if KIND and NAME are two words.
    #[arg(value_name = "NAME")]
    pub(crate) name: Option<String>,
    #[command(flatten)]
    pub(crate) asking: Asking,
}

/// `cambium resolve`.
#[derive(Debug, Args)]
pub(crate) struct Resolve {
    /// The Application in the cluster.
    #[arg(
        value_name = "APPLICATION",
        required_unless_present = "file",
        conflicts_with = "file"
    )]
    pub(crate) application: Option<String>,
    /// An Application that need not be in the cluster; `-` reads standard input.
    #[arg(short = 'f', long = "filename", value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    /// Say of every revision why it was chosen or passed over.
    #[arg(long)]
    pub(crate) explain: bool,
    #[command(flatten)]
    pub(crate) asking: Asking,
}

/// `cambium diff`.
#[derive(Debug, Args)]
pub(crate) struct Diff {
    /// A version, as in web@1.2.3.
    pub(crate) from: String,
    /// Another one.
    pub(crate) to: String,
    /// The kind of definition, if several have the name.
    #[arg(long, value_enum)]
    pub(crate) kind: Option<DefinitionKind>,
    #[command(flatten)]
    pub(crate) asking: Asking,
}

/// Kinds of definitions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum DefinitionKind {
    /// ComponentDefinition.
    Component,
    /// TraitDefinition.
    Trait,
    /// PolicyDefinition.
    Policy,
    /// WorkflowStepDefinition.
    WorkflowStep,
}

impl DefinitionKind {
    pub(crate) fn type_(self) -> DefinitionType {
        match self {
            Self::Component => DefinitionType::Component,
            Self::Trait => DefinitionType::Trait,
            Self::Policy => DefinitionType::Policy,
            Self::WorkflowStep => DefinitionType::WorkflowStep,
        }
    }
}

/// `cambium upgrade`.
#[derive(Debug, Args)]
pub(crate) struct Upgrade {
    /// The Application.
    pub(crate) application: String,
    /// Which components, to which versions, as in web=1.2.5; all references to the highest release without them.
    #[arg(value_name = "COMPONENT=VERSION")]
    pub(crate) wishes: Vec<String>,
    /// Show the plan, ask the server whether it would accept it, and change nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) asking: Asking,
}

/// `cambium rollback`.
#[derive(Debug, Args)]
pub(crate) struct Rollback {
    /// The Application.
    pub(crate) application: String,
    /// To which of its revisions, by name or number [default: the newest before the current one]
    #[arg(long, value_name = "REVISION")]
    pub(crate) to: Option<String>,
    /// Show the plan, ask the server whether it would accept it, and change nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) asking: Asking,
}

/// `cambium pin`.
#[derive(Debug, Args)]
pub(crate) struct Pin {
    /// The composite resource or its claim, as in xdatabase/orders, xdatabase orders, or orders alone if nothing else has that name.
    #[arg(value_name = "KIND/NAME")]
    pub(crate) subject: String,
    /// The name, if KIND and NAME are two words.
    #[arg(value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// To which revision, by name or number [default: the one that it uses]
    #[arg(long, value_name = "REVISION")]
    pub(crate) to: Option<String>,
    /// Ask the server whether it would accept it, and change nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) asking: Asking,
}

/// `cambium follow`.
#[derive(Debug, Args)]
pub(crate) struct Follow {
    /// The composite resource or its claim, as in xdatabase/orders, xdatabase orders, or orders alone if nothing else has that name.
    #[arg(value_name = "KIND/NAME")]
    pub(crate) subject: String,
    /// The name, if KIND and NAME are two words.
    #[arg(value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// Ask the server whether it would accept it, and change nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) asking: Asking,
}

/// `cambium compose`.
#[derive(Debug, Args)]
pub(crate) struct Compose {
    /// The composite resource; `-` reads standard input.
    #[arg(short = 'f', long = "filename", value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// The Composition.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) composition: PathBuf,
    /// What defines the composite resource.
    #[arg(short = 'x', long, value_name = "FILE")]
    pub(crate) definition: Option<PathBuf>,
    /// What it is composed of already, with the annotation crossplane.io/composition-resource-name.
    #[arg(long, value_name = "FILE")]
    pub(crate) observed: Option<PathBuf>,
    /// How to print the result.
    #[arg(short, long, value_enum, default_value_t = Format::Yaml)]
    pub(crate) output: Format,
}

/// `cambium outdated`.
#[derive(Debug, Args)]
pub(crate) struct Outdated {
    /// In all namespaces.
    #[arg(short = 'A', long)]
    pub(crate) all_namespaces: bool,
    #[command(flatten)]
    pub(crate) asking: Asking,
}

/// `cambium gc`.
#[derive(Debug, Args)]
pub(crate) struct Gc {
    /// Only show; the manager does the rest.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// What the manager was told.
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub(crate) definition_revision_limit: usize,
    /// What the manager was told.
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub(crate) application_revision_limit: usize,
    /// What the manager was told.
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub(crate) composition_revision_limit: usize,
    #[command(flatten)]
    pub(crate) features: Features,
    #[command(flatten)]
    pub(crate) cluster: Cluster,
    /// Only what is in this namespace [default: all]
    #[arg(short = 'n', long, value_name = "NAME")]
    pub(crate) namespace: Option<String>,
    /// Print for a program.
    #[arg(short, long, value_enum, value_name = "FORMAT")]
    pub(crate) output: Option<Format>,
}

/// `cambium verify`.
#[derive(Debug, Args)]
pub(crate) struct Verify {
    /// The clusters, by their contexts; give two or more.
    #[arg(long = "context", value_name = "NAME", required = true)]
    pub(crate) contexts: Vec<String>,
    /// The kubeconfig [default: $KUBECONFIG or ~/.kube/config]
    #[arg(long, value_name = "FILE")]
    pub(crate) kubeconfig: Option<PathBuf>,
    /// Only what is published in this namespace [default: all]
    #[arg(short = 'n', long, value_name = "NAME")]
    pub(crate) namespace: Option<String>,
    /// Show what is the same, too.
    #[arg(long)]
    pub(crate) all: bool,
    /// A version that some cluster does not have is listed, and is no difference.
    #[arg(long)]
    pub(crate) allow_missing: bool,
    /// Print for a program.
    #[arg(short, long, value_enum, value_name = "FORMAT")]
    pub(crate) output: Option<Format>,
}

/// `cambium lock`.
#[derive(Debug, Args)]
pub(crate) struct Lock {
    /// The file with the Application; `-` reads standard input and prints the result.
    pub(crate) file: PathBuf,
    /// Print the result instead of writing the file.
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) cluster: Cluster,
    /// The namespace, if the file does not say [default: that of the context]
    #[arg(short = 'n', long, value_name = "NAME")]
    pub(crate) namespace: Option<String>,
}

/// `cambium completions`.
#[derive(Debug, Args)]
pub(crate) struct Completions {
    /// Which shell.
    pub(crate) shell: clap_complete::Shell,
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
    /// Start the API server alone: none of our kinds, controllers and webhooks.
    #[arg(long, conflicts_with = "demo")]
    pub(crate) bare: bool,
    #[command(flatten)]
    pub(crate) work: Work,
}
