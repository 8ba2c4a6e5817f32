//! The server's clock and source of randomness, injected so that tests control them.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

/// A clock.
pub type Clock = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// Fills a buffer with random bytes.
pub type Entropy = Arc<dyn Fn(&mut [u8]) + Send + Sync>;

/// The clock and randomness of one server.
#[derive(Clone)]
pub(crate) struct Sources {
    pub(crate) clock: Clock,
    pub(crate) entropy: Entropy,
}

impl Default for Sources {
    fn default() -> Self {
        Self {
            clock: Arc::new(Timestamp::now),
            entropy: Arc::new(operating_system),
        }
    }
}

impl Sources {
    /// The current time, no earlier than year 1: RFC 3339 has no earlier years.
    pub(crate) fn now(&self) -> Timestamp {
        const YEAR_ONE: Timestamp = Timestamp::constant(-62_135_596_800, 0);
        (self.clock)().max(YEAR_ONE)
    }

    /// A new UID (a version 4 UUID).
    pub(crate) fn uid(&self) -> String {
        let mut bytes = [0; 16];
        (self.entropy)(&mut bytes);
        bytes[6] = bytes[6] & 0x0f | 0x40;
        bytes[8] = bytes[8] & 0x3f | 0x80;
        let mut text = String::with_capacity(36);
        for (index, byte) in bytes.into_iter().enumerate() {
            if matches!(index, 4 | 6 | 8 | 10) {
                text.push('-');
            }
            for digit in [byte >> 4, byte & 0x0f] {
                text.push(char::from(b"0123456789abcdef"[usize::from(digit)]));
            }
        }
        text
    }

    /// A name for `generateName`: the prefix and five random characters without vowels, so that they spell no words.
    pub(crate) fn generated_name(&self, prefix: &str) -> String {
        const LONGEST: usize = 63;
        const ALPHABET: &[u8; 27] = b"bcdfghjklmnpqrstvwxz2456789";
        let mut bytes = [0; 5];
        (self.entropy)(&mut bytes);
        let kept: String = prefix.chars().take(LONGEST - bytes.len()).collect();
        let suffix = bytes
            .iter()
            .map(|byte| char::from(ALPHABET[usize::from(*byte) % ALPHABET.len()]));
        kept.chars().chain(suffix).collect()
    }
}

/// A clock for measuring durations: it continues where the wall clock is set back.
#[derive(Default)]
pub(crate) struct MonotonicClock {
    latest: Option<Timestamp>,
    set_back: SignedDuration,
}

impl MonotonicClock {
    /// The time for a reading of the wall clock, never earlier than any before.
    pub(crate) fn after(&mut self, clock: Timestamp) -> Timestamp {
        if let Some(latest) = self.latest
            && clock < latest
        {
            self.set_back = self.set_back.saturating_add(latest.duration_since(clock));
        }
        self.latest = Some(clock);
        clock.checked_add(self.set_back).unwrap_or(Timestamp::MAX)
    }
}

fn operating_system(buffer: &mut [u8]) {
    getrandom::fill(buffer).expect("the operating system has randomness");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steady_time_goes_on_when_the_clock_is_set_back() {
        let mut steady = MonotonicClock::default();
        let told: Vec<i64> = [100, 110, 50, 55, 54, 200]
            .into_iter()
            .map(|second| Timestamp::from_second(second).unwrap())
            .map(|clock| steady.after(clock).as_second())
            .collect();
        assert_eq!(told, [100, 110, 110, 115, 115, 261]);
        assert_eq!(steady.after(Timestamp::MAX), Timestamp::MAX);
        assert_eq!(steady.after(Timestamp::MIN), Timestamp::MAX);
    }
}
