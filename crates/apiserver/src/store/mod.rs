//! The object store: a single writer, one global revision, reads from memory.
//!
//! ```text
//!  write ──► queue ──► engine: check ─► number ─► redb commit (fsync) ─► publish ──► answer
//!                                                                          │
//!                     bucket "apps/deployments":  objects (BTreeMap) ◄─────┤
//!                                                 log (ring of events) ◄───┘──► wakes watchers
//! ```
//!
//! A *bucket* holds the objects of one resource. Reads never touch the disk: a bucket keeps its objects in memory, and
//! its log keeps their previous states, for watches that resume and for consistent pagination. redb is the durable copy:
//! every acknowledged write is in it, and it is read once, at startup.

mod bucket;
mod derived;
mod engine;
mod entry;
mod interest;
mod load;
mod queue;
mod reserve;
mod tables;

use std::collections::HashMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, RwLock};

use tokio::sync::mpsc;

pub(crate) use derived::Derived;

pub use bucket::{Bucket, Event, EventKind, TooOld};
pub use engine::{Expect, Write, WriteError};
pub use entry::{Draft, Entry};
pub use interest::Interest;
pub use tables::OpenError;

use engine::Engine;
use queue::Queue;
use tables::Tables;

/// How much history a bucket keeps for watches and pages.
#[derive(Debug, Clone, Copy)]
pub struct History {
    /// Maximum events in a bucket's log.
    pub events: usize,
    /// Approximate maximum of bytes kept alive by one bucket's log alone. The log on disk, of all buckets together, has the
    /// same limit; the logs of all buckets in memory have a few times as much.
    pub bytes: usize,
}

/// Total size of all logs, in full logs, before the largest are shortened.
const FULL_LOGS: usize = 8;

impl Default for History {
    fn default() -> Self {
        Self {
            events: 8192,
            bytes: 32 << 20,
        }
    }
}

/// The objects of one API server.
#[derive(Clone)]
pub struct Store {
    shared: Arc<Shared>,
    queue: Arc<Queue>,
}

/// State shared by readers and the engine.
pub(crate) struct Shared {
    revision: AtomicU64,
    /// The revision up to which the durable log was compacted when the store was opened.
    compacted: AtomicU64,
    pub(crate) healthy: AtomicBool,
    buckets: RwLock<HashMap<Arc<str>, Arc<Bucket>>>,
    feeds: RwLock<Vec<Feed>>,
    history: History,
    /// Bytes kept alive by the logs alone.
    log_bytes: Arc<AtomicUsize>,
}

/// An in-process subscriber of events.
struct Feed {
    sender: mpsc::UnboundedSender<Arc<Event>>,
    /// Its buckets; empty for all.
    only: &'static [&'static str],
}

impl Store {
    /// A store in memory. Writes happen on the caller's thread, so it works under tokio's paused time.
    pub fn in_memory(history: History) -> Self {
        let shared = Shared::new(history);
        Self {
            queue: Arc::new(Queue::inline(Engine::in_memory(shared.clone()))),
            shared,
        }
    }

    /// A store in a file, which it locks. A dedicated thread groups and syncs writes.
    pub fn open(path: &Path, history: History) -> Result<Self, OpenError> {
        let shared = Shared::new(history);
        let engine = Engine::load(Tables::open(path, history)?, shared.clone())?;
        Ok(Self {
            shared,
            queue: Arc::new(Queue::threaded(engine)),
        })
    }

    /// A store on any redb backend, for fault injection; writes happen on the caller's thread.
    pub fn on_backend(
        reopen: Box<dyn Fn() -> Result<redb::Database, redb::DatabaseError> + Send>,
        history: History,
    ) -> Result<Self, OpenError> {
        let shared = Shared::new(history);
        let engine = Engine::load(Tables::on_backend(reopen, history)?, shared.clone())?;
        Ok(Self {
            shared,
            queue: Arc::new(Queue::inline(engine)),
        })
    }

    /// The latest published revision.
    pub fn revision(&self) -> u64 {
        self.shared.revision()
    }

    /// Whether the last commit succeeded.
    pub fn is_healthy(&self) -> bool {
        self.shared.healthy.load(Ordering::Acquire)
    }

