//! The garbage collector: deletes objects by owner references.
//!
//! * *Background*: an object whose owners are all gone is deleted.
//! * *Foreground*: an owner with the finalizer `foregroundDeletion` stays until every dependent that
//!   blocks it (`blockOwnerDeletion`) is gone; all its dependents are deleted.
//! * *Orphan*: an owner with the finalizer `orphan` stays until no object names it as an owner any more.
//!
//! An owner counts as absent only when its kind is served and no object of its name, in the dependent's namespace,
//! has its UID. While that cannot be verified, the dependent stays. Every write has a UID precondition.

mod act;
mod graph;
mod plan;

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use graph::{Facts, Graph, Reference};
use plan::{Dependent, Observed, Plan, Standing, State, plan};

use super::ObjectKey;
use super::work_queue::{self, Controller, Step, WorkQueue};
use crate::loopback::Loopback;
use crate::object;
use crate::server::Server;
use crate::store::{Entry, Event, EventKind};

/// Delay before owners of an unknown kind are looked up again, so that the registry has caught up with a new CRD.
const REGISTRY_DELAY: Duration = Duration::from_secs(1);

/// Starts the controller: builds the graph from the store, then follows events.
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
    let mut queue = WorkQueue::new();
    for name in server.store.buckets() {
        for entry in server.store.bucket(&name).list("").0 {
            collector.put(&name, &entry, &mut queue);
        }
    }
    tokio::spawn(work_queue::run(server.clone(), feed, known, collector, queue));
}

struct Collector {
    server: Arc<Server>,
    client: Loopback,
    graph: Graph,
    /// Objects with an owner whose kind was not served when they were last reconciled.
    unverified: HashSet<ObjectKey>,
}

impl Controller for Collector {
    type Key = ObjectKey;

    fn handle_event(&mut self, event: &Event, queue: &mut WorkQueue<ObjectKey>) {
        match event.kind {
            EventKind::Put => self.put(&event.bucket, &event.entry, queue),
            EventKind::Delete => {
                self.unverified
                    .remove(&ObjectKey::new(&event.bucket, &event.entry.key));
                self.graph
                    .remove(&event.entry.uid)
                    .into_iter()
                    .for_each(|object_key| queue.add(object_key));
            }
        }
        if event.bucket == self.server.definitions {
            for object_key in self.unverified.drain() {
                queue.add_after(object_key, REGISTRY_DELAY);
            }
        }
    }

    fn decide(&mut self, object_key: &ObjectKey, queue: &mut WorkQueue<ObjectKey>) -> Step {
        let Some((entry, observed)) = self.observe(object_key) else {
            return Step::idle();
        };
        let plan = plan(&observed);
        match &plan {
            Plan::Keep => return Step::idle(),
            Plan::KeepUnverified => {
                self.unverified.insert(object_key.clone());
                return Step::idle();
            }
            Plan::Press(dependents) => {
                dependents
                    .iter()
                    .for_each(|dependent| queue.add(dependent.clone()));
                return Step::idle();
            }
            _ => {}
        }
        tracing::debug!(?object_key, ?plan, "garbage collector reconciled object");
        Step::act(act::act(
            self.server.clone(),
            self.client.clone(),
            object_key.clone(),
            entry,
            plan,
        ))
    }
}

impl Collector {
    fn put(&mut self, bucket: &Arc<str>, entry: &Arc<Entry>, queue: &mut WorkQueue<ObjectKey>) {
        // As upstream, Events are ignored: there are many, and they cannot be owners.
        if matches!(&**bucket, "/events" | "events.k8s.io/events") {
            return;
        }
        let looks = self
            .graph
            .put(ObjectKey::new(bucket, &entry.key), Facts::of(entry));
        looks.into_iter().for_each(|object_key| queue.add(object_key));
    }

    fn observe(&self, object_key: &ObjectKey) -> Option<(Arc<Entry>, Observed)> {
        let entry = object_key.entry(&self.server)?;
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
            .map(|(object_key, other)| Dependent {
                object_key: object_key.clone(),
                blocks: other
                    .owners
                    .iter()
                    .any(|owner| owner.uid == facts.uid && owner.block_owner_deletion),
                waits_for_dependents: other.waits_for_dependents(),
            });
        let dependents = dependents.collect();
        let owners = facts.owners.into_iter().map(|owner| {
            let standing = self.standing(object_key, &owner);
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

    /// Looks an owner up by kind, name and UID.
    fn standing(&self, dependent: &ObjectKey, owner: &Reference) -> Standing {
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
