//! One immutable snapshot of an artifact.

use crate::digest::Digest;
use crate::name::{GivenName, RevisionName};
use crate::version::Version;
use jiff::Timestamp;
use serde::Serialize;
use std::fmt;

/// An immutable snapshot of an artifact: a name, a number, a digest, and possibly a semantic version.
///
/// The content is elsewhere; this is all that is needed to decide about it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Revision {
    name: RevisionName,
    number: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<Version>,
    #[serde(skip_serializing_if = "Option::is_none")]
    given_name: Option<GivenName>,
    digest: Digest,
    #[serde(skip_serializing_if = "Option::is_none")]
    found: Option<Digest>,
    created: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    unused_since: Option<Timestamp>,
}

impl Revision {
    /// A revision as it was issued: its name, its number, the digest of its content, and when.
    pub fn new(name: RevisionName, number: u64, digest: Digest, created: Timestamp) -> Self {
        Self {
            name,
            number,
            version: None,
            given_name: None,
            digest,
            found: None,
            created,
            unused_since: None,
        }
    }

    /// The same revision, published as this version.
    pub fn with_version(self, version: Version) -> Self {
        Self {
            version: Some(version),
            ..self
        }
    }

    /// The same revision, with a name that a person gave it.
    pub fn with_given_name(self, given_name: GivenName) -> Self {
        Self {
            given_name: Some(given_name),
            ..self
        }
    }

    /// The same revision, whose content was found to have this digest now. If it is not the issued one, it is not used.
    pub fn with_content_found(self, found: Digest) -> Self {
        Self {
            found: (found != self.digest).then_some(found),
            ..self
        }
    }

    /// The same revision, marked as unused since then.
    pub fn with_unused_since(self, since: Timestamp) -> Self {
        Self {
            unused_since: Some(since),
            ..self
        }
    }

    /// What it is stored under.
    pub fn name(&self) -> &RevisionName {
        &self.name
    }

    /// Its place in the order of publication. Only a return to earlier content changes it, upwards.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// The digest of its content when it was issued.
    pub fn digest(&self) -> Digest {
        self.digest
    }

    /// Its semantic version, if it was published with one.
    pub fn version(&self) -> Option<&Version> {
        self.version.as_ref()
    }

    /// The name that a person gave it.
    pub fn given_name(&self) -> Option<&GivenName> {
        self.given_name.as_ref()
    }

    /// When it was issued.
    pub fn created(&self) -> Timestamp {
        self.created
    }

    /// The digest of what it holds now, if somebody edited it after it was issued.
    pub fn altered(&self) -> Option<Digest> {
        self.found
    }

    /// Since when it is marked as unused, if it is.
    pub fn unused_since(&self) -> Option<Timestamp> {
        self.unused_since
    }

    /// The version if it is a release.
    pub(crate) fn release(&self) -> Option<&Version> {
        self.version.as_ref().filter(|version| version.is_release())
    }
}

impl fmt::Display for Revision {
    /// What a person calls it: the version, the given name, or the stored name.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.version, &self.given_name) {
            (Some(version), _) => version.fmt(formatter),
            (None, Some(given_name)) => given_name.fmt(formatter),
            (None, None) => self.name.fmt(formatter),
        }
    }
}
