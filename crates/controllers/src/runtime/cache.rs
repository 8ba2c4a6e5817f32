//! A cache of all objects of one resource, which tells a handler of each change.
//!
//! Two sources feed a cache: a [`watch`](crate::runtime::watch), and the answers to our own writes
//! ([`Cache::learn`]), which usually come first. Resource versions decide which is newer, so that each change is
//! stored once and told once, whoever brings it, and the changes told about a key form a chain: `before` is
//! always what `after` was the last time.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use kube::api::ApiResource;
use tokio::sync::watch;

use super::record::{Key, Object, Record};

/// A change of one object.
#[derive(Debug, Clone)]
pub struct Change {
    /// Which object.
    pub key: Key,
    /// The object before; nothing if it is new.
    pub before: Option<Arc<Record>>,
    /// The object now; nothing if it is deleted.
    pub after: Option<Arc<Record>>,
    /// Where the change comes from.
    pub origin: Origin,
}

impl Change {
    /// Whether only the resource version or the managed fields have changed.
    pub fn same_content(&self) -> bool {
        match (&self.before, &self.after) {
            (Some(before), Some(after)) => before.same_content(after),
            _ => false,
        }
    }
}

/// Where a change comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// An event of the watch.
    Watch,
    /// It is the answer to a write of our own. It may hold more than our write: somebody else's change that
    /// came before it is told by nothing else, so a handler that skips its own writes must compare the parts that
    /// it does not write.
    Ourselves,
    /// The answer to an own write at a resource version, which holds nothing but that write: any other change would have been a conflict.
    OurselvesAlone,
}

/// Called with each change, in order, one at a time. It may read the cache, but not write to it.
pub type Handler = Arc<dyn Fn(Change) + Send + Sync>;

/// The state of a cache.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum State {
    /// The first list is not complete.
    Filling,
    /// The first list is complete, and the watch has followed since.
    Synced,
    /// The server refuses to list the resource, for this reason; the watch is retried.
    Refused(String),
    /// The server does not serve the resource, and the watch has ended.
    Gone,
}

/// All objects of one resource.
pub struct Cache {
    resource: ApiResource,
    handler: Handler,
    records: RwLock<BTreeMap<Key, Arc<Record>>>,
    /// Held while a change is stored and told, so that both happen in the same order.
    ahead: Mutex<Ahead>,
    state: watch::Sender<State>,
}

/// Own writes that the watch has not shown yet.
#[derive(Default)]
struct Ahead {
    written: HashMap<Key, u64>,
    deleted: HashMap<Key, Deleted>,
}

struct Deleted {
    uid: Box<str>,
    version: u64,
}

/// An object that a list shows at an older version than the cache has.
#[derive(Debug)]
pub(super) struct Doubt {
    pub(super) key: Key,
    /// The version that is known; 0 if it is known to be deleted.
    known: u64,
}

impl Cache {
    /// An empty cache whose changes are told to `handler`.
    pub fn new(resource: ApiResource, handler: impl Fn(Change) + Send + Sync + 'static) -> Arc<Self> {
        Arc::new(Self {
            resource,
            handler: Arc::new(handler),
            records: RwLock::default(),
            ahead: Mutex::default(),
            state: watch::channel(State::Filling).0,
        })
    }

    /// The resource of its objects.
    pub fn resource(&self) -> &ApiResource {
        &self.resource
    }

    /// One object.
    pub fn get(&self, key: &Key) -> Option<Arc<Record>> {
        self.read().get(key).cloned()
    }

    /// All objects, by namespace and name. Takes a reference to each, no copy.
    pub fn all(&self) -> Vec<(Key, Arc<Record>)> {
        let records = self.read();
        records
            .iter()
            .map(|(key, record)| (key.clone(), record.clone()))
            .collect()
    }

    /// The objects of one namespace, by name.
    pub fn in_namespace(&self, namespace: &str) -> Vec<(Key, Arc<Record>)> {
        let records = self.read();
        records
            .range(Key::new(namespace, "")..)
            .take_while(|(key, _)| key.namespace == namespace)
            .map(|(key, record)| (key.clone(), record.clone()))
            .collect()
    }