    /// The bucket of a resource (`apps/deployments`, `/pods`).
    pub fn bucket(&self, name: &Arc<str>) -> Arc<Bucket> {
        self.shared.bucket(name)
    }

    /// Names of the buckets that exist.
    pub fn buckets(&self) -> Vec<Arc<str>> {
        let mut names: Vec<_> = read(&self.shared.buckets).keys().cloned().collect();
        names.sort();
        names
    }

    /// Writes one object; returns once it is durable.
    pub async fn write(&self, write: Write) -> Result<Arc<Entry>, WriteError> {
        self.queue.write(write).await
    }

    /// Writes several objects independently, with as few commits as possible.
    pub async fn write_all(&self, writes: Vec<Write>) -> Vec<Result<Arc<Entry>, WriteError>> {
        self.queue.write_all(writes).await
    }

    /// Subscribes to all events from now on, in order. For in-process controllers.
    pub fn feed(&self) -> mpsc::UnboundedReceiver<Arc<Event>> {
        self.feed_of(&[])
    }

    /// Subscribes to the events of some buckets.
    pub fn feed_of(&self, only: &'static [&'static str]) -> mpsc::UnboundedReceiver<Arc<Event>> {
        let (sender, receiver) = mpsc::unbounded_channel();
        write_lock(&self.shared.feeds).push(Feed { sender, only });
        receiver
    }
}

impl Shared {
    fn new(history: History) -> Arc<Self> {
        Arc::new(Self {
            revision: AtomicU64::new(0),
            compacted: AtomicU64::new(0),
            healthy: AtomicBool::new(true),
            buckets: RwLock::default(),
            feeds: RwLock::default(),
            history,
            log_bytes: Arc::default(),
        })
    }

    pub(crate) fn revision(&self) -> u64 {
        self.revision.load(Ordering::Acquire)
    }

    pub(crate) fn bucket(&self, name: &Arc<str>) -> Arc<Bucket> {
        if let Some(bucket) = read(&self.buckets).get(name) {
            return bucket.clone();
        }
        let mut buckets = write_lock(&self.buckets);
        let bucket = buckets.entry(name.clone()).or_insert_with(|| {
            Arc::new(Bucket::new(
                name.clone(),
                self.history,
                self.compacted.load(Ordering::Acquire),
                self.log_bytes.clone(),
            ))
        });
        bucket.clone()
    }

    /// Publishes a committed event: to the bucket, then the revision, then to watchers and feeds.
    pub(crate) fn publish(&self, event: Arc<Event>) {
        let revision = event.entry.revision;
        let bucket = self.bucket(&event.bucket);
        // The bucket before the revision, so that a reader of the revision finds everything up to it in the bucket, as lists
        // need it. Watchers are woken last, as they read both.
        bucket.record(event.clone());
        self.revision.store(revision, Ordering::Release);
        bucket.wake(&event);
        let mut closed = false;
        for feed in read(&self.feeds).iter() {
            if feed.only.is_empty() || feed.only.contains(&&*event.bucket) {
                closed |= feed.sender.send(event.clone()).is_err();
            }
        }
        if closed {
            write_lock(&self.feeds).retain(|feed| !feed.sender.is_closed());
        }
        if self.log_bytes.load(Ordering::Relaxed) > self.history.bytes.saturating_mul(FULL_LOGS) {
            self.shorten_logs();
        }
    }

    /// Halves the largest log.
    fn shorten_logs(&self) {
        let largest = read(&self.buckets)
            .values()
            .max_by_key(|bucket| bucket.log_bytes())
            .cloned();
        if let Some(bucket) = largest {
            bucket.shorten();
        }
    }

    pub(crate) fn start_at(&self, revision: u64, compacted: u64) {
        self.revision.store(revision, Ordering::Release);
        self.compacted.store(compacted, Ordering::Release);
    }
}

/// Locks are only held for short, panic-free sections, so a poisoned one still guards whole data.
pub(crate) fn read<T>(lock: &RwLock<T>) -> std::sync::RwLockReadGuard<'_, T> {
    lock.read().unwrap_or_else(std::sync::PoisonError::into_inner)
}

pub(crate) fn write_lock<T>(lock: &RwLock<T>) -> std::sync::RwLockWriteGuard<'_, T> {
    lock.write().unwrap_or_else(std::sync::PoisonError::into_inner)
}
