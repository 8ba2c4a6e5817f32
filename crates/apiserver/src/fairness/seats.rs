//! Seats and queues of priority levels: decides which requests execute, wait, or are rejected. Plain data, no I/O.
//!
//! Each level has nominal seats. It lends some of them while it does not need them, and gets them back as the borrowing
//! requests finish. A request that finds no seat waits in one of the level's queues: shuffle sharding gives each flow a
//! hand of them, so that a flow that fills its queues leaves others open, and queues are served round-robin.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;

use super::flow_schemas::{Level, Limits, Queuing};

/// The executing and waiting requests of all levels.
pub(super) struct Seats<W> {
    seats: usize,
    levels: HashMap<String, QueueSet<W>>,
    applied: Arc<Vec<Arc<Level>>>,
}

/// A queued request, which may have been cancelled.
pub(super) trait Waiter {
    /// Whether the request was cancelled.
    fn is_gone(&self) -> bool;
}

/// The decision for a new request.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Execute,
    Queue,
    Reject,
}

/// The occupancy of a level.
pub(crate) struct Occupancy {
    pub(crate) name: String,
    /// Nominal seats.
    pub(crate) nominal: usize,
    pub(crate) executing: usize,
    pub(crate) waiting: usize,
}

/// The seats and queues of one level.
struct QueueSet<W> {
    level: Arc<Level>,
    limits: Limits,
    executing: usize,
    /// Non-empty queues.
    queues: BTreeMap<usize, VecDeque<W>>,
    /// The next queue in round-robin order.
    turn: usize,
}

impl<W: Waiter> Seats<W> {
    pub(super) fn new(seats: usize) -> Self {
        Self {
            seats,
            levels: HashMap::new(),
            applied: Arc::default(),
        }
    }

    /// Applies changed levels. Executing and queued requests stay; removed levels are kept until they are empty.
    pub(super) fn update_levels(&mut self, levels: &Arc<Vec<Arc<Level>>>) {
        if Arc::ptr_eq(&self.applied, levels) {
            return;
        }
        self.applied = levels.clone();
        self.levels
            .retain(|_, queue_set| queue_set.executing > 0 || !queue_set.queues.is_empty());
        for level in levels.iter() {
            let Some(limits) = level.limits else {
                continue;
            };
            let queue_set = self.levels.entry(level.name.clone()).or_insert_with(|| QueueSet {
                level: level.clone(),
                limits,
                executing: 0,
                queues: BTreeMap::new(),
                turn: 0,
            });
            (queue_set.level, queue_set.limits) = (level.clone(), limits);
        }
    }

    /// The occupancy of each level, by name.
    pub(super) fn occupancy(&self) -> Vec<Occupancy> {
        let mut levels: Vec<Occupancy> = self
            .levels
            .values()
            .map(|queue_set| Occupancy {
                name: queue_set.level.name.clone(),
                nominal: queue_set.limits.nominal,
                executing: queue_set.executing,
                waiting: queue_set.queues.values().map(VecDeque::len).sum(),
            })
            .collect();
        levels.sort_by(|one, other| one.name.cmp(&other.name));
        levels
    }

    /// Takes a seat of a level or enqueues the request; `flow` selects the queues.
    pub(super) fn acquire(&mut self, level: &Level, flow: u64, waiter: W) -> Outcome {
        let borrowable = self.borrowable();
        let Some(queue_set) = self.levels.get_mut(&level.name) else {
            return Outcome::Reject;
        };
        if queue_set.can_dispatch(borrowable) {
            queue_set.executing += 1;
            return Outcome::Execute;
        }
        let Some(queuing) = queue_set.limits.queuing else {
            return Outcome::Reject;
        };
        let waiting = |queue: &usize| queue_set.queues.get(queue).map_or(0, VecDeque::len);
        let Some(shortest) = deal_hand(queuing, flow).into_iter().min_by_key(waiting) else {
            return Outcome::Reject;
        };
        let queue = queue_set.queues.entry(shortest).or_default();
        if queue.len() >= queuing.length {
            queue.retain(|waiter| !waiter.is_gone());
        }
        if queue.len() >= queuing.length {
            return Outcome::Reject;
        }
        queue.push_back(waiter);
        Outcome::Queue
    }

