//! Bumps: the part of a semantic version that a change raises.

use super::Version;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The part of a semantic version that a change raises, lowest first.
///
/// Below 1.0.0 every part counts one place lower: 0.3.0 breaks what 0.2.0 promised, and 0.2.1 may add to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Bump {
    /// Corrections: no consumer notices.
    Patch,
    /// Additions: every consumer keeps working.
    Minor,
    /// Breaks: some consumer has to change.
    Major,
}

impl fmt::Display for Bump {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Patch => "patch",
            Self::Minor => "minor",
            Self::Major => "major",
        })
    }
}

impl Version {
    /// The lowest release above this version that allows changes of this weight. A pre-release leads to its own release, if that is high enough.
    ///
    /// ```
    /// use cambium_lineage::{Bump, Version};
    /// let next = |version: &str, bump| Ok::<_, cambium_lineage::VersionError>(version.parse::<Version>()?.next(bump).to_string());
    /// assert_eq!(next("1.2.3", Bump::Major)?, "2.0.0");
    /// assert_eq!(next("1.2.3", Bump::Minor)?, "1.3.0");
    /// assert_eq!(next("0.2.3", Bump::Major)?, "0.3.0");
    /// assert_eq!(next("0.2.3", Bump::Minor)?, "0.2.4");
    /// # Ok::<(), cambium_lineage::VersionError>(())
    /// ```
    #[must_use]
    pub fn next(&self, bump: Bump) -> Self {
        let (major, minor, patch) = (self.major(), self.minor(), self.patch());
        let (major, minor, patch) = match (bump, major) {
            (Bump::Major, 0) => (0, minor.saturating_add(1), 0),
            (Bump::Major, _) => (major.saturating_add(1), 0, 0),
            (Bump::Minor, 1..) => (major, minor.saturating_add(1), 0),
            (Bump::Minor, 0) | (Bump::Patch, _) => (major, minor, patch.saturating_add(1)),
        };
        Self(semver::Version::new(major, minor, patch))
    }

    /// The weight of changes that a move from an older version to this one allows.
    pub fn bump_from(&self, older: &Self) -> Bump {
        let places = |version: &Self| match version.major() {
            0 => (0, version.minor()),
            major => (major, 0),
        };
        if places(self) != places(older) {
            Bump::Major
        } else if self.major() == 0 || self.minor() != older.minor() {
            Bump::Minor
        } else {
            Bump::Patch
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(text: &str) -> Version {
        text.parse().expect("a version")
    }

    #[test]
    fn below_1_0_0_minor_plays_major() {
        assert_eq!(version("0.7.0").bump_from(&version("0.6.3")), Bump::Major);
        assert_eq!(version("0.6.4").bump_from(&version("0.6.3")), Bump::Minor);
        assert_eq!(version("1.0.0").bump_from(&version("0.6.3")), Bump::Major);
        assert_eq!(version("1.3.0").bump_from(&version("1.2.9")), Bump::Minor);
        assert_eq!(version("1.2.10").bump_from(&version("1.2.9")), Bump::Patch);
        assert_eq!(version("2.0.0").bump_from(&version("1.2.9")), Bump::Major);
    }

    #[test]
    fn the_next_version_allows_what_was_asked_for() {
        for from in ["0.0.1", "0.2.3", "1.2.3", "7.0.0"] {
            for bump in [Bump::Patch, Bump::Minor, Bump::Major] {
                let (from, next) = (version(from), version(from).next(bump));
                assert!(
                    next > from && next.bump_from(&from) >= bump,
                    "{from} {bump} {next}"
                );
            }
        }
    }
}
