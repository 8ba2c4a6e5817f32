//! The redb database: three tables, one transaction per group of writes.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use redb::{Builder, Database, DatabaseError, ReadableTable, ReadableTableMetadata, Table, TableDefinition};

use super::reserve::{Reserve, is_full};
use super::{Entry, Event, EventKind, History, load};

/// `bucket NUL key` → the object's JSON.
pub(super) const OBJECTS: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("objects");
/// revision → (`bucket NUL key`, 1 for a deletion, the object before the change).
pub(super) const LOG: TableDefinition<'_, u64, (&str, u8, &[u8])> = TableDefinition::new("log");
pub(super) const META: TableDefinition<'_, &str, u64> = TableDefinition::new("meta");

const FORMAT: u64 = 1;
/// The revision of an empty store: not 0, which clients read as "any".
pub(crate) const FIRST_REVISION: u64 = 1;
/// Maximum rows of the durable log, whose bytes [`History`] limits. Watches that resume from earlier must relist.
const LOG_ROWS: u64 = 4096;
/// The log is trimmed when it exceeds its bounds by this fraction.
pub(super) const STRIDE: u64 = 8;
/// Bytes of the log that are kept when the disk is full.
const SHORTEST_LOG: u64 = 64 << 10;
/// Objects are read from memory, so redb needs little more than the pages that it writes.
const CACHE_BYTES: usize = 8 << 20;

/// Failure to open a store.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Another process has locked it.
    #[error("the store is in use by another process")]
    InUse,
    /// The file is corrupt.
    #[error("the store is damaged: {0}; restore it from a backup, or remove it to start empty")]
    Damaged(String),
    /// Written by a newer version of the program.
    #[error("the store has format {found}, this program reads format {FORMAT}; use the newer program")]
    Format {
        /// The format found.
        found: u64,
    },
    /// There is no space left.
    #[error("the disk is full; free space on it")]
    Full,
    /// An I/O error.
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
            redb::Error::Io(error) if is_full(&error) => Self::Full,
            redb::Error::UpgradeRequired(_) => {
                Self::Damaged("the file is of an older storage format".to_owned())
            }
            other => Self::Storage(Box::new(other)),
        }
    }
}

type Reopen = Box<dyn Fn() -> Result<Database, DatabaseError> + Send>;

/// An open database that can be reopened after a disk failure.
pub(crate) struct Tables {
    database: Option<Database>,
    reopen: Reopen,
    /// The file, if there is one, to be compacted.
    file: Option<PathBuf>,
    /// The size of the file after the last compaction.
    smallest: u64,
    /// Reserved disk space; only for files.
    reserve: Option<Reserve>,
    history: History,
    /// Maximum bytes of the log: less than in [`History`] while the disk is full.
    log_limit: u64,
    used: Used,
}

/// The approximate size of the tables.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Used {
    pub(super) objects: u64,
    pub(super) log: u64,
}

/// The loaded database.
pub(crate) struct Loaded {
    pub(crate) revision: u64,
    /// Changes up to this revision have left the log.
    pub(crate) compacted: u64,
    /// `(bucket, entry)`, in table order.
    pub(crate) objects: Vec<(Arc<str>, Arc<Entry>)>,
    /// The kept part of the log, newest first.
    pub(crate) events: Vec<Arc<Event>>,
    /// Buckets whose log was too large, with the revision up to which it was left out.
    pub(crate) shortened: HashMap<Arc<str>, u64>,
}

impl Tables {
    pub(crate) fn open(path: &Path, history: History) -> Result<Self, OpenError> {
        create_whole(path)?;
        let file = path.to_owned();
        let reopen = move || {
            let file =
                open_private(&file).map_err(|error| DatabaseError::Storage(redb::StorageError::Io(error)))?;
            builder().create_file(file)
        };
        let reserve = Reserve::beside(path);
        let mut tables = match Self::on_backend(Box::new(reopen.clone()), history) {
            Err(OpenError::Full) => {
                reserve.release();
                Self::on_backend(Box::new(reopen), history)?
            }
            result => result?,
        };
        if let Err(error) = reserve.hold() {
            tracing::warn!(%error, "failed to reserve disk space for deletions on a full disk");
        }
        tables.file = Some(path.to_owned());
        tables.reserve = Some(reserve);
        Ok(tables)
    }

    pub(crate) fn on_backend(reopen: Reopen, history: History) -> Result<Self, OpenError> {
        let mut database = reopen()?;
        // A file that was not closed is repaired by redb from checksums; bit rot in one that was is
        // found here, because redb itself does not look.
        if !guarded(|| database.check_integrity())?? {
            tracing::warn!("the store was not closed cleanly and has been repaired");
        }
        prepare(&database)?;
        Ok(Self {
            database: Some(database),
            reopen,
            file: None,
            smallest: 0,
            reserve: None,
            history,
            log_limit: history.bytes as u64,
            used: Used::default(),
        })
    }

