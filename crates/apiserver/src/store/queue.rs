//! The write queue in front of the engine: inline, or a writer thread with group commit.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{mpsc, oneshot};

use super::engine::Engine;
use super::{Entry, Write, WriteError};

/// Capacity of the queue; further writers wait.
const WAITING: usize = 1024;

type Answer = Result<Arc<Entry>, WriteError>;

pub(crate) enum Queue {
    /// In memory the engine never blocks, so a lock suffices, and virtual time does not advance.
    Inline(Mutex<Engine>),
    /// A thread commits all writes that arrived during the previous sync as one group.
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
                    // The caller may have been cancelled; the write was committed anyway.
                    let _ = asker.send(answer);
                }
            }
        };
        let thread = std::thread::Builder::new().name("store".to_owned()).spawn(work);
        if let Err(error) = thread {
            tracing::error!(%error, "failed to start the store's writer thread; writes will fail");
        }
        Self::Threaded(sender)
    }

    /// Enqueues several writes: one commit, or two if the thread had already taken the first.
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
