//! Errors of rendering.

use crate::DefinitionKind;
use cambium_cue::Diagnostics;
use std::fmt;

/// All failures of an application: at most one for each component.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct Failures(pub Vec<Failure>);

/// The failure of one component.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("component {component:?}: {of}{reason}", of = Of(trait_.as_deref()))]
pub struct Failure {
    /// The component.
    pub component: String,
    /// The trait that fails; none when the component itself does.
    pub trait_: Option<String>,
    /// The reason.
    pub reason: Reason,
}

/// The reasons that a component or one of its traits cannot be rendered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Reason {
    /// The definition that it references was not given.
    #[error("{} definition {reference:?} not found", kind_name(*.kind))]
    NotFound {
        /// The kind of the definition.
        kind: DefinitionKind,
        /// By this reference.
        reference: String,
    },
    /// The template and the properties do not go together.
    #[error("{0}")]
    Invalid(Diagnostics),
    /// An output needs parameters that are not given, and have no default.
    #[error("{0}")]
    Missing(Diagnostics),
    /// The template costs more than it may.
    #[error("the template is too expensive: {0}")]
    TooExpensive(Diagnostics),
    /// The template has no `output`.
    #[error("the template has no output")]
    NoOutput,
    /// Part of an output is not known.
    #[error("{output} is not concrete: {diagnostics}")]
    Incomplete {
        /// Which one: `output` or `outputs.name`.
        output: String,
        /// The incomplete values.
        diagnostics: Diagnostics,
    },
    /// An output is no object.
    #[error("{output} has no kind")]
    NoKind {
        /// Which one: `output` or `outputs.name`.
        output: String,
    },
    /// A patch does not go with what it patches.
    #[error("cannot patch {target}: {diagnostics}")]
    Patch {
        /// The patch target: `output` or `outputs.name`.
        target: String,
        /// The conflicts, with their paths in the target.
        diagnostics: Diagnostics,
    },
    /// The template says so, in `errs`.
    #[error("{0}")]
    Refused(String),
    /// The template asks for something that needs the network.
    #[error("`processing` asks for an HTTP request, which rendering does not make")]
    Processing,
}

struct Of<'a>(Option<&'a str>);

impl fmt::Display for Of<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.map_or(Ok(()), |name| write!(out, "trait {name:?}: "))
    }
}

impl fmt::Display for Failures {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, failure) in self.0.iter().enumerate() {
            if index > 0 {
                out.write_str("\n")?;
            }
            write!(out, "{failure}")?;
        }
        Ok(())
    }
}

fn kind_name(kind: DefinitionKind) -> &'static str {
    match kind {
        DefinitionKind::Component => "component",
        DefinitionKind::Trait => "trait",
    }
}
