//! The catalogue: an index of all definitions of a cluster and their revisions.

use crate::{Artifact, Consuming, Stored};
use cambium_api::names::SYSTEM_NAMESPACE;
use cambium_api::v1beta1::DefinitionType;
use cambium_lineage::{Closures, Lineage, LineageError, RevisionName, Scheme};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// All definitions and their revisions. A clone costs nothing; whichever of the two changes first copies what is published.
#[derive(Debug, Clone, Default)]
pub struct Catalogue {
    published: Arc<Published>,
    /// Proposed revisions, laid over the published ones.
    proposed: Published,
    local: LocalDefinitions,
    closures: Closures<Artifact, Consuming>,
}

#[derive(Debug, Clone, Default)]
struct Published {
    shelves: BTreeMap<Artifact, Arc<Shelf>>,
    /// The definition that each revision belongs to, by the namespace and name of the revision.
    owners: BTreeMap<(String, String), Artifact>,
}

/// Whether Applications use definitions of their own namespace.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum LocalDefinitions {
    /// Definitions of the Application's own namespace come before those of the system namespace.
    #[default]
    Used,
    /// Only definitions of the system namespace are used.
    Ignored,
}

/// One definition and its revisions.
#[derive(Debug, Clone)]
pub struct Shelf {
    /// The scheme and the highest number issued, from the live definition; none if there is none.
    declared: Option<(Scheme, u64)>,
    stored: BTreeMap<RevisionName, Arc<Stored>>,
    lineage: Result<Lineage, LineageError>,
}

impl Catalogue {
    /// Notes what a live definition says.
    pub fn declare(&mut self, artifact: &Artifact, scheme: Scheme, issued: u64) {
        let shelf = self.published_mut().shelf(artifact);
        if shelf.declared != Some((scheme, issued)) {
            shelf.declared = Some((scheme, issued));
            shelf.rebuild(&artifact.name);
        }
    }

    /// Notes that a definition is gone. Its revisions stay for as long as they are there.
    pub fn undeclare(&mut self, artifact: &Artifact) {
        self.published_mut().undeclare(artifact);
    }

    /// Notes a revision, or what it has become.
    pub fn put(&mut self, stored: Arc<Stored>) {
        self.published_mut().put(stored);
    }

    /// Notes that a revision is gone; whose it was.
    pub fn remove(&mut self, namespace: &str, name: &str) -> Option<Artifact> {
        self.published_mut().remove(namespace, name)
    }

    /// A copy of the catalogue with revisions that are not published yet.
    #[must_use]
    pub fn proposing(&self, additions: &[Arc<Stored>]) -> Self {
        let mut proposing = self.clone();
        for stored in additions {
            let (namespace, name) = (&stored.artifact.namespace, stored.revision.name().as_str());
            let taken_from = proposing.owner(namespace, name).cloned();
            for artifact in taken_from.iter().chain([&stored.artifact]) {
                proposing.propose(artifact);
            }
            proposing.proposed.put(stored.clone());
        }
        proposing
    }

    /// Copies a definition to where it can change without what is published.
    fn propose(&mut self, artifact: &Artifact) {
        let published = self.published.shelves.get(artifact);
        let (Some(shelf), false) = (published, self.proposed.shelves.contains_key(artifact)) else {
            return;
        };
        for name in shelf.stored.keys() {
            let place = (artifact.namespace.clone(), name.to_string());
            self.proposed.owners.insert(place, artifact.clone());
        }
        self.proposed.shelves.insert(artifact.clone(), shelf.clone());
    }

    fn published_mut(&mut self) -> &mut Published {
        Arc::make_mut(&mut self.published)
    }

    /// A definition as it would be, or else as it is.
    fn entry(&self, artifact: &Artifact) -> Option<(&Artifact, &Shelf)> {
        let proposed = self.proposed.shelves.get_key_value(artifact);
        let (artifact, shelf) = proposed.or_else(|| self.published.shelves.get_key_value(artifact))?;
        Some((artifact, shelf))
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
        self.entry(artifact).map(|(_, shelf)| shelf)
    }

