//! A rate limit for composite resources that follow a publish.

use cambium_api::crossplane::TypeReference;
use std::collections::HashMap;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A limit of moves per second, evenly spaced, for each kind by itself.
#[derive(Debug)]
pub struct RateLimit {
    between: Duration,
    /// When the next turn of a kind is, or was.
    next: HashMap<Arc<TypeReference>, Instant>,
}

impl RateLimit {
    /// A limit of so many moves per second for each kind.
    pub fn new(per_second: NonZeroU32) -> Self {
        Self {
            between: Duration::from_secs(1) / per_second.get(),
            next: HashMap::new(),
        }
    }

    /// Reserves the next move of a kind; nothing if the composite resource is reconciled before that anyway.
    pub fn turn(
        &mut self,
        type_: &Arc<TypeReference>,
        now: Instant,
        anyway: Option<Instant>,
    ) -> Option<Instant> {
        let next = self.next.entry(type_.clone()).or_insert(now);
        let turn = (*next).max(now);
        if anyway.is_some_and(|anyway| anyway <= turn) {
            return None;
        }
        *next = turn + self.between;
        Some(turn)
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "a test begins at some instant")]
mod tests {
    use super::*;

    fn kind(name: &str) -> Arc<TypeReference> {
        Arc::new(TypeReference {
            api_version: "example.org/v1".to_owned(),
            kind: name.to_owned(),
        })
    }

    fn rate_limit(per_second: u32) -> RateLimit {
        RateLimit::new(NonZeroU32::new(per_second).expect("more than nothing"))
    }

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn turns_are_even_and_the_first_is_now() {
        let (mut rate_limit, now, one) = (rate_limit(10), Instant::now(), kind("One"));
        let turns: Vec<_> = (0..4).filter_map(|_| rate_limit.turn(&one, now, None)).collect();
        assert_eq!(turns, [0, 100, 200, 300].map(|after| now + after * MS));
    }

    #[test]
    fn a_kind_does_not_wait_for_another() {
        let (mut rate_limit, now) = (rate_limit(1), Instant::now());
        for _ in 0..1000 {
            rate_limit.turn(&kind("Flood"), now, None);
        }
        assert_eq!(rate_limit.turn(&kind("Calm"), now, None), Some(now));
    }

    #[test]
    fn time_that_nobody_used_is_not_saved_up() {
        let (mut rate_limit, begin, one) = (rate_limit(10), Instant::now(), kind("One"));
        rate_limit.turn(&one, begin, None);
        let later = begin + 5000 * MS;
        assert_eq!(rate_limit.turn(&one, later, None), Some(later));
        assert_eq!(rate_limit.turn(&one, later, None), Some(later + 100 * MS));
    }

    #[test]
    fn whoever_is_looked_at_before_its_turn_takes_none() {
        let (mut rate_limit, now, one) = (rate_limit(10), Instant::now(), kind("One"));
        rate_limit.turn(&one, now, None);
        assert_eq!(rate_limit.turn(&one, now, Some(now + 50 * MS)), None);
        assert_eq!(rate_limit.turn(&one, now, Some(now + 100 * MS)), None);
        assert_eq!(
            rate_limit.turn(&one, now, Some(now + 200 * MS)),
            Some(now + 100 * MS)
        );
    }
}