    /// How many objects there are.
    pub fn len(&self) -> usize {
        self.read().len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.read().is_empty()
    }

    /// The state, now and from now on.
    pub fn state(&self) -> watch::Receiver<State> {
        self.state.subscribe()
    }

    /// Waits until the first list is complete.
    pub async fn synced(&self) {
        let mut state = self.state.subscribe();
        let told = state.wait_for(|state| *state == State::Synced).await;
        told.expect("the sender is this cache's own");
    }

    /// Stores the answer to an own write: the next reconcile reads it even if the watch is late.
    pub fn learn(&self, object: impl Into<Object>) {
        self.take(object.into(), Origin::Ourselves);
    }

    /// The same, for a write at a resource version: it does not requeue.
    pub fn learn_alone(&self, object: impl Into<Object>) {
        self.take(object.into(), Origin::OurselvesAlone);
    }

    fn take(&self, object: Object, origin: Origin) {
        let (key, record) = self.record(object);
        let mut ahead = self.ahead();
        if ahead.has_deleted(&key, &record) || !self.is_news(&key, &record) {
            return;
        }
        ahead.written.insert(key.clone(), record.version());
        self.store(key, record, origin);
    }

    /// Takes note that the server answered a deletion of ours by removing the object with this uid (not by
    /// marking it: such an answer is an object to [`Cache::learn`]).
    pub fn learn_gone(&self, key: &Key, uid: &str) {
        let mut ahead = self.ahead();
        let Some(record) = self.get(key).filter(|record| record.uid() == uid) else {
            return;
        };
        let version = record.version();
        ahead.written.remove(key);
        ahead.deleted.insert(
            key.clone(),
            Deleted {
                uid: uid.into(),
                version,
            },
        );
        self.remove(key, Origin::Ourselves);
    }

    /// An object as the watch shows it.
    pub(crate) fn seen(&self, object: Object) -> Key {
        let (key, record) = self.record(object);
        self.seen_record(key, record)
    }

    fn seen_record(&self, key: Key, record: Record) -> Key {
        let mut ahead = self.ahead();
        if ahead.has_deleted(&key, &record) {
            return key;
        }
        ahead.deleted.remove(&key);
        if ahead
            .written
            .get(&key)
            .is_some_and(|written| record.version() >= *written)
        {
            ahead.written.remove(&key);
        }
        if self.is_news(&key, &record) {
            self.store(key.clone(), record, Origin::Watch);
        }
        key
    }

    /// An object as a complete list shows it; and the doubt whether that is so, if what is known is newer. Then the list comes from a copy that lags
    /// behind, or the server's store is an older one by now, restored from a backup: somebody must ask.
    pub(super) fn listed(&self, object: Object) -> (Key, Option<Doubt>) {
        let (key, record) = self.record(object);
        let known = match self.get(&key) {
            Some(known) => (record.version() < known.version()).then(|| known.version()),
            None => self.ahead().has_deleted(&key, &record).then_some(0),
        };
        match known.map(|known| Doubt {
            key: key.clone(),
            known,
        }) {
            Some(doubt) => (key, Some(doubt)),
            None => (self.seen_record(key, record), None),
        }
    }

    /// Stores the API server's answer about an object in doubt, unless a newer version is known by now.
    pub(super) fn settle(&self, doubt: &Doubt, object: Object) {
        let (key, record) = self.record(object);
        let mut ahead = self.ahead();
        let known = self.get(&key).map_or(0, |known| known.version());
        if known == doubt.known && known != record.version() {
            ahead.deleted.remove(&key);
            ahead.written.remove(&key);
            self.store(key, record, Origin::Watch);
        }
    }

    /// Forgets the known version of an object in doubt that could not be read: the next event of the watch is believed.
    pub(super) fn forget(&self, doubt: &Doubt) {
        self.ahead().deleted.remove(&doubt.key);
    }

