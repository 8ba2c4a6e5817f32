//! How writes reach the engine: on the caller's thread, or grouped by a thread that may wait for the disk.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{mpsc, oneshot};

use super::engine::Engine;
use super::{Entry, Write, WriteError};

/// Writes that wait for the disk at one time; further writers wait for a place.
const WAITING: usize = 1024;

type Answer = Result<Arc<Entry>, WriteError>;

pub(crate) enum Queue {
    /// The engine never waits (memory), so a lock is enough, and virtual time stands still meanwhile.
    Inline(Mutex<Engine>),
    /// A thread takes whatever has gathered while it was syncing.
    Threaded(mpsc::Sender<(Write, oneshot::Sender<Answer>)>),
}

impl Queue {
    pub(crate) fn inline(engine: Engine) -> Self {
        Self::Inline(Mutex::new(engine))
    }

    pub(crate) fn threaded(mut engine: Engine) -> Self {
        let (sender, mut receiver) = mpsc::channel::<(Write, oneshot::Sender<Answer>)>(WAITING);
        let work = move || {
            while let Some(first) = receiver.blocking_recv() {
                let mut writes = vec![first.0];
                let mut askers = vec![first.1];
                while let Ok((write, asker)) = receiver.try_recv() {
                    writes.push(write);
                    askers.push(asker);
                }
                for (asker, answer) in askers.into_iter().zip(engine.write(writes)) {
                    // Whoever asked may have gone away; the write happened all the same.
                    let _ = asker.send(answer);
                }
            }
        };
        let thread = std::thread::Builder::new().name("store".to_owned()).spawn(work);
        if let Err(error) = thread {
            tracing::error!(%error, "the store's thread did not start; writes will fail");
        }
        Self::Threaded(sender)
    }

    /// Writes that belong together: one commit, or two when the thread was quick to take the first.
    pub(crate) async fn write_all(&self, writes: Vec<Write>) -> Vec<Answer> {
        match self {
            Self::Inline(engine) => {
                let mut engine = engine.lock().unwrap_or_else(PoisonError::into_inner);
                engine.write(writes)
            }
            Self::Threaded(_) => {
                futures::future::join_all(writes.into_iter().map(|write| self.write(write))).await
            }
        }
    }

    pub(crate) async fn write(&self, write: Write) -> Answer {
        let stopped = || WriteError::Storage("the store has stopped".into());
        match self {
            Self::Inline(engine) => {
                let mut engine = engine.lock().unwrap_or_else(PoisonError::into_inner);
                engine.write(vec![write]).pop().unwrap_or_else(|| Err(stopped()))
            }
            Self::Threaded(queue) => {
                let (asker, answer) = oneshot::channel();
                queue.send((write, asker)).await.map_err(|_| stopped())?;
                answer.await.map_err(|_| stopped())?
            }
        }
    }
}
