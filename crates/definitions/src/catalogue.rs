//! Everything that is published in a cluster, ready to be asked.

use crate::{Artifact, Consuming, Stored};
use cambium_api::names::SYSTEM_NAMESPACE;
use cambium_api::v1beta1::DefinitionType;
use cambium_lineage::{Closures, Lineage, LineageError, RevisionName, Scheme};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// All definitions and their revisions.
#[derive(Debug, Clone, Default)]
pub struct Catalogue {
    shelves: BTreeMap<Artifact, Shelf>,
    /// Whose a revision is, by its namespace and name.
    owners: BTreeMap<(String, String), Artifact>,
    local: LocalDefinitions,
    closures: Closures<Artifact, Consuming>,
}

/// Whether Applications use definitions of their own namespace.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum LocalDefinitions {
    /// They do, before those of the system's namespace.
    #[default]
    Used,
    /// They use those of the system's namespace alone.
    Ignored,
}

/// One definition and its revisions.
#[derive(Debug, Clone)]
pub struct Shelf {
    /// What the live definition says, if there is one: how revisions are called, and the highest number issued.
    declared: Option<(Scheme, u64)>,
    stored: BTreeMap<RevisionName, Arc<Stored>>,
    lineage: Result<Lineage, LineageError>,
}

impl Catalogue {
    /// Notes what a live definition says.
    pub fn declare(&mut self, artifact: &Artifact, scheme: Scheme, issued: u64) {
        let shelf = self.shelf(artifact);
        if shelf.declared != Some((scheme, issued)) {
            shelf.declared = Some((scheme, issued));
            shelf.rebuild(&artifact.name);
        }
    }

    /// Notes that a definition is gone. Its revisions stay for as long as they are there.
    pub fn undeclare(&mut self, artifact: &Artifact) {
        if let Some(shelf) = self.shelves.get_mut(artifact) {
            shelf.declared = None;
            shelf.rebuild(&artifact.name);
            self.drop_if_empty(artifact);
        }
    }

    /// Notes a revision, or what it has become.
    pub fn put(&mut self, stored: Arc<Stored>) {
        let artifact = stored.artifact.clone();
        let place = (artifact.namespace.clone(), stored.revision.name().to_string());
        if self.owners.get(&place).is_some_and(|owner| *owner != artifact) {
            self.remove(&place.0, &place.1);
        }
        self.owners.insert(place, artifact.clone());
        let shelf = self.shelf(&artifact);
        shelf.stored.insert(stored.revision.name().clone(), stored);
        shelf.rebuild(&artifact.name);
    }

    /// Notes that a revision is gone; whose it was.
    pub fn remove(&mut self, namespace: &str, name: &str) -> Option<Artifact> {
        let artifact = self.owners.remove(&(namespace.to_owned(), name.to_owned()))?;
        if let Some(shelf) = self.shelves.get_mut(&artifact) {
            shelf.stored.retain(|known, _| known.as_str() != name);
            shelf.rebuild(&artifact.name);
            self.drop_if_empty(&artifact);
        }
        Some(artifact)
    }

    /// The same, whose names lead to these places.
    #[must_use]
    pub fn with_local(mut self, local: LocalDefinitions) -> Self {
        self.local = local;
        self
    }

    /// Which revisions are closed for which Applications.
    pub fn closures(&self) -> &Closures<Artifact, Consuming> {
        &self.closures
    }

    /// Closes or opens revisions. Whom that concerns, [`Consumers::concerned`](crate::Consumers::concerned) knows.
    pub fn closures_mut(&mut self) -> &mut Closures<Artifact, Consuming> {
        &mut self.closures
    }

    /// One definition.
    pub fn get(&self, artifact: &Artifact) -> Option<&Shelf> {
        self.shelves.get(artifact)
    }