    /// Loads all objects and the kept part of the log; refuses files that this program did not write. Events after
    /// `since` are loaded regardless of their size.
    pub(crate) fn load(&mut self, since: u64) -> Result<Loaded, OpenError> {
        let database = self.database.as_ref().ok_or_else(closed)?;
        let history = self.history;
        let (loaded, used) = guarded(|| load::load(database, history, since))??;
        self.used = used;
        Ok(loaded)
    }

    /// Removes the rows that [`load`](Self::load) left out, and compacts the file.
    pub(crate) fn tidy(&mut self, loaded: &Loaded) -> Result<(), OpenError> {
        let database = self.database.as_ref().ok_or_else(closed)?;
        let forgotten = guarded(|| forget(database, loaded.compacted)).and_then(|result| result);
        if forgotten.is_err() {
            self.database = None;
        }
        forgotten?;
        self.give_space_back()
    }

    /// Compacts the file if most of it is unused. Writes wait meanwhile.
    fn give_space_back(&mut self) -> Result<(), OpenError> {
        let (Some(file), Some(database)) = (&self.file, &mut self.database) else {
            return Ok(());
        };
        if self.log_limit < self.history.bytes as u64 {
            // Compacting takes space before it gives some back.
            return Ok(());
        }
        let length = |file: &Path| std::fs::metadata(file).map_or(0, |file| file.len());
        let (before, used) = (length(file), self.used.objects + self.used.log);
        // redb rounds large values up to a power of two, and grows a file to twice its size.
        // What compacting could not give back the last time, it cannot give back now.
        let enough = (4 * used + 2 * self.history.bytes as u64).max(self.smallest / 2 * 3);
        if before <= enough {
            return Ok(());
        }
        let megabytes = |bytes: u64| bytes >> 20;
        tracing::info!(
            file = %file.display(),
            "compacting the store: {} MB, of which {} MB are in use; writes wait until this is done",
            megabytes(before),
            megabytes(used),
        );
        let result =
            guarded(|| database.compact()).and_then(|result| result.map(drop).map_err(OpenError::from));
        if result.is_err() {
            self.database = None;
        } else {
            self.smallest = length(file);
            tracing::info!(file = %file.display(), "compacted the store to {} MB", megabytes(self.smallest));
        }
        result
    }

    /// Commits a group of events atomically.
    pub(crate) fn commit(&mut self, events: &[Arc<Event>]) -> Result<(), OpenError> {
        let database = self.database.as_ref().ok_or_else(closed)?;
        let (mut used, limit) = (self.used, self.log_limit);
        let result = guarded(|| commit(database, events, &mut used, limit)).and_then(|result| result);
        match result {
            Ok(trimmed) => {
                self.used = used;
                if trimmed && let Err(error) = self.give_space_back() {
                    // The events are durable; the next write opens the file again.
                    tracing::warn!(%error, "failed to compact the store");
                }
                Ok(())
            }
            Err(error) => {
                // redb refuses everything after an I/O error until the file is opened again.
                self.database = None;
                Err(error)
            }
        }
    }

    /// Whether a failure has closed the database.
    pub(crate) fn is_closed(&self) -> bool {
        self.database.is_none()
    }

    /// On a full disk: releases the reserve for the next open of the database.
    pub(crate) fn release_reserve(&self) {
        if let Some(reserve) = &self.reserve {
            reserve.release();
        }
    }

    /// On a full disk: reallocates the reserve from what is left; returns whether it is complete.
    pub(crate) fn hold_reserve(&mut self) -> bool {
        let held = self.reserve.as_ref().is_none_or(|reserve| reserve.hold().is_ok());
        if held {
            self.log_limit = self.history.bytes as u64;
        }
        held
    }

    /// On a full disk: drops most of the log so that its pages can be reused; returns the number of bytes.
    pub(crate) fn shorten_log(&mut self) -> Result<u64, OpenError> {
        let database = self.database.as_ref().ok_or_else(closed)?;
        let (before, limit) = (self.used.log, (self.used.log / 4).max(SHORTEST_LOG));
        let mut used = self.used;
        let result = guarded(|| shorten(database, &mut used, limit)).and_then(|result| result);
        if result.is_err() {
            self.database = None;
        }
        result?;
        (self.used, self.log_limit) = (used, limit.min(self.history.bytes as u64));
        Ok(before - used.log)
    }

    /// Reopens the database after a failure.
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

/// Creates an empty store in a temporary file and renames it, so that a crash leaves a complete one or none.
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
    prepare(&database)?;
    drop(database);
    std::fs::rename(aside, path).map_err(failed)?;
    let directory = path
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    std::fs::File::open(directory)
        .and_then(|directory| directory.sync_all())
        .map_err(failed)
}

