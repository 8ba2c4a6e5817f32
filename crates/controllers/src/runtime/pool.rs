//! Threads for user input that is evaluated: templates, patches, built-in functions.
//!
//! An async worker that evaluates a template answers nobody meanwhile, and a lock that is held over it stops everybody. Such work is
//! handed to a [`Pool`]: few threads, of which one namespace gets at most half, each piece of work with a limit of processor time.

use rustix::time::{ClockId, clock_gettime};
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// A few threads, shared fairly between namespaces.
pub struct Pool {
    threads: Arc<Semaphore>,
    /// How many threads one namespace gets.
    share: usize,
    /// How much processor time one piece of work may take.
    limit: Duration,
    namespaces: Mutex<HashMap<String, Arc<Semaphore>>>,
}

/// The requeue delay of a reconcile whose share of the threads is taken.
pub const CROWDED: Duration = Duration::from_secs(1);

/// Why there is no result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NoResult {
    /// The work ended in a panic, or the program ends.
    #[error("rendering ended without a result; this is a bug, please report it")]
    Lost,
    /// The threads of this namespace are taken by others that are slow.
    #[error("other templates of the namespace are being evaluated")]
    Crowded,
    /// The work did not end within the time limit.
    #[error("it exceeds the time limit for evaluating templates")]
    TooLong,
}

impl From<NoResult> for kube::Error {
    fn from(none: NoResult) -> Self {
        Self::Service(none.into())
    }
}

impl NoResult {
    /// Why there is no result, if that is what an error says.
    pub fn of(error: &kube::Error) -> Option<Self> {
        match error {
            kube::Error::Service(source) => source.downcast_ref().copied(),
            _ => None,
        }
    }
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

    /// A pool of threads for the machine's cores, and of so many that one namespace can fill two.
    pub fn for_this_machine(limit: Duration) -> Self {
        let cores = std::thread::available_parallelism().map_or(2, usize::from);
        Self::new(cores.max(4), limit)
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
        self.start(turn, None, work).await
    }

    /// Like [`Self::run`], but does not wait long for the namespace's share: for those who hold something that others need, such as a
    /// worker of a queue.
    pub async fn run_soon<T: Send + 'static>(
        &self,
        namespace: &str,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, NoResult> {
        self.start(self.turn_soon(namespace).await?, None, work).await
    }

    /// Like [`Self::run_soon`], for work that does not look at the clock, as patches: whoever waits for it is told in time. The work
    /// itself goes on until its own budget ends, and keeps its thread and its share until then.
    pub async fn run_in_time<T: Send + 'static>(
        &self,
        namespace: &str,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, NoResult> {
        let turn = self.turn_soon(namespace).await?;
        let limit = self.limit;
        let timed = move || {
            let until = processor_time() + limit;
            let done = work();
            (processor_time() < until).then_some(done)
        };
        self.start(turn, Some(limit * WAITS), timed)
            .await?
            .ok_or(NoResult::TooLong)
    }

    /// How long one piece of work may take.
    pub fn limit(&self) -> Duration {
        self.limit
    }

    async fn start<T: Send + 'static>(
        &self,
        turn: OwnedSemaphorePermit,
        timeout: Option<Duration>,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, NoResult> {
        let lost = |_| NoResult::Lost;
        let thread = self.threads.clone().acquire_owned().await.map_err(lost)?;
        let abandoned = Abandoned::default();
        let (flag, limit) = (abandoned.0.clone(), self.limit);
        let done = tokio::task::spawn_blocking(move || {
            // Both are taken for as long as the work runs, whether anybody waits for it or not.
            let _taken = (thread, turn);
            let until = processor_time() + limit;
            let expired = move || flag.load(Ordering::Relaxed) || processor_time() >= until;
            cambium_definitions_render::with_deadline(expired, work)
        });
        let done = match timeout {
            None => done.await,
            Some(timeout) => {
                let done = tokio::time::timeout(timeout, done).await;
                done.map_err(|_| NoResult::TooLong)?
            }
        };
        done.map_err(|_| NoResult::Lost)
    }

    /// Waits for this namespace's share, but not long.
    async fn turn_soon(&self, namespace: &str) -> Result<OwnedSemaphorePermit, NoResult> {
        let turn = tokio::time::timeout(PATIENCE, self.turn(namespace)).await;
        turn.map_err(|_| NoResult::Crowded)?
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

/// The processor time of this thread. Unlike wall time it does not depend on what else runs on the machine.
fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    let seconds = u64::try_from(time.tv_sec).unwrap_or_default();
    Duration::new(seconds, u32::try_from(time.tv_nsec).unwrap_or_default())
}

/// How long one waits for its namespace's share while holding something that others need.
const PATIENCE: Duration = Duration::from_millis(250);

/// How many times the limit somebody waits for work that does not look at the clock: it shares the processors with others.
const WAITS: u32 = 3;

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
    async fn what_takes_too_long_keeps_its_share_until_it_ends() {
        let pool = Pool::new(2, Duration::ZERO);
        let (release, held) = mpsc::channel::<()>();
        let wait = move || held.recv().is_ok();
        assert_eq!(pool.run_in_time("hostile", wait).await, Err(NoResult::TooLong));
        assert_eq!(pool.run_soon("hostile", || 7).await, Err(NoResult::Crowded));
        assert_eq!(pool.run_soon("other", || 7).await, Ok(7));
        release.send(()).unwrap();
        assert_eq!(pool.run("hostile", || 7).await, Ok(7));
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