    /// All of them, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&Artifact, &Shelf)> {
        self.shelves.iter()
    }

    /// Where a name leads from a namespace: first there, then in the system's namespace. What is left of a definition
    /// that is gone is found only if there is no other.
    pub fn find(&self, namespace: &str, type_: DefinitionType, name: &str) -> Option<(&Artifact, &Shelf)> {
        let places = [namespace, SYSTEM_NAMESPACE].map(|namespace| Artifact::new(type_, namespace, name));
        let found = || {
            places
                .iter()
                .filter(|place| self.is_used(&place.namespace))
                .filter_map(|place| self.shelves.get_key_value(place))
        };
        found()
            .find(|(_, shelf)| shelf.is_declared())
            .or_else(|| found().next())
    }

    /// Where a name leads in this namespace alone.
    pub fn find_in(&self, namespace: &str, type_: DefinitionType, name: &str) -> Option<(&Artifact, &Shelf)> {
        self.shelves
            .get_key_value(&Artifact::new(type_, namespace, name))
            .filter(|_| self.is_used(namespace))
    }

    /// Whether a definition of an Application's own namespace hides the one of that name that everybody shares.
    pub fn hides_shared(&self, artifact: &Artifact) -> bool {
        let shared = Artifact::new(artifact.type_, SYSTEM_NAMESPACE, &artifact.name);
        artifact.namespace != SYSTEM_NAMESPACE && self.shelves.get(&shared).is_some_and(Shelf::is_declared)
    }

    fn is_used(&self, namespace: &str) -> bool {
        self.local == LocalDefinitions::Used || namespace == SYSTEM_NAMESPACE
    }

    /// Whose a revision is.
    pub fn owner(&self, namespace: &str, revision: &str) -> Option<&Artifact> {
        self.owners.get(&(namespace.to_owned(), revision.to_owned()))
    }

    /// Names that revisions of this artifact could have, and others have.
    pub fn taken(&self, artifact: &Artifact) -> BTreeSet<String> {
        let start = (artifact.namespace.clone(), artifact.name.clone());
        let like = |name: &str| name.starts_with(artifact.name.as_str());
        self.owners
            .range(start..)
            .take_while(|((namespace, name), _)| *namespace == artifact.namespace && like(name))
            .filter(|(_, owner)| *owner != artifact)
            .map(|((_, name), _)| name.clone())
            .collect()
    }

    /// A revision by its namespace and name.
    pub fn revision(&self, namespace: &str, name: &str) -> Option<&Arc<Stored>> {
        let shelf = self.shelves.get(self.owner(namespace, name)?)?;
        shelf.stored.get(&name.parse::<RevisionName>().ok()?)
    }

    fn shelf(&mut self, artifact: &Artifact) -> &mut Shelf {
        self.shelves.entry(artifact.clone()).or_insert_with(|| Shelf {
            declared: None,
            stored: BTreeMap::new(),
            lineage: Lineage::builder(artifact.name.as_str(), Scheme::Numbered).build(),
        })
    }

    fn drop_if_empty(&mut self, artifact: &Artifact) {
        let empty = |shelf: &Shelf| shelf.declared.is_none() && shelf.stored.is_empty();
        if self.shelves.get(artifact).is_some_and(empty) {
            self.shelves.remove(artifact);
        }
    }
}

impl Shelf {
    /// All revisions in order; an error if what is stored contradicts itself.
    pub fn lineage(&self) -> Result<&Lineage, &LineageError> {
        self.lineage.as_ref()
    }

    /// Whether the definition itself is there, and not only revisions of it.
    pub fn is_declared(&self) -> bool {
        self.declared.is_some()
    }

    /// A revision and its content.
    pub fn stored(&self, name: &RevisionName) -> Option<&Arc<Stored>> {
        self.stored.get(name)
    }

    /// All revisions and their content, by name.
    pub fn revisions(&self) -> impl Iterator<Item = &Arc<Stored>> {
        self.stored.values()
    }

    fn rebuild(&mut self, artifact: &str) {
        let versioned = || {
            self.stored
                .values()
                .any(|stored| stored.revision.version().is_some())
        };
        let (scheme, issued) = self.declared.unwrap_or_else(|| match versioned() {
            true => (Scheme::Versioned, 0),
            false => (Scheme::Numbered, 0),
        });
        self.lineage = Lineage::builder(artifact, scheme)
            .revisions(self.stored.values().map(|stored| stored.revision.clone()))
            .issued(issued)
            .build();
    }
}