    /// Releases a seat of a level; returns the requests to execute next.
    pub(super) fn release(&mut self, level: &Level) -> Vec<(Arc<Level>, W)> {
        if let Some(queue_set) = self.levels.get_mut(&level.name) {
            queue_set.executing = queue_set.executing.saturating_sub(1);
        }
        let mut seated = Vec::new();
        while let Some(next) = self.dispatch_next() {
            seated.push(next);
        }
        seated
    }

    /// Dispatches the next queued request: levels below their nominal seats first, then by occupancy.
    fn dispatch_next(&mut self) -> Option<(Arc<Level>, W)> {
        loop {
            let borrowable = self.borrowable();
            let queue_set = self
                .levels
                .values_mut()
                .filter(|queue_set| !queue_set.queues.is_empty() && queue_set.can_dispatch(borrowable))
                .min_by_key(|queue_set| {
                    let filled = queue_set.executing * 1000 / queue_set.limits.nominal.max(1);
                    (
                        queue_set.executing >= queue_set.limits.nominal,
                        filled,
                        queue_set.level.name.clone(),
                    )
                })?;
            let waiter = queue_set.dequeue()?;
            if !waiter.is_gone() {
                queue_set.executing += 1;
                return Some((queue_set.level.clone(), waiter));
            }
        }
    }

    /// Seats that can be borrowed: neither occupied nor reserved for levels that do not lend them.
    fn borrowable(&self) -> usize {
        let nominal: usize = self
            .levels
            .values()
            .map(|queue_set| queue_set.limits.nominal)
            .sum();
        let spoken_for: usize = self
            .levels
            .values()
            .map(|queue_set| queue_set.executing.max(queue_set.unlendable()))
            .sum();
        self.seats.max(nominal).saturating_sub(spoken_for)
    }
}

impl<W> QueueSet<W> {
    /// Seats that are never lent.
    fn unlendable(&self) -> usize {
        self.limits.nominal - self.limits.lendable
    }

    fn can_dispatch(&self, borrowable: usize) -> bool {
        let most = self.limits.nominal.saturating_add(self.limits.borrowing);
        self.executing < self.unlendable() || self.executing < most && borrowable > 0
    }

    /// The first request of the next queue.
    fn dequeue(&mut self) -> Option<W> {
        let (&queue, _) = self
            .queues
            .range(self.turn..)
            .next()
            .or_else(|| self.queues.first_key_value())?;
        self.turn = queue + 1;
        let waiting = self.queues.get_mut(&queue)?;
        let first = waiting.pop_front();
        if waiting.is_empty() {
            self.queues.remove(&queue);
        }
        first
    }
}

