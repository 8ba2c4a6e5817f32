//! Who is carried out and who waits: plain data, moved by whoever comes and goes.
//!
//! Each level has seats of its own. Of these it lends some while it does not need them, and gets them back as those
//! who sit there leave. A request that finds no seat stands in one of the level's queues: each flow may use only a
//! hand of them, so that a flow which fills its queues leaves others open, and queues take turns.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;

use super::rules::{Level, Limits, Queuing};

/// Everybody who sits or waits.
pub(super) struct Hall<W> {
    seats: usize,
    levels: HashMap<String, Standing<W>>,
    followed: Arc<Vec<Arc<Level>>>,
}

/// Somebody who waits, and may have gone away meanwhile.
pub(super) trait Waiter {
    /// Whether nobody waits there any more.
    fn is_gone(&self) -> bool;
}

/// What somebody who comes in gets.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Place {
    Seat,
    Queue,
    None,
}

/// How full a level is.
pub(crate) struct Occupancy {
    pub(crate) name: String,
    /// Seats of its own.
    pub(crate) nominal: usize,
    pub(crate) executing: usize,
    pub(crate) waiting: usize,
}

/// How a level stands.
struct Standing<W> {
    level: Arc<Level>,
    limits: Limits,
    executing: usize,
    /// The queues in which somebody waits.
    queues: BTreeMap<usize, VecDeque<W>>,
    /// The queue whose turn is next.
    turn: usize,
}

impl<W: Waiter> Hall<W> {
    pub(super) fn new(seats: usize) -> Self {
        Self {
            seats,
            levels: HashMap::new(),
            followed: Arc::default(),
        }
    }

    /// Takes over what levels there are. Whoever sits or waits stays; levels that are gone are kept until they are empty.
    pub(super) fn follow(&mut self, levels: &Arc<Vec<Arc<Level>>>) {
        if Arc::ptr_eq(&self.followed, levels) {
            return;
        }
        self.followed = levels.clone();
        self.levels
            .retain(|_, standing| standing.executing > 0 || !standing.queues.is_empty());
        for level in levels.iter() {
            let Some(limits) = level.limits else {
                continue;
            };
            let standing = self.levels.entry(level.name.clone()).or_insert_with(|| Standing {
                level: level.clone(),
                limits,
                executing: 0,
                queues: BTreeMap::new(),
                turn: 0,
            });
            (standing.level, standing.limits) = (level.clone(), limits);
        }
    }

    /// How full each level is, by name.
    pub(super) fn occupancy(&self) -> Vec<Occupancy> {
        let mut levels: Vec<Occupancy> = self
            .levels
            .values()
            .map(|standing| Occupancy {
                name: standing.level.name.clone(),
                nominal: standing.limits.nominal,
                executing: standing.executing,
                waiting: standing.queues.values().map(VecDeque::len).sum(),
            })
            .collect();
        levels.sort_by(|one, other| one.name.cmp(&other.name));
        levels
    }

    /// Somebody of a level comes in; `flow` decides which queues they may stand in.
    pub(super) fn enter(&mut self, level: &Level, flow: u64, waiter: W) -> Place {
        let shared = self.shared();
        let Some(standing) = self.levels.get_mut(&level.name) else {
            return Place::None;
        };
        if standing.may_sit(shared) {
            standing.executing += 1;
            return Place::Seat;
        }
        let Some(queuing) = standing.limits.queuing else {
            return Place::None;
        };
        let waiting = |queue: &usize| standing.queues.get(queue).map_or(0, VecDeque::len);
        let Some(shortest) = hand(queuing, flow).into_iter().min_by_key(waiting) else {
            return Place::None;
        };
        let queue = standing.queues.entry(shortest).or_default();
        if queue.len() >= queuing.length {
            queue.retain(|waiter| !waiter.is_gone());
        }
        if queue.len() >= queuing.length {
            return Place::None;
        }
        queue.push_back(waiter);
        Place::Queue
    }

    /// Somebody of a level leaves their seat; tells who sits down next.
    pub(super) fn leave(&mut self, level: &Level) -> Vec<(Arc<Level>, W)> {
        if let Some(standing) = self.levels.get_mut(&level.name) {
            standing.executing = standing.executing.saturating_sub(1);
        }
        let mut seated = Vec::new();
        while let Some(next) = self.next() {
            seated.push(next);
        }
        seated
    }

    /// The next one to sit down: of a level that has not got its share before one that has, the emptier level first.
    fn next(&mut self) -> Option<(Arc<Level>, W)> {
        loop {
            let shared = self.shared();
            let standing = self
                .levels
                .values_mut()
                .filter(|standing| !standing.queues.is_empty() && standing.may_sit(shared))
                .min_by_key(|standing| {
                    let filled = standing.executing * 1000 / standing.limits.nominal.max(1);
                    (
                        standing.executing >= standing.limits.nominal,
                        filled,
                        standing.level.name.clone(),
                    )
                })?;
            let waiter = standing.take()?;
            if !waiter.is_gone() {
                standing.executing += 1;
                return Some((standing.level.clone(), waiter));
            }
        }
    }

