//! References: `web`, `web@1.2`, `web@v3`.

mod error;
mod read;
mod suggest;

pub use error::{ReferenceError, ReferenceProblem};
pub(crate) use read::is_range;

use crate::lineage::Lineage;
use crate::name::GivenName;
use crate::version::{Series, Version};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::fmt;
use std::str::FromStr;

/// An artifact and, after an `@`, which of its revisions: `web`, `web@v1`, `web@1.2`, `web@1.2.3`, `web@1.3.0-rc.1`, `web@prod`.
///
/// Parsed once, from text, and shown as it was written. Whether `v3` is a major version or a number is for the lineage to say.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Reference {
    artifact: String,
    wanted: Wanted,
    /// What stands after the `@`, as written.
    tail: String,
}

/// Which revision of an artifact a reference asks for.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Wanted {
    /// No particular one: `web`.
    Newest,
    /// The highest release of a series: `web@1.2`, `web@v1`. Without versions: the revision of that number or given name.
    Series(Series),
    /// Exactly this version: `web@1.2.3`. Without versions: the revision of that given name.
    Exact(Version),
    /// The revision that was given this name: `web@prod`. Only lineages without versions have such.
    Named(GivenName),
}

impl Reference {
    /// The longest text that is read as a reference.
    pub const LONGEST: usize = 400;

    /// The reference that names an artifact and none of its revisions.
    pub fn bare(lineage: &Lineage) -> Self {
        Self {
            artifact: lineage.artifact().into(),
            wanted: Wanted::Newest,
            tail: String::new(),
        }
    }

    /// The name of the artifact.
    pub fn artifact(&self) -> &str {
        &self.artifact
    }

    /// Which of the artifact's revisions is asked for.
    pub fn wanted(&self) -> &Wanted {
        &self.wanted
    }

    /// The given names that the reference can mean, best first: `v1.2` is `1.2`, and only then `v1.2`.
    pub(crate) fn given_names(&self) -> impl Iterator<Item = &str> {
        let without = self.tail.strip_prefix('v').filter(|rest| !rest.is_empty());
        without
            .into_iter()
            .chain((!self.tail.is_empty()).then_some(self.tail.as_str()))
    }

    /// The number that the reference can mean where there are no versions: `v3` is 3.
    pub(crate) fn number(&self) -> Option<u64> {
        match &self.wanted {
            Wanted::Series(series) => series.only_major(),
            _ => None,
        }
    }

    /// What stands after the `@`, as written; empty if there is none.
    pub(crate) fn tail(&self) -> &str {
        &self.tail
    }
}

impl FromStr for Reference {
    type Err = ReferenceError;

    fn from_str(text: &str) -> Result<Self, ReferenceError> {
        read::read(text).map_err(|(part, problem)| ReferenceError {
            text: error::shown(text),
            part: error::shown(part),
            problem,
            suggestion: suggest::nearest(text).filter(|guess| guess != text),
        })
    }
}

impl fmt::Display for Reference {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.artifact)?;
        if self.tail.is_empty() {
            Ok(())
        } else {
            write!(formatter, "@{}", self.tail)
        }
    }
}

impl Serialize for Reference {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Reference {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?
            .parse()
            .map_err(de::Error::custom)
    }
}
