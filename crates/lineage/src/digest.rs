//! Digests: content addresses of revisions.

use crate::canonical::canonical;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use std::fmt;
use std::str::FromStr;

const PREFIX: &str = "sha256:";
const HEX: usize = 64;
const SHORT: usize = 12;

/// The SHA-256 of the canonical JSON of what a revision snapshots: equal digests, equal content, in every cluster.
///
/// Written `sha256:` and 64 lower-case hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest([u8; 32]);

impl Digest {
    /// The digest of a JSON value.
    pub fn of(content: &Value) -> Self {
        Self(Sha256::digest(canonical(content).as_bytes()).into())
    }

    /// All 64 hexadecimal digits, without the `sha256:` in front.
    pub fn hex(&self) -> String {
        use fmt::Write;
        self.0.iter().fold(String::with_capacity(HEX), |mut hex, byte| {
            let _ = write!(hex, "{byte:02x}");
            hex
        })
    }

    /// The first twelve hexadecimal digits: enough to tell revisions apart on a screen, not enough to prove anything.
    pub fn short(&self) -> String {
        let mut hex = self.hex();
        hex.truncate(SHORT);
        hex
    }
}

/// The reasons that a text is not a digest.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DigestError {
    /// The algorithm is missing or is another one.
    #[error("{text:?} is not a digest: it does not begin with \"sha256:\"")]
    Algorithm {
        /// What was read, cut short if it was long.
        text: String,
    },
    /// Too many or too few digits.
    #[error("{text:?} is not a digest: it has {found} characters after \"sha256:\" instead of 64")]
    Length {
        /// What was read, cut short if it was long.
        text: String,
        /// How many characters there were.
        found: usize,
    },
    /// A character that is not a lower-case hexadecimal digit.
    #[error("{text:?} is not a digest: {character:?} is not a lower-case hexadecimal digit")]
    Character {
        /// What was read, cut short if it was long.
        text: String,
        /// The first offending character.
        character: char,
    },
}

impl FromStr for Digest {
    type Err = DigestError;

    fn from_str(text: &str) -> Result<Self, DigestError> {
        let shown = || text.chars().take(HEX + PREFIX.len() + 8).collect::<String>();
        let hex = text
            .strip_prefix(PREFIX)
            .ok_or_else(|| DigestError::Algorithm { text: shown() })?;
        if let Some(character) = hex.chars().find(|c| !matches!(c, '0'..='9' | 'a'..='f')) {
            return Err(DigestError::Character {
                text: shown(),
                character,
            });
        }
        if hex.len() != HEX {
            return Err(DigestError::Length {
                text: shown(),
                found: hex.len(),
            });
        }
        let mut bytes = [0; 32];
        for (byte, pair) in bytes.iter_mut().zip(hex.as_bytes().chunks_exact(2)) {
            *byte = nibble(pair[0]) << 4 | nibble(pair[1]);
        }
        Ok(Self(bytes))
    }
}

/// The value of a digit that was checked to be hexadecimal and lower-case.
fn nibble(digit: u8) -> u8 {
    if digit.is_ascii_digit() {
        digit - b'0'
    } else {
        digit - b'a' + 10
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{PREFIX}{}", self.hex())
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Digest({PREFIX}{}…)", self.short())
    }
}

impl Serialize for Digest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?
            .parse()
            .map_err(de::Error::custom)
    }
}
