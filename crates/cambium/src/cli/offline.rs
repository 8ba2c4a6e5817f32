//! Options of the commands that need no cluster.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use super::{Format, Printed, examples};

/// `cambium completion`.
#[derive(Debug, Args)]
#[command(after_help = examples::COMPLETION)]
pub(crate) struct Completion {
    /// The shell.
    #[arg(value_enum)]
    pub(crate) shell: Shell,
}

/// Shells with completion.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Shell {
    /// Commands, options, and names in the cluster.
    Bash,
    /// Commands, options, and names in the cluster.
    Zsh,
    /// Commands, options, and names in the cluster.
    Fish,
    /// Commands and options.
    Elvish,
    /// Commands and options.
    Powershell,
}

/// `cambium __complete`.
#[derive(Debug, Args)]
pub(crate) struct Complete {
    /// What stands after `cambium`, up to the cursor; the last may be empty.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) words: Vec<String>,
}

/// `cambium compose`.
#[derive(Debug, Args)]
#[command(after_help = examples::COMPOSE)]
pub(crate) struct Compose {
    /// The composite resource; `-` reads standard input.
    #[arg(short = 'f', long = "filename", value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// The Composition.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) composition: PathBuf,
    /// The CompositeResourceDefinition, to validate and default the composite resource with.
    #[arg(short = 'x', long, value_name = "FILE")]
    pub(crate) definition: Option<PathBuf>,
    /// Existing composed resources, with the annotation crossplane.io/composition-resource-name.
    #[arg(long, value_name = "FILE")]
    pub(crate) observed: Option<PathBuf>,
    /// The output format.
    #[arg(short, long, value_enum, default_value_t = Format::Yaml)]
    pub(crate) output: Format,
}

/// `cambium render`.
#[derive(Debug, Args)]
#[command(after_help = examples::RENDER)]
pub(crate) struct Render {
    /// The Application; `-` reads standard input.
    #[arg(short = 'f', long = "filename", value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// A ComponentDefinition or TraitDefinition, or a directory of them; may be repeated.
    #[arg(short, long, value_name = "PATH", required = true)]
    pub(crate) definitions: Vec<PathBuf>,
    /// The Kubernetes version to render for (context.clusterVersion).
    #[arg(long, value_name = "VERSION", default_value = "1.36")]
    pub(crate) cluster_version: String,
    /// The output format.
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
#[command(after_help = examples::CUE_EVAL)]
pub(crate) struct CueEval {
    /// The file; `-` reads standard input.
    pub(crate) file: PathBuf,
    /// Print the value of this expression instead of the whole file, as in output.spec.
    #[arg(short, long, value_name = "EXPR")]
    pub(crate) expression: Option<String>,
    /// The output format.
    #[arg(short, long, value_enum, default_value_t = Format::Json)]
    pub(crate) output: Format,
}

/// `cambium cue schema`.
#[derive(Debug, Args)]
#[command(after_help = examples::CUE_SCHEMA)]
pub(crate) struct CueSchema {
    /// The file: CUE with a `parameter` field; `-` reads standard input.
    pub(crate) file: PathBuf,
    /// The output format.
    #[arg(short, long, value_enum, default_value_t = Format::Json)]
    pub(crate) output: Format,
}

/// `cambium check`.
#[derive(Debug, Args)]
#[command(after_help = examples::CHECK)]
pub(crate) struct Check {
    /// The CustomResourceDefinitions before: a file or a directory; `-` reads standard input.
    pub(crate) old: PathBuf,
    /// The CustomResourceDefinitions after: a file or a directory; `-` reads standard input.
    pub(crate) new: PathBuf,
    /// Write an object for each break into this directory: the old CRD accepts it, and the new one refuses or changes it.
    #[arg(long, value_name = "DIRECTORY")]
    pub(crate) witness: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) printed: Printed,
}

/// `cambium explain`.
#[derive(Debug, Args)]
#[command(after_help = examples::EXPLAIN)]
pub(crate) struct Explain {
    /// The rule, as `cambium check` prints it [default: list all rules]
    pub(crate) rule: Option<String>,
}
