//! Not in a hurry.

use futures::stream::{Stream, StreamExt as _};
use std::time::Duration;

/// How long to rest before looking again. Longer when it does not help, or when somebody else undoes what we do.
pub(super) struct Backoff {
    pub(super) pause: Duration,
}

/// Why there was something to write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cause {
    /// We want something else than before.
    OwnChange,
    /// What we want is the same: time, or somebody else.
    Drift,
}

impl Default for Backoff {
    fn default() -> Self {
        Self {
            pause: Self::SHORTEST,
        }
    }
}

impl Backoff {
    const SHORTEST: Duration = Duration::from_millis(20);
    const LONGEST: Duration = Duration::from_secs(60);

    /// Every write is heard of again, and found to be right: two who undo each other's grow slower, one who is alone does not. Nor does
    /// one who changes their mind.
    pub(super) fn settled(&mut self, steps: usize, cause: Cause) {
        match (steps, cause) {
            (0, _) => self.pause = (self.pause / 4).max(Self::SHORTEST),
            (_, Cause::OwnChange) => {}
            (_, Cause::Drift) => self.slower(),
        }
        if self.pause > Duration::from_secs(5) {
            tracing::warn!(pause = ?self.pause, "another client keeps modifying our webhook configuration; backing off");
        }
    }

    pub(super) fn failed(&mut self) {
        self.pause = self.pause.max(Duration::from_millis(250));
        self.slower();
    }

    /// Rests, until there is news that cannot wait; whether there was. What comes at once is taken together.
    pub(super) async fn rest(&self, mut news: impl Stream<Item = ()> + Unpin) -> bool {
        tokio::time::sleep(Self::SHORTEST).await;
        tokio::select! {
            () = tokio::time::sleep(self.pause.saturating_sub(Self::SHORTEST)) => false,
            Some(()) = news.next() => true,
        }
    }

    fn slower(&mut self) {
        self.pause = (self.pause * 8).min(Self::LONGEST);
    }
}

#[cfg(test)]
mod tests {
    use super::{Backoff, Cause};
    use futures::stream;
    use tokio::time::Instant;

    #[test]
    fn two_who_undo_each_other_grow_slower_and_one_alone_does_not() {
        let (mut alone, mut fighting) = (Backoff::default(), Backoff::default());
        for _ in 0..20 {
            alone.settled(2, Cause::Drift);
            alone.settled(0, Cause::Drift);
            alone.settled(0, Cause::Drift);
            fighting.settled(2, Cause::Drift);
            fighting.settled(0, Cause::Drift);
        }
        assert_eq!(alone.pause, Backoff::SHORTEST);
        assert_eq!(fighting.pause, Backoff::LONGEST / 4);
    }

    #[test]
    fn whoever_changes_their_mind_does_not_grow_slower() {
        let mut backoff = Backoff::default();
        for _ in 0..20 {
            backoff.settled(1, Cause::OwnChange);
        }
        assert_eq!(backoff.pause, Backoff::SHORTEST);
    }

    #[tokio::test(start_paused = true)]
    async fn a_wish_ends_a_rest() {
        let slow = Backoff {
            pause: Backoff::LONGEST,
        };
        let start = Instant::now();
        assert!(slow.rest(stream::iter([()])).await);
        assert_eq!(start.elapsed(), Backoff::SHORTEST);
        let start = Instant::now();
        assert!(!slow.rest(stream::pending()).await);
        assert_eq!(start.elapsed(), Backoff::LONGEST);
        let start = Instant::now();
        assert!(!slow.rest(stream::empty()).await);
        assert_eq!(start.elapsed(), Backoff::LONGEST);
    }
}
