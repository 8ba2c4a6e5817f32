//! Decides whether content makes a new revision, and which number it gets.

use crate::digest::Digest;
use crate::lineage::{HIGHEST_NUMBER, Lineage, Scheme};
use crate::name::GivenName;
use crate::revision::Revision;
use crate::version::Version;
use serde::Serialize;

/// The content of an artifact now: its digest, and the version or name that its author declares.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Content {
    digest: Digest,
    called: Called,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Called {
    Nothing,
    Version(Version),
    Name(GivenName),
}

impl Content {
    /// Content that its author calls nothing.
    pub fn new(digest: Digest) -> Self {
        Self {
            digest,
            called: Called::Nothing,
        }
    }

    /// Content that is published as a version.
    pub fn versioned(digest: Digest, version: Version) -> Self {
        Self {
            digest,
            called: Called::Version(version),
        }
    }

    /// Content that was given a name.
    pub fn named(digest: Digest, name: GivenName) -> Self {
        Self {
            digest,
            called: Called::Name(name),
        }
    }
}

/// The effect of content on a lineage.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Next<'l> {
    /// Nothing: this revision holds it already.
    Unchanged(&'l Revision),
    /// This revision was issued for it, but was edited since: the content is to be put back.
    Restore(&'l Revision),
    /// It is a return to this older revision, which gets the newest number.
    Reuse {
        /// The revision that holds the content.
        revision: &'l Revision,
        /// The number it gets.
        number: u64,
    },
    /// It is a new revision.
    Issue {
        /// The number it gets.
        number: u64,
        /// Where it stands among what is published.
        place: Place<'l>,
    },
    /// Its version or name belongs to another revision, and what is published does not change.
    Conflict {
        /// The revision that has the version or name.
        published: &'l Revision,
        /// The digest of the content that wants it.
        offered: Digest,
    },
    /// No number is left.
    Exhausted,
}

/// The position of a new revision among the published ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Place<'l> {
    /// At the top: those who follow the bare artifact move to it.
    Top,
    /// Below this release: only those who follow its series move to it.
    BackPort {
        /// The highest release.
        below: &'l Revision,
    },
    /// A pre-release: no consumer follows it.
    Prerelease,
}

/// Decides the effect of content on a lineage: unchanged, an old revision again, a new revision, or a conflict.
pub fn next<'l>(lineage: &'l Lineage, content: &Content) -> Next<'l> {
    match &content.called {
        Called::Version(version) => next_version(lineage, content.digest, version),
        Called::Name(name) => next_named(lineage, content.digest, name),
        Called::Nothing => next_number(lineage, content.digest),
    }
}

fn next_version<'l>(lineage: &'l Lineage, digest: Digest, version: &Version) -> Next<'l> {
    if let Some(published) = lineage.version(version) {
        return held(published, digest).unwrap_or(Next::Conflict {
            published,
            offered: digest,
        });
    }
    let place = match lineage.highest_release() {
        _ if !version.is_release() => Place::Prerelease,
        Some(below) if below.version() > Some(version) => Place::BackPort { below },
        _ => Place::Top,
    };
    issue(lineage, place, |_| false)
}

fn next_named<'l>(lineage: &'l Lineage, digest: Digest, name: &GivenName) -> Next<'l> {
    if let Some(published) = lineage.given(name.as_str()) {
        return match held(published, digest) {
            Some(Next::Unchanged(revision)) => current_again(lineage, revision),
            Some(restore) => restore,
            None => Next::Conflict {
                published,
                offered: digest,
            },
        };
    }
    // The number of a revision is a name too: whoever refers to it must not get something else.
    let same_number = name
        .as_str()
        .parse()
        .ok()
        .and_then(|number| lineage.numbered(number));
    match same_number.filter(|revision| revision.given_name().is_none() && revision.version().is_none()) {
        Some(published) if lineage.scheme() != Scheme::ContentAddressed => Next::Conflict {
            published,
            offered: digest,
        },
        _ => issue(lineage, Place::Top, |_| false),
    }
}

fn next_number(lineage: &Lineage, digest: Digest) -> Next<'_> {
    let earlier = match lineage.scheme() {
        Scheme::ContentAddressed => lineage.content(digest),
        Scheme::Numbered | Scheme::Versioned => lineage.newest(),
    };
    match earlier.and_then(|revision| held(revision, digest)) {
        Some(Next::Unchanged(revision)) => current_again(lineage, revision),
        Some(restore) => restore,
        None => issue(lineage, Place::Top, |number| {
            lineage.given(&number.to_string()).is_some()
        }),
    }
}

/// What to do about a revision that was issued for this content; nothing to say if it was issued for other content.
fn held(revision: &Revision, digest: Digest) -> Option<Next<'_>> {
    match revision.altered() {
        _ if revision.digest() != digest => None,
        Some(_) => Some(Next::Restore(revision)),
        None => Some(Next::Unchanged(revision)),
    }
}

/// The current revision always has the highest number.
fn current_again<'l>(lineage: &'l Lineage, revision: &'l Revision) -> Next<'l> {
    if lineage.newest() == Some(revision) {
        return Next::Unchanged(revision);
    }
    match free_number(lineage, |_| false) {
        Some(number) => Next::Reuse { revision, number },
        None => Next::Exhausted,
    }
}

fn issue<'l>(lineage: &'l Lineage, place: Place<'l>, taken: impl Fn(u64) -> bool) -> Next<'l> {
    match free_number(lineage, taken) {
        Some(number) => Next::Issue { number, place },
        None => Next::Exhausted,
    }
}

/// The first number above all issued ones that no revision has as a name.
fn free_number(lineage: &Lineage, taken: impl Fn(u64) -> bool) -> Option<u64> {
    (lineage.issued() + 1..=HIGHEST_NUMBER).find(|&number| !taken(number))
}
