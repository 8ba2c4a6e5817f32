//! Threads for work that runs what users wrote: templates.
//!
//! An async worker that evaluates a template answers nobody meanwhile, and a lock that is held over it stops everybody. Such work is
//! handed to a [`Pool`]: few threads, of which one namespace gets at most half, each piece of work with a time limit.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// A few threads, shared fairly between namespaces.
pub struct Pool {
    threads: Arc<Semaphore>,
    /// How many threads one namespace gets.
    share: usize,
    /// How long one piece of work may evaluate templates.
    limit: Duration,
    namespaces: Mutex<HashMap<String, Arc<Semaphore>>>,
}

/// Why there is no result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NoResult {
    /// The work ended in a panic, or the program ends.
    #[error("rendering ended without a result; this is a bug, please report it")]
    Lost,
    /// The threads of this namespace are taken by others that are slow.
    #[error("other templates of the namespace are being evaluated")]
    Crowded,
}

impl Pool {
    /// A pool of so many threads.
    pub fn new(threads: usize, limit: Duration) -> Self {
        Self {
            threads: Arc::new(Semaphore::new(threads.max(1))),
            share: (threads / 2).max(1),
            limit,
            namespaces: Mutex::default(),
        }
    }

    /// Runs `work` on a thread of the pool, once there is one for this namespace.
    ///
    /// Evaluations of templates inside `work` end with an error when the time limit is over. They also end when the returned future is
    /// dropped: whoever does not wait any longer costs nothing any longer.
    pub async fn run<T: Send + 'static>(
        &self,
        namespace: &str,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, NoResult> {
        let turn = self.turn(namespace).await?;
        self.start(turn, work).await
    }

    /// Like [`Self::run`], but does not wait long for the namespace's share: for those who hold something that others need, such as a
    /// worker of a queue.
    pub async fn run_soon<T: Send + 'static>(
        &self,
        namespace: &str,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, NoResult> {
        let turn = tokio::time::timeout(PATIENCE, self.turn(namespace)).await;
        self.start(turn.map_err(|_| NoResult::Crowded)??, work).await
    }

    async fn start<T: Send + 'static>(
        &self,
        _turn: OwnedSemaphorePermit,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, NoResult> {
        let lost = |_| NoResult::Lost;
        let thread = self.threads.clone().acquire_owned().await.map_err(lost)?;
        let abandoned = Abandoned::default();
        let (flag, limit) = (abandoned.0.clone(), self.limit);
        let done = tokio::task::spawn_blocking(move || {
            let _thread = thread;
            let until = Instant::now() + limit;
            let expired = move || flag.load(Ordering::Relaxed) || Instant::now() >= until;
            cambium_render::with_deadline(expired, work)
        });
        done.await.map_err(|_| NoResult::Lost)
    }

    /// Waits for this namespace's share.
    async fn turn(&self, namespace: &str) -> Result<OwnedSemaphorePermit, NoResult> {
        let share = {
            let mut namespaces = self.namespaces.lock().unwrap_or_else(PoisonError::into_inner);
            // Those that nobody waits for or works under are not kept.
            if namespaces.len() > MANY {
                namespaces.retain(|_, share| Arc::strong_count(share) > 1);
            }
            let share = namespaces.entry(namespace.to_owned());
            share
                .or_insert_with(|| Arc::new(Semaphore::new(self.share)))
                .clone()
        };
        share.acquire_owned().await.map_err(|_| NoResult::Lost)
    }
}

impl Default for Pool {
    /// Threads for the machine's cores, and so many that one namespace can fill two.
    fn default() -> Self {
        let cores = std::thread::available_parallelism().map_or(2, usize::from);
        Self::new(cores.max(4), Duration::from_secs(3))
    }
}

/// How long one waits for its namespace's share while holding something that others need.
const PATIENCE: Duration = Duration::from_millis(250);

/// How many namespaces are remembered before those that are idle are let go.
const MANY: usize = 256;

/// Set when it is dropped.
#[derive(Default)]
struct Abandoned(Arc<AtomicBool>);

impl Drop for Abandoned {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    #[tokio::test]
    async fn one_namespace_cannot_take_all_threads() {
        let pool = Arc::new(Pool::new(2, Duration::from_secs(60)));
        let (release, held) = mpsc::channel::<()>();
        let held = Arc::new(Mutex::new(held));
        let mut hogs = Vec::new();
        for _ in 0..8 {
            let (pool, held) = (pool.clone(), held.clone());
            hogs.push(tokio::spawn(async move {
                let wait = move || held.lock().unwrap().recv().is_ok();
                pool.run("hostile", wait).await
            }));
        }
        tokio::task::yield_now().await;
        assert_eq!(pool.run("other", || 7).await, Ok(7));
        assert_eq!(pool.run_soon("hostile", || 7).await, Err(NoResult::Crowded));
        for _ in &hogs {
            release.send(()).unwrap();
        }
        for hog in hogs {
            assert_eq!(hog.await.unwrap(), Ok(true));
        }
    }

    #[tokio::test]
    async fn a_panic_takes_nothing_from_the_pool() {
        let pool = Pool::new(1, Duration::from_secs(60));
        for _ in 0..3 {
            let result: Result<(), _> = pool.run("a", || panic!("on purpose")).await;
            assert_eq!(result, Err(NoResult::Lost));
        }
        assert_eq!(pool.run("a", || 7).await, Ok(7));
    }
}
