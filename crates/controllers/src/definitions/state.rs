//! Indexes of definitions and Applications, and the handlers of watch events that requeue what a change concerns.

use crate::debounce::{SETTLE, requeue, same_intent};
use crate::runtime::{Change, Key, Origin, Queue, Record};
use cambium_api::names::{SYSTEM_NAMESPACE, label};
use cambium_api::v1beta1::DefinitionType;
use cambium_definitions::application::Recorded;
use cambium_definitions::definition::scheme_of;
use cambium_definitions::{Artifact, Catalogue, Consumers, Consuming, LocalDefinitions, Place, Stored};
use kube::core::GroupVersionKind;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::Instant;

/// Indexes of a cluster. Locks are taken in the order of the fields, which excludes deadlocks.
#[derive(Default)]
pub(crate) struct State {
    catalogue: RwLock<Catalogue>,
    consumers: RwLock<Consumers>,
    made: Mutex<HashMap<Key, HashSet<(GroupVersionKind, Key)>>>,
    /// Applications that wait for a kind, by its group.
    missing: Mutex<HashMap<String, HashSet<Key>>>,
    /// Applications whose unknown fields have been tried since their kinds last changed.
    tried: Mutex<HashSet<Key>>,
    /// Definitions to reconcile.
    pub(crate) definitions: Queue<Artifact>,
    /// Applications to reconcile.
    pub(crate) applications: Queue<Key>,
    /// Whether all caches have been synced. Before that, the consumers that a change concerns are not known.
    ready: AtomicBool,
    /// Changes with each publish, for admission that waits for one.
    news: watch::Sender<u64>,
    /// Definitions that were admitted, until their revisions are cached.
    announced: Mutex<HashMap<Artifact, Instant>>,
}

/// How long the revisions of an admitted definition are expected.
const ANNOUNCED: Duration = Duration::from_secs(5);

impl State {
    pub(crate) fn new(local: LocalDefinitions) -> Self {
        Self {
            catalogue: RwLock::new(Catalogue::default().with_local(local)),
            ..Self::default()
        }
    }

    pub(crate) fn catalogue(&self) -> RwLockReadGuard<'_, Catalogue> {
        self.catalogue.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn consumers(&self) -> RwLockReadGuard<'_, Consumers> {
        self.consumers.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notified when a revision is published or deleted.
    pub(crate) fn news(&self) -> watch::Receiver<u64> {
        self.news.subscribe()
    }

    /// Notes that a definition was admitted: its revisions are about to be created.
    pub(crate) fn announce(&self, artifact: Artifact) {
        let now = Instant::now();
        let mut announced = self.announced();
        announced.retain(|_, until| *until > now);
        announced.insert(artifact, now + ANNOUNCED);
    }

    /// Notes that the revisions of an admitted definition exist.
    pub(crate) fn arrived(&self, artifact: &Artifact) {
        self.announced().remove(artifact);
    }

    /// The deadline for expected revisions.
    pub(crate) fn expecting_until(&self) -> Option<Instant> {
        self.announced().values().max().copied()
    }

    fn announced(&self) -> MutexGuard<'_, HashMap<Artifact, Instant>> {
        self.announced.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Marks all caches as synced.
    pub(crate) fn set_ready(&self) {
        self.ready.store(true, Ordering::Release);
    }

    /// The objects in caches that an Application made.
    pub(crate) fn made_by(&self, application: &Key) -> Vec<(GroupVersionKind, Key)> {
        let made = self.made();
        let objects = made.get(application).into_iter().flatten();
        objects.cloned().collect()
    }

    /// Adds an Application that waits for a kind of this group.
    pub(crate) fn misses(&self, application: &Key, group: &str) {
        let mut missing = self.missing.lock().unwrap_or_else(PoisonError::into_inner);
        missing
            .entry(group.to_owned())
            .or_default()
            .insert(application.clone());
    }

    /// Requeues the Applications that wait for a kind of this group.
    pub(crate) fn kind_changed(&self, group: &str) {
        let mut missing = self.missing.lock().unwrap_or_else(PoisonError::into_inner);
        let mut tried = self.tried.lock().unwrap_or_else(PoisonError::into_inner);
        for application in missing.remove(group).into_iter().flatten() {
            tried.remove(&application);
            // A kind is defined a moment before it is served.
            self.applications.reset(&application);
            self.applications.add(application);
        }
    }

