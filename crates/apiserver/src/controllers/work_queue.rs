//! A keyed work queue, and the control loop of the built-in controllers.
//!
//! ```text
//!   feed ──► handle_event (which keys does this concern?) ──► queue ──► decide (observe, plan) ──► act
//!                                                       ▲                                  │
//!                                                       └── later, or after a back-off ◄───┘
//! ```
//!
//! `handle_event` and `decide` are synchronous, so a controller's state needs no lock. The feed is drained before
//! every `decide`, and the store publishes an event before it answers the write, so `decide` always sees the effects
//! of its own earlier writes: no expectations are needed, as upstream's controllers need them.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::fmt::Debug;
use std::hash::Hash;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use futures::stream::FuturesUnordered;
use tokio::sync::mpsc;
use tokio::time::Instant;

use crate::loopback::Refused;
use crate::server::Server;
use crate::store::Event;

/// Concurrent reconciles of one controller.
const AT_ONCE: usize = 16;
/// After this many failures, an event no longer cuts the back-off of a key short.
const FAILURES_BEFORE_FULL_BACK_OFF: u32 = 4;
const FIRST_BACK_OFF: Duration = Duration::from_millis(5);
const LONGEST_BACK_OFF: Duration = Duration::from_secs(60);

/// The writes of a reconcile.
pub(crate) type Act = Pin<Box<dyn Future<Output = Result<(), Refused>> + Send>>;

/// The outcome of [`Controller::decide`]: writes, and a time to requeue.
#[derive(Default)]
pub(crate) struct Step {
    /// The writes, if there are any.
    pub(crate) act: Option<Act>,
    /// Requeue the key after this time.
    pub(crate) after: Option<Duration>,
}

impl Step {
    /// No writes and no requeue.
    pub(crate) fn idle() -> Self {
        Self::default()
    }

    /// Writes, and no requeue.
    pub(crate) fn act(act: impl Future<Output = Result<(), Refused>> + Send + 'static) -> Self {
        Self {
            act: Some(Box::pin(act)),
            after: None,
        }
    }
}

/// A built-in controller.
pub(crate) trait Controller: Send + 'static {
    /// The key of a work item; one key is never reconciled twice at once.
    type Key: Clone + Eq + Hash + Debug + Send + 'static;

    /// Updates the controller's index with an event, and enqueues the keys that it concerns.
    fn handle_event(&mut self, event: &Event, queue: &mut WorkQueue<Self::Key>);

    /// Observes the objects of a key and decides on the writes.
    fn decide(&mut self, key: &Self::Key, queue: &mut WorkQueue<Self::Key>) -> Step;

    /// Called when the writes of a key have succeeded or failed.
    fn outcome(&mut self, _key: &Self::Key, _refused: Option<&Refused>, _queue: &mut WorkQueue<Self::Key>) {}
}

/// A work queue with timers and back-off: a key is queued at most once, and not handed out while it is processed.
pub(crate) struct WorkQueue<K> {
    ready: VecDeque<K>,
    queued: HashSet<K>,
    running: HashSet<K>,
    again: HashSet<K>,
    timers: BTreeMap<(Instant, u64), K>,
    timer_of: HashMap<K, (Instant, u64)>,
    failures: HashMap<K, u32>,
    sequence: u64,
}

impl<K: Clone + Eq + Hash> WorkQueue<K> {
    pub(crate) fn new() -> Self {
        Self {
            ready: VecDeque::new(),
            queued: HashSet::new(),
            running: HashSet::new(),
            again: HashSet::new(),
            timers: BTreeMap::new(),
            timer_of: HashMap::new(),
            failures: HashMap::new(),
            sequence: 0,
        }
    }

    /// Enqueues a key. A key that has failed repeatedly stays in back-off: the events of its own status writes about the
    /// failure must not requeue it at once.
    pub(crate) fn add(&mut self, key: K) {
        let stubborn = self
            .failures
            .get(&key)
            .is_some_and(|failures| *failures >= FAILURES_BEFORE_FULL_BACK_OFF);
        if stubborn && self.timer_of.contains_key(&key) {
            return;
        }
        if self.running.contains(&key) {
            self.again.insert(key);
        } else if self.queued.insert(key.clone()) {
            self.ready.push_back(key);
        }
    }

    /// Enqueues a key after a delay; of several delays the earliest counts.
    pub(crate) fn add_after(&mut self, key: K, delay: Duration) {
        let at = Instant::now() + delay;
        if let Some(existing) = self.timer_of.get(&key).copied() {
            if existing.0 <= at {
                return;
            }
            self.timers.remove(&existing);
        }
        self.sequence += 1;
        self.timers.insert((at, self.sequence), key.clone());
        self.timer_of.insert(key, (at, self.sequence));
    }

    /// Takes the next key, which is being processed from then on. Its timer is cleared: `decide` sets the next.
    fn pop(&mut self) -> Option<K> {
        let now = Instant::now();
        while let Some(entry) = self.timers.first_entry() {
            if entry.key().0 > now {
                break;
            }
            let key = entry.remove();
            self.timer_of.remove(&key);
            self.add(key);
        }
        let key = self.ready.pop_front()?;
        self.queued.remove(&key);
        if let Some(timer) = self.timer_of.remove(&key) {
            self.timers.remove(&timer);
        }
        self.running.insert(key.clone());
        Some(key)
    }

