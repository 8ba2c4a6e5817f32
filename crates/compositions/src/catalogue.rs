//! An index of all Compositions of a cluster and their revisions.

use crate::consumers::Consuming;
use crate::content::Content;
use crate::revision::{LabelEdits, Labels, Owner, Stored, copied, identity};
use cambium_api::crossplane::TypeReference;
use cambium_lineage::{Closures, Digest, Lineage, RevisionName, Scheme};
use serde_json::Value;
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, OnceLock};

/// All Compositions and their revisions.
#[derive(Debug, Default)]
pub struct Catalogue {
    shelves: BTreeMap<String, Shelf>,
    /// Whose a revision is, by its name.
    owners: HashMap<String, String>,
    closures: Closures<String, Consuming>,
}

/// Where a composite resource moves in the lineage of its Composition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// To a revision with a higher number.
    Up,
    /// To a revision with a lower number.
    Down,
}

/// One composition and its revisions.
#[derive(Debug, Default)]
pub struct Shelf {
    live: Option<Arc<Live>>,
    stored: BTreeMap<RevisionName, Arc<Stored>>,
    /// Put together when somebody asks, and again after a change.
    lineage: OnceLock<Arc<Lineage>>,
}

/// A composition, as it is now.
#[derive(Debug, Clone, PartialEq)]
pub struct Live {
    /// The object's identity.
    pub uid: String,
    /// Its labels, by which composite resources select it.
    pub labels: Labels,
    /// The kind that it is for.
    pub composite_type: Option<TypeReference>,
    /// What it says.
    pub content: Content,
    /// The digest of what it says.
    pub digest: Digest,
    /// Whether its deletion has been asked for.
    pub deleting: bool,
}

impl Live {
    /// Reads a composition.
    pub fn read(composition: &Value) -> Self {
        let metadata = &composition["metadata"];
        let spec = composition["spec"].clone();
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let reference = &spec["compositeTypeRef"];
        Self {
            uid: text(&metadata["uid"]).unwrap_or_default(),
            labels: labels(&metadata["labels"]),
            composite_type: text(&reference["apiVersion"])
                .zip(text(&reference["kind"]))
                .map(|(api_version, kind)| TypeReference { api_version, kind }),
            digest: Digest::of(&spec),
            content: Content::new(spec),
            deleting: !metadata["deletionTimestamp"].is_null(),
        }
    }

    /// What a revision of it is known by.
    pub fn identity(&self, edits: LabelEdits) -> Digest {
        identity(self.digest, &copied(&self.labels), edits)
    }
}

/// A map of texts; anything else in it is left out.
pub(crate) fn labels(value: &Value) -> Labels {
    let labels = value.as_object().into_iter().flatten();
    labels
        .filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned())))
        .collect()
}

impl Catalogue {
    /// Notes a composition, or what it has become; nothing if it is gone.
    pub fn declare(&mut self, name: &str, live: Option<Live>) {
        let shelf = self.shelves.entry(name.to_owned()).or_default();
        shelf.live = live.map(Arc::new);
        shelf.lineage.take();
        self.drop_if_empty(name);
    }

    /// Notes a revision, or what it has become.
    pub fn put(&mut self, stored: Arc<Stored>) {
        let name = stored.revision.name().clone();
        self.remove(name.as_str());
        self.owners.insert(name.to_string(), stored.composition.clone());
        let shelf = self.shelves.entry(stored.composition.clone()).or_default();
        shelf.stored.insert(name, stored);
        shelf.lineage.take();
    }

    /// Notes that a revision is gone; whose it was.
    pub fn remove(&mut self, name: &str) -> Option<String> {
        let composition = self.owners.remove(name)?;
        if let Some(shelf) = self.shelves.get_mut(&composition) {
            shelf.stored.remove(name);
            shelf.lineage.take();
            self.drop_if_empty(&composition);
        }
        Some(composition)
    }

    /// Which revisions are closed for which composite resources, by composition.
    pub fn closures(&self) -> &Closures<String, Consuming> {
        &self.closures
    }

    /// Closes or opens revisions. Whom that concerns, [`Consumers::concerned`](crate::Consumers::concerned) knows.
    pub fn closures_mut(&mut self) -> &mut Closures<String, Consuming> {
        &mut self.closures
    }

    /// One composition.
    pub fn get(&self, composition: &str) -> Option<&Shelf> {
        self.shelves.get(composition)
    }

