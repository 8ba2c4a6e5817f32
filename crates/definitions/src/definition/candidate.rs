//! The publish gate of definitions: the checks of one version before it is published.

use super::template::check_template;
use super::{Called, DeclaredVersion};
use crate::{Artifact, Refused};
use cambium_api::names::reason;
use cambium_lineage::{self as lineage, Content, Digest, Findings, Revision};

/// One version of a definition that is about to be published.
pub struct Candidate<'a> {
    /// Which definition.
    pub artifact: &'a Artifact,
    /// The declared version.
    pub version: &'a DeclaredVersion,
    /// Whether its template is evaluated.
    pub templates: Templates,
}

/// Whether templates still have to be evaluated, which costs as much as their authors make it cost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Templates {
    /// They have not been evaluated: each is, before it is published.
    #[default]
    Unchecked,
    /// Each was evaluated a moment ago.
    Checked,
}

impl lineage::Candidate for Candidate<'_> {
    type Refused = Refused;

    fn content(&self) -> Content {
        self.version.content()
    }

    fn check(&self) -> Findings<Refused> {
        match self.templates {
            Templates::Checked => Findings::default(),
            Templates::Unchecked => check_template(self.artifact, &self.version.spec),
        }
    }

    fn conflict(&self, published: &Revision, offered: Digest) -> Refused {
        let definition = &self.artifact.name;
        let message = format!(
            "{definition} {published} is published with digest {} and cannot become {offered}: \
             a published version never changes; publish the change under a new version. \
             A version that nobody uses can be published again: declare another version, \
             delete DefinitionRevision {}, and declare this one",
            published.digest(),
            published.name()
        );
        Refused {
            reason: reason::CONTENT_CHANGED,
            message: match &self.version.called {
                // KubeVela's words.
                Called::Name(_) => format!(
                    "the definition's spec is different with existing definitionRevision's spec: {message}"
                ),
                _ => message,
            },
        }
    }

    fn exhausted(&self) -> Refused {
        Refused {
            reason: reason::INVALID_VERSION,
            message: "no revision number is left".to_owned(),
        }
    }
}
