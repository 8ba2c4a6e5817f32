//! Who depends on whom: an index from an owner's UID to its dependents, kept up to date event by event.

use std::collections::{BTreeSet, HashMap};

use serde::Deserialize;

use super::super::Place;
use crate::store::Entry;

pub(super) const FOREGROUND: &str = "foregroundDeletion";
pub(super) const ORPHAN: &str = "orphan";

/// An owner reference.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[derive(Default)]
pub(super) struct Reference {
    pub(super) api_version: String,
    pub(super) kind: String,
    pub(super) name: String,
    pub(super) uid: String,
    pub(super) block_owner_deletion: bool,
}

/// What garbage collection needs to know of an object.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Facts {
    pub(super) uid: String,
    pub(super) owners: Vec<Reference>,
    pub(super) deleting: bool,
    pub(super) finalizers: Vec<String>,
}

impl Facts {
    /// Reads the metadata of a stored object, and nothing else of it.
    pub(super) fn of(entry: &Entry) -> Self {
        #[derive(Deserialize)]
        struct Object {
            metadata: Metadata,
        }
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Metadata {
            #[serde(default)]
            uid: String,
            #[serde(default)]
            owner_references: Vec<Reference>,
            deletion_timestamp: Option<serde::de::IgnoredAny>,
            #[serde(default)]
            finalizers: Vec<String>,
        }
        let Ok(Object { metadata }) = serde_json::from_slice(&entry.json) else {
            return Self::default();
        };
        Self {
            uid: metadata.uid,
            owners: metadata.owner_references,
            deleting: metadata.deletion_timestamp.is_some(),
            finalizers: metadata.finalizers,
        }
    }

    pub(super) fn has(&self, finalizer: &str) -> bool {
        self.finalizers.iter().any(|one| one == finalizer)
    }

    /// Whether it waits for its dependents.
    pub(super) fn waits_for_dependents(&self) -> bool {
        self.deleting && self.has(FOREGROUND)
    }

    /// Whether its dependents are to be let go.
    pub(super) fn orphans_dependents(&self) -> bool {
        self.deleting && self.has(ORPHAN)
    }
}

/// An object that depends on others, or that others wait for.
#[derive(Debug)]
struct Node {
    place: Place,
    facts: Facts,
}

/// All owner references of the cluster.
#[derive(Debug, Default)]
pub(super) struct Graph {
    /// Objects with owners, and objects on their way out with a finalizer of ours; the rest are not kept.
    nodes: HashMap<String, Node>,
    dependents: HashMap<String, BTreeSet<String>>,
}

impl Graph {
    /// Takes note of an object; answers with the places that need a look.
    pub(super) fn put(&mut self, place: Place, facts: Facts) -> Vec<Place> {
        let mut look = Vec::new();
        let uid = facts.uid.clone();
        let before = self.nodes.remove(&uid).map(|node| node.facts).unwrap_or_default();
        let waits = facts.waits_for_dependents();
        if !facts.owners.is_empty() && before.owners != facts.owners {
            look.push(place.clone());
        }
        if waits || facts.orphans_dependents() {
            look.push(place.clone());
        }
        if waits && !before.waits_for_dependents() {
            look.extend(self.dependents_of(&uid).map(|(place, _)| place.clone()));
        }
        self.unlink(&uid, &before.owners);
        // An owner that waits wants to know when a dependent no longer holds it.
        look.extend(self.waiting_owners(&before.owners));
        for owner in &facts.owners {
            self.dependents
                .entry(owner.uid.clone())
                .or_default()
                .insert(uid.clone());
        }
        if !facts.owners.is_empty() || waits || facts.orphans_dependents() {
            self.nodes.insert(uid, Node { place, facts });
        }
        look
    }

    /// Forgets an object; answers with the places that need a look: its dependents, and owners that waited.
    pub(super) fn remove(&mut self, uid: &str) -> Vec<Place> {
        let owners = self
            .nodes
            .remove(uid)
            .map(|node| node.facts.owners)
            .unwrap_or_default();
        self.unlink(uid, &owners);
        let mut look: Vec<Place> = self.dependents_of(uid).map(|(place, _)| place.clone()).collect();
        look.extend(self.waiting_owners(&owners));
        look
    }

    /// The dependents of an owner.
    pub(super) fn dependents_of<'a>(
        &'a self,
        uid: &str,
    ) -> impl Iterator<Item = (&'a Place, &'a Facts)> + use<'a> {
        let uids = self.dependents.get(uid).into_iter().flatten();
        uids.filter_map(|uid| self.nodes.get(uid))
            .map(|node| (&node.place, &node.facts))
    }

    fn waiting_owners(&self, owners: &[Reference]) -> Vec<Place> {
        let nodes = owners.iter().filter_map(|owner| self.nodes.get(&owner.uid));
        nodes
            .filter(|node| node.facts.waits_for_dependents())
            .map(|node| node.place.clone())
            .collect()
    }

    fn unlink(&mut self, uid: &str, owners: &[Reference]) {
        for owner in owners {
            if let Some(dependents) = self.dependents.get_mut(&owner.uid) {
                dependents.remove(uid);
                if dependents.is_empty() {
                    self.dependents.remove(&owner.uid);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(key: &str) -> Place {
        Place {
            bucket: "/configmaps".into(),
            key: key.into(),
        }
    }

    fn facts(uid: &str, owners: &[&str]) -> Facts {
        let reference = |owner: &&str| Reference {
            uid: (*owner).to_owned(),
            ..Reference::default()
        };
        Facts {
            uid: uid.to_owned(),
            owners: owners.iter().map(reference).collect(),
            ..Facts::default()
        }
    }

    fn waiting(uid: &str) -> Facts {
        Facts {
            uid: uid.to_owned(),
            deleting: true,
            finalizers: vec![FOREGROUND.to_owned()],
            ..Facts::default()
        }
    }

    #[test]
    fn only_what_depends_is_kept() {
        let mut graph = Graph::default();
        assert_eq!(graph.put(place("n/owner"), facts("o", &[])), []);
        assert_eq!(graph.put(place("n/a"), facts("a", &["o"])), [place("n/a")]);
        assert_eq!(graph.put(place("n/a"), facts("a", &["o"])), [], "nothing changed");
        assert_eq!(graph.nodes.len(), 1);
        assert_eq!(graph.remove("o"), [place("n/a")]);
        assert_eq!(graph.remove("a"), []);
        assert!(graph.nodes.is_empty() && graph.dependents.is_empty());
    }

    #[test]
    fn an_owner_that_waits_hears_of_every_dependent_that_leaves() {
        let mut graph = Graph::default();
        graph.put(place("n/a"), facts("a", &["o"]));
        graph.put(place("n/b"), facts("b", &["o"]));
        assert_eq!(
            graph.put(place("n/o"), waiting("o")),
            [place("n/o"), place("n/a"), place("n/b")]
        );
        assert_eq!(graph.remove("a"), [place("n/o")]);
        assert_eq!(graph.put(place("n/b"), facts("b", &[])), [place("n/o")]);
        assert_eq!(graph.dependents_of("o").count(), 0);
    }
}
