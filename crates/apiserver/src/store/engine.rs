//! The single writer: checks preconditions, assigns revisions, commits and publishes groups of writes.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::tables::{FIRST_REVISION, OpenError, Tables};
use super::{Draft, Entry, Event, EventKind, Shared};

/// A write to one object.
#[derive(Debug, Clone)]
pub struct Write {
    /// The bucket.
    pub bucket: Arc<str>,
    /// The key.
    pub key: Arc<str>,
    /// The precondition.
    pub expect: Expect,
    /// The object to store; `None` deletes it.
    pub put: Option<Draft>,
}

/// The precondition of a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expect {
    /// The object does not exist.
    Absent,
    /// The object has exactly this revision.
    Revision(u64),
}

/// A failed write.
#[derive(Debug, Clone, thiserror::Error)]
pub enum WriteError {
    /// The object exists.
    #[error("the object exists")]
    Exists,
    /// The object does not exist.
    #[error("the object does not exist")]
    Missing,
    /// The object has another revision.
    #[error("the object has changed")]
    Changed,
    /// The disk failed. The write may or may not have happened.
    #[error("{0}")]
    Storage(Arc<str>),
}

/// A bucket's name and an object's key.
type Place = (Arc<str>, Arc<str>);

/// The objects and log of one bucket.
type Contents = (Vec<Arc<Entry>>, Vec<Arc<Event>>);

pub(crate) struct Engine {
    /// The database; `None` for a store in memory.
    tables: Option<Tables>,
    shared: Arc<Shared>,
    /// While the disk is full: bytes that may still be written by other writes than deletions.
    room: Option<u64>,
}

/// The error message. Terminating objects may still be updated, so that their finalizers can be removed.
const FULL: &str =
    "the disk of the store is full; delete objects, which still works, or free space on the disk";

impl Engine {
    /// An engine without a database.
    pub(crate) fn in_memory(shared: Arc<Shared>) -> Self {
        shared.start_at(FIRST_REVISION, 0);
        Self {
            tables: None,
            shared,
            room: None,
        }
    }

    pub(crate) fn load(mut tables: Tables, shared: Arc<Shared>) -> Result<Self, OpenError> {
        let loaded = tables.load(u64::MAX)?;
        if let Err(error) = tables.tidy(&loaded) {
            // Old rows were not loaded and do no harm. The next write reopens the file.
            tracing::warn!(%error, "failed to compact the store's log");
        }
        shared.start_at(loaded.revision, loaded.compacted);
        let mut buckets: HashMap<Arc<str>, Contents> = HashMap::new();
        for event in loaded.events.into_iter().rev() {
            buckets.entry(event.bucket.clone()).or_default().1.push(event);
        }
        for (bucket, entry) in loaded.objects {
            buckets.entry(bucket).or_default().0.push(entry);
        }
        for name in loaded.shortened.keys() {
            buckets.entry(name.clone()).or_default();
        }
        for (name, (objects, log)) in buckets {
            let compacted = loaded.shortened.get(&name).copied();
            shared.bucket(&name).restore(objects, log, compacted);
        }
        Ok(Self {
            tables: Some(tables),
            shared,
            room: None,
        })
    }

    /// Performs a group of writes in order, each with its own result. The successful ones are committed to the database
    /// together before this returns.
    pub(crate) fn write(&mut self, writes: Vec<Write>) -> Vec<Result<Arc<Entry>, WriteError>> {
        if let Err(error) = self.recover() {
            let error = WriteError::Storage(error.to_string().into());
            return writes.iter().map(|_| Err(error.clone())).collect();
        }
        self.look_for_space();
        let mut revision = self.shared.revision();
        // Writes of one group see each other before anything is published.
        let mut pending: HashMap<Place, Option<Arc<Entry>>> = HashMap::new();
        let mut events = Vec::with_capacity(writes.len());
        let mut answers = Vec::with_capacity(writes.len());
        for write in writes {
            let place = (write.bucket.clone(), write.key.clone());
            let current = match pending.get(&place) {
                Some(entry) => entry.clone(),
                None => self.shared.bucket(&write.bucket).get(&write.key),
            };
            if self
                .room
                .is_some_and(|room| cost(&write, current.as_deref()) > room)
            {
                answers.push(Err(WriteError::Storage(FULL.into())));
                continue;
            }
            answers.push(check(write.expect, current.as_deref()).map(|()| {
                revision += 1;
                let event = event(write, current, revision);
                let entry = event.entry.clone();
                pending.insert(place, (event.kind == EventKind::Put).then(|| entry.clone()));
                events.push(Arc::new(event));
                entry
            }));
        }
        let committed = self
            .tables
            .as_mut()
            .map_or(Ok(()), |tables| tables.commit(&events));
        let healthy = committed.is_ok() && self.room.is_none();
        self.shared.healthy.store(healthy, Ordering::Release);
        if let Err(OpenError::Full) = committed {
            return self.write_on_a_full_disk(&events, answers);
        }
        if let Err(error) = committed {
            tracing::error!(%error, "failed to commit writes");
            let error = WriteError::Storage(error.to_string().into());
            return answers
                .into_iter()
                .map(|answer| answer.and(Err(error.clone())))
                .collect();
        }
        if let Some(room) = &mut self.room {
            let freed: u64 = events.iter().map(|event| freed(event)).sum();
            *room = (*room + freed).saturating_sub(events.iter().map(|event| spent(event)).sum());
        }
        // Only after the commit: no reader sees a state that a crash could take back.
        for event in events {
            self.shared.publish(event);
        }
        answers
    }

