//! Options of the commands that read a cluster, and of those that change an object in it.

use std::path::PathBuf;

use cambium_api::v1beta1::DefinitionType;
use cambium_reports::Kind;
use clap::{Args, ValueEnum};

use super::{Features, Format, GLOBAL, examples};

/// Which cluster.
#[derive(Debug, Clone, Args)]
pub(crate) struct Cluster {
    /// The kubeconfig [default: $KUBECONFIG, ~/.kube/config, or the in-cluster configuration]
    #[arg(long, value_name = "FILE", help_heading = GLOBAL, display_order = 900)]
    pub(crate) kubeconfig: Option<PathBuf>,
    /// The context in the kubeconfig [default: the current one]
    #[arg(long, value_name = "NAME", help_heading = GLOBAL, display_order = 901)]
    pub(crate) context: Option<String>,
}

/// What is asked, and how the answer is printed.
#[derive(Debug, Clone, Args)]
pub(crate) struct Asking {
    #[command(flatten)]
    pub(crate) cluster: Cluster,
    /// The namespace [default: that of the context]
    #[arg(short = 'n', long, value_name = "NAME", help_heading = GLOBAL, display_order = 902)]
    pub(crate) namespace: Option<String>,
    #[command(flatten)]
    pub(crate) printed: Printed,
}

/// How an answer is printed.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct Printed {
    /// json and yaml for a program; wide for a table with all columns and names.
    #[arg(short, long, value_enum, value_name = "FORMAT")]
    pub(crate) output: Option<Output>,
}

/// Output formats.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Output {
    /// JSON.
    Json,
    /// YAML.
    Yaml,
    /// A table with all columns and names.
    Wide,
}

/// How a table shows users.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Names {
    /// As a count.
    Counted,
    /// All their names, and all columns.
    Listed,
}

impl Printed {
    /// The output format for programs; none for a table.
    pub(crate) fn format(self) -> Option<Format> {
        match self.output? {
            Output::Json => Some(Format::Json),
            Output::Yaml => Some(Format::Yaml),
            Output::Wide => None,
        }
    }

    /// How a table shows users.
    pub(crate) fn names(self) -> Names {
        match self.output {
            Some(Output::Wide) => Names::Listed,
            _ => Names::Counted,
        }
    }
}

/// `cambium history`.
#[derive(Debug, Args)]
#[command(after_help = examples::HISTORY)]
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

/// The name of an Application. It may stand behind its kind, as `kubectl get -o name` prints it.
fn application(text: &str) -> Result<String, String> {
    match text
        .split_once('/')
        .map(|(kind, name)| (Kind::called(kind), name))
    {
        None => Ok(text.to_owned()),
        Some((Ok(Kind::Application), name)) => Ok(name.to_owned()),
        Some(_) => Err("expected an Application, as in shop or app/shop".to_owned()),
    }
}

/// `cambium resolve`.
#[derive(Debug, Args)]
#[command(after_help = examples::RESOLVE)]
pub(crate) struct Resolve {
    /// The Application, as in shop or app/shop.
    #[arg(
        value_name = "APPLICATION",
        value_parser = application,
        required_unless_present = "file",
        conflicts_with = "file"
    )]
    pub(crate) application: Option<String>,
    /// A file with an Application, which need not be in the cluster; `-` reads standard input.
    #[arg(short = 'f', long = "filename", value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    /// Show for every revision why it was chosen or passed over.
    #[arg(long)]
    pub(crate) explain: bool,
    #[command(flatten)]
    pub(crate) asking: Asking,
}

/// `cambium diff`.
#[derive(Debug, Args)]
#[command(after_help = examples::DIFF)]
pub(crate) struct Diff {
    /// A version, as in web@1.2.3, or a CompositionRevision, as in comprev/databases-c0103c0.
    pub(crate) from: String,
    /// The version or revision to compare it with.
    pub(crate) to: String,
    /// The kind of definition, if several kinds have one of that name.
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
#[command(after_help = examples::UPGRADE)]
pub(crate) struct Upgrade {
    /// The Application, as in shop or app/shop.
    #[arg(value_parser = application)]
    pub(crate) application: String,
    /// Components and versions, as in web=1.2.5 [default: every reference to the highest release]
    #[arg(value_name = "COMPONENT=VERSION")]
    pub(crate) wishes: Vec<String>,
    /// Show the plan and validate it on the server, without changing anything.
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) asking: Asking,
}

