//! Loads the database at startup: all objects, and as much of the log as is kept in memory.
//!
//! The log is read backwards, so that old rows are never touched. A row holds the object *before* a change; the state
//! after it is in the next row of the same object, or in the object table.

use std::collections::HashMap;
use std::sync::Arc;

use bytes::Bytes;
use redb::{Database, ReadableDatabase, ReadableTable, ReadableTableMetadata};

use super::bucket::weight_of;
use super::tables::{FIRST_REVISION, LOG, Loaded, META, OBJECTS, OpenError, STRIDE, Used, row_bytes};
use super::{Entry, Event, EventKind, History};

/// A bucket's name and an object's key.
type Place = (Arc<str>, Arc<str>);

/// The loaded log of one bucket.
#[derive(Default)]
struct Read {
    events: usize,
    bytes: usize,
    full: bool,
}

/// Loads a database; events after `since` regardless of their size.
pub(super) fn load(database: &Database, history: History, since: u64) -> Result<(Loaded, Used), OpenError> {
    let transaction = database.begin_read()?;
    let meta = transaction.open_table(META)?;
    let compacted = meta
        .get("compacted")?
        .ok_or_else(|| OpenError::Damaged("it has no compacted".to_owned()))?
        .value();
    let log = transaction.open_table(LOG)?;
    let last = log.last()?.map(|(revision, _)| revision.value());
    let mut loaded = Loaded {
        // An empty log is a store that was never written.
        revision: last.unwrap_or(FIRST_REVISION),
        compacted,
        objects: vec![],
        events: vec![],
        shortened: HashMap::new(),
    };
    let mut used = Used::default();
    let table = transaction.open_table(OBJECTS)?;
    loaded
        .objects
        .reserve(usize::try_from(table.len()?).unwrap_or_default());
    for row in table.iter()? {
        let (key, json) = row?;
        let (bucket, key) = split(key.value())?;
        let entry = entry(&bucket, key, json.value())?;
        if entry.revision > loaded.revision {
            return Err(OpenError::Damaged(format!(
                "{bucket} {} has revision {}, the store is at {}",
                entry.key, entry.revision, loaded.revision
            )));
        }
        used.objects += entry.json.len() as u64;
        loaded.objects.push((bucket, Arc::new(entry)));
    }

    let limit = history.bytes as u64;
    let mut became: HashMap<Place, Option<Arc<Entry>>> = HashMap::new();
    let mut read: HashMap<Arc<str>, Read> = HashMap::new();
    for row in log.iter()?.rev() {
        let (revision, row) = row?;
        let revision = revision.value();
        let (name, deleted, previous) = row.value();
        let wanted = revision > since;
        let size = row_bytes(name, previous);
        if used.log + size > limit + limit / STRIDE && Some(revision) != last && !wanted {
            loaded.compacted = revision;
            break;
        }
        used.log += size;
        let (bucket, key) = split(name)?;
        let part = read.entry(bucket.clone()).or_default();
        part.events += 1;
        part.bytes += weight_of(previous);
        part.full |= part.events > history.events || part.bytes > history.bytes;
        if part.full && !wanted {
            loaded.shortened.entry(bucket).or_insert(revision);
            continue;
        }
        let previous = match previous.is_empty() {
            true => None,
            false => Some(Arc::new(entry(&bucket, key.clone(), previous)?)),
        };
        let after = match became.insert((bucket.clone(), key.clone()), previous.clone()) {
            Some(after) => after,
            None => find(&loaded.objects, &bucket, &key),
        };
        let kind = match deleted {
            0 => EventKind::Put,
            _ => EventKind::Delete,
        };
        let entry = match (kind, after, &previous) {
            (EventKind::Put, Some(entry), _) if entry.revision == revision => entry,
            (EventKind::Delete, _, Some(previous)) => Arc::new(previous.at(revision)),
            _ => {
                return Err(OpenError::Damaged(format!(
                    "its log does not fit its objects at revision {revision} ({bucket} {key})"
                )));
            }
        };
        loaded.events.push(Arc::new(Event {
            bucket,
            kind,
            entry,
            previous,
        }));
    }
    Ok((loaded, used))
}

/// Finds an object in the sorted list.
fn find(objects: &[(Arc<str>, Arc<Entry>)], bucket: &str, key: &str) -> Option<Arc<Entry>> {
    let found = objects.binary_search_by(|(name, entry)| (&**name, &*entry.key).cmp(&(bucket, key)));
    found.ok().map(|index| objects[index].1.clone())
}

fn split(key: &str) -> Result<(Arc<str>, Arc<str>), OpenError> {
    let (bucket, key) = key
        .split_once('\0')
        .ok_or_else(|| OpenError::Damaged(format!("{key:?} is not a key of this store")))?;
    Ok((bucket.into(), key.into()))
}

fn entry(bucket: &str, key: Arc<str>, json: &[u8]) -> Result<Entry, OpenError> {
    Entry::load(key.clone(), Bytes::copy_from_slice(json))
        .ok_or_else(|| OpenError::Damaged(format!("{bucket} {key} is not a stored object")))
}