    fn next_due(&self) -> Option<Instant> {
        self.timers.keys().next().map(|(at, _)| *at)
    }

    fn done(&mut self, key: &K) {
        self.failures.remove(key);
        self.release(key);
    }

    fn failed(&mut self, key: &K) {
        let failures = self.failures.entry(key.clone()).or_default();
        let delay = FIRST_BACK_OFF
            .saturating_mul(1 << (*failures).min(20))
            .min(LONGEST_BACK_OFF);
        *failures += 1;
        self.add_after(key.clone(), delay);
        self.release(key);
    }

    fn release(&mut self, key: &K) {
        self.running.remove(key);
        if self.again.remove(key) {
            self.add(key.clone());
        }
    }
}

/// Runs a controller until the server stops. Events up to revision `known` are already in its index.
pub(crate) async fn run<C: Controller>(
    server: Arc<Server>,
    mut feed: mpsc::UnboundedReceiver<Arc<Event>>,
    known: u64,
    mut controller: C,
    mut queue: WorkQueue<C::Key>,
) {
    let mut acting = FuturesUnordered::new();
    let stopping = server.stopping();
    tokio::pin!(stopping);
    loop {
        while let Ok(event) = feed.try_recv() {
            if event.entry.revision > known {
                controller.handle_event(&event, &mut queue);
            }
        }
        if acting.len() < AT_ONCE
            && let Some(key) = queue.pop()
        {
            let step = controller.decide(&key, &mut queue);
            if let Some(after) = step.after {
                queue.add_after(key.clone(), after);
            }
            match step.act {
                Some(act) => acting.push(async move { (key, act.await) }),
                None => queue.done(&key),
            }
            continue;
        }
        let due = queue.next_due();
        tokio::select! {
            biased;
            () = &mut stopping => return,
            event = feed.recv() => match event {
                Some(event) if event.entry.revision > known => controller.handle_event(&event, &mut queue),
                Some(_) => {}
                None => return,
            },
            Some((key, result)) = acting.next() => match result {
                Ok(()) => {
                    controller.outcome(&key, None, &mut queue);
                    queue.done(&key);
                }
                Err(refused) => {
                    controller.outcome(&key, Some(&refused), &mut queue);
                    // Conflicts are expected and not logged: the retry observes the concurrent write.
                    if !matches!(refused.code, 404 | 409) {
                        tracing::debug!(?key, reason = refused.reason(), message = refused.message(), "reconcile failed; requeued with back-off");
                    }
                    queue.failed(&key);
                }
            },
            () = sleep_until(due) => {}
        }
    }
}

async fn sleep_until(due: Option<Instant>) {
    match due {
        Some(due) => tokio::time::sleep_until(due).await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_key_waits_once_and_never_runs_twice_at_one_time() {
        let mut queue = WorkQueue::new();
        queue.add("a");
        queue.add("a");
        assert_eq!(queue.pop(), Some("a"));
        assert_eq!(queue.pop(), None);
        queue.add("a");
        assert_eq!(queue.pop(), None, "it is being acted on");
        queue.done(&"a");
        assert_eq!(queue.pop(), Some("a"));
    }

    #[tokio::test(start_paused = true)]
    async fn of_several_times_the_earliest_counts() {
        let mut queue = WorkQueue::new();
        queue.add_after("a", Duration::from_secs(5));
        queue.add_after("a", Duration::from_secs(2));
        queue.add_after("a", Duration::from_secs(9));
        assert_eq!(queue.pop(), None);
        tokio::time::advance(Duration::from_secs(2)).await;
        assert_eq!(queue.pop(), Some("a"));
        queue.done(&"a");
        tokio::time::advance(Duration::from_secs(20)).await;
        assert_eq!(queue.pop(), None, "one timer per key");
    }

    #[tokio::test(start_paused = true)]
    async fn failures_back_off() {
        let mut queue = WorkQueue::new();
        queue.add("a");
        for milliseconds in [5, 10, 20, 40] {
            assert_eq!(queue.pop(), Some("a"));
            queue.failed(&"a");
            tokio::time::advance(Duration::from_millis(milliseconds - 1)).await;
            assert_eq!(queue.pop(), None);
            tokio::time::advance(Duration::from_millis(1)).await;
        }
    }

    #[tokio::test(start_paused = true)]
    async fn an_event_cuts_a_back_off_short_but_not_for_ever() {
        let mut queue = WorkQueue::new();
        for _ in 0..FAILURES_BEFORE_FULL_BACK_OFF {
            queue.add("a");
            assert_eq!(queue.pop(), Some("a"));
            queue.failed(&"a");
        }
        queue.add("a");
        assert_eq!(queue.pop(), None);
        tokio::time::advance(LONGEST_BACK_OFF).await;
        assert_eq!(queue.pop(), Some("a"));
    }
}
