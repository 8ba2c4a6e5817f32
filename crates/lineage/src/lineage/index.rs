//! Indexes of a lineage by version, name and digest, so that a lookup does not read all revisions.

use crate::digest::Digest;
use crate::revision::Revision;
use crate::version::{Series, Version};
use std::cmp::Ordering;

/// Places in the list of revisions, sorted by what is looked up.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Index {
    names: Vec<usize>,
    given_names: Vec<usize>,
    contents: Vec<usize>,
    versions: Vec<usize>,
    releases: Vec<usize>,
}

impl Index {
    /// Indexes revisions that are sorted by number.
    pub(super) fn new(revisions: &[Revision]) -> Self {
        let all = || 0..revisions.len();
        let mut index = Self {
            names: all().collect(),
            given_names: all().filter(|&at| revisions[at].given_name().is_some()).collect(),
            contents: all().collect(),
            versions: all().filter(|&at| revisions[at].version().is_some()).collect(),
            releases: all().filter(|&at| revisions[at].release().is_some()).collect(),
        };
        index.names.sort_by_key(|&at| revisions[at].name());
        index.given_names.sort_by_key(|&at| revisions[at].given_name());
        index.contents.sort_by_key(|&at| (revisions[at].digest(), at));
        index.versions.sort_by_key(|&at| revisions[at].version());
        index.releases.sort_by_key(|&at| revisions[at].version());
        index
    }

    pub(super) fn name<'l>(&self, revisions: &'l [Revision], name: &str) -> Option<&'l Revision> {
        find(&self.names, revisions, |revision| {
            revision.name().as_str().cmp(name)
        })
    }

    pub(super) fn given_name<'l>(&self, revisions: &'l [Revision], name: &str) -> Option<&'l Revision> {
        find(&self.given_names, revisions, |revision| {
            revision.given_name().map(|given| given.as_str()).cmp(&Some(name))
        })
    }

    pub(super) fn version<'l>(&self, revisions: &'l [Revision], version: &Version) -> Option<&'l Revision> {
        find(&self.versions, revisions, |revision| {
            revision.version().cmp(&Some(version))
        })
    }

    pub(super) fn content<'l>(
        &self,
        revisions: &'l [Revision],
        digest: Digest,
    ) -> impl DoubleEndedIterator<Item = &'l Revision> {
        let from = self
            .contents
            .partition_point(|&at| revisions[at].digest() < digest);
        let to = self
            .contents
            .partition_point(|&at| revisions[at].digest() <= digest);
        self.contents[from..to].iter().map(|&at| &revisions[at])
    }

    pub(super) fn versions<'l>(
        &self,
        revisions: &'l [Revision],
    ) -> impl DoubleEndedIterator<Item = &'l Revision> {
        self.versions.iter().map(|&at| &revisions[at])
    }

    pub(super) fn releases<'l>(
        &self,
        revisions: &'l [Revision],
    ) -> impl DoubleEndedIterator<Item = &'l Revision> {
        self.releases.iter().map(|&at| &revisions[at])
    }

    pub(super) fn releases_of<'l>(
        &self,
        revisions: &'l [Revision],
        series: Series,
    ) -> impl DoubleEndedIterator<Item = &'l Revision> {
        let place = |above: fn(Series, &Version) -> bool| {
            self.releases.partition_point(|&at| {
                revisions[at]
                    .version()
                    .is_some_and(|version| !above(series, version))
            })
        };
        let from = place(|series, version| series.contains(version) || series.is_below(version));
        let to = place(|series, version| series.is_below(version));
        self.releases[from..to].iter().map(|&at| &revisions[at])
    }
}

fn find<'l>(
    places: &[usize],
    revisions: &'l [Revision],
    order: impl Fn(&Revision) -> Ordering,
) -> Option<&'l Revision> {
    let found = places.binary_search_by(|&at| order(&revisions[at])).ok()?;
    revisions.get(places[found])
}
