//! A work queue: each key is reconciled by at most one worker at a time.
//!
//! A key that is added twice runs once; one that is added while it runs, runs again afterwards, and never twice
//! at the same time. Keys run in the order in which they became ready. A key has at most one alarm, the earliest
//! that was asked for, and a run takes it away: it decides anew when to look again.
//!
//! Whoever waits for a key also waits for the next alarm, so there is no timer that runs beside the workers, and
//! a queue at rest does nothing.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::fmt::Debug;
use std::hash::Hash;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use cambium_metrics::{Ended, QueueMetrics};
use futures::FutureExt as _;
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio::time::Instant;

/// The exponential back-off after failures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Backoff {
    /// After the first failure.
    pub first: Duration,
    /// At most.
    pub longest: Duration,
}

impl Default for Backoff {
    fn default() -> Self {
        Self {
            first: Duration::from_millis(200),
            longest: Duration::from_secs(300),
        }
    }
}

impl Backoff {
    fn after(&self, failures: u32) -> Duration {
        let factor = 1u32.checked_shl(failures.saturating_sub(1)).unwrap_or(u32::MAX);
        self.first.saturating_mul(factor).min(self.longest)
    }
}

/// The outcome of a reconcile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// Done, until the key is added again.
    Done,
    /// Requeue after this time, whatever happens. It was no failure.
    After(Duration),
    /// Requeue with back-off after a failure.
    Retry,
    /// Another run, because this one changed what it depends on. It was no failure. The first few follow at once; a key that never comes to
    /// rest runs later and later.
    Again,
}

impl Outcome {
    fn ended(self) -> Ended {
        match self {
            Self::Done => Ended::Success,
            Self::After(_) => Ended::RequeueAfter,
            Self::Retry => Ended::Error,
            Self::Again => Ended::Requeue,
        }
    }
}

/// How many reconciles in a row may requeue their key at once.
const AT_ONCE: u32 = 10;

/// A work queue. Clones are the same queue.
pub struct Queue<K>(Arc<Shared<K>>);

struct Shared<K> {
    backoff: Backoff,
    state: Mutex<State<K>>,
    changed: Notify,
}

struct State<K> {
    ready: VecDeque<K>,
    /// When each key in `ready` was added.
    queued: HashMap<K, Instant>,
    /// Keys that are being reconciled, and whether they were added again meanwhile.
    running: HashMap<K, bool>,
    alarms: BTreeMap<(Instant, u64), K>,
    alarm_of: HashMap<K, (Instant, u64)>,
    alarms_set: u64,
    failures: HashMap<K, u32>,
    /// How many reconciles in a row have requeued their key at once.
    restless: HashMap<K, u32>,
    stopped: bool,
    metrics: Option<QueueMetrics>,
}

/// A key that a worker reconciles. Dropping it unfinished counts as a failure.
pub struct Ticket<K: Key> {
    key: K,
    queue: Option<Queue<K>>,
}

/// A key of a queue.
pub trait Key: Clone + Eq + Hash + Debug + Send + Sync + 'static {}

impl<T: Clone + Eq + Hash + Debug + Send + Sync + 'static> Key for T {}

impl<K: Key> Queue<K> {
    /// An empty queue.
    pub fn new(backoff: Backoff) -> Self {
        Self(Arc::new(Shared {
            backoff,
            state: Mutex::new(State {
                ready: VecDeque::new(),
                queued: HashMap::new(),
                running: HashMap::new(),
                alarms: BTreeMap::new(),
                alarm_of: HashMap::new(),
                alarms_set: 0,
                failures: HashMap::new(),
                restless: HashMap::new(),
                stopped: false,
                metrics: None,
            }),
            changed: Notify::new(),
        }))
    }

    /// Counts in these metrics from now on.
    pub fn count(&self, metrics: QueueMetrics) {
        self.state().metrics = Some(metrics);
    }

    /// Adds a key; if it is being reconciled, it is reconciled once more afterwards.
    pub fn add(&self, key: K) {
        self.add_all([key]);
    }

    /// Adds keys, as [`Self::add`] does.
    pub fn add_all(&self, keys: impl IntoIterator<Item = K>) {
        let (mut state, now) = (self.state(), Instant::now());
        for key in keys {
            state.add(key, now);
        }
        drop(state);
        self.0.changed.notify_one();
    }