    /// Checks whether a full disk has space again.
    fn look_for_space(&mut self) {
        if self.room.is_some() && self.tables.as_mut().is_none_or(Tables::hold_reserve) {
            tracing::info!("the disk of the store has space again");
            self.room = None;
        }
    }

    /// After a commit failed for lack of space: frees some, and commits what fits, deletions first.
    fn write_on_a_full_disk(
        &mut self,
        events: &[Arc<Event>],
        answers: Vec<Result<Arc<Entry>, WriteError>>,
    ) -> Vec<Result<Arc<Entry>, WriteError>> {
        tracing::error!("{FULL}");
        let known = self.shared.revision();
        let committed = self.make_space().and_then(|room| {
            self.room = Some(room);
            if self.shared.revision() != known {
                // All or some had reached the disk after all; they cannot be assigned to their callers.
                return Ok(vec![]);
            }
            let kept = affordable(events, room);
            let tables = self.tables.as_mut().ok_or(OpenError::Full)?;
            tables.commit(&kept).map(|()| kept)
        });
        let kept = committed.unwrap_or_else(|error| {
            tracing::error!(%error, "failed to write to a full disk");
            self.room = Some(0);
            vec![]
        });
        let answers = answers.into_iter().map(|answer| {
            answer.and_then(
                |entry| match kept.iter().any(|event| event.entry.revision == entry.revision) {
                    true => Ok(entry),
                    false => Err(WriteError::Storage(FULL.into())),
                },
            )
        });
        let answers = answers.collect();
        for event in kept {
            self.shared.publish(event);
        }
        self.look_for_space();
        answers
    }

    /// Frees space on a full disk; returns the bytes that other writes than deletions may use.
    fn make_space(&mut self) -> Result<u64, OpenError> {
        if let Some(tables) = &self.tables {
            tables.release_reserve();
        }
        self.recover()?;
        let freed = self.tables.as_mut().map_or(Ok(0), Tables::shorten_log)?;
        // redb rounds up, and deletions need some of it. Where there was less space than it seemed, there is less again.
        Ok(freed / 4 + self.room.map_or(ALLOWANCE, |room| room / 2))
    }

    /// After a failed commit: reopens the file and publishes the events that had been committed after all.
    fn recover(&mut self) -> Result<(), OpenError> {
        let Some(tables) = self.tables.as_mut().filter(|tables| tables.is_closed()) else {
            return Ok(());
        };
        tables.reopen()?;
        let known = self.shared.revision();
        let loaded = tables.load(known)?;
        for event in loaded.events.into_iter().rev() {
            if event.entry.revision > known {
                self.shared.publish(event);
            }
        }
        Ok(())
    }
}

/// The cost of a write on a full disk. Deletions, and updates of terminating objects, are free.
fn cost(write: &Write, current: Option<&Entry>) -> u64 {
    match &write.put {
        Some(draft) if !draft.is_deleting() => {
            (draft.len() + current.map_or(0, |entry| entry.json.len()) + PAGES) as u64
        }
        _ => 0,
    }
}

/// The cost of a committed event.
fn spent(event: &Event) -> u64 {
    if event.kind == EventKind::Delete || event.entry.deleting {
        return 0;
    }
    let previous = event.previous.as_ref().map_or(0, |entry| entry.json.len());
    (event.entry.json.len() + previous + PAGES) as u64
}

/// The bytes that a deletion frees once its row has left the log; redb rounds up.
fn freed(event: &Event) -> u64 {
    let previous = event
        .previous
        .as_ref()
        .filter(|_| event.kind == EventKind::Delete);
    previous.map_or(0, |entry| entry.json.len() as u64 / 2)
}

/// Bytes of the reserve for other writes than deletions: a start writes a few small objects.
const ALLOWANCE: u64 = 1 << 20;

/// Overhead of a commit, in bytes.
const PAGES: usize = 16 << 10;

/// The events that fit, without those that depend on one that does not.
fn affordable(events: &[Arc<Event>], room: u64) -> Vec<Arc<Event>> {
    let mut left = room;
    let mut dropped: HashSet<(&str, &str)> = HashSet::new();
    let mut kept = Vec::with_capacity(events.len());
    for event in events {
        let (place, cost) = ((&*event.bucket, &*event.entry.key), spent(event));
        if cost > left || dropped.contains(&place) {
            dropped.insert(place);
            continue;
        }
        left -= cost;
        kept.push(event.clone());
    }
    kept
}

fn check(expect: Expect, current: Option<&Entry>) -> Result<(), WriteError> {
    match (expect, current) {
        (Expect::Absent, None) => Ok(()),
        (Expect::Absent, Some(_)) => Err(WriteError::Exists),
        (Expect::Revision(_), None) => Err(WriteError::Missing),
        (Expect::Revision(wanted), Some(entry)) if entry.revision == wanted => Ok(()),
        (Expect::Revision(_), Some(_)) => Err(WriteError::Changed),
    }
}

fn event(write: Write, current: Option<Arc<Entry>>, revision: u64) -> Event {
    let (kind, entry) = match (write.put, &current) {
        (Some(draft), _) => (EventKind::Put, draft.seal(write.key, revision)),
        (None, Some(current)) => (EventKind::Delete, current.at(revision)),
        (None, None) => unreachable!("a deletion expects a revision, which was just found"),
    };
    Event {
        bucket: write.bucket,
        kind,
        entry: Arc::new(entry),
        previous: current,
    }
}
