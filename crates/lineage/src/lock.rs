//! Locks: the version and digest that each reference of a consumer must resolve to.

use crate::digest::Digest;
use crate::reference::Reference;
use crate::revision::Revision;
use crate::version::Version;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

/// A version and a digest for every reference of a consumer. References are kept apart by kind, because a component and a
/// trait may have one name.
///
/// ```text
/// {"component":{"web@1.2":{"version":"1.2.3","digest":"sha256:…"}}}
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Lock(BTreeMap<String, BTreeMap<Reference, Locked>>);

/// The version and digest that one reference must resolve to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Locked {
    /// The version, if the artifact has versions.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub version: Option<Version>,
    /// The digest of the content.
    pub digest: Digest,
}

impl Lock {
    /// Locks a reference to a revision; what it was locked to before is forgotten.
    pub fn record(&mut self, kind: impl Into<String>, reference: Reference, revision: &Revision) {
        let locked = Locked {
            version: revision.version().cloned(),
            digest: revision.digest(),
        };
        self.0.entry(kind.into()).or_default().insert(reference, locked);
    }

    /// The entry of a reference. A reference without an entry is refused.
    pub fn locked(&self, kind: &str, reference: &Reference) -> Result<&Locked, LockRefusal> {
        self.0
            .get(kind)
            .and_then(|references| references.get(reference))
            .ok_or_else(|| LockRefusal::NotLocked {
                kind: kind.into(),
                reference: reference.to_string(),
            })
    }

    /// Whether the reference may resolve to the revision.
    pub fn check(&self, kind: &str, reference: &Reference, revision: &Revision) -> Result<(), LockRefusal> {
        self.locked(kind, reference)?.check(reference, revision)
    }

    /// All entries: kind, reference, and what it is locked to.
    pub fn entries(&self) -> impl Iterator<Item = (&str, &Reference, &Locked)> {
        self.0.iter().flat_map(|(kind, references)| {
            references
                .iter()
                .map(move |(reference, locked)| (kind.as_str(), reference, locked))
        })
    }
}

impl Locked {
    /// Whether the reference may resolve to the revision.
    pub fn check(&self, reference: &Reference, revision: &Revision) -> Result<(), LockRefusal> {
        if let Some(locked) = self
            .version
            .as_ref()
            .filter(|locked| Some(*locked) != revision.version())
        {
            return Err(LockRefusal::OtherVersion {
                reference: reference.to_string(),
                locked: locked.to_string(),
                resolved: revision.to_string(),
            });
        }
        if self.digest != revision.digest() {
            return Err(LockRefusal::OtherContent {
                reference: reference.to_string(),
                resolved: revision.to_string(),
                locked: self.digest,
                found: revision.digest(),
            });
        }
        Ok(())
    }
}

/// The reasons that a lock refuses a resolution.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LockRefusal {
    /// The lock does not know the reference.
    #[error("the {kind} reference {reference:?} is not in the lock; lock again")]
    NotLocked {
        /// The kind of artifact.
        kind: String,
        /// The reference.
        reference: String,
    },
    /// The lock says another version.
    #[error("{reference:?} is locked to {locked}, not {resolved}")]
    OtherVersion {
        /// The reference.
        reference: String,
        /// The version in the lock.
        locked: String,
        /// What it would resolve to.
        resolved: String,
    },
    /// The version is right, its content is not.
    #[error("{reference:?} is locked to {locked}, but the content of {resolved} is {found}")]
    OtherContent {
        /// The reference.
        reference: String,
        /// What it would resolve to.
        resolved: String,
        /// The digest in the lock.
        locked: Digest,
        /// The digest of the revision.
        found: Digest,
    },
    /// The locked revision is not published.
    #[error("{reference:?} is locked to {locked}, which is not published")]
    Missing {
        /// The reference.
        reference: String,
        /// The version in the lock, or the digest if it has none.
        locked: String,
    },
    /// The locked revision does not satisfy the reference.
    #[error("{reference:?} is locked to {locked}, which does not satisfy it; lock again")]
    Unsatisfying {
        /// The reference.
        reference: String,
        /// The version in the lock, or the digest if it has none.
        locked: String,
    },
}

/// Why a text is not a lock.
#[derive(Debug, thiserror::Error)]
#[error("not a lock: {0}")]
pub struct LockError(#[from] serde_json::Error);

impl FromStr for Lock {
    type Err = LockError;

    fn from_str(text: &str) -> Result<Self, LockError> {
        Ok(serde_json::from_str(text)?)
    }
}

impl fmt::Display for Lock {
    /// One line of JSON, in a fixed order.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&serde_json::to_string(self).map_err(|_| fmt::Error)?)
    }
}

impl fmt::Display for Locked {
    /// What people call it: the version, or the digest if it has none.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.version {
            Some(version) => version.fmt(formatter),
            None => self.digest.fmt(formatter),
        }
    }
}