    /// Adds a key after a delay. An earlier time stands.
    pub fn add_after(&self, key: K, delay: Duration) {
        // A delay too long for the clock is for ever.
        let Some(at) = Instant::now().checked_add(delay) else {
            return;
        };
        self.state().set_alarm(key, at);
        self.0.changed.notify_one();
    }

    /// Adds each key at a time of its own, which `when` decides from the time at which it runs anyway. Nothing leaves that as it is.
    pub fn add_each_at(
        &self,
        keys: impl IntoIterator<Item = K>,
        mut when: impl FnMut(&K, Option<Instant>) -> Option<Instant>,
    ) {
        let (mut state, now) = (self.state(), Instant::now());
        for key in keys {
            let anyway = match state.queued.contains_key(&key) {
                true => Some(now),
                false => state.alarm_of.get(&key).map(|(at, _)| *at),
            };
            if let Some(at) = when(&key, anyway) {
                state.set_alarm(key, at);
            }
        }
        drop(state);
        self.0.changed.notify_one();
    }

    /// Requeues a key with back-off after a failure; returns the delay.
    pub fn retry(&self, key: K) -> Duration {
        let failures = {
            let mut state = self.state();
            state.metrics.iter().for_each(QueueMetrics::retried);
            let failures = state.failures.entry(key.clone()).or_insert(0);
            *failures += 1;
            *failures
        };
        let delay = self.0.backoff.after(failures);
        self.add_after(key, delay);
        delay
    }

    /// Requeues a key whose reconcile has changed its own input.
    fn again(&self, key: K) {
        let times = {
            let mut state = self.state();
            let times = state.restless.entry(key.clone()).or_insert(0);
            *times = times.saturating_add(1);
            *times
        };
        match times.checked_sub(AT_ONCE).filter(|over| *over > 0) {
            None => self.add(key),
            Some(over) => self.add_after(key, self.0.backoff.after(over)),
        }
    }

    /// Resets the count of immediate requeues of a key.
    fn rest(&self, key: &K) {
        let mut state = self.state();
        state.failures.remove(key);
        state.restless.remove(key);
    }

    /// Resets the failures of a key.
    pub fn reset(&self, key: &K) {
        self.state().failures.remove(key);
    }

    /// The failures in a row of a key.
    pub fn failures(&self, key: &K) -> u32 {
        self.state().failures.get(key).copied().unwrap_or(0)
    }

    /// How many keys are ready.
    pub fn len(&self) -> usize {
        self.state().ready.len()
    }

    /// Whether no key is ready.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether no key is ready, being reconciled, or delayed.
    pub fn is_idle(&self) -> bool {
        let state = self.state();
        state.ready.is_empty() && state.running.is_empty() && state.alarms.is_empty()
    }

    /// Shuts the queue down. Running reconciles may finish.
    pub fn stop(&self) {
        self.state().stopped = true;
        self.0.changed.notify_waiters();
        self.0.changed.notify_one();
    }

    /// Waits for the next key; nothing once the queue is shut down.
    pub async fn next(&self) -> Option<Ticket<K>> {
        loop {
            // Registered before looking, so that what happens between is not missed.
            let changed = self.0.changed.notified();
            let alarm = {
                let mut state = self.state();
                if state.stopped {
                    // Whoever was woken wakes the next, until all have gone.
                    self.0.changed.notify_one();
                    return None;
                }
                state.ring(Instant::now());
                if let Some(key) = state.take() {
                    let more = !state.ready.is_empty() || !state.alarms.is_empty();
                    drop(state);
                    if more {
                        // Somebody else must look at what is left while we work.
                        self.0.changed.notify_one();
                    }
                    let queue = Some(self.clone());
                    return Some(Ticket { key, queue });
                }
                state.alarms.first_key_value().map(|(&(at, _), _)| at)
            };
            match alarm {
                None => changed.await,
                Some(at) => {
                    // Which of the two it was is found out above.
                    let _ = tokio::time::timeout_at(at, changed).await;
                }
            }
        }
    }

