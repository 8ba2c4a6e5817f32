//! Where objects live: one writer, one global revision, everything readable from memory.
//!
//! ```text
//!  write ──► queue ──► engine: check ─► number ─► redb commit (fsync) ─► publish ──► answer
//!                                                                          │
//!                     bucket "apps/deployments":  objects (BTreeMap) ◄─────┤
//!                                                 log (ring of events) ◄───┘──► wakes watchers
//! ```
//!
//! A *bucket* holds the objects of one resource. Reads never touch the disk: a bucket keeps its
//! objects in memory, and its log keeps what they were before. The log serves watches that resume,
//! and pages of a list that must show the past. redb is the durable copy: whatever was answered is
//! in it, and it is read once, at start.

mod bucket;
mod derived;
mod engine;
mod entry;
mod load;
mod queue;
mod reserve;
mod tables;
mod waiting;

use std::collections::HashMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, RwLock};

use tokio::sync::mpsc;

pub(crate) use derived::Derived;

pub use bucket::{Bucket, Event, EventKind, TooOld};
pub use engine::{Expect, Write, WriteError};
pub use entry::{Draft, Entry};
pub use tables::OpenError;
pub use waiting::Interest;

use engine::Engine;
use queue::Queue;
use tables::Tables;

/// How much history a bucket keeps for watches and pages.
#[derive(Debug, Clone, Copy)]
pub struct History {
    /// Most events in one bucket's log.
    pub events: usize,
    /// Most bytes of objects that only one bucket's log still holds, roughly. The log on disk, which is of all buckets, has as
    /// many; the logs of all buckets in memory have a few times as many.
    pub bytes: usize,
}

/// How many full logs of buckets fit into memory, before the largest are shortened.
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

/// What readers and the engine share.
pub(crate) struct Shared {
    revision: AtomicU64,
    /// What had left the durable log when the store was opened; no bucket knows more.
    compacted: AtomicU64,
    pub(crate) healthy: AtomicBool,
    buckets: RwLock<HashMap<Arc<str>, Arc<Bucket>>>,
    feeds: RwLock<Vec<Feed>>,
    history: History,
    /// Bytes that only the logs of buckets still hold.
    log_bytes: Arc<AtomicUsize>,
}

/// Somebody in this process who follows what happens.
struct Feed {
    sender: mpsc::UnboundedSender<Arc<Event>>,
    /// The buckets it is about; none means all.
    only: &'static [&'static str],
}

impl Store {
    /// A store that forgets everything when dropped. Writes happen on the caller's thread, so it
    /// works under tokio's paused time.
    pub fn in_memory(history: History) -> Self {
        let shared = Shared::new(history);
        Self {
            queue: Arc::new(Queue::inline(Engine::in_memory(shared.clone()))),
            shared,
        }
    }

    /// A store in a file, which it locks. Writes are grouped and synced by a thread of its own.
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

    /// The newest revision that every reader can see.
    pub fn revision(&self) -> u64 {
        self.shared.revision()
    }

    /// Whether the last write reached the disk.
    pub fn is_healthy(&self) -> bool {
        self.shared.healthy.load(Ordering::Acquire)
    }

    /// The objects of one resource (`apps/deployments`, `/pods`).
    pub fn bucket(&self, name: &Arc<str>) -> Arc<Bucket> {
        self.shared.bucket(name)
    }

    /// Names of the buckets that exist.
    pub fn buckets(&self) -> Vec<Arc<str>> {
        let mut names: Vec<_> = read(&self.shared.buckets).keys().cloned().collect();
        names.sort();
        names
    }

    /// Writes one object; answers once it is durable.
    pub async fn write(&self, write: Write) -> Result<Arc<Entry>, WriteError> {
        self.queue.write(write).await
    }

    /// Writes several objects, each for itself, with as few commits as can be.
    pub async fn write_all(&self, writes: Vec<Write>) -> Vec<Result<Arc<Entry>, WriteError>> {
        self.queue.write_all(writes).await
    }

    /// Every event of every bucket from now on, in order. For controllers in the same process.
    pub fn feed(&self) -> mpsc::UnboundedReceiver<Arc<Event>> {
        self.feed_of(&[])
    }

    /// The same, of some buckets only: nobody is woken for what is not theirs.
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

    /// Makes a committed event visible: the bucket first, then the revision, then whoever waits.
    pub(crate) fn publish(&self, event: Arc<Event>) {
        let revision = event.entry.revision;
        let bucket = self.bucket(&event.bucket);
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
