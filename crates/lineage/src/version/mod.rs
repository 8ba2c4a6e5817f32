//! Semantic versions, as artifacts declare them.

mod bump;
mod error;
mod read;
mod series;

pub use bump::Bump;
pub use error::{VersionError, VersionProblem};
pub use series::Series;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::str::FromStr;

/// A semantic version: three numbers, possibly a pre-release, possibly build metadata.
///
/// Declarations may leave numbers out: `2` is 2.0.0 and `3.4` is 3.4.0. Build metadata is kept and shown, but two versions that
/// differ in nothing else are equal, as semantic versioning has it: they cannot both be published.
///
/// ```
/// use cambium_lineage::Version;
/// let version: Version = "3.4".parse()?;
/// assert_eq!(version.to_string(), "3.4.0");
/// assert_eq!("1.2.3+a".parse::<Version>()?, "1.2.3+b".parse::<Version>()?);
/// # Ok::<(), cambium_lineage::VersionError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Version(semver::Version);

impl Version {
    /// The longest text that is read as a version.
    pub const LONGEST: usize = 128;

    /// Reads a declared version: without a leading `v`, with one to three numbers.
    pub fn declared(text: &str) -> Result<Self, VersionError> {
        read::declared(text).map(Self)
    }

    /// The first number: changes that break consumers.
    pub fn major(&self) -> u64 {
        self.0.major
    }

    /// The second number: additions.
    pub fn minor(&self) -> u64 {
        self.0.minor
    }

    /// The third number: corrections.
    pub fn patch(&self) -> u64 {
        self.0.patch
    }

    /// Whether this is a release, which is anything without a pre-release part.
    pub fn is_release(&self) -> bool {
        self.0.pre.is_empty()
    }

    /// What stands after the `+`; empty if nothing does.
    pub fn build(&self) -> &str {
        self.0.build.as_str()
    }

    /// The series of all versions with this major number.
    pub fn major_series(&self) -> Series {
        Series::major(self.major())
    }

    /// The series of all versions with this major and minor number.
    pub fn minor_series(&self) -> Series {
        Series::minor(self.major(), self.minor())
    }
}

impl FromStr for Version {
    type Err = VersionError;

    fn from_str(text: &str) -> Result<Self, VersionError> {
        Self::declared(text)
    }
}

impl fmt::Display for Version {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

impl PartialEq for Version {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Version {}

impl PartialOrd for Version {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Version {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.cmp_precedence(&other.0)
    }
}

impl Hash for Version {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.0.major, self.0.minor, self.0.patch, &self.0.pre).hash(state);
    }
}

impl Serialize for Version {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Version {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?
            .parse()
            .map_err(de::Error::custom)
    }
}
