//! Options of `cambium up` and `cambium manager`.

use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::path::PathBuf;

use cambium_controllers::{Identities, LocalDefinitions, Otherwise};
use clap::{ArgGroup, Args, ValueEnum};

use super::{Cluster, examples};

/// `cambium up`.
#[derive(Debug, Args)]
#[command(after_help = examples::UP)]
pub(crate) struct Up {
    /// The directory where data is kept across restarts [default: $XDG_DATA_HOME/cambium or ~/.local/share/cambium]
    #[arg(long, value_name = "DIR", conflicts_with = "ephemeral")]
    pub(crate) data_dir: Option<PathBuf>,
    /// Keep all data in memory.
    #[arg(long)]
    pub(crate) ephemeral: bool,
    /// The address to listen on [default: 127.0.0.1:6443, or a free port if that is taken]
    #[arg(long, value_name = "ADDR")]
    pub(crate) listen: Option<SocketAddr>,
    /// Where to write the kubeconfig [default: kubeconfig in the data directory]
    #[arg(long, value_name = "FILE")]
    pub(crate) kubeconfig: Option<PathBuf>,
    /// Run this many more, independent clusters (contexts member-1, member-2, …).
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u16).range(0..=64))]
    pub(crate) clusters: u16,
    /// Apply the examples and show what happens.
    #[arg(long)]
    pub(crate) demo: bool,
    /// Run the API server alone, without our CRDs, controllers and webhooks.
    #[arg(long, conflicts_with = "demo")]
    pub(crate) bare: bool,
    #[command(flatten)]
    pub(crate) work: Work,
}

/// `cambium manager`.
#[derive(Debug, Args)]
#[command(after_help = examples::MANAGER)]
#[command(group(ArgGroup::new("webhooks").required(true).args(["webhook_service", "webhook_url", "no_webhooks", "print_rbac"])))]
pub(crate) struct Manager {
    /// The kubeconfig, and the context in it.
    #[command(flatten)]
    pub(crate) cluster: Cluster,
    /// The namespace of the manager's own objects: certificates, the leader election Lease, shared definitions.
    #[arg(long, value_name = "NAME", default_value = "vela-system")]
    pub(crate) namespace: String,
    /// The address to serve webhooks on.
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
    /// Serve no webhooks: definitions have one API version, and invalid input is reported in conditions only.
    #[arg(long)]
    pub(crate) no_webhooks: bool,
    /// Print the ClusterRoles of the manager and of users as YAML, and exit.
    #[arg(long)]
    pub(crate) print_rbac: bool,
    /// Require webhook clients to present a certificate signed by a CA in this PEM file; /healthz stays open.
    #[arg(long, value_name = "FILE", conflicts_with = "no_webhooks")]
    pub(crate) webhook_client_ca: Option<PathBuf>,
    /// Disable leader election: there is no other replica.
    #[arg(long)]
    pub(crate) no_leader_election: bool,
    /// The holder identity in the leader election Lease [default: host name and process ID]
    #[arg(long, value_name = "NAME")]
    pub(crate) identity: Option<String>,
    #[command(flatten)]
    pub(crate) work: Work,
}

/// The options for the identities that objects of Applications are applied as.
#[derive(Debug, Clone, Args)]
pub(crate) struct ApplicationIdentities {
    /// The ServiceAccount, in the Application's namespace, that applies Applications without a ServiceAccount and without a recorded author.
    #[arg(long, value_name = "NAME", conflicts_with = "application_identity")]
    pub(crate) default_service_account: Option<String>,
    /// Ignore definitions in the namespaces of Applications; only shared definitions are used.
    #[arg(long)]
    pub(crate) no_local_definitions: bool,
    /// Who applies Applications without a ServiceAccount and author: nobody (author), or the manager with its own permissions (manager).
    #[arg(long, value_enum, value_name = "WHO", default_value_t = ApplicationIdentity::Author)]
    pub(crate) application_identity: ApplicationIdentity,
}

/// The identity of an Application that names no ServiceAccount and has no recorded author.
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

/// The options of the controllers.
#[derive(Debug, Clone, Args)]
pub(crate) struct Work {
    /// The address to serve /metrics, /healthz and /readyz on, without TLS, as in 127.0.0.1:8080 [default: none].
    #[arg(long, value_name = "ADDR")]
    pub(crate) metrics_bind_address: Option<SocketAddr>,
    /// Revisions of a definition to keep besides the current one and those in use.
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub(crate) definition_revision_limit: usize,
    /// Revisions of an application to keep besides the current one.
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub(crate) application_revision_limit: usize,
    /// Revisions of a composition to keep besides the current one and those in use.
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub(crate) composition_revision_limit: usize,
    /// Applications, and composite resources, to reconcile at the same time.
    #[arg(long, value_name = "N", default_value_t = 8, alias = "workers")]
    pub(crate) max_concurrent_reconciles: usize,
    /// Composite resources of a kind to move to a new revision per second [default: unlimited]
    #[arg(long, value_name = "N")]
    pub(crate) automatic_moves_per_second: Option<NonZeroU32>,
    /// The address of a composition function, as in function-x=10.0.0.7:9443; may be repeated [default: from its Function object]
    #[arg(long = "function", value_name = "NAME=ADDRESS", value_parser = function)]
    pub(crate) functions: Vec<(String, String)>,
    /// Call functions without TLS on any address [default: only on loopback]
    #[arg(long)]
    pub(crate) allow_plain_functions: bool,
    /// The timeout of a function call, in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 20)]
    pub(crate) function_deadline: u64,
    #[command(flatten)]
    pub(crate) identities: ApplicationIdentities,
    #[command(flatten)]
    pub(crate) features: Features,
}

/// The feature gates.
#[derive(Debug, Clone, Args)]
pub(crate) struct Features {
    /// NAME=true or NAME=false, separated by commas: CompositionRevisions (default true: composite resources use revisions),
    /// CompositionLabelRevisions (default false: label edits make revisions).
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
                "unknown feature gate {name:?}; feature gates are CompositionRevisions and CompositionLabelRevisions"
            ));
        }
    };
    on.parse()
        .map(|on| (gate, on))
        .map_err(|_| format!("{on:?} must be true or false"))
}
