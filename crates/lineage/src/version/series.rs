//! Series of versions (`1`, `1.2`), which partial references name.

use super::Version;
use std::fmt;

/// All versions with one major number, or with one major and one minor number: `1`, `1.2`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Series {
    major: u64,
    minor: Option<u64>,
}

impl Series {
    /// All versions with this major number.
    pub fn major(major: u64) -> Self {
        Self { major, minor: None }
    }

    /// All versions with this major and minor number.
    pub fn minor(major: u64, minor: u64) -> Self {
        Self {
            major,
            minor: Some(minor),
        }
    }

    /// Whether the version belongs to the series. Pre-releases do; that nobody selects them is resolution's rule.
    pub fn contains(self, version: &Version) -> bool {
        version.major() == self.major && self.minor.is_none_or(|minor| version.minor() == minor)
    }

    /// Whether the version is higher than all of the series.
    pub fn is_below(self, version: &Version) -> bool {
        match self.minor {
            Some(minor) => (version.major(), version.minor()) > (self.major, minor),
            None => version.major() > self.major,
        }
    }

    /// The major number if that is all that the series says; a lineage without versions reads it as a number.
    pub(crate) fn only_major(self) -> Option<u64> {
        self.minor.is_none().then_some(self.major)
    }
}

impl fmt::Display for Series {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.minor {
            Some(minor) => write!(formatter, "{}.{minor}", self.major),
            None => write!(formatter, "{}", self.major),
        }
    }
}