/// Opens the file with mode 0600: it holds Secrets.
fn open_private(path: &Path) -> std::io::Result<std::fs::File> {
    let mut options = std::fs::OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// Turns panics into [`OpenError::Damaged`]: a corrupt file may trip redb's assertions.
fn guarded<T>(work: impl FnOnce() -> T) -> Result<T, OpenError> {
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(work))
        .map_err(|_| OpenError::Damaged("its structure does not hold together".to_owned()))
}

/// Creates missing tables, and refuses a newer format.
fn prepare(database: &Database) -> Result<(), OpenError> {
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
            // They are all there, and a full disk is no reason not to start.
            Some(FORMAT) => return Ok(()),
            Some(found) => return Err(OpenError::Format { found }),
        }
    }
    transaction.commit()?;
    Ok(())
}

/// Commits events and trims the log; returns whether it was trimmed.
fn commit(
    database: &Database,
    events: &[Arc<Event>],
    used: &mut Used,
    limit: u64,
) -> Result<bool, OpenError> {
    if events.is_empty() {
        return Ok(false);
    }
    let mut trimmed = false;
    let transaction = database.begin_write()?;
    {
        let mut objects = transaction.open_table(OBJECTS)?;
        let mut log = transaction.open_table(LOG)?;
        for event in events {
            let key = format!("{}\0{}", event.bucket, event.entry.key);
            let previous = event.previous.as_ref().map_or(&[][..], |entry| &entry.json);
            used.objects = used.objects.saturating_sub(previous.len() as u64);
            match event.kind {
                EventKind::Put => {
                    used.objects += event.entry.json.len() as u64;
                    objects.insert(key.as_str(), &*event.entry.json)?
                }
                EventKind::Delete => objects.remove(key.as_str())?,
            };
            let deleted = u8::from(event.kind == EventKind::Delete);
            used.log += row_bytes(&key, previous);
            log.insert(event.entry.revision, (key.as_str(), deleted, previous))?;
        }
        // Trimming in strides keeps the common commit free of it, and of a third table: the newest
        // revision is the log's last row.
        if log.len()? > LOG_ROWS + LOG_ROWS / STRIDE || used.log > limit + limit / STRIDE {
            // One row that is larger than the limit stays, and there is nothing to note.
            if let Some(compacted) = trim(&mut log, used, (LOG_ROWS, limit))? {
                transaction.open_table(META)?.insert("compacted", compacted)?;
                trimmed = true;
            }
        }
    }
    transaction.commit()?;
    Ok(trimmed)
}

/// Removes the oldest rows of the log down to a number of bytes.
fn shorten(database: &Database, used: &mut Used, limit: u64) -> Result<(), OpenError> {
    let transaction = database.begin_write()?;
    {
        let mut log = transaction.open_table(LOG)?;
        let rows = log.len()?;
        if let Some(compacted) = trim(&mut log, used, (rows, limit))? {
            transaction.open_table(META)?.insert("compacted", compacted)?;
        }
    }
    transaction.commit()?;
    Ok(())
}

/// Removes the oldest rows of the log down to a number of rows and bytes, but never the last one. Returns the last
/// removed revision.
fn trim(
    log: &mut Table<'_, u64, (&str, u8, &[u8])>,
    used: &mut Used,
    (most_rows, most_bytes): (u64, u64),
) -> Result<Option<u64>, OpenError> {
    let mut rows = log.len()?;
    let mut compacted = None;
    while (rows > most_rows || used.log > most_bytes) && rows > 1 {
        let Some((revision, row)) = log.pop_first()? else {
            break;
        };
        let (key, _, previous) = row.value();
        used.log = used.log.saturating_sub(row_bytes(key, previous));
        compacted = Some(revision.value());
        rows -= 1;
    }
    Ok(compacted)
}

/// Removes the rows of the log up to a revision.
fn forget(database: &Database, compacted: u64) -> Result<(), OpenError> {
    let transaction = database.begin_write()?;
    let mut removed = false;
    {
        let mut log = transaction.open_table(LOG)?;
        while log
            .first()?
            .is_some_and(|(revision, _)| revision.value() <= compacted)
        {
            log.pop_first()?;
            removed = true;
        }
        if removed {
            transaction.open_table(META)?.insert("compacted", compacted)?;
        }
    }
    match removed {
        true => transaction.commit()?,
        false => transaction.abort()?,
    }
    Ok(())
}

/// The approximate size of a row of the log.
pub(super) fn row_bytes(key: &str, previous: &[u8]) -> u64 {
    (key.len() + previous.len() + 16) as u64
}

fn closed() -> OpenError {
    OpenError::Damaged("it is closed".to_owned())
}