    /// Removes an object whose deletion the watch shows.
    pub(super) fn seen_gone(&self, object: Object) {
        let (key, record) = self.record(object);
        let mut ahead = self.ahead();
        if ahead
            .deleted
            .get(&key)
            .is_some_and(|deleted| *deleted.uid == *record.uid())
        {
            ahead.deleted.remove(&key);
        }
        let newer = |known: Arc<Record>| known.version() > record.version() && record.version() != 0;
        if !self.get(&key).is_some_and(newer) {
            ahead.written.remove(&key);
            self.remove(&key, Origin::Watch);
        }
    }

    /// Objects that a complete list did not have, and that we have not written since the watch last told us.
    /// Those that we have written may be newer than the list: they are given back, for somebody to ask.
    pub(super) fn vanished(&self, listed: impl Fn(&Key) -> bool) -> Vec<Key> {
        let mut ahead = self.ahead();
        // What it shows though we deleted it is in doubt, and settled next. The list lags, or the store was restored.
        ahead.deleted.retain(|key, _| listed(key));
        let absent: Vec<Key> = self.read().keys().filter(|key| !listed(key)).cloned().collect();
        let (doubtful, gone): (Vec<_>, Vec<_>) = absent
            .into_iter()
            .partition(|key| ahead.written.contains_key(key));
        for key in &gone {
            self.remove(key, Origin::Watch);
        }
        doubtful
    }

    /// Removes an object that is deleted for certain, unless it has changed since it had this version.
    pub(super) fn drop_if(&self, key: &Key, version: u64) {
        let mut ahead = self.ahead();
        if self.get(key).is_some_and(|record| record.version() == version) {
            ahead.written.remove(key);
            self.remove(key, Origin::Watch);
        }
    }

    /// Removes all objects.
    pub(super) fn clear(&self) {
        let mut ahead = self.ahead();
        *ahead = Ahead::default();
        let keys: Vec<Key> = self.read().keys().cloned().collect();
        for key in keys {
            self.remove(&key, Origin::Watch);
        }
    }

    pub(super) fn set_state(&self, state: State) {
        self.state.send_if_modified(|now| {
            let modified = *now != state;
            *now = state;
            modified
        });
    }

    fn record(&self, object: Object) -> (Key, Record) {
        (object.key(), Record::new(object, &self.resource))
    }

    fn is_news(&self, key: &Key, record: &Record) -> bool {
        match self.get(key) {
            // A version that is no number says nothing about order; then whoever comes last is right.
            Some(known) if record.version() == 0 || known.version() == 0 => *known != *record,
            Some(known) => record.version() > known.version(),
            None => true,
        }
    }

    fn store(&self, key: Key, record: Record, origin: Origin) {
        let after = Arc::new(record);
        let before = self.write().insert(key.clone(), after.clone());
        (self.handler)(Change {
            key,
            before,
            after: Some(after),
            origin,
        });
    }

    fn remove(&self, key: &Key, origin: Origin) {
        let before = self.write().remove(key);
        if before.is_some() {
            (self.handler)(Change {
                key: key.clone(),
                before,
                after: None,
                origin,
            });
        }
    }

    // A handler that panics leaves nothing half done in here, so a poisoned lock is as good as any.

    fn read(&self) -> std::sync::RwLockReadGuard<'_, BTreeMap<Key, Arc<Record>>> {
        self.records.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> std::sync::RwLockWriteGuard<'_, BTreeMap<Key, Arc<Record>>> {
        self.records.write().unwrap_or_else(PoisonError::into_inner)
    }

    fn ahead(&self) -> MutexGuard<'_, Ahead> {
        self.ahead.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Ahead {
    /// Whether this is a late event of an object that is known to be deleted.
    fn has_deleted(&self, key: &Key, record: &Record) -> bool {
        self.deleted
            .get(key)
            .is_some_and(|deleted| *deleted.uid == *record.uid() || record.version() < deleted.version)
    }
}

#[cfg(test)]
mod tests;
