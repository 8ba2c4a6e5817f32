//! Garbage collection by owner references, as Kubernetes does it.
//!
//! * *Background*: an object whose owners are all gone is deleted.
//! * *Foreground*: an owner with the finalizer `foregroundDeletion` stays until every dependent that
//!   blocks it (`blockOwnerDeletion`) is gone; all its dependents are deleted.
//! * *Orphan*: an owner with the finalizer `orphan` stays until no object names it as an owner any more.
//!
//! An owner counts as gone only when its kind is served and no object of its name, in the dependent's
//! namespace, has its UID. Where that cannot be told, the dependent stays until it can. Every write
//! names the UID it means.

mod act;
mod graph;
mod plan;

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use graph::{Facts, Graph, Reference};
use plan::{Dependent, Observed, Plan, Standing, State, plan};

use super::Place;
use super::work::{self, Controller, Queue, Step};
use crate::loopback::Loopback;
use crate::object;
use crate::server::Server;
use crate::store::{Entry, Event, EventKind};

/// How long the registry may take to follow a CRD.
const REGISTRY_DELAY: Duration = Duration::from_secs(1);

/// Builds the graph from the store, and follows it from there.
pub(super) fn start(server: &Arc<Server>) {
    let (known, feed) = (server.store.revision(), server.store.feed());
    let client = server
        .loopback("generic-garbage-collector")
        .with_agent(super::MANAGER);
    let mut collector = Collector {
        server: server.clone(),
        client,
        graph: Graph::default(),
        unverified: HashSet::new(),
    };
    let mut queue = Queue::new();
    for name in server.store.buckets() {
        for entry in server.store.bucket(&name).list("").0 {
            collector.put(&name, &entry, &mut queue);
        }
    }
    tokio::spawn(work::run(server.clone(), feed, known, collector, queue));
}

struct Collector {
    server: Arc<Server>,
    client: Loopback,
    graph: Graph,
    /// Objects with an owner whose kind was not served when last looked at.
    unverified: HashSet<Place>,
}

impl Controller for Collector {
    type Key = Place;

    fn note(&mut self, event: &Event, queue: &mut Queue<Place>) {
        match event.kind {
            EventKind::Put => self.put(&event.bucket, &event.entry, queue),
            EventKind::Delete => {
                self.unverified
                    .remove(&Place::new(&event.bucket, &event.entry.key));
                self.graph
                    .remove(&event.entry.uid)
                    .into_iter()
                    .for_each(|place| queue.add(place));
            }
        }
        if event.bucket == self.server.definitions {
            for place in self.unverified.drain() {
                queue.add_after(place, REGISTRY_DELAY);
            }
        }
    }

    fn decide(&mut self, place: &Place, queue: &mut Queue<Place>) -> Step {
        let Some((entry, observed)) = self.observe(place) else {
            return Step::rest();
        };
        let plan = plan(&observed);
        match &plan {
            Plan::Keep => return Step::rest(),
            Plan::KeepUnverified => {
                self.unverified.insert(place.clone());
                return Step::rest();
            }
            Plan::Press(dependents) => {
                dependents
                    .iter()
                    .for_each(|dependent| queue.add(dependent.clone()));
                return Step::rest();
            }
            _ => {}
        }
        tracing::debug!(?place, ?plan, "garbage collection");
        Step::act(act::act(
            self.server.clone(),
            self.client.clone(),
            place.clone(),
            entry,
            plan,
        ))
    }
}

impl Collector {
    fn put(&mut self, bucket: &Arc<str>, entry: &Arc<Entry>, queue: &mut Queue<Place>) {
        // Events tell of objects; nobody owns them.
        if matches!(&**bucket, "/events" | "events.k8s.io/events") {
            return;
        }
        let looks = self.graph.put(Place::new(bucket, &entry.key), Facts::of(entry));
        looks.into_iter().for_each(|place| queue.add(place));
    }

    fn observe(&self, place: &Place) -> Option<(Arc<Entry>, Observed)> {
        let entry = place.entry(&self.server)?;
        let facts = Facts::of(&entry);
        let state = match () {
            () if facts.orphans_dependents() => State::OrphansDependents,
            () if facts.waits_for_dependents() => State::WaitsForDependents,
            () if facts.deleting => State::Leaving,
            () => State::Alive,
        };
        let dependents = self
            .graph
            .dependents_of(&facts.uid)
            .map(|(place, other)| Dependent {
                place: place.clone(),
                blocks: other
                    .owners
                    .iter()
                    .any(|owner| owner.uid == facts.uid && owner.block_owner_deletion),
                waits_for_dependents: other.waits_for_dependents(),
            });
        let dependents = dependents.collect();
        let owners = facts.owners.into_iter().map(|owner| {
            let standing = self.standing(place, &owner);
            (owner, standing)
        });
        Some((
            entry,
            Observed {
                state,
                owners: owners.collect(),
                dependents,
                finalizers: facts.finalizers,
            },
        ))
    }

    /// Looks an owner up by kind, name and UID, where the dependent's reference can mean it.
    fn standing(&self, dependent: &Place, owner: &Reference) -> Standing {
        let (group, version) = owner
            .api_version
            .rsplit_once('/')
            .unwrap_or(("", &owner.api_version));
        let registry = self.server.registry();
        let Some(served) = registry
            .find_kind(group, version, &owner.kind)
            .filter(|served| served.is_stored())
        else {
            return Standing::Unknown;
        };
        let namespace = dependent.namespace();
        if served.namespaced && namespace.is_empty() {
            return Standing::Unknown;
        }
        let key = object::key(if served.namespaced { namespace } else { "" }, &owner.name);
        match self.server.store.bucket(&served.bucket).get(&key) {
            Some(entry) if *entry.uid == *owner.uid => match Facts::of(&entry).waits_for_dependents() {
                true => Standing::WaitsForDependents,
                false => Standing::Present,
            },
            _ => Standing::Absent,
        }
    }
}
