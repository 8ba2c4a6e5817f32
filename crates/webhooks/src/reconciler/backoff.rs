//! Back-off of the webhook reconciler.

use futures::stream::{Stream, StreamExt as _};
use std::time::Duration;

/// The pause between two reconciles. It grows after failures, and while another client undoes the writes.
pub(super) struct Backoff {
    pub(super) pause: Duration,
}

/// Why something was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cause {
    /// The validators want other rules than before.
    OwnChange,
    /// The rules are the same: a certificate was due, or another client has changed an object.
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

    /// Every own write causes one more reconcile, which writes nothing. Two clients that undo each other's writes both back off; one that is alone,
    /// or whose rules change, does not.
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

    /// Waits for the pause, or for an event that cannot wait; whether there was one. Events at the same time cause one reconcile.
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
