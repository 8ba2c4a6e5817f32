//! The durable copy: three redb tables, written in one transaction per group of writes.

use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use redb::{
    Builder, Database, DatabaseError, ReadableDatabase, ReadableTable, ReadableTableMetadata, TableDefinition,
};

use super::{Entry, Event, EventKind};

/// `bucket NUL key` → the object's JSON.
const OBJECTS: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("objects");
/// revision → (`bucket NUL key`, 1 for a deletion, the object before the change).
const LOG: TableDefinition<'_, u64, (&str, u8, &[u8])> = TableDefinition::new("log");
const META: TableDefinition<'_, &str, u64> = TableDefinition::new("meta");

const FORMAT: u64 = 1;
/// The empty store: clients read 0 as "any".
pub(crate) const FIRST_REVISION: u64 = 1;
/// Rows of the durable log. Watches that were away for longer start over.
const LOG_ROWS: u64 = 4096;
/// Objects are read from memory, so redb needs little more than the pages it is writing.
const CACHE_BYTES: usize = 8 << 20;

/// Why a store could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Another process has it.
    #[error("the store is in use by another process")]
    InUse,
    /// The file cannot be trusted.
    #[error("the store is damaged: {0}; restore it from a backup, or remove it to start empty")]
    Damaged(String),
    /// Written by a program that is newer than this one.
    #[error("the store has format {found}, this program reads format {FORMAT}; use the newer program")]
    Format {
        /// The format found.
        found: u64,
    },
    /// The operating system said no.
    #[error("the store cannot be read: {0}")]
    Storage(#[source] Box<redb::Error>),
}

impl<E: Into<redb::Error>> From<E> for OpenError {
    fn from(error: E) -> Self {
        match error.into() {
            redb::Error::DatabaseAlreadyOpen => Self::InUse,
            redb::Error::Corrupted(what) => Self::Damaged(what),
            redb::Error::Io(error) if error.kind() == std::io::ErrorKind::InvalidData => {
                Self::Damaged(error.to_string())
            }
            redb::Error::Io(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => {
                Self::Damaged("the file ends too early".to_owned())
            }
            redb::Error::UpgradeRequired(_) => {
                Self::Damaged("the file is of an older storage format".to_owned())
            }
            other => Self::Storage(Box::new(other)),
        }
    }
}

type Reopen = Box<dyn Fn() -> Result<Database, DatabaseError> + Send>;

/// An open database, and how to open it again after the disk failed.
pub(crate) struct Tables {
    database: Option<Database>,
    reopen: Reopen,
}

/// Everything that was on disk.
pub(crate) struct Loaded {
    pub(crate) revision: u64,
    /// Everything up to here has left the log.
    pub(crate) compacted: u64,
    /// `(bucket, entry)`.
    pub(crate) objects: Vec<(Arc<str>, Arc<Entry>)>,
    pub(crate) log: Vec<LogRow>,
}

pub(crate) struct LogRow {
    pub(crate) revision: u64,
    pub(crate) bucket: Arc<str>,
    pub(crate) key: Arc<str>,
    pub(crate) kind: EventKind,
    pub(crate) previous: Option<Arc<Entry>>,
}

impl Tables {
    pub(crate) fn open(path: &Path) -> Result<Self, OpenError> {
        create_whole(path)?;
        let path = path.to_owned();
        Self::on_backend(Box::new(move || {
            let file =
                open_private(&path).map_err(|error| DatabaseError::Storage(redb::StorageError::Io(error)))?;
            builder().create_file(file)
        }))
    }

    pub(crate) fn on_backend(reopen: Reopen) -> Result<Self, OpenError> {
        let mut database = reopen()?;
        // A file that was not closed is repaired by redb from checksums; bit rot in one that was is
        // found here, because redb itself does not look.
        if !guarded(|| database.check_integrity())?? {
            tracing::warn!("the store was not closed cleanly and has been repaired");
        }
        Self::prepare(reopen, database)
    }

    fn prepare(reopen: Reopen, database: Database) -> Result<Self, OpenError> {
        let transaction = database.begin_write()?;
        {
            transaction.open_table(OBJECTS)?;
            transaction.open_table(LOG)?;
            let mut meta = transaction.open_table(META)?;
            let format = meta.get("format")?.map(|format| format.value());
            match format {
                None => {
                    meta.insert("format", FORMAT)?;
                    meta.insert("compacted", 0)?;
                }
                Some(FORMAT) => {}
                Some(found) => return Err(OpenError::Format { found }),
            }
        }
        transaction.commit()?;
        Ok(Self {
            database: Some(database),
            reopen,
        })
    }

    /// Reads everything, and refuses what this program did not write.
    pub(crate) fn load(&self) -> Result<Loaded, OpenError> {
        let database = self
            .database
            .as_ref()
            .ok_or_else(|| OpenError::Damaged("it is closed".to_owned()))?;
        guarded(|| load(database))?
    }

