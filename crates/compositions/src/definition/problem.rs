//! Validation errors of CompositeResourceDefinitions.

use std::fmt;

use cambium_api::crossplane::Scope;
use cambium_schema::{FieldError, FieldPath};

/// Everything that is wrong with one definition.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub struct Problems(pub Vec<Problem>);

impl fmt::Display for Problems {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, problem) in self.0.iter().enumerate() {
            let separator = if at == 0 { "" } else { "; " };
            write!(formatter, "{separator}{problem}")?;
        }
        Ok(())
    }
}

/// One thing that is wrong with a definition. The text begins with the path of the field.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Problem {
    /// The CRD of a kind must be called so, and a definition is called like its CRD.
    #[error("metadata.name: {name:?} must be {expected:?}, which is <spec.names.plural>.<spec.group>")]
    Name {
        /// The name that it has.
        name: String,
        /// The name that it must have.
        expected: String,
    },
    /// Something that is to be part of a URL, and cannot be.
    #[error("{path}: {name:?} cannot be used: {}", reasons.join(", "))]
    BadName {
        /// Where it is.
        path: FieldPath,
        /// What it is.
        name: String,
        /// Why not.
        reasons: Vec<String>,
    },
    /// No version at all.
    #[error("spec.versions: there is no version: write at least one, with referenceable: true")]
    NoVersions,
    /// None or several of the versions are referenceable.
    #[error(
        "spec.versions: exactly one version must be referenceable, not {}",
        listed(names)
    )]
    Referenceable {
        /// Those that are.
        names: Vec<String>,
    },
    /// The version that compositions are written for cannot be reached.
    #[error(
        "{path}.served: the referenceable version {name:?} must be served: the manager reads composite resources at this version"
    )]
    NotServed {
        /// Where the version is.
        path: FieldPath,
        /// Its name.
        name: String,
    },
    /// Two versions have the same name.
    #[error("{path}.name: there is another version {name:?}: give it a name of its own")]
    DuplicateVersion {
        /// Where the second is.
        path: FieldPath,
        /// Its name.
        name: String,
    },
    /// A version without a schema.
    #[error("{path}.schema.openAPIV3Schema: a schema is required; {{type: object}} is the least")]
    NoSchema {
        /// Where the version is.
        path: FieldPath,
    },
    /// A part of the schema that must be an object, and says that it is something else.
    #[error("{path}.type: must be object, not {found}")]
    NotAnObject {
        /// Where the part is.
        path: FieldPath,
        /// What it says.
        found: String,
    },
    /// A field that composition needs, with another meaning.
    #[error("{path}: this field is reserved for composition, of type {wanted}, not {found}: rename it")]
    Reserved {
        /// Where the field is.
        path: FieldPath,
        /// The type that the field has in every composite resource or claim.
        wanted: String,
        /// The type that it was given.
        found: String,
    },
    /// The schema is no structural schema.
    #[error("{0}")]
    Schema(FieldError),
    /// The claim would have a name of the composite resource.
    #[error("{path}: {name:?} conflicts with composite resource name: call the claim something else")]
    ClaimName {
        /// Which of the names.
        path: FieldPath,
        /// The name that both have.
        name: String,
    },
    /// Only legacy composite resources have claims and connection secrets.
    #[error(
        "{path}: only LegacyCluster composite resources have this, and the scope is {scope:?}: remove it, or change the scope"
    )]
    LegacyOnly {
        /// The field.
        path: FieldPath,
        /// The scope.
        scope: Scope,
    },
    /// Conversion by a webhook that is not named.
    #[error("spec.conversion.webhook: required when the conversion strategy is Webhook")]
    NoWebhook,
}

impl Problem {
    /// The path of the field.
    pub fn path(&self) -> FieldPath {
        match self {
            Self::Name { .. } => FieldPath::new("metadata.name"),
            Self::NoVersions | Self::Referenceable { .. } => FieldPath::new("spec.versions"),
            Self::NoWebhook => FieldPath::new("spec.conversion.webhook"),
            Self::NotServed { path, .. } => path.child("served"),
            Self::DuplicateVersion { path, .. } => path.child("name"),
            Self::NoSchema { path } => path.child("schema").child("openAPIV3Schema"),
            Self::NotAnObject { path, .. } => path.child("type"),
            Self::Schema(error) => error.path.clone(),
            Self::BadName { path, .. }
            | Self::Reserved { path, .. }
            | Self::ClaimName { path, .. }
            | Self::LegacyOnly { path, .. } => path.clone(),
        }
    }
}

fn listed(names: &[String]) -> String {
    match names {
        [] => "none".to_owned(),
        names => format!("{} ({})", names.len(), names.join(", ")),
    }
}
