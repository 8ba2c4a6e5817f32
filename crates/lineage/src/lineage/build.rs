//! Builds a lineage from stored revisions, and checks its invariants.

use super::index::Index;
use super::{HIGHEST_NUMBER, Lineage, Scheme};
use crate::name::{GivenName, RevisionName};
use crate::revision::Revision;
use crate::version::Version;
use std::collections::BTreeMap;
use std::fmt;

/// Collects revisions, in any order, and checks them when the lineage is built.
#[derive(Debug, Clone)]
pub struct LineageBuilder {
    artifact: String,
    scheme: Scheme,
    revisions: Vec<Revision>,
    issued: u64,
    current: Option<RevisionName>,
    aside: BTreeMap<RevisionName, Revision>,
}

impl LineageBuilder {
    pub(super) fn new(artifact: String, scheme: Scheme) -> Self {
        Self {
            artifact,
            scheme,
            revisions: Vec::new(),
            issued: 0,
            current: None,
            aside: BTreeMap::new(),
        }
    }

    /// Adds one revision.
    pub fn revision(mut self, revision: Revision) -> Self {
        self.revisions.push(revision);
        self
    }

    /// Adds many revisions.
    pub fn revisions(mut self, revisions: impl IntoIterator<Item = Revision>) -> Self {
        self.revisions.extend(revisions);
        self
    }

    /// Says which number was the highest ever issued, as it was recorded. It never falls below what the revisions show.
    pub fn issued(mut self, issued: u64) -> Self {
        self.issued = self.issued.max(issued);
        self
    }

    /// Says which revision holds what the artifact says now, whatever numbers the others have.
    pub fn current(mut self, name: Option<RevisionName>) -> Self {
        self.current = name;
        self
    }

    /// Adds revisions that can be named and not followed, because others have their numbers.
    pub fn aside(mut self, revisions: impl IntoIterator<Item = Revision>) -> Self {
        let named = revisions
            .into_iter()
            .map(|revision| (revision.name().clone(), revision));
        self.aside.extend(named);
        self
    }

    /// Checks everything and sorts; the error lists all that is wrong.
    pub fn build(mut self) -> Result<Lineage, LineageError> {
        self.revisions
            .sort_by(|left, right| (left.number(), left.name()).cmp(&(right.number(), right.name())));
        let problems = problems(&self.revisions, self.scheme, self.issued);
        if !problems.is_empty() {
            return Err(LineageError {
                artifact: self.artifact,
                problems,
            });
        }
        let current = self.current;
        let newest = self.revisions.last().map_or(0, Revision::number);
        Ok(Lineage {
            artifact: self.artifact,
            scheme: self.scheme,
            index: Index::new(&self.revisions),
            issued: self.issued.max(newest),
            current: current.and_then(|name| self.revisions.iter().position(|known| *known.name() == name)),
            revisions: self.revisions,
            aside: self.aside,
        })
    }
}

fn problems(revisions: &[Revision], scheme: Scheme, issued: u64) -> Vec<LineageProblem> {
    let mut problems = Vec::new();
    if issued > HIGHEST_NUMBER {
        problems.push(LineageProblem::IssuedTooHigh(issued));
    }
    for revision in revisions {
        if !(1..=HIGHEST_NUMBER).contains(&revision.number()) {
            problems.push(LineageProblem::Number(revision.name().clone(), revision.number()));
        }
    }
    // By version, nobody is called by a number: an edited one takes nothing away from those who use the others.
    if scheme != Scheme::Versioned {
        problems.extend(
            repeated(revisions, |revision| Some(revision.number()))
                .into_iter()
                .map(LineageProblem::SameNumber),
        );
    }
    problems.extend(
        repeated(revisions, |revision| Some(revision.name()))
            .into_iter()
            .cloned()
            .map(LineageProblem::SameName),
    );
    problems.extend(
        repeated(revisions, Revision::version)
            .into_iter()
            .cloned()
            .map(LineageProblem::SameVersion),
    );
    problems.extend(
        repeated(revisions, Revision::given_name)
            .into_iter()
            .cloned()
            .map(LineageProblem::SameGivenName),
    );
    problems
}

/// What two revisions have in common that only one may have, each once, sorted.
fn repeated<'r, K: Ord>(revisions: &'r [Revision], key: impl Fn(&'r Revision) -> Option<K>) -> Vec<K> {
    let mut keys: Vec<K> = revisions.iter().filter_map(key).collect();
    keys.sort();
    let mut twice = Vec::new();
    let mut last: Option<K> = None;
    for key in keys {
        if last.as_ref() == Some(&key) && twice.last() != Some(&key) {
            twice.extend(last.take());
        }
        last = Some(key);
    }
    twice
}

/// The reasons that stored revisions are not a valid lineage.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the revisions of {artifact:?} contradict each other: {}", Listed(.problems))]
pub struct LineageError {
    /// The name of the artifact.
    pub artifact: String,
    /// All that is wrong, in a fixed order.
    pub problems: Vec<LineageProblem>,
}

/// One thing that is wrong with a set of revisions.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LineageProblem {
    /// A number that no revision can have.
    #[error("{0} has the number {1}")]
    Number(RevisionName, u64),
    /// A high-water mark that no revision can have reached.
    #[error("the number {0} cannot have been issued")]
    IssuedTooHigh(u64),
    /// Two revisions with one number, where a number tells them apart.
    #[error("the number {0} occurs more than once")]
    SameNumber(u64),
    /// Two revisions with one name.
    #[error("the name {0} occurs more than once")]
    SameName(RevisionName),
    /// Two revisions of one version.
    #[error("the version {0} occurs more than once")]
    SameVersion(Version),
    /// Two revisions that were given one name.
    #[error("the given name {0} occurs more than once")]
    SameGivenName(GivenName),
}

struct Listed<'a>(&'a [LineageProblem]);

impl fmt::Display for Listed<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.0.iter().enumerate() {
            let separator = if index > 0 { "; " } else { "" };
            write!(formatter, "{separator}{problem}")?;
        }
        Ok(())
    }
}
