//! An index of composite resources and claims by the Compositions and revisions that they use.
//!
//! An edit concerns the composite resources that would get another revision now, and nobody else.

use crate::catalogue::Catalogue;
use crate::definition::Definition;
use crate::select::{CompositionFetcher, Selector, Wish};
use cambium_api::crossplane::{TypeReference, UpdatePolicy};
use cambium_api::names::condition;
use cambium_lineage::{RevisionName, Users};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fmt;
use std::sync::Arc;

/// A composite resource or a claim.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Consuming {
    /// Its kind.
    pub type_: Arc<TypeReference>,
    /// Its namespace; empty if it is in none.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

impl Consuming {
    /// The composite resource of this kind that an object is.
    pub fn of(type_: &Arc<TypeReference>, composite: &Value) -> Self {
        let text = |field: &str| {
            composite["metadata"][field]
                .as_str()
                .unwrap_or_default()
                .to_owned()
        };
        Self {
            type_: type_.clone(),
            namespace: text("namespace"),
            name: text("name"),
        }
    }
}

impl fmt::Display for Consuming {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.namespace.as_str() {
            "" => write!(formatter, "{} {}", self.type_.kind, self.name),
            namespace => write!(formatter, "{} {namespace}/{}", self.type_.kind, self.name),
        }
    }
}

/// Who uses the revisions of a composition.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Uses {
    /// Who names each revision.
    pub by: BTreeMap<RevisionName, Users>,
    /// The labels that somebody follows: the newest revision that has them is kept.
    pub selectors: BTreeSet<Selector>,
    /// Whether there may be users that nobody has seen: nothing is given up then.
    pub unseen: bool,
}

/// The index of consumers.
#[derive(Debug, Default)]
pub struct Consumers {
    all: HashMap<Arc<Consuming>, Consumer>,
    by_composition: HashMap<String, HashSet<Arc<Consuming>>>,
    by_revision: HashMap<String, BTreeSet<Arc<Consuming>>>,
    /// Those that have no composition yet, by their kind.
    undecided: HashMap<Arc<TypeReference>, HashSet<Arc<Consuming>>>,
    /// How many follow these labels of a composition's revisions.
    selectors: HashMap<String, BTreeMap<Selector, usize>>,
    /// The selectors that definitions give to new composite resources of a kind.
    defaults: HashMap<TypeReference, Selector>,
}

/// A composite resource or a claim, as far as compositions concern it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Consumer {
    /// What it asks for.
    pub wish: Wish,
    /// Whether it composes. A claim does not: its composite resource does.
    pub composes: bool,
    /// Whether its last look ended without a revision.
    pub failed: bool,
}

impl Consumer {
    /// A composite resource.
    pub fn composite(definition: &Definition, composite: &Value) -> Self {
        let conditions = composite["status"]["conditions"].as_array();
        let mut conditions = conditions.into_iter().flatten();
        Self {
            wish: Wish::of(definition, composite),
            composes: true,
            failed: conditions.any(|known| known["type"] == condition::SYNCED && known["status"] == "False"),
        }
    }

    /// A claim. Only a pin is a use of its own: what its composite resource follows, it does not need.
    pub fn claim(definition: &Definition, claim: &Value) -> Self {
        let mut wish = Wish::of(definition, claim);
        wish.revision = wish.revision.filter(|_| wish.policy == UpdatePolicy::Manual);
        Self {
            wish,
            composes: false,
            failed: false,
        }
    }
}

impl Consumers {
    /// Takes a composite resource or a claim as it is now; the revisions that it uses now and did not before, or the reverse.
    pub fn put(&mut self, key: Arc<Consuming>, consumer: Consumer) -> BTreeSet<String> {
        if self.all.get(&key) == Some(&consumer) {
            return BTreeSet::new();
        }
        let mut changed = self.remove(&key);
        let wish = &consumer.wish;
        match &wish.composition {
            Some(composition) => {
                let known = self.by_composition.entry(composition.clone()).or_default();
                known.insert(key.clone());
                if let Some(selector) = followed(wish) {
                    let counts = self.selectors.entry(composition.clone()).or_default();
                    *counts.entry(selector.clone()).or_default() += 1;
                }
            }
            None => {
                let undecided = self.undecided.entry(wish.composite_type.clone()).or_default();
                undecided.insert(key.clone());
            }
        }
        if let Some(revision) = &wish.revision {
            let users = self.by_revision.entry(revision.clone()).or_default();
            users.insert(key.clone());
            // What it used and still uses has not changed.
            if !changed.remove(revision) {
                changed.insert(revision.clone());
            }
        }
        self.all.insert(key, consumer);
        changed
    }