    /// Whether the unknown fields of an Application have been tried since their kinds last changed.
    pub(crate) fn has_tried(&self, application: &Key) -> bool {
        let tried = self.tried.lock().unwrap_or_else(PoisonError::into_inner);
        tried.contains(application)
    }

    /// Notes that all fields of an Application were tried.
    pub(crate) fn set_tried(&self, application: &Key) {
        let mut tried = self.tried.lock().unwrap_or_else(PoisonError::into_inner);
        tried.insert(application.clone());
    }

    /// Handles a change of a definition.
    pub(crate) fn definition_changed(&self, type_: DefinitionType, change: &Change) {
        if change.same_content() {
            return;
        }
        let artifact = Artifact::new(type_, &change.key.namespace, &change.key.name);
        match &change.after {
            Some(record) => {
                let definition = record.value();
                let issued = definition["status"]["highWaterMark"].as_u64().unwrap_or(0);
                self.catalogue_mut()
                    .declare(&artifact, scheme_of(&definition), issued);
            }
            None => self.catalogue_mut().undeclare(&artifact),
        }
        requeue(&self.definitions, artifact.clone(), change, same_intent(change));
        if change.before.is_none() || change.after.is_none() {
            self.requeue_concerned(&artifact);
        }
    }

    /// Handles a change of a DefinitionRevision.
    pub(crate) fn revision_changed(&self, change: &Change) {
        if change.same_content() {
            return;
        }
        let read = |record: &Arc<Record>| match Stored::read(&record.value()) {
            Ok(stored) => Some(Arc::new(stored)),
            Err(error) => {
                tracing::warn!(revision = %change.key, %error, "invalid DefinitionRevision; it is not used");
                None
            }
        };
        let (before, after) = (
            change.before.as_ref().and_then(read),
            change.after.as_ref().and_then(read),
        );
        match &after {
            Some(stored) => {
                self.catalogue_mut().put(stored.clone());
                self.arrived(&stored.artifact);
            }
            None => drop(
                self.catalogue_mut()
                    .remove(&change.key.namespace, &change.key.name),
            ),
        }
        let artifacts: BTreeSet<&Artifact> = [&before, &after]
            .into_iter()
            .flatten()
            .map(|stored| &stored.artifact)
            .collect();
        let same_revision = match (&before, &after) {
            (Some(before), Some(after)) => {
                before.revision == after.revision && before.artifact == after.artifact
            }
            _ => false,
        };
        if !same_revision {
            self.news.send_modify(|count| *count += 1);
        }
        // One whose deletion was asked for waits to be released.
        let going = |stored: &Option<Arc<Stored>>| stored.as_ref().is_some_and(|stored| stored.deleting);
        let settled = same_revision && going(&before) == going(&after);
        for artifact in artifacts {
            requeue(&self.definitions, artifact.clone(), change, settled);
            if !same_revision {
                self.requeue_concerned(artifact);
            }
        }
    }

    /// Handles a change of an Application.
    pub(crate) fn application_changed(&self, change: &Change) {
        if change.same_content() {
            return;
        }
        let key = consuming(&change.key);
        let locked = self.consumers().locked(&key);
        let changed = match &change.after {
            Some(record) => {
                let application = record.value();
                self.consumers_mut().put(&key, &application)
            }
            None => {
                let mut tried = self.tried.lock().unwrap_or_else(PoisonError::into_inner);
                tried.remove(&change.key);
                self.consumers_mut().remove(&key)
            }
        };
        self.uses_changed(&changed);
        let now_locked = self.consumers().locked(&key);
        self.locks_changed(&key, locked.symmetric_difference(&now_locked));
        if !(change.origin == Origin::Ourselves && same_intent(change)) {
            self.applications.add(change.key.clone());
        }
    }

