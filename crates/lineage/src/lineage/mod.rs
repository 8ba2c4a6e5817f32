//! A lineage: all revisions of one artifact, in order.

mod build;
mod index;

pub use build::{LineageBuilder, LineageError, LineageProblem};

use crate::digest::Digest;
use crate::name::RevisionName;
use crate::revision::Revision;
use crate::version::{Series, Version};
use index::Index;
use serde::Serialize;
use std::collections::BTreeMap;

/// The highest number that a revision can have: whoever stores numbers stores them as signed 64-bit integers.
pub const HIGHEST_NUMBER: u64 = i64::MAX as u64;

/// How the revisions of a lineage are named: this decides the meaning of a reference and of a return to earlier content.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
pub enum Scheme {
    /// By semantic version. References are versions and series, never numbers, so they mean the same in every cluster.
    Versioned,
    /// By number, or by a name that a person gave. A return to earlier content is a new number.
    Numbered,
    /// By content. A return to earlier content gives the old revision the newest number.
    ContentAddressed,
}

/// All revisions of one artifact, ordered by number, with the highest number that was ever issued.
///
/// ```text
///  number      1        2        3         5          issued: 5 (4 is gone and stays gone)
///  version   1.2.2    1.2.3   2.0.0-rc.1  1.2.4       highest release: 1.2.4
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lineage {
    artifact: String,
    scheme: Scheme,
    /// Ascending by number.
    revisions: Vec<Revision>,
    index: Index,
    issued: u64,
    /// What the artifact says now, where that is known: its place among the revisions.
    current: Option<usize>,
    /// Revisions that can only be named, by name.
    aside: BTreeMap<RevisionName, Revision>,
}

impl Lineage {
    /// Begins a lineage of the artifact with this name.
    pub fn builder(artifact: impl Into<String>, scheme: Scheme) -> LineageBuilder {
        LineageBuilder::new(artifact.into(), scheme)
    }

    /// The lineage of an artifact of which nothing is published.
    pub fn empty(artifact: impl Into<String>, scheme: Scheme) -> Self {
        let built = Self::builder(artifact, scheme).build();
        built.expect("nothing contradicts itself where there is nothing")
    }

    /// The name of the artifact.
    pub fn artifact(&self) -> &str {
        &self.artifact
    }

    /// What its revisions are called by.
    pub fn scheme(&self) -> Scheme {
        self.scheme
    }

    /// The highest number that was ever issued, deleted revisions included.
    pub fn issued(&self) -> u64 {
        self.issued
    }

    /// All revisions, oldest number first.
    pub fn revisions(&self) -> &[Revision] {
        &self.revisions
    }

    /// The revision that a new consumer of the bare artifact gets: the highest release, or without versions what the artifact says now, or else the
    /// highest number.
    pub fn current(&self) -> Option<&Revision> {
        match self.scheme {
            Scheme::Versioned => self.highest_release(),
            Scheme::Numbered | Scheme::ContentAddressed => self
                .current
                .and_then(|place| self.revisions.get(place))
                .or_else(|| self.newest()),
        }
    }

    /// The revision with the highest number.
    pub fn newest(&self) -> Option<&Revision> {
        self.revisions.last()
    }

    /// The revision with the highest version that is not a pre-release.
    pub fn highest_release(&self) -> Option<&Revision> {
        self.releases().next()
    }

    /// The highest release of a series.
    pub fn highest_of(&self, series: Series) -> Option<&Revision> {
        self.releases_of(series).next()
    }

    /// The revision that is stored under this name.
    pub fn get(&self, name: &RevisionName) -> Option<&Revision> {
        self.named(name.as_str()).or_else(|| self.aside.get(name))
    }

    /// The revision that was published as this version, whatever its build metadata.
    pub fn version(&self, version: &Version) -> Option<&Revision> {
        self.index.version(&self.revisions, version)
    }

    /// The newest revision with this content.
    pub fn content(&self, digest: Digest) -> Option<&Revision> {
        self.with_content(digest).next()
    }

    /// All revisions with this content, newest first.
    pub fn with_content(&self, digest: Digest) -> impl Iterator<Item = &Revision> {
        self.index.content(&self.revisions, digest).rev()
    }

    /// All revisions with a version, highest first, pre-releases included.
    pub fn versions(&self) -> impl Iterator<Item = &Revision> {
        self.index.versions(&self.revisions).rev()
    }

    /// All releases, highest version first.
    pub fn releases(&self) -> impl Iterator<Item = &Revision> {
        self.index.releases(&self.revisions).rev()
    }

    /// The releases of a series, highest version first.
    pub fn releases_of(&self, series: Series) -> impl Iterator<Item = &Revision> {
        self.index.releases_of(&self.revisions, series).rev()
    }

    pub(crate) fn named(&self, name: &str) -> Option<&Revision> {
        self.index.name(&self.revisions, name)
    }

    pub(crate) fn given(&self, name: &str) -> Option<&Revision> {
        self.index.given_name(&self.revisions, name)
    }

    pub(crate) fn numbered(&self, number: u64) -> Option<&Revision> {
        let place = self
            .revisions
            .binary_search_by_key(&number, Revision::number)
            .ok()?;
        self.revisions.get(place)
    }
}