    /// Forgets a composite resource or a claim; the revision that it used.
    pub fn remove(&mut self, key: &Consuming) -> BTreeSet<String> {
        let Some((key, consumer)) = self.all.remove_entry(key) else {
            return BTreeSet::new();
        };
        let wish = consumer.wish;
        if let Some(composition) = &wish.composition {
            forget(&mut self.by_composition, composition, |keys| {
                keys.remove(&key);
                keys.is_empty()
            });
            if let Some(selector) = followed(&wish) {
                forget(&mut self.selectors, composition, |counts| {
                    if let Some(count) = counts.get_mut(selector) {
                        *count -= 1;
                        if *count == 0 {
                            counts.remove(selector);
                        }
                    }
                    counts.is_empty()
                });
            }
        } else {
            forget(&mut self.undecided, &wish.composite_type, |keys| {
                keys.remove(&key);
                keys.is_empty()
            });
        }
        let Some(revision) = wish.revision else {
            return BTreeSet::new();
        };
        forget(&mut self.by_revision, &revision, |keys| {
            keys.remove(&key);
            keys.is_empty()
        });
        BTreeSet::from([revision])
    }

    /// Notes the selector that a definition gives to new composite resources; nothing if it gives none.
    pub fn set_default(&mut self, type_: &TypeReference, selector: Option<Selector>) {
        match selector {
            Some(selector) => drop(self.defaults.insert(type_.clone(), selector)),
            None => drop(self.defaults.remove(type_)),
        }
    }

    /// The composite resources that would get another revision of a composition now than the one they have, or this composition for the
    /// first time.
    pub fn concerned(
        &self,
        catalogue: &Catalogue,
        by: &dyn CompositionFetcher,
        composition: &str,
        types: &BTreeSet<TypeReference>,
    ) -> Vec<Arc<Consuming>> {
        let named = self.by_composition.get(composition).into_iter().flatten();
        let undecided = types
            .iter()
            .filter_map(|type_| self.undecided.get(type_))
            .flatten();
        let keys = named.chain(undecided);
        keys.filter(|key| self.is_concerned(catalogue, by, key))
            .cloned()
            .collect()
    }

    /// Who uses a composition, by kind and name: composite resources, and claims that name it.
    pub fn of_composition(&self, composition: &str) -> Vec<Arc<Consuming>> {
        let keys = self.by_composition.get(composition).into_iter().flatten();
        let mut keys: Vec<_> = keys.cloned().collect();
        keys.sort();
        keys
    }

    /// The composite resources that name a revision under another composition than its own: it cannot be theirs, and they say so.
    pub fn misnaming(&self, revision: &str, composition: &str) -> Vec<Arc<Consuming>> {
        let keys = self.by_revision.get(revision).into_iter().flatten();
        let elsewhere = keys.filter(|key| {
            let consumer = self.all.get(*key).filter(|consumer| consumer.composes);
            consumer.is_some_and(|consumer| consumer.wish.composition.as_deref() != Some(composition))
        });
        elsewhere.cloned().collect()
    }

    /// The revision that a composite resource or a claim names.
    pub fn revision(&self, key: &Consuming) -> Option<&str> {
        self.all.get(key)?.wish.revision.as_deref()
    }

    /// All composite resources of a kind.
    pub fn of_kind(&self, type_: &TypeReference) -> Vec<Arc<Consuming>> {
        let keys = self.all.keys().filter(|key| *key.type_ == *type_);
        keys.cloned().collect()
    }

    /// Whether a composite resource would get another revision now than the one it has.
    pub fn is_concerned(&self, catalogue: &Catalogue, by: &dyn CompositionFetcher, key: &Consuming) -> bool {
        let Some(consumer) = self.all.get(key).filter(|consumer| consumer.composes) else {
            return false;
        };
        match by.fetch(catalogue, key, &consumer.wish) {
            Ok(fetched) => match fetched.revision {
                Some(stored) => {
                    consumer.failed
                        || consumer.wish.revision.as_deref() != Some(stored.revision.name().as_str())
                }
                None => true,
            },
            // It may be another reason than it was.
            Err(_) => true,
        }
    }

    /// Who uses the revisions of a composition.
    pub fn uses(&self, catalogue: &Catalogue, composition: &str, shown: usize) -> Uses {
        let mut uses = Uses::default();
        let Some(shelf) = catalogue.get(composition) else {
            return uses;
        };
        for stored in shelf.revisions() {
            let name = stored.revision.name();
            if let Some(keys) = self.by_revision.get(name.as_str()) {
                let first = keys.iter().take(shown).map(ToString::to_string);
                uses.by.insert(name.clone(), Users::new(first, keys.len()));
            }
        }
        let followed = self
            .selectors
            .get(composition)
            .into_iter()
            .flat_map(BTreeMap::keys);
        uses.selectors.extend(followed.cloned());
        let type_ = shelf.live().and_then(|live| live.composite_type.as_ref());
        uses.selectors
            .extend(type_.and_then(|type_| self.defaults.get(type_)).cloned());
        uses
    }
}

/// The labels that a composite resource follows. Those who are told do not select.
fn followed(wish: &Wish) -> Option<&Selector> {
    let selector = wish.revision_selector.as_ref();
    selector.filter(|_| wish.policy == UpdatePolicy::Automatic)
}

fn forget<K: std::hash::Hash + Eq, V>(
    map: &mut HashMap<K, V>,
    key: &K,
    is_empty: impl FnOnce(&mut V) -> bool,
) {
    if map.get_mut(key).is_some_and(is_empty) {
        map.remove(key);
    }
}