    /// Handles a change of an ApplicationRevision.
    pub(crate) fn recorded_changed(&self, change: &Change) {
        let theirs = change.origin != Origin::Ourselves && !change.same_content();
        let application = |record: &Arc<Record>| {
            let labels = record.metadata().labels.unwrap_or_default();
            Some(Consuming::new(
                &change.key.namespace,
                labels.get(label::APPLICATION)?,
            ))
        };
        if let Some(before) = change.before.as_ref().and_then(application) {
            let changed = self.consumers_mut().remove_recorded(&before, &change.key.name);
            self.uses_changed(&changed);
            if theirs {
                self.applications.add(Key::new(&before.namespace, &before.name));
            }
        }
        let Some(record) = &change.after else {
            return;
        };
        let Some(key) = application(record) else {
            return;
        };
        if theirs {
            self.applications.add(Key::new(&key.namespace, &key.name));
        }
        match Recorded::read(&record.value()) {
            Ok(recorded) => {
                let changed = self.consumers_mut().put_recorded(&key, &recorded);
                self.uses_changed(&changed);
            }
            Err(error) => {
                tracing::warn!(revision = %change.key, %error, "invalid ApplicationRevision; it is not used");
            }
        }
    }

    /// Handles a change of an object that an Application made.
    pub(crate) fn child_changed(&self, gvk: &GroupVersionKind, change: &Change) {
        let application = |record: &Arc<Record>| {
            let labels = record.metadata().labels.unwrap_or_default();
            let namespace = labels.get(label::APPLICATION_NAMESPACE)?;
            Some(Key::new(namespace, labels.get(label::APPLICATION)?))
        };
        let (before, after) = (
            change.before.as_ref().and_then(application),
            change.after.as_ref().and_then(application),
        );
        {
            let mut made = self.made();
            let object = (gvk.clone(), change.key.clone());
            if before != after
                && let Some(before) = &before
                && let Some(objects) = made.get_mut(before)
            {
                objects.remove(&object);
                if objects.is_empty() {
                    made.remove(before);
                }
            }
            if let Some(after) = &after {
                made.entry(after.clone()).or_default().insert(object);
            }
        }
        if change.same_content() || change.origin == Origin::Ourselves {
            return;
        }
        for application in [before, after].into_iter().flatten().collect::<BTreeSet<_>>() {
            self.applications.add(application);
        }
    }

    /// Requeues the Applications that would get another revision now.
    fn requeue_concerned(&self, artifact: &Artifact) {
        if !self.ready.load(Ordering::Acquire) {
            return;
        }
        let concerned = {
            let catalogue = self.catalogue();
            self.consumers().concerned(&catalogue, artifact)
        };
        self.applications
            .add_all(concerned.iter().map(|key| Key::new(&key.namespace, &key.name)));
    }

    /// Requeues the definitions whose revisions have other users than before.
    fn uses_changed(&self, changed: &BTreeSet<Place>) {
        if changed.is_empty() {
            return;
        }
        let artifacts: BTreeSet<Artifact> = {
            let catalogue = self.catalogue();
            let owner = |(namespace, name): &Place| catalogue.owner(namespace, name).cloned();
            changed.iter().filter_map(owner).collect()
        };
        for artifact in artifacts {
            self.definitions.add_after(artifact, SETTLE);
        }
    }

    /// Requeues the definitions whose revisions are named by other locks than before.
    fn locks_changed<'l>(
        &self,
        application: &Consuming,
        changed: impl Iterator<Item = &'l (DefinitionType, String, String)>,
    ) {
        for (type_, name, _) in changed {
            for namespace in [application.namespace.as_str(), SYSTEM_NAMESPACE] {
                let artifact = Artifact::new(*type_, namespace, name);
                if self.catalogue().get(&artifact).is_some() {
                    self.definitions.add_after(artifact, SETTLE);
                }
            }
        }
    }

    fn catalogue_mut(&self) -> RwLockWriteGuard<'_, Catalogue> {
        self.catalogue.write().unwrap_or_else(PoisonError::into_inner)
    }

    fn consumers_mut(&self) -> RwLockWriteGuard<'_, Consumers> {
        self.consumers.write().unwrap_or_else(PoisonError::into_inner)
    }

    fn made(&self) -> MutexGuard<'_, HashMap<Key, HashSet<(GroupVersionKind, Key)>>> {
        self.made.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The consumer with this key.
pub(super) fn consuming(key: &Key) -> Consuming {
    Consuming::new(&key.namespace, &key.name)
}