    /// Seats that are nobody's own: neither taken, nor kept for levels that do not lend them.
    fn shared(&self) -> usize {
        let nominal: usize = self.levels.values().map(|standing| standing.limits.nominal).sum();
        let spoken_for: usize = self
            .levels
            .values()
            .map(|standing| standing.executing.max(standing.kept()))
            .sum();
        self.seats.max(nominal).saturating_sub(spoken_for)
    }
}

impl<W> Standing<W> {
    /// Seats that are never lent.
    fn kept(&self) -> usize {
        self.limits.nominal - self.limits.lendable
    }

    fn may_sit(&self, shared: usize) -> bool {
        let most = self.limits.nominal.saturating_add(self.limits.borrowing);
        self.executing < self.kept() || self.executing < most && shared > 0
    }

    /// The first one of the queue whose turn it is.
    fn take(&mut self) -> Option<W> {
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

/// The queues that a flow may stand in: drawn without putting back, the same ones each time.
fn hand(queuing: Queuing, flow: u64) -> Vec<usize> {
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

    /// Who waits, by name; gone when told so.
    #[derive(Clone, Debug)]
    struct Guest(&'static str, Rc<Cell<bool>>);

    impl Waiter for Guest {
        fn is_gone(&self) -> bool {
            self.1.get()
        }
    }

    fn guest(name: &'static str) -> Guest {
        Guest(name, Rc::default())
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

    fn hall(seats: usize, levels: &[&Arc<Level>]) -> Hall<Guest> {
        let mut hall = Hall::new(seats);
        hall.follow(&Arc::new(levels.iter().map(|level| Arc::clone(level)).collect()));
        hall
    }

    fn names(seated: Vec<(Arc<Level>, Guest)>) -> Vec<&'static str> {
        seated.into_iter().map(|(_, guest)| guest.0).collect()
    }

    #[test]
    fn one_flow_fills_its_hand_and_no_more() {
        let only = level("only", 1, 0, 0);
        let mut hall = hall(1, &[&only]);
        assert_eq!(hall.enter(&only, 7, guest("first")), Place::Seat);
        for _ in 0..6 {
            assert_eq!(hall.enter(&only, 7, guest("flood")), Place::Queue);
        }
        assert_eq!(hall.enter(&only, 7, guest("flood")), Place::None);
        let others: Vec<u64> = (0..50)
            .filter(|flow| {
                hand(only.limits.unwrap().queuing.unwrap(), *flow)
                    .iter()
                    .all(|queue| !hand(only.limits.unwrap().queuing.unwrap(), 7).contains(queue))
            })
            .collect();
        assert_eq!(hall.enter(&only, others[0], guest("other")), Place::Queue);
        let mut order = Vec::new();
        for _ in 0..3 {
            order.extend(names(hall.leave(&only)));
        }
        assert!(order.contains(&"other"), "three queues take turns: {order:?}");
    }

    #[test]
    fn idle_seats_are_lent_and_come_back_first() {
        let (lender, borrower) = (level("lender", 4, 3, 0), level("borrower", 2, 0, 10));
        let mut hall = hall(6, &[&lender, &borrower]);
        for _ in 0..5 {
            assert_eq!(hall.enter(&borrower, 1, guest("borrower")), Place::Seat);
        }
        assert_eq!(
            hall.enter(&borrower, 1, guest("borrower waits")),
            Place::Queue,
            "one is never lent"
        );
        assert_eq!(hall.enter(&lender, 1, guest("own")), Place::Seat);
        assert_eq!(hall.enter(&lender, 1, guest("lender waits")), Place::Queue);
        assert_eq!(names(hall.leave(&borrower)), ["lender waits"]);
        assert_eq!(names(hall.leave(&borrower)), ["borrower waits"]);
    }

    #[test]
    fn whoever_has_gone_away_takes_no_place() {
        let only = level("only", 1, 0, 0);
        let mut hall = hall(1, &[&only]);
        assert_eq!(hall.enter(&only, 0, guest("sits")), Place::Seat);
        let gone = Guest("gone", Rc::new(Cell::new(true)));
        for _ in 0..6 {
            hall.enter(&only, 0, gone.clone());
        }
        assert_eq!(hall.enter(&only, 0, guest("stays")), Place::Queue);
        assert_eq!(names(hall.leave(&only)), ["stays"]);
        assert!(names(hall.leave(&only)).is_empty());
        assert_eq!(hall.enter(&only, 0, guest("later")), Place::Seat);
    }

    #[test]
    fn a_level_that_vanishes_lets_its_guests_finish() {
        let (old, new) = (level("old", 1, 0, 0), level("new", 1, 0, 0));
        let mut hall = hall(1, &[&old]);
        assert_eq!(hall.enter(&old, 0, guest("sits")), Place::Seat);
        assert_eq!(hall.enter(&old, 0, guest("waits")), Place::Queue);
        hall.follow(&Arc::new(vec![new.clone()]));
        assert_eq!(hall.enter(&new, 0, guest("new")), Place::Seat);
        assert_eq!(names(hall.leave(&old)), ["waits"]);
    }

    #[test]
    fn a_hand_has_different_cards() {
        let queuing = Queuing {
            queues: 64,
            hand: 8,
            length: 50,
        };
        for flow in [0, 1, u64::MAX, 0x0123_4567_89ab_cdef] {
            let mut hand = hand(queuing, flow);
            hand.sort_unstable();
            hand.dedup();
            assert_eq!(hand.len(), 8);
        }
    }
}
