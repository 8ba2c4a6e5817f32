//! `cambium verify`: compares the digests of versions across clusters.

use crate::Definitions;
use cambium_api::v1beta1::DefinitionType;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// A version of a definition in several clusters.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Compared {
    /// The kind of definition.
    pub kind: String,
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// The version.
    pub version: String,
    /// Whether it is the same.
    pub verdict: Verdict,
    /// The digest of what each cluster holds, by the name of the cluster.
    pub digests: BTreeMap<String, String>,
}

/// Whether a version is the same in all clusters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// All have it, with the same content.
    Same,
    /// Some do not have it; those that do have the same content.
    Missing,
    /// Some have other content than others.
    Differs,
}

impl Verdict {
    /// As it is printed.
    pub fn text(self) -> &'static str {
        match self {
            Self::Same => "same",
            Self::Missing => "missing",
            Self::Differs => "differs",
        }
    }
}

/// The versions that are published in several clusters, read from one after the other.
#[derive(Debug, Default)]
pub struct Verification {
    clusters: Vec<String>,
    digests: BTreeMap<(DefinitionType, String, String, String), BTreeMap<String, String>>,
    /// Revisions that hold something else than what was published, each with its cluster, in words.
    pub altered: Vec<String>,
    /// The number of revisions without a version. They are not compared: their numbers mean nothing in another cluster.
    pub without_version: usize,
}

impl Verification {
    /// Takes what one cluster has published.
    pub fn add(&mut self, cluster: &str, definitions: &Definitions) {
        self.clusters.push(cluster.to_owned());
        for (artifact, shelf) in definitions.catalogue().iter() {
            for stored in shelf.revisions() {
                let Some(version) = stored.revision.version() else {
                    self.without_version += 1;
                    continue;
                };
                if let Some(found) = stored.revision.altered() {
                    let name = stored.revision.name();
                    self.altered.push(format!("{cluster}: {name} holds {found}"));
                }
                let published = (
                    artifact.type_,
                    artifact.namespace.clone(),
                    artifact.name.clone(),
                    version.to_string(),
                );
                let digest = stored.revision.altered().unwrap_or(stored.revision.digest());
                let digests = self.digests.entry(published).or_default();
                digests.insert(cluster.to_owned(), digest.to_string());
            }
        }
    }

    /// Every version that any cluster has.
    pub fn versions(&self) -> Vec<Compared> {
        let each = self.digests.iter();
        let each = each.map(|((type_, namespace, name, version), digests)| {
            let contents: BTreeSet<&String> = digests.values().collect();
            Compared {
                kind: type_.kind().to_owned(),
                namespace: namespace.clone(),
                name: name.clone(),
                version: version.clone(),
                verdict: match (contents.len() > 1, digests.len() < self.clusters.len()) {
                    (true, _) => Verdict::Differs,
                    (false, true) => Verdict::Missing,
                    (false, false) => Verdict::Same,
                },
                digests: digests.clone(),
            }
        });
        each.collect()
    }
}