    /// All of them, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Shelf)> {
        self.shelves.iter().map(|(name, shelf)| (name.as_str(), shelf))
    }

    /// A revision, by its name.
    pub fn revision(&self, name: &str) -> Option<&Arc<Stored>> {
        self.get(self.owners.get(name)?)?.stored.get(name)
    }

    /// Whether a move between two revisions goes up or down in the lineage of their composition; nothing if one of them is gone, or if they are of two
    /// compositions.
    pub fn direction(&self, from: &str, to: &str) -> Option<Direction> {
        let (from, to) = (self.revision(from)?, self.revision(to)?);
        if from.composition != to.composition {
            return None;
        }
        match from.revision.number().cmp(&to.revision.number()) {
            Ordering::Less => Some(Direction::Up),
            Ordering::Greater => Some(Direction::Down),
            Ordering::Equal => None,
        }
    }

    /// Whether a composition is there and what it says has no revision yet.
    pub fn is_publishing(&self, composition: &str) -> bool {
        self.get(composition).is_some_and(|shelf| {
            let mut own = shelf.stored.values().filter(|stored| shelf.is_own(stored));
            shelf.live().is_some() && !own.any(|stored| shelf.has_live_content(stored))
        })
    }

    fn drop_if_empty(&mut self, composition: &str) {
        let empty = |shelf: &Shelf| shelf.live.is_none() && shelf.stored.is_empty();
        if self.shelves.get(composition).is_some_and(empty) {
            self.shelves.remove(composition);
        }
    }
}

impl Shelf {
    /// The composition itself; nothing if it is gone, or is going.
    pub fn live(&self) -> Option<&Live> {
        self.live.as_deref().filter(|live| !live.deleting)
    }

    /// All revisions, whether they are in the lineage or not, by name.
    pub fn revisions(&self) -> impl Iterator<Item = &Arc<Stored>> {
        self.stored.values()
    }

    /// A revision and its content.
    pub fn stored(&self, name: &RevisionName) -> Option<&Arc<Stored>> {
        self.stored.get(name)
    }

    /// Whether a revision belongs to the composition that is there, and not to an earlier one of that name, or to something else. One that
    /// belongs to nobody does.
    pub fn is_own(&self, stored: &Stored) -> bool {
        match (&stored.owner, &self.live) {
            (Owner::Other, _) => false,
            (Owner::Composition(uid), Some(live)) => *uid == live.uid,
            (Owner::Nobody, _) | (Owner::Composition(_), None) => true,
        }
    }

    /// The revisions in order.
    ///
    /// Numbers are unique in a lineage, and are not always unique in a cluster: a composition whose revisions were left behind, or restored,
    /// may have several with one number. The one with the composition's content counts, or else the youngest; the others can only be
    /// named.
    pub fn lineage(&self, name: &str) -> &Arc<Lineage> {
        self.lineage.get_or_init(|| {
            let own = self.stored.values().filter(|stored| self.is_own(stored));
            let mut own: Vec<&Arc<Stored>> = own.collect();
            own.sort_by_key(|stored| std::cmp::Reverse((stored.revision.number(), self.rank(stored))));
            let says_it = |stored: &&&Arc<Stored>| stored.is_intact() && self.has_live_content(stored);
            let holds_it = own.iter().find(says_it);
            let current = holds_it.map(|stored| stored.revision.name().clone());
            let mut numbers = BTreeSet::from([0]);
            let (revisions, aside): (Vec<_>, Vec<_>) = own
                .into_iter()
                .partition(|stored| numbers.insert(stored.revision.number()));
            let revision = |stored: &Arc<Stored>| stored.revision.clone();
            let lineage = Lineage::builder(name, Scheme::ContentAddressed)
                .revisions(revisions.into_iter().map(revision))
                .aside(aside.into_iter().map(revision))
                .current(current)
                .build()
                .expect("numbers are positive, and each number and each name is there once");
            Arc::new(lineage)
        })
    }

    fn rank(&self, stored: &Stored) -> (bool, jiff::Timestamp, std::cmp::Reverse<String>) {
        let is_current = self.has_live_content(stored);
        let revision = &stored.revision;
        (
            is_current,
            revision.created(),
            std::cmp::Reverse(revision.name().to_string()),
        )
    }

    /// The revision that those who select nothing follow.
    pub fn current(&self, name: &str) -> Option<&Arc<Stored>> {
        self.stored(self.lineage(name).current()?.name())
    }

    /// Whether a revision holds what the composition says now.
    pub fn has_live_content(&self, stored: &Stored) -> bool {
        self.live.as_ref().is_some_and(|live| live.digest == stored.found)
    }
}
