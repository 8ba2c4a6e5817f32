//! Not in a hurry.

use std::time::Duration;

/// How long to rest before looking again. Longer when it does not help, or when somebody else undoes what we do.
pub(super) struct Pace {
    pub(super) pause: Duration,
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            pause: Self::SHORTEST,
        }
    }
}

impl Pace {
    const SHORTEST: Duration = Duration::from_millis(20);
    const LONGEST: Duration = Duration::from_secs(60);

    /// Every write is heard of again, and found to be right: two who undo each other's grow slower, one who is alone does not.
    pub(super) fn settled(&mut self, steps: usize) {
        match steps {
            0 => self.pause = (self.pause / 4).max(Self::SHORTEST),
            _ => self.slower(),
        }
        if self.pause > Duration::from_secs(5) {
            tracing::warn!(pause = ?self.pause, "somebody else keeps changing our registration");
        }
    }

    pub(super) fn failed(&mut self) {
        self.pause = self.pause.max(Duration::from_millis(250));
        self.slower();
    }

    fn slower(&mut self) {
        self.pause = (self.pause * 8).min(Self::LONGEST);
    }
}

#[cfg(test)]
mod tests {
    use super::Pace;

    #[test]
    fn two_who_undo_each_other_grow_slower_and_one_alone_does_not() {
        let (mut alone, mut fighting) = (Pace::default(), Pace::default());
        for _ in 0..20 {
            alone.settled(2);
            alone.settled(0);
            alone.settled(0);
            fighting.settled(2);
            fighting.settled(0);
        }
        assert_eq!(alone.pause, Pace::SHORTEST);
        assert_eq!(fighting.pause, Pace::LONGEST / 4);
    }
}