    /// Makes a group of events durable, all or none.
    pub(crate) fn commit(&mut self, events: &[Arc<Event>]) -> Result<(), OpenError> {
        let Some(database) = &self.database else {
            return Err(OpenError::Damaged("it is closed".to_owned()));
        };
        let result = guarded(|| commit(database, events)).and_then(|result| result);
        if result.is_err() {
            // redb refuses everything after an I/O error until the file is opened again.
            self.database = None;
        }
        result
    }

    /// Whether a failure has closed the database.
    pub(crate) fn is_closed(&self) -> bool {
        self.database.is_none()
    }

    /// Opens the database again after a failure.
    pub(crate) fn reopen(&mut self) -> Result<(), OpenError> {
        self.database = Some(guarded(|| (self.reopen)())??);
        Ok(())
    }
}

fn builder() -> Builder {
    let mut builder = Builder::new();
    builder.set_cache_size(CACHE_BYTES);
    builder
}

/// Makes an empty store aside and moves it into place, so that a crash leaves a whole one or none.
fn create_whole(path: &Path) -> Result<(), OpenError> {
    if path.exists() {
        return Ok(());
    }
    let failed = |error: std::io::Error| OpenError::from(redb::StorageError::Io(error));
    let mut aside = path.as_os_str().to_owned();
    aside.push(".new");
    let aside = Path::new(&aside);
    if aside.exists() {
        // What a crash left of an earlier attempt holds nothing.
        std::fs::remove_file(aside).map_err(failed)?;
    }
    let database = builder().create_file(open_private(aside).map_err(failed)?)?;
    drop(Tables::prepare(
        Box::new(|| Err(DatabaseError::RepairAborted)),
        database,
    )?);
    std::fs::rename(aside, path).map_err(failed)?;
    let directory = path
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    std::fs::File::open(directory)
        .and_then(|directory| directory.sync_all())
        .map_err(failed)
}

/// Only the owner may read what clusters hold.
fn open_private(path: &Path) -> std::io::Result<std::fs::File> {
    let mut options = std::fs::OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// A damaged file may trip redb's own assertions: that is damage, not a reason to die.
fn guarded<T>(work: impl FnOnce() -> T) -> Result<T, OpenError> {
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(work))
        .map_err(|_| OpenError::Damaged("its structure does not hold together".to_owned()))
}

fn load(database: &Database) -> Result<Loaded, OpenError> {
    let transaction = database.begin_read()?;
    let meta = transaction.open_table(META)?;
    let number = |name: &str| -> Result<u64, OpenError> {
        let value = meta
            .get(name)?
            .ok_or_else(|| OpenError::Damaged(format!("it has no {name}")))?;
        Ok(value.value())
    };
    let log = transaction.open_table(LOG)?;
    let last = log.last()?.map(|(revision, _)| revision.value());
    let mut loaded = Loaded {
        // An empty log is a store that was never written.
        revision: last.unwrap_or(FIRST_REVISION),
        compacted: number("compacted")?,
        objects: vec![],
        log: vec![],
    };

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
        loaded.objects.push((bucket, Arc::new(entry)));
    }
    for row in log.iter()? {
        let (revision, row) = row?;
        let (key, deleted, previous) = row.value();
        let (bucket, key) = split(key)?;
        let previous = match previous.is_empty() {
            true => None,
            false => Some(Arc::new(entry(&bucket, key.clone(), previous)?)),
        };
        let kind = if deleted == 0 {
            EventKind::Put
        } else {
            EventKind::Delete
        };
        loaded.log.push(LogRow {
            revision: revision.value(),
            bucket,
            key,
            kind,
            previous,
        });
    }
    Ok(loaded)
}

fn commit(database: &Database, events: &[Arc<Event>]) -> Result<(), OpenError> {
    if events.is_empty() {
        return Ok(());
    }
    let transaction = database.begin_write()?;
    {
        let mut objects = transaction.open_table(OBJECTS)?;
        let mut log = transaction.open_table(LOG)?;
        for event in events {
            let key = format!("{}\0{}", event.bucket, event.entry.key);
            let previous = event.previous.as_ref().map_or(&[][..], |entry| &entry.json);
            match event.kind {
                EventKind::Put => objects.insert(key.as_str(), &*event.entry.json)?,
                EventKind::Delete => objects.remove(key.as_str())?,
            };
            let deleted = u8::from(event.kind == EventKind::Delete);
            log.insert(event.entry.revision, (key.as_str(), deleted, previous))?;
        }
        // Trimming in strides keeps the common commit free of it, and of a third table: the newest
        // revision is the log's last row.
        let excess = log.len()?.saturating_sub(LOG_ROWS);
        if excess > LOG_ROWS / 8 {
            let mut compacted = 0;
            for _ in 0..excess {
                if let Some((revision, _)) = log.pop_first()? {
                    compacted = revision.value();
                }
            }
            transaction.open_table(META)?.insert("compacted", compacted)?;
        }
    }
    transaction.commit()?;
    Ok(())
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
