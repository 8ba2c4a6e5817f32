//! A bucket: the objects of one resource, and a log of recent changes.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Bound;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, RwLock};

use tokio::sync::watch;

use super::interest::{Interest, Waiting};
use super::{Entry, History, read, write_lock};

/// The part of a log that is always kept. Watches are woken when half of it has been written, matching or not.
const SHORTEST: usize = 4;

/// One change of one object.
#[derive(Debug)]
pub struct Event {
    /// The bucket of the object.
    pub bucket: Arc<str>,
    /// The type of the change.
    pub kind: EventKind,
    /// The object after the change; for a deletion, its last state with the revision of the deletion.
    pub entry: Arc<Entry>,
    /// The object before the change.
    pub previous: Option<Arc<Entry>>,
}

/// The type of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventKind {
    /// Created or updated.
    Put,
    /// Deleted.
    Delete,
}

/// The requested revision has left the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooOld {
    /// The oldest available revision.
    pub oldest: u64,
}

/// The objects of one resource.
pub struct Bucket {
    name: Arc<str>,
    history: History,
    state: RwLock<State>,
    waiting: Waiting,
    /// The `log_bytes` of all buckets.
    total: Arc<AtomicUsize>,
}

#[derive(Default)]
struct State {
    objects: BTreeMap<Arc<str>, Arc<Entry>>,
    log: VecDeque<Arc<Event>>,
    log_bytes: usize,
    /// Changes up to this revision have left the log.
    compacted: u64,
    newest: u64,
}

impl Bucket {
    pub(crate) fn new(name: Arc<str>, history: History, compacted: u64, total: Arc<AtomicUsize>) -> Self {
        let state = RwLock::new(State {
            compacted,
            newest: compacted,
            ..State::default()
        });
        Self {
            name,
            history,
            state,
            waiting: Waiting::new(history),
            total,
        }
    }

    /// The bucket's name: `group/resource`.
    pub fn name(&self) -> &Arc<str> {
        &self.name
    }

    /// Gets an object.
    pub fn get(&self, key: &str) -> Option<Arc<Entry>> {
        read(&self.state).objects.get(key).cloned()
    }

    /// The revision of the latest change.
    pub fn newest(&self) -> u64 {
        read(&self.state).newest
    }

    /// The number of objects.
    pub fn len(&self) -> usize {
        read(&self.state).objects.len()
    }

    /// Whether the bucket is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All objects whose key begins with `prefix`, in key order, and the revision of the bucket's latest change.
    pub fn list(&self, prefix: &str) -> (Vec<Arc<Entry>>, u64) {
        let state = read(&self.state);
        (state.range(prefix, "").cloned().collect(), state.newest)
    }

    /// The objects as they were at `revision`, with keys after `after`.
    pub fn list_at(&self, revision: u64, prefix: &str, after: &str) -> Result<Vec<Arc<Entry>>, TooOld> {
        let state = read(&self.state);
        if revision < state.compacted {
            return Err(TooOld {
                oldest: state.compacted,
            });
        }
        if revision >= state.newest {
            return Ok(state.range(prefix, after).cloned().collect());
        }
        // Undo later changes: the oldest later event of a key has its state at the revision.
        let mut past: BTreeMap<Arc<str>, Option<Arc<Entry>>> = BTreeMap::new();
        let since = state
            .log
            .partition_point(|event| event.entry.revision <= revision);
        for event in state.log.range(since..) {
            let key = &event.entry.key;
            if key.starts_with(prefix) && **key > *after {
                past.entry(key.clone()).or_insert_with(|| event.previous.clone());
            }
        }
        for entry in state.range(prefix, after) {
            past.entry(entry.key.clone())
                .or_insert_with(|| Some(entry.clone()));
        }
        Ok(past.into_values().flatten().collect())
    }

    /// Up to `limit` events after `revision`, oldest first.
    pub fn events_after(&self, revision: u64, limit: usize) -> Result<Vec<Arc<Event>>, TooOld> {
        let state = read(&self.state);
        if revision < state.compacted {
            return Err(TooOld {
                oldest: state.compacted,
            });
        }
        let since = state
            .log
            .partition_point(|event| event.entry.revision <= revision);
        Ok(state.log.range(since..).take(limit).cloned().collect())
    }

    /// Notifies of changes that match an interest, and occasionally of others, so that a watcher that reads the log each
    /// time never falls behind its start.
    pub fn subscribe(&self, interest: Interest) -> watch::Receiver<u64> {
        self.waiting.subscribe(interest)
    }

    pub(crate) fn record(&self, event: Arc<Event>) {
        let mut state = write_lock(&self.state);
        state.newest = event.entry.revision;
        match event.kind {
            EventKind::Put => state.objects.insert(event.entry.key.clone(), event.entry.clone()),
            EventKind::Delete => state.objects.remove(&event.entry.key),
        };
        let before = state.log_bytes;
        state.log_bytes += weight(&event);
        state.log.push_back(event);
        state.trim(self.history);
        self.count(before, state.log_bytes);
    }

    /// Bytes kept alive by the log alone.
    pub(crate) fn log_bytes(&self) -> usize {
        read(&self.state).log_bytes
    }

    /// Drops the older half of the log, except the part that up-to-date watches may still read.
    pub(crate) fn shorten(&self) {
        let mut state = write_lock(&self.state);
        let before = state.log_bytes;
        state.trim(History {
            events: self.history.events,
            bytes: (before / 2).max(self.history.bytes / SHORTEST),
        });
        self.count(before, state.log_bytes);
    }

