//! Identity and validity of a certificate, as the plan of rotation sees it.

use jiff::{SignedDuration, Timestamp};
use serde::Serialize;
use sha2::{Digest as _, Sha256};

/// Which certificate: the SHA-256 of it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Fingerprint(String);

impl Fingerprint {
    /// Of a certificate in DER.
    pub fn of(der: &[u8]) -> Self {
        let digest = Sha256::digest(der);
        Self(digest.iter().map(|byte| format!("{byte:02x}")).collect())
    }
}

impl std::fmt::Display for Fingerprint {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(self.0.get(..12).unwrap_or(&self.0))
    }
}

impl std::fmt::Debug for Fingerprint {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Display::fmt(self, formatter)
    }
}

/// Which certificate, and when it is valid. They sort by age, which is their order in a bundle.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Facts {
    /// From when on.
    pub from: Timestamp,
    /// Until when.
    pub until: Timestamp,
    /// Which one.
    pub id: Fingerprint,
}

impl Facts {
    /// Whether it is over.
    pub fn is_expired(&self, now: Timestamp) -> bool {
        self.until <= now
    }

    /// When it should be replaced: after two thirds of its life.
    pub fn renewal(&self) -> Timestamp {
        two_thirds(self.from, self.until)
    }
}

pub(super) fn two_thirds(from: Timestamp, until: Timestamp) -> Timestamp {
    later(from, from.duration_until(until) * 2 / 3)
}

/// As far as time goes.
pub(super) fn later(at: Timestamp, by: SignedDuration) -> Timestamp {
    at.saturating_add(by).unwrap_or(Timestamp::MAX)
}

/// How long things are good for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lifetimes {
    /// An authority.
    pub authority: SignedDuration,
    /// A leaf. It never outlives its authority.
    pub leaf: SignedDuration,
    /// How long an API server may take to notice a new bundle.
    pub settle: SignedDuration,
}

impl Default for Lifetimes {
    /// A year, thirty days, ten minutes.
    fn default() -> Self {
        Self {
            authority: SignedDuration::from_hours(24 * 365),
            leaf: SignedDuration::from_hours(24 * 30),
            settle: SignedDuration::from_mins(10),
        }
    }
}
