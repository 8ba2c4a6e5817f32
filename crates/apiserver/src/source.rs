//! Where time, identities and randomness come from: given, never taken.

use std::sync::Arc;

use jiff::Timestamp;

/// Tells the time.
pub type Clock = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// Fills a buffer with random bytes.
pub type Entropy = Arc<dyn Fn(&mut [u8]) + Send + Sync>;

/// The time and randomness of one server.
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
    pub(crate) fn now(&self) -> Timestamp {
        (self.clock)()
    }

    /// A new UID (a version 4 UUID).
    pub(crate) fn uid(&self) -> String {
        let mut bytes = [0; 16];
        (self.entropy)(&mut bytes);
        bytes[6] = bytes[6] & 0x0f | 0x40;
        bytes[8] = bytes[8] & 0x3f | 0x80;
        let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        format!(
            "{}-{}-{}-{}-{}",
            &hex[..8],
            &hex[8..12],
            &hex[12..16],
            &hex[16..20],
            &hex[20..]
        )
    }

    /// `prefix` and five characters that spell no words, as `generateName` wants them.
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

fn operating_system(buffer: &mut [u8]) {
    getrandom::fill(buffer).expect("the operating system has randomness");
}