    fn count(&self, before: usize, after: usize) {
        match after >= before {
            true => self.total.fetch_add(after - before, Ordering::Relaxed),
            false => self.total.fetch_sub(before - after, Ordering::Relaxed),
        };
    }

    /// Drops the log up to a revision if the bucket is empty; later requests for that range get [`TooOld`].
    pub(crate) fn forget(&self, revision: u64) {
        let mut state = write_lock(&self.state);
        if !state.objects.is_empty() {
            return;
        }
        let gone = state
            .log
            .partition_point(|event| event.entry.revision <= revision);
        state.log.drain(..gone);
        state.log.shrink_to_fit();
        let before = state.log_bytes;
        state.log_bytes = state.log.iter().map(|event| weight(event)).sum();
        self.count(before, state.log_bytes);
        state.compacted = state.compacted.max(revision);
        state.newest = state.newest.max(revision);
    }

    pub(crate) fn wake(&self, event: &Event) {
        self.waiting.wake(event, weight(event));
    }

    /// Fills the bucket with objects and log from disk. `compacted` is the revision up to which the log is missing.
    pub(crate) fn restore(&self, objects: Vec<Arc<Entry>>, log: Vec<Arc<Event>>, compacted: Option<u64>) {
        let mut state = write_lock(&self.state);
        let newest_object = objects.iter().map(|entry| entry.revision).max();
        state.newest = log
            .last()
            .map(|event| event.entry.revision)
            .or(newest_object)
            .unwrap_or(state.compacted);
        if let Some(compacted) = compacted {
            state.compacted = state.compacted.max(compacted);
            state.newest = state.newest.max(compacted);
        }
        state.objects = objects
            .into_iter()
            .map(|entry| (entry.key.clone(), entry))
            .collect();
        state.log_bytes = log.iter().map(|event| weight(event)).sum();
        state.log = log.into();
        self.count(0, state.log_bytes);
    }
}

impl State {
    /// Drops the oldest events until the log is within its bounds.
    fn trim(&mut self, bounds: History) {
        while self.log.len() > bounds.events || self.log_bytes > bounds.bytes {
            let Some(oldest) = self.log.pop_front() else {
                break;
            };
            self.log_bytes -= weight(&oldest);
            self.compacted = oldest.entry.revision;
        }
    }

    fn range<'a>(&'a self, prefix: &'a str, after: &'a str) -> impl Iterator<Item = &'a Arc<Entry>> {
        let from = match after > prefix {
            true => Bound::Excluded(after),
            false => Bound::Included(prefix),
        };
        let range = self.objects.range::<str, _>((from, Bound::Unbounded));
        range
            .map(|(_, entry)| entry)
            .take_while(move |entry| entry.key.starts_with(prefix))
    }
}

/// The bytes that an event keeps alive beyond the current objects.
fn weight(event: &Event) -> usize {
    weight_of(event.previous.as_ref().map_or(&[][..], |entry| &entry.json))
}

/// The same for an event with this previous object.
pub(super) fn weight_of(previous: &[u8]) -> usize {
    previous.len() + 128
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::{Draft, Expect, Store, Write};
    use serde_json::json;

    async fn write(store: &Store, key: &str, expect: Expect, put: bool) -> u64 {
        let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": key}});
        let write = Write {
            bucket: "/configmaps".into(),
            key: key.into(),
            expect,
            put: put.then(|| Draft::new(&object)),
        };
        store.write(write).await.unwrap().revision
    }

    #[tokio::test]
    async fn what_is_gone_can_be_forgotten_and_what_happens_later_is_told() {
        let store = Store::in_memory(History::default());
        let bucket = store.bucket(&"/configmaps".into());
        let made = write(&store, "a", Expect::Absent, true).await;
        bucket.forget(made);
        assert_eq!(bucket.events_after(1, 9).unwrap().len(), 1, "it is still there");
        let gone = write(&store, "a", Expect::Revision(made), false).await;
        let later = write(&store, "b", Expect::Absent, true).await;
        write(&store, "b", Expect::Revision(later), false).await;
        bucket.forget(gone);
        assert_eq!(bucket.events_after(made, 9).unwrap_err(), TooOld { oldest: gone });
        assert!(bucket.list_at(made, "", "").is_err());
        assert_eq!(bucket.events_after(gone, 9).unwrap().len(), 2);
        assert_eq!(bucket.list_at(later, "", "").unwrap().len(), 1);
    }

    #[tokio::test]
    async fn all_logs_together_are_bounded_and_watches_that_keep_up_go_on() {
        let history = History {
            events: 8192,
            bytes: 1 << 20,
        };
        let store = Store::in_memory(history);
        for number in 0..30 {
            let name: Arc<str> = format!("/things-{number}").into();
            let mut expect = Expect::Absent;
            for _ in 0..12 {
                let object = json!({"apiVersion": "v1", "kind": "Thing", "metadata": {"name": "a"},
                    "data": "x".repeat(100_000)});
                let put = Some(Draft::new(&object));
                let (bucket, key) = (name.clone(), "a".into());
                let write = Write {
                    bucket,
                    key,
                    expect,
                    put,
                };
                expect = Expect::Revision(store.write(write).await.unwrap().revision);
            }
        }
        let names = store.buckets();
        let kept: usize = names.iter().map(|name| store.bucket(name).log_bytes()).sum();
        assert!(kept <= 9 * history.bytes, "{kept} bytes");
        for name in names {
            let bucket = store.bucket(&name);
            assert!(bucket.events_after(bucket.newest() - 2, 9).is_ok(), "{name}");
        }
    }
}
