//! The plan of certificate rotation, as a pure function.

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde::Serialize;

use super::facts::{Facts, Fingerprint, Lifetimes, later};
use super::leaf::LeafFacts;

/// Everything that the plan depends on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Observed {
    /// The Secret.
    pub secret: SecretFacts,
    /// The certificates in each caBundle that should have the authorities. Nothing, where there is none yet.
    pub bundles: Vec<BTreeSet<Fingerprint>>,
    /// The leaf of this replica.
    pub leaf: Option<LeafFacts>,
    /// The time of publication that this replica has observed before: the caBundles were read after that.
    pub published_before: Option<Timestamp>,
}

/// The state of the Secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SecretFacts {
    /// It is not there.
    Absent,
    /// Not created by Cambium.
    Foreign,
    /// Created by Cambium, and unusable.
    Damaged {
        /// In words.
        why: String,
        /// Certificates in it that can still be read.
        readable: Vec<Facts>,
    },
    /// Usable.
    Whole(AuthorityFacts),
}

impl SecretFacts {
    /// Since when every bundle has been known to carry the next authority.
    pub fn published(&self) -> Option<Timestamp> {
        match self {
            Self::Whole(authorities) => authorities.next.as_ref()?.published,
            Self::Absent | Self::Foreign | Self::Damaged { .. } => None,
        }
    }
}

/// The authorities.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuthorityFacts {
    /// The one that signs.
    pub current: Facts,
    /// The one that will.
    pub next: Option<NextFacts>,
    /// Those that did. Their keys are gone.
    pub previous: Vec<Facts>,
}

/// The authority that comes next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NextFacts {
    /// Which one.
    pub facts: Facts,
    /// Since when every bundle has been known to carry it.
    pub published: Option<Timestamp>,
}

/// The plan. The Secret is changed by one step at a time: after it, everything is observed again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Plan {
    /// With the Secret.
    pub secret: SecretStep,
    /// The certificates that every caBundle must have, in this order. Empty while no authority is trusted.
    pub bundle: Vec<Fingerprint>,
    /// With this replica's leaf.
    pub leaf: LeafStep,
    /// When time alone will make a difference.
    pub look_again: Timestamp,
}

/// A step in the Secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub enum SecretStep {
    /// Nothing.
    Keep,
    /// Create an authority. Of replicas that do so at once, the first one wins.
    Create,
    /// Replace an unusable Secret by a new authority, which signs at once.
    Replace {
        /// In words.
        why: String,
        /// Certificates that stay in the bundles, for leaves that are still in use.
        keep: Vec<Fingerprint>,
    },
    /// Do not touch the Secret.
    Refuse {
        /// In words, with what to do.
        why: String,
    },
    /// Make the next authority.
    AddNext,
    /// Every bundle carries the next authority, as of now.
    RecordPublished,
    /// The bundles that were seen may be older than the publication that the Secret tells of.
    LookAgain,
    /// Another client has removed the next authority from a caBundle: it has to be published again.
    ForgetPublished,
    /// The next authority becomes the current one.
    Promote,
    /// These have expired.
    Forget {
        /// Which.
        expired: Vec<Fingerprint>,
    },
}

/// A step with the leaf.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub enum LeafStep {
    /// Nothing.
    Keep,
    /// Sign a new one with the current authority.
    Sign {
        /// Valid until then.
        until: Timestamp,
    },
}