    /// Runs `work` for each key, with so many workers, until the queue is stopped and what runs has finished.
    /// Dropping the future cancels what runs. A run that panics has failed.
    pub async fn work<F, R>(&self, workers: usize, work: F)
    where
        F: Fn(K) -> R + Clone + Send + Sync + 'static,
        R: Future<Output = Outcome> + Send + 'static,
    {
        let metrics = self.state().metrics.clone();
        metrics.iter().for_each(|metrics| metrics.starts(workers.max(1)));
        let mut tasks = JoinSet::new();
        for _ in 0..workers.max(1) {
            let (queue, work, metrics) = (self.clone(), work.clone(), metrics.clone());
            tasks.spawn(async move {
                while let Some(ticket) = queue.next().await {
                    let began = Instant::now();
                    metrics.iter().for_each(QueueMetrics::begins);
                    let run = AssertUnwindSafe(async { work(ticket.key().clone()).await });
                    let outcome = run.catch_unwind().await.unwrap_or_else(|_| {
                        tracing::error!(key = ?ticket.key(), "a reconcile panicked");
                        metrics.iter().for_each(QueueMetrics::panicked);
                        Outcome::Retry
                    });
                    if let Some(metrics) = &metrics {
                        metrics.ends(outcome.ended(), began.elapsed());
                    }
                    ticket.finish(outcome);
                }
            });
        }
        while tasks.join_next().await.is_some() {}
    }

    fn done(&self, key: &K) {
        if self.state().done(key) {
            self.0.changed.notify_one();
        }
    }

    fn state(&self) -> MutexGuard<'_, State<K>> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<K> Clone for Queue<K> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<K: Key> Default for Queue<K> {
    fn default() -> Self {
        Self::new(Backoff::default())
    }
}

impl<K: Key> State<K> {
    fn add(&mut self, key: K, now: Instant) {
        if let Some(again) = self.running.get_mut(&key) {
            *again = true;
        } else if !self.queued.contains_key(&key) {
            self.queued.insert(key.clone(), now);
            self.ready.push_back(key);
            if let Some(metrics) = &self.metrics {
                metrics.added(self.ready.len());
            }
        }
    }

    fn set_alarm(&mut self, key: K, at: Instant) {
        if self.alarm_of.get(&key).is_some_and(|(earlier, _)| *earlier <= at) {
            return;
        }
        self.clear_alarm(&key);
        self.alarms_set += 1;
        let place = (at, self.alarms_set);
        self.alarms.insert(place, key.clone());
        self.alarm_of.insert(key, place);
    }

    fn clear_alarm(&mut self, key: &K) {
        if let Some(place) = self.alarm_of.remove(key) {
            self.alarms.remove(&place);
        }
    }

    /// Moves delayed keys whose time has come to `ready`.
    fn ring(&mut self, now: Instant) {
        while let Some(alarm) = self.alarms.first_entry().filter(|alarm| alarm.key().0 <= now) {
            let key = alarm.remove();
            self.alarm_of.remove(&key);
            self.add(key, now);
        }
    }

    fn take(&mut self) -> Option<K> {
        let key = self.ready.pop_front()?;
        let since = self.queued.remove(&key);
        for (metrics, since) in self.metrics.iter().zip(since) {
            metrics.taken(since.elapsed(), self.ready.len());
        }
        self.clear_alarm(&key);
        self.running.insert(key.clone(), false);
        Some(key)
    }

    /// Ends the reconcile of a key; whether it was added again meanwhile.
    fn done(&mut self, key: &K) -> bool {
        let again = self.running.remove(key).unwrap_or(false);
        if again {
            self.add(key.clone(), Instant::now());
        }
        again
    }
}

impl<K: Key> Ticket<K> {
    /// The key.
    pub fn key(&self) -> &K {
        &self.key
    }

    /// Ends the reconcile with an outcome.
    pub fn finish(mut self, outcome: Outcome) {
        self.conclude(outcome);
    }

    fn conclude(&mut self, outcome: Outcome) {
        let Some(queue) = self.queue.take() else { return };
        match outcome {
            Outcome::Done => queue.rest(&self.key),
            Outcome::After(delay) => {
                queue.rest(&self.key);
                queue.add_after(self.key.clone(), delay);
            }
            Outcome::Again => queue.again(self.key.clone()),
            Outcome::Retry => {
                queue.retry(self.key.clone());
            }
        }
        queue.done(&self.key);
    }
}

impl<K: Key> Drop for Ticket<K> {
    fn drop(&mut self) {
        self.conclude(Outcome::Retry);
    }
}

#[cfg(test)]
mod tests;