/// Shuffle sharding: the queues of a flow, dealt without replacement from its hash.
fn deal_hand(queuing: Queuing, flow: u64) -> Vec<usize> {
    let mut entropy = flow;
    let mut drawn: Vec<usize> = Vec::with_capacity(queuing.hand);
    for count in 0..queuing.hand.min(queuing.queues) {
        let left = (queuing.queues - count) as u64;
        let mut queue = usize::try_from(entropy % left).unwrap_or_default();
        entropy /= left;
        // The number counts those that are left: each one that was drawn before it pushes it on.
        let place = drawn.iter().position(|&earlier| {
            let stays = queue < earlier;
            queue += usize::from(!stays);
            stays
        });
        drawn.insert(place.unwrap_or(drawn.len()), queue);
    }
    drawn
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::rc::Rc;

    use http::HeaderValue;

    use super::*;

    /// A named waiting request; cancelled when the flag is set.
    #[derive(Clone, Debug)]
    struct Waiting(&'static str, Rc<Cell<bool>>);

    impl Waiter for Waiting {
        fn is_gone(&self) -> bool {
            self.1.get()
        }
    }

    fn waiting(name: &'static str) -> Waiting {
        Waiting(name, Rc::default())
    }

    fn level(name: &str, nominal: usize, lendable: usize, borrowing: usize) -> Arc<Level> {
        let queuing = Queuing {
            queues: 8,
            hand: 2,
            length: 3,
        };
        Arc::new(Level {
            name: name.to_owned(),
            uid: HeaderValue::from_static(""),
            limits: Some(Limits {
                nominal,
                lendable,
                borrowing,
                queuing: Some(queuing),
            }),
        })
    }

    fn seats(seats: usize, levels: &[&Arc<Level>]) -> Seats<Waiting> {
        let mut seats = Seats::new(seats);
        seats.update_levels(&Arc::new(levels.iter().map(|level| Arc::clone(level)).collect()));
        seats
    }

    fn names(seated: Vec<(Arc<Level>, Waiting)>) -> Vec<&'static str> {
        seated.into_iter().map(|(_, waiting)| waiting.0).collect()
    }

    #[test]
    fn one_flow_fills_its_hand_and_no_more() {
        let only = level("only", 1, 0, 0);
        let mut seats = seats(1, &[&only]);
        assert_eq!(seats.acquire(&only, 7, waiting("first")), Outcome::Execute);
        for _ in 0..6 {
            assert_eq!(seats.acquire(&only, 7, waiting("flood")), Outcome::Queue);
        }
        assert_eq!(seats.acquire(&only, 7, waiting("flood")), Outcome::Reject);
        let others: Vec<u64> = (0..50)
            .filter(|flow| {
                deal_hand(only.limits.unwrap().queuing.unwrap(), *flow)
                    .iter()
                    .all(|queue| !deal_hand(only.limits.unwrap().queuing.unwrap(), 7).contains(queue))
            })
            .collect();
        assert_eq!(seats.acquire(&only, others[0], waiting("other")), Outcome::Queue);
        let mut order = Vec::new();
        for _ in 0..3 {
            order.extend(names(seats.release(&only)));
        }
        assert!(order.contains(&"other"), "three queues take turns: {order:?}");
    }

    #[test]
    fn idle_seats_are_lent_and_come_back_first() {
        let (lender, borrower) = (level("lender", 4, 3, 0), level("borrower", 2, 0, 10));
        let mut seats = seats(6, &[&lender, &borrower]);
        for _ in 0..5 {
            assert_eq!(seats.acquire(&borrower, 1, waiting("borrower")), Outcome::Execute);
        }
        assert_eq!(
            seats.acquire(&borrower, 1, waiting("borrower waits")),
            Outcome::Queue,
            "one is never lent"
        );
        assert_eq!(seats.acquire(&lender, 1, waiting("own")), Outcome::Execute);
        assert_eq!(seats.acquire(&lender, 1, waiting("lender waits")), Outcome::Queue);
        assert_eq!(names(seats.release(&borrower)), ["lender waits"]);
        assert_eq!(names(seats.release(&borrower)), ["borrower waits"]);
    }

    #[test]
    fn whoever_has_gone_away_takes_no_place() {
        let only = level("only", 1, 0, 0);
        let mut seats = seats(1, &[&only]);
        assert_eq!(seats.acquire(&only, 0, waiting("sits")), Outcome::Execute);
        let gone = Waiting("gone", Rc::new(Cell::new(true)));
        for _ in 0..6 {
            seats.acquire(&only, 0, gone.clone());
        }
        assert_eq!(seats.acquire(&only, 0, waiting("stays")), Outcome::Queue);
        assert_eq!(names(seats.release(&only)), ["stays"]);
        assert!(names(seats.release(&only)).is_empty());
        assert_eq!(seats.acquire(&only, 0, waiting("later")), Outcome::Execute);
    }

    #[test]
    fn a_level_that_vanishes_lets_its_waitings_finish() {
        let (old, new) = (level("old", 1, 0, 0), level("new", 1, 0, 0));
        let mut seats = seats(1, &[&old]);
        assert_eq!(seats.acquire(&old, 0, waiting("sits")), Outcome::Execute);
        assert_eq!(seats.acquire(&old, 0, waiting("waits")), Outcome::Queue);
        seats.update_levels(&Arc::new(vec![new.clone()]));
        assert_eq!(seats.acquire(&new, 0, waiting("new")), Outcome::Execute);
        assert_eq!(names(seats.release(&old)), ["waits"]);
    }

    #[test]
    fn a_hand_has_different_cards() {
        let queuing = Queuing {
            queues: 64,
            hand: 8,
            length: 50,
        };
        for flow in [0, 1, u64::MAX, 0x0123_4567_89ab_cdef] {
            let mut hand = deal_hand(queuing, flow);
            hand.sort_unstable();
            hand.dedup();
            assert_eq!(hand.len(), 8);
        }
    }
}
