//! A simulated disk with fault injection.

use std::io;
use std::sync::{Arc, Mutex};

use redb::{Builder, Database, DatabaseError, StorageBackend};

/// The fate of unsynced writes at a power failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Crash {
    /// All are lost.
    LosesEverything,
    /// Every other one is kept.
    KeepsSome,
    /// All are kept, the last one torn in half.
    TearsTheLast,
}

/// A disk. Clones share its state.
#[derive(Debug, Clone, Default)]
pub(crate) struct Disk(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    durable: Vec<u8>,
    /// The bytes that a reader sees: durable ones and unsynced writes.
    seen: Vec<u8>,
    pending: Vec<(u64, Vec<u8>)>,
    syncs: usize,
    crash: Option<(usize, Crash)>,
    crashed: bool,
    full: bool,
}

impl Disk {
    pub(crate) fn crashing(at: usize, crash: Crash) -> Self {
        let disk = Self::default();
        disk.state(|state| state.crash = Some((at, crash)));
        disk
    }

    pub(crate) fn holding(bytes: Vec<u8>) -> Self {
        let disk = Self::default();
        disk.state(|state| (state.durable, state.seen) = (bytes.clone(), bytes));
        disk
    }

    pub(crate) fn syncs(&self) -> usize {
        self.state(|state| state.syncs)
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        self.state(|state| state.seen.clone())
    }

    pub(crate) fn fill(&self) {
        self.state(|state| state.full = true);
    }

    pub(crate) fn empty(&self) {
        self.state(|state| state.full = false);
    }

    /// The disk after the machine restarts.
    pub(crate) fn after_the_crash(&self) -> Self {
        Self::holding(self.state(|state| {
            if state.crashed {
                state.durable.clone()
            } else {
                state.seen.clone()
            }
        }))
    }

    pub(crate) fn opener(&self) -> Box<dyn Fn() -> Result<Database, DatabaseError> + Send> {
        let disk = self.clone();
        Box::new(move || Builder::new().create_with_backend(disk.clone()))
    }

    fn state<T>(&self, work: impl FnOnce(&mut State) -> T) -> T {
        work(&mut self.0.lock().unwrap())
    }
}

impl State {
    fn check(&self) -> io::Result<()> {
        match self.crashed {
            true => Err(io::Error::other("the power is off")),
            false => Ok(()),
        }
    }

    fn settle(&mut self, writes: &[(u64, Vec<u8>)]) {
        self.durable.resize(self.seen.len().max(self.durable.len()), 0);
        for (offset, data) in writes {
            let start = usize::try_from(*offset).unwrap();
            if self.durable.len() < start + data.len() {
                self.durable.resize(start + data.len(), 0);
            }
            self.durable[start..start + data.len()].copy_from_slice(data);
        }
    }
}

impl StorageBackend for Disk {
    fn len(&self) -> io::Result<u64> {
        self.state(|state| Ok(state.seen.len() as u64))
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.state(|state| {
            let start = usize::try_from(offset).unwrap();
            let bytes = state.seen.get(start..start + out.len());
            out.copy_from_slice(bytes.ok_or_else(|| io::Error::from(io::ErrorKind::UnexpectedEof))?);
            Ok(())
        })
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.state(|state| {
            state.check()?;
            if state.full && len > state.seen.len() as u64 {
                return Err(io::Error::from(io::ErrorKind::StorageFull));
            }
            state.seen.resize(usize::try_from(len).unwrap(), 0);
            state.durable.resize(usize::try_from(len).unwrap(), 0);
            Ok(())
        })
    }

    fn sync_data(&self) -> io::Result<()> {
        self.state(|state| {
            state.check()?;
            let pending = std::mem::take(&mut state.pending);
            if let Some((at, crash)) = state.crash
                && state.syncs == at
            {
                let kept: Vec<_> = match crash {
                    Crash::LosesEverything => vec![],
                    Crash::KeepsSome => pending.into_iter().step_by(2).collect(),
                    Crash::TearsTheLast => {
                        let mut kept = pending;
                        if let Some((_, data)) = kept.last_mut() {
                            data.truncate(data.len() / 2);
                        }
                        kept
                    }
                };
                state.settle(&kept);
                state.crashed = true;
                return Err(io::Error::other("the power went"));
            }
            state.syncs += 1;
            state.settle(&pending);
            Ok(())
        })
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.state(|state| {
            state.check()?;
            if state.full {
                return Err(io::Error::from(io::ErrorKind::StorageFull));
            }
            let start = usize::try_from(offset).unwrap();
            if state.seen.len() < start + data.len() {
                return Err(io::Error::from(io::ErrorKind::UnexpectedEof));
            }
            state.seen[start..start + data.len()].copy_from_slice(data);
            state.pending.push((offset, data.to_vec()));
            Ok(())
        })
    }
}