/// Plans one step of the rotation.
pub fn plan(observed: &Observed, lifetimes: &Lifetimes, now: Timestamp) -> Plan {
    let only = |secret| Plan {
        secret,
        bundle: Vec::new(),
        leaf: LeafStep::Keep,
        look_again: Timestamp::MAX,
    };
    let authorities = match &observed.secret {
        SecretFacts::Whole(authorities) => authorities,
        SecretFacts::Absent => return only(SecretStep::Create),
        SecretFacts::Foreign => {
            let why = "it was not created by Cambium: delete it, or configure another name";
            return only(SecretStep::Refuse { why: why.to_owned() });
        }
        SecretFacts::Damaged { why, readable } => return only(replace(why.clone(), readable, now)),
    };
    let AuthorityFacts {
        current,
        next,
        previous,
    } = authorities;
    if current.from > now {
        let why = format!(
            "its certificate authority is not valid before {}, and it is {now}: check the clocks",
            current.from
        );
        return only(SecretStep::Refuse { why });
    }
    if current.is_expired(now) {
        return only(match next {
            Some(next) if !next.facts.is_expired(now) => SecretStep::Promote,
            _ => replace(
                format!("its certificate authority expired at {}", current.until),
                previous,
                now,
            ),
        });
    }
    let mut bundle: Vec<&Facts> = previous
        .iter()
        .chain(next.iter().map(|next| &next.facts))
        .collect();
    bundle.push(current);
    bundle.retain(|facts| !facts.is_expired(now));
    bundle.sort();
    Plan {
        secret: rotate(observed, authorities, lifetimes, now),
        bundle: bundle.into_iter().map(|facts| facts.id.clone()).collect(),
        leaf: leaf(observed, current, lifetimes, now),
        look_again: look_again(observed.leaf.as_ref(), authorities, lifetimes, now),
    }
}

fn replace(why: String, readable: &[Facts], now: Timestamp) -> SecretStep {
    let keep = readable.iter().filter(|facts| !facts.is_expired(now));
    SecretStep::Replace {
        why,
        keep: keep.map(|facts| facts.id.clone()).collect(),
    }
}

/// The next step of a rotation: add the next authority, wait until every caBundle has it, wait until API servers have seen that, promote it, and
/// forget the last one when it expires.
fn rotate(
    observed: &Observed,
    authorities: &AuthorityFacts,
    lifetimes: &Lifetimes,
    now: Timestamp,
) -> SecretStep {
    let AuthorityFacts {
        current,
        next,
        previous,
    } = authorities;
    // An authority outlives every leaf that it signs, so nobody needs one that has expired.
    let all = previous.iter().chain(next.iter().map(|next| &next.facts));
    let expired: Vec<_> = all
        .filter(|facts| facts.is_expired(now))
        .map(|facts| facts.id.clone())
        .collect();
    if !expired.is_empty() {
        return SecretStep::Forget { expired };
    }
    let Some(next) = next else {
        return match now >= current.renewal() {
            true => SecretStep::AddNext,
            false => SecretStep::Keep,
        };
    };
    let everywhere = observed
        .bundles
        .iter()
        .all(|bundle| bundle.contains(&next.facts.id));
    match (everywhere, next.published) {
        (true, None) => SecretStep::RecordPublished,
        (true, Some(at)) if now >= later(at, lifetimes.settle) => SecretStep::Promote,
        (false, Some(at)) if observed.published_before == Some(at) => SecretStep::ForgetPublished,
        (false, Some(_)) => SecretStep::LookAgain,
        _ => SecretStep::Keep,
    }
}

fn leaf(observed: &Observed, current: &Facts, lifetimes: &Lifetimes, now: Timestamp) -> LeafStep {
    let everywhere = observed.bundles.iter().all(|bundle| bundle.contains(&current.id));
    match &observed.leaf {
        // An authority that replaced a damaged one: first every caBundle, then the serving certificate.
        Some(leaf) if now < leaf.renewal() && (leaf.by == current.id || !everywhere) => LeafStep::Keep,
        _ => LeafStep::Sign {
            until: later(now, lifetimes.leaf).min(current.until),
        },
    }
}

fn look_again(
    leaf: Option<&LeafFacts>,
    authorities: &AuthorityFacts,
    lifetimes: &Lifetimes,
    now: Timestamp,
) -> Timestamp {
    let AuthorityFacts {
        current,
        next,
        previous,
    } = authorities;
    let settled = next.iter().filter_map(|next| next.published);
    let moments = [current.renewal(), current.until]
        .into_iter()
        .chain(leaf.map(LeafFacts::renewal))
        .chain(settled.map(|at| later(at, lifetimes.settle)))
        .chain(previous.iter().map(|facts| facts.until));
    moments
        .filter(|moment| *moment > now)
        .min()
        .unwrap_or(Timestamp::MAX)
}
