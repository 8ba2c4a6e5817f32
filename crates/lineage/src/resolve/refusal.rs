//! Refusals: the reasons that a reference resolves to no revision.

use crate::digest::Digest;
use crate::lock::LockRefusal;
use crate::name::RevisionName;
use crate::version::VersionError;
use serde::ser::{Serialize, SerializeStruct, Serializer};

/// The reasons that a reference resolves to no revision. Running objects are not touched.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The lineage belongs to another artifact.
    #[error("{reference:?} does not refer to {artifact:?}")]
    OtherArtifact {
        /// The reference.
        reference: String,
        /// Whose lineage it was.
        artifact: String,
    },
    /// There are no revisions at all.
    #[error("{artifact:?} has no published revision")]
    NothingPublished {
        /// The artifact.
        artifact: String,
    },
    /// There is no release, or none in the series.
    #[error("no release satisfies {reference:?}{}", hints(.prerelease, .highest))]
    NoRelease {
        /// The reference.
        reference: String,
        /// The highest pre-release that would satisfy it if it were named.
        prerelease: Option<String>,
        /// The highest release of all.
        highest: Option<String>,
    },
    /// The exact version does not exist.
    #[error("the version of {reference:?} is not published{}", hint("the nearest is", .nearest))]
    NotPublished {
        /// The reference.
        reference: String,
        /// The nearest version that exists.
        nearest: Option<String>,
    },
    /// The reference names a build that is not the published one.
    #[error("{reference:?} names a build that is not published: the version is {published}")]
    OtherBuild {
        /// The reference.
        reference: String,
        /// The version with the build that is published.
        published: String,
    },
    /// A series, where nothing may move.
    #[error("{reference:?} names no exact version while automatic upgrades are off{}", hint("write", .suggestion))]
    PartialWhilePinned {
        /// The reference.
        reference: String,
        /// An exact reference within the series.
        suggestion: Option<String>,
    },
    /// A given name, where revisions have versions.
    #[error("{reference:?} names no version, and the artifact has versions{}", hint("write", .suggestion))]
    NotAVersion {
        /// The reference.
        reference: String,
        /// What is wrong with it as a version.
        #[source]
        problem: Option<Box<VersionError>>,
        /// The nearest reference to a version.
        suggestion: Option<String>,
    },
    /// No revision has that number or given name.
    #[error("no revision has the name {reference:?}{}", hint("the newest is", .newest))]
    NoSuchRevision {
        /// The reference.
        reference: String,
        /// The name of the newest revision.
        newest: Option<String>,
    },
    /// What is in use, and must stay, is not in the lineage: it was deleted, or belongs to another artifact.
    #[error(
        "revision {name} is in use and is not a revision of {artifact:?}; refer to another one to move on"
    )]
    Vanished {
        /// The revision in use.
        name: RevisionName,
        /// The artifact.
        artifact: String,
    },
    /// What is in use was deleted and published again under the same name with other content.
    #[error("revision {name} has other content ({found}) than what is in use ({recorded})")]
    Exchanged {
        /// The revision.
        name: RevisionName,
        /// The digest that is recorded as in use.
        recorded: Digest,
        /// The digest it has now.
        found: Digest,
    },
    /// The revision was edited after it was issued.
    #[error("revision {name} was edited after it was issued: it holds {found} instead of {issued}")]
    Altered {
        /// The revision.
        name: RevisionName,
        /// The digest it was issued with.
        issued: Digest,
        /// The digest of what it holds.
        found: Digest,
    },
    /// The lock does not allow it.
    #[error(transparent)]
    Lock(#[from] LockRefusal),
    /// The selector matches none.
    #[error("no revision of {artifact:?} matches {selector:?}")]
    NoneSelected {
        /// The artifact.
        artifact: String,
        /// The selector, as people know it.
        selector: String,
    },
    /// Everything that would satisfy the reference is closed for the consumer.
    #[error("every revision that satisfies {reference:?} is closed for this consumer")]
    Closed {
        /// The reference.
        reference: String,
    },
}

impl Refusal {
    /// The reason for conditions: one word in CamelCase.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::OtherArtifact { .. } => "OtherArtifact",
            Self::NothingPublished { .. } => "NothingPublished",
            Self::NoRelease { .. } => "NoRelease",
            Self::NotPublished { .. } => "NotPublished",
            Self::OtherBuild { .. } => "OtherBuild",
            Self::PartialWhilePinned { .. } => "PartialWhilePinned",
            Self::NotAVersion { .. } => "NotAVersion",
            Self::NoSuchRevision { .. } => "NoSuchRevision",
            Self::Vanished { .. } => "Vanished",
            Self::Exchanged { .. } => "Exchanged",
            Self::Altered { .. } => "Altered",
            Self::Lock(_) => "Locked",
            Self::NoneSelected { .. } => "NoneSelected",
            Self::Closed { .. } => "Closed",
        }
    }
}

impl Serialize for Refusal {
    /// The reason and the message.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut refusal = serializer.serialize_struct("Refusal", 2)?;
        refusal.serialize_field("reason", self.reason())?;
        refusal.serialize_field("message", &self.to_string())?;
        refusal.end()
    }
}

fn hint(words: &str, value: &Option<String>) -> String {
    value
        .as_ref()
        .map(|value| format!("; {words} {value}"))
        .unwrap_or_default()
}

fn hints(prerelease: &Option<String>, highest: &Option<String>) -> String {
    let named = prerelease
        .as_ref()
        .map(|version| format!("; {version} is selected only by its full version"));
    named.unwrap_or_default() + &hint("the highest is", highest)
}