/// `cambium rollback`.
#[derive(Debug, Args)]
#[command(after_help = examples::ROLLBACK)]
pub(crate) struct Rollback {
    /// The Application, as in shop or app/shop.
    #[arg(value_parser = application)]
    pub(crate) application: String,
    /// The revision to roll back to, by name or number [default: the newest before the current one]
    #[arg(long, value_name = "REVISION")]
    pub(crate) to: Option<String>,
    /// Show the plan and validate it on the server, without changing anything.
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) asking: Asking,
}

/// `cambium pin`.
#[derive(Debug, Args)]
#[command(after_help = examples::PIN)]
pub(crate) struct Pin {
    /// The composite resource or its claim, as in xdatabase/orders, xdatabase orders, or orders alone if nothing else has that name.
    #[arg(value_name = "KIND/NAME")]
    pub(crate) subject: String,
    /// The name, if KIND and NAME are two words.
    #[arg(value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// The revision to pin to, by name or number [default: the one in use]
    #[arg(long, value_name = "REVISION")]
    pub(crate) to: Option<String>,
    /// Validate the change on the server, without changing anything.
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) asking: Asking,
}

/// `cambium follow`.
#[derive(Debug, Args)]
#[command(after_help = examples::FOLLOW)]
pub(crate) struct Follow {
    /// The composite resource or its claim, as in xdatabase/orders, xdatabase orders, or orders alone if nothing else has that name.
    #[arg(value_name = "KIND/NAME")]
    pub(crate) subject: String,
    /// The name, if KIND and NAME are two words.
    #[arg(value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// Validate the change on the server, without changing anything.
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) asking: Asking,
}

/// `cambium outdated`.
#[derive(Debug, Args)]
#[command(after_help = examples::OUTDATED)]
pub(crate) struct Outdated {
    /// List in all namespaces.
    #[arg(short = 'A', long)]
    pub(crate) all_namespaces: bool,
    #[command(flatten)]
    pub(crate) asking: Asking,
}

/// `cambium gc`.
#[derive(Debug, Args)]
#[command(after_help = examples::GC)]
pub(crate) struct Gc {
    /// Required: only the manager deletes revisions.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// The manager's --definition-revision-limit.
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub(crate) definition_revision_limit: usize,
    /// The manager's --application-revision-limit.
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub(crate) application_revision_limit: usize,
    /// The manager's --composition-revision-limit.
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub(crate) composition_revision_limit: usize,
    #[command(flatten)]
    pub(crate) features: Features,
    #[command(flatten)]
    pub(crate) cluster: Cluster,
    /// Only revisions in this namespace [default: all]
    #[arg(short = 'n', long, value_name = "NAME", help_heading = GLOBAL, display_order = 902)]
    pub(crate) namespace: Option<String>,
    #[command(flatten)]
    pub(crate) printed: Printed,
}

/// `cambium verify`.
#[derive(Debug, Args)]
#[command(after_help = examples::VERIFY)]
pub(crate) struct Verify {
    /// A cluster, by its context; give two or more.
    #[arg(long = "context", value_name = "NAME", required = true)]
    pub(crate) contexts: Vec<String>,
    /// The kubeconfig [default: $KUBECONFIG or ~/.kube/config]
    #[arg(long, value_name = "FILE", help_heading = GLOBAL, display_order = 900)]
    pub(crate) kubeconfig: Option<PathBuf>,
    /// Only versions published in this namespace [default: all]
    #[arg(short = 'n', long, value_name = "NAME", help_heading = GLOBAL, display_order = 902)]
    pub(crate) namespace: Option<String>,
    /// List versions that are the same as well.
    #[arg(long)]
    pub(crate) all: bool,
    /// Do not fail for versions that some cluster does not have.
    #[arg(long)]
    pub(crate) allow_missing: bool,
    #[command(flatten)]
    pub(crate) printed: Printed,
}

/// `cambium lock`.
#[derive(Debug, Args)]
#[command(after_help = examples::LOCK)]
pub(crate) struct Lock {
    /// The file with the Application; `-` reads standard input and prints the result.
    pub(crate) file: PathBuf,
    /// Print the result instead of writing the file.
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) cluster: Cluster,
    /// The namespace, if the file names none [default: that of the context]
    #[arg(short = 'n', long, value_name = "NAME", help_heading = GLOBAL, display_order = 902)]
    pub(crate) namespace: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_application_may_stand_behind_its_kind() {
        for text in [
            "shop",
            "app/shop",
            "application/shop",
            "application.core.oam.dev/shop",
        ] {
            assert_eq!(application(text), Ok("shop".to_owned()));
        }
        assert_eq!(
            application("compdef/web"),
            Err("expected an Application, as in shop or app/shop".to_owned())
        );
    }
}