    /// All definitions of the catalogue, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&Artifact, &Shelf)> {
        let shelves = self.published.shelves.iter();
        shelves.map(|(artifact, shelf)| (artifact, &**shelf))
    }

    /// Looks a definition up as an Application does: first in its namespace, then in the system namespace. Revisions whose definition was deleted are
    /// found only if there is no other.
    pub fn find(&self, namespace: &str, type_: DefinitionType, name: &str) -> Option<(&Artifact, &Shelf)> {
        let places = [namespace, SYSTEM_NAMESPACE].map(|namespace| Artifact::new(type_, namespace, name));
        let found = || {
            places
                .iter()
                .filter(|place| self.is_used(&place.namespace))
                .filter_map(|place| self.entry(place))
        };
        found()
            .find(|(_, shelf)| shelf.is_declared())
            .or_else(|| found().next())
    }

    /// Looks a definition up in one namespace only.
    pub fn find_in(&self, namespace: &str, type_: DefinitionType, name: &str) -> Option<(&Artifact, &Shelf)> {
        self.entry(&Artifact::new(type_, namespace, name))
            .filter(|_| self.is_used(namespace))
    }

    /// Whether a definition of an Application's own namespace hides the one of that name that everybody shares.
    pub fn hides_shared(&self, artifact: &Artifact) -> bool {
        let shared = Artifact::new(artifact.type_, SYSTEM_NAMESPACE, &artifact.name);
        artifact.namespace != SYSTEM_NAMESPACE && self.get(&shared).is_some_and(Shelf::is_declared)
    }

    fn is_used(&self, namespace: &str) -> bool {
        self.local == LocalDefinitions::Used || namespace == SYSTEM_NAMESPACE
    }

    /// The definition that a revision belongs to.
    pub fn owner(&self, namespace: &str, revision: &str) -> Option<&Artifact> {
        let place = (namespace.to_owned(), revision.to_owned());
        let proposed = self.proposed.owners.get(&place);
        proposed.or_else(|| self.published.owners.get(&place))
    }

    /// Names that revisions of this artifact could have, and published ones of others have.
    pub fn taken(&self, artifact: &Artifact) -> BTreeSet<String> {
        let start = (artifact.namespace.clone(), artifact.name.clone());
        let like = |name: &str| name.starts_with(artifact.name.as_str());
        self.published
            .owners
            .range(start..)
            .take_while(|((namespace, name), _)| *namespace == artifact.namespace && like(name))
            .filter(|(_, owner)| *owner != artifact)
            .map(|((_, name), _)| name.clone())
            .collect()
    }

    /// A revision by its namespace and name.
    pub fn revision(&self, namespace: &str, name: &str) -> Option<&Arc<Stored>> {
        let shelf = self.get(self.owner(namespace, name)?)?;
        shelf.stored.get(&name.parse::<RevisionName>().ok()?)
    }
}

impl Published {
    fn undeclare(&mut self, artifact: &Artifact) {
        if let Some(shelf) = self.shelves.get_mut(artifact) {
            let shelf = Arc::make_mut(shelf);
            shelf.declared = None;
            shelf.rebuild(&artifact.name);
            self.drop_if_empty(artifact);
        }
    }

    fn put(&mut self, stored: Arc<Stored>) {
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

    fn remove(&mut self, namespace: &str, name: &str) -> Option<Artifact> {
        let artifact = self.owners.remove(&(namespace.to_owned(), name.to_owned()))?;
        if let Some(shelf) = self.shelves.get_mut(&artifact) {
            let shelf = Arc::make_mut(shelf);
            shelf.stored.retain(|known, _| known.as_str() != name);
            shelf.rebuild(&artifact.name);
            self.drop_if_empty(&artifact);
        }
        Some(artifact)
    }

    fn shelf(&mut self, artifact: &Artifact) -> &mut Shelf {
        let shelf = self.shelves.entry(artifact.clone()).or_insert_with(|| {
            Arc::new(Shelf {
                declared: None,
                stored: BTreeMap::new(),
                lineage: Lineage::builder(artifact.name.as_str(), Scheme::Numbered).build(),
            })
        });
        Arc::make_mut(shelf)
    }

    fn drop_if_empty(&mut self, artifact: &Artifact) {
        let empty = |shelf: &Arc<Shelf>| shelf.declared.is_none() && shelf.stored.is_empty();
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

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn stored(namespace: &str, version: &str) -> Arc<Stored> {
        let object = json!({
            "metadata": {"name": format!("web-v{version}"), "namespace": namespace, "uid": version},
            "spec": {
                "revision": 1, "definitionType": "Component", "definitionName": "web", "version": version,
                "componentDefinition": {"metadata": {"name": "web"}, "spec": {"version": version}},
            },
        });
        Arc::new(Stored::read(&object).expect("a revision"))
    }

    #[test]
    fn what_is_proposed_is_found_as_if_it_were_published() {
        let mut published = Catalogue::default();
        published.put(stored("shop", "1.0.0"));
        published.put(stored("other", "1.0.0"));
        let proposing = published.proposing(&[stored("shop", "1.1.0"), stored("new", "1.0.0")]);
        let versions = |catalogue: &Catalogue, namespace: &str| {
            let artifact = Artifact::new(DefinitionType::Component, namespace, "web");
            let revisions = catalogue.get(&artifact).into_iter().flat_map(Shelf::revisions);
            let names = revisions.map(|stored| stored.revision.name().to_string());
            let names: Vec<String> = names.collect();
            for name in &names {
                assert_eq!(catalogue.owner(namespace, name), Some(&artifact));
                assert!(catalogue.revision(namespace, name).is_some());
            }
            names
        };
        assert_eq!(versions(&proposing, "shop"), ["web-v1.0.0", "web-v1.1.0"]);
        assert_eq!(versions(&proposing, "other"), ["web-v1.0.0"]);
        assert_eq!(versions(&proposing, "new"), ["web-v1.0.0"]);
        // Nobody else sees it, whatever happens to the two.
        assert_eq!(versions(&published, "shop"), ["web-v1.0.0"]);
        published.remove("shop", "web-v1.0.0");
        assert_eq!(versions(&published, "shop"), [""; 0]);
        assert_eq!(versions(&proposing, "shop"), ["web-v1.0.0", "web-v1.1.0"]);
    }
}
