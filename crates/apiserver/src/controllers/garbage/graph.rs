//! The graph of owner references: an index from owner UIDs to dependents, kept up to date by events.

use std::collections::{BTreeSet, HashMap};

use serde::Deserialize;

use super::super::ObjectKey;
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

/// The metadata that garbage collection needs of an object.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Facts {
    pub(super) uid: String,
    pub(super) owners: Vec<Reference>,
    pub(super) deleting: bool,
    pub(super) finalizers: Vec<String>,
}

impl Facts {
    /// Parses only the metadata of a stored object.
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

    /// Whether it is being deleted with the finalizer `foregroundDeletion`.
    pub(super) fn waits_for_dependents(&self) -> bool {
        self.deleting && self.has(FOREGROUND)
    }

    /// Whether it is being deleted with the finalizer `orphan`.
    pub(super) fn orphans_dependents(&self) -> bool {
        self.deleting && self.has(ORPHAN)
    }
}

/// An object with owner references, or one that waits for dependents.
#[derive(Debug)]
struct Node {
    object_key: ObjectKey,
    facts: Facts,
}

/// The owner references of all objects.
#[derive(Debug, Default)]
pub(super) struct Graph {
    /// Objects with owners, and terminating objects with a finalizer of the garbage collector, by UID.
    nodes: HashMap<String, Node>,
    dependents: HashMap<String, BTreeSet<String>>,
}

impl Graph {
    /// Adds or updates an object; returns the objects to reconcile.
    pub(super) fn put(&mut self, object_key: ObjectKey, facts: Facts) -> Vec<ObjectKey> {
        let mut look = Vec::new();
        let uid = facts.uid.clone();
        let before = self.nodes.remove(&uid).map(|node| node.facts).unwrap_or_default();
        let waits = facts.waits_for_dependents();
        if !facts.owners.is_empty() && before.owners != facts.owners {
            look.push(object_key.clone());
        }
        if waits || facts.orphans_dependents() {
            look.push(object_key.clone());
        }
        if waits && !before.waits_for_dependents() {
            look.extend(self.dependents_of(&uid).map(|(object_key, _)| object_key.clone()));
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
            self.nodes.insert(uid, Node { object_key, facts });
        }
        look
    }

    /// Removes an object; returns the objects to reconcile: its dependents, and owners that waited for it.
    pub(super) fn remove(&mut self, uid: &str) -> Vec<ObjectKey> {
        let owners = self
            .nodes
            .remove(uid)
            .map(|node| node.facts.owners)
            .unwrap_or_default();
        self.unlink(uid, &owners);
        let mut look: Vec<ObjectKey> = self
            .dependents_of(uid)
            .map(|(object_key, _)| object_key.clone())
            .collect();
        look.extend(self.waiting_owners(&owners));
        look
    }

    /// The dependents of an owner.
    pub(super) fn dependents_of<'a>(
        &'a self,
        uid: &str,
    ) -> impl Iterator<Item = (&'a ObjectKey, &'a Facts)> + use<'a> {
        let uids = self.dependents.get(uid).into_iter().flatten();
        uids.filter_map(|uid| self.nodes.get(uid))
            .map(|node| (&node.object_key, &node.facts))
    }

    fn waiting_owners(&self, owners: &[Reference]) -> Vec<ObjectKey> {
        let nodes = owners.iter().filter_map(|owner| self.nodes.get(&owner.uid));
        nodes
            .filter(|node| node.facts.waits_for_dependents())
            .map(|node| node.object_key.clone())
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

    fn object_key(key: &str) -> ObjectKey {
        ObjectKey {
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
        assert_eq!(graph.put(object_key("n/owner"), facts("o", &[])), []);
        assert_eq!(
            graph.put(object_key("n/a"), facts("a", &["o"])),
            [object_key("n/a")]
        );
        assert_eq!(
            graph.put(object_key("n/a"), facts("a", &["o"])),
            [],
            "nothing changed"
        );
        assert_eq!(graph.nodes.len(), 1);
        assert_eq!(graph.remove("o"), [object_key("n/a")]);
        assert_eq!(graph.remove("a"), []);
        assert!(graph.nodes.is_empty() && graph.dependents.is_empty());
    }

    #[test]
    fn an_owner_that_waits_hears_of_every_dependent_that_leaves() {
        let mut graph = Graph::default();
        graph.put(object_key("n/a"), facts("a", &["o"]));
        graph.put(object_key("n/b"), facts("b", &["o"]));
        assert_eq!(
            graph.put(object_key("n/o"), waiting("o")),
            [object_key("n/o"), object_key("n/a"), object_key("n/b")]
        );
        assert_eq!(graph.remove("a"), [object_key("n/o")]);
        assert_eq!(graph.put(object_key("n/b"), facts("b", &[])), [object_key("n/o")]);
        assert_eq!(graph.dependents_of("o").count(), 0);
    }
}
