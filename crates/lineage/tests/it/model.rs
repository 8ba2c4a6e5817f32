//! Resolution and retention written down as naively as possible, and worlds to compare them in.

use crate::fixtures::{content, hours, now};
use cambium_lineage::{
    Closed, InUse, Lineage, Policy, Reference, Retention, Revision, Scheme, Version, Wanted,
};
use proptest::prelude::*;

/// Everything that a question depends on.
#[derive(Debug, Clone)]
pub(crate) struct World {
    pub(crate) lineage: Lineage,
    pub(crate) reference: Reference,
    pub(crate) policy: Policy,
    pub(crate) in_use: Option<InUse>,
    /// Selects revisions with an even number.
    pub(crate) selects_even: bool,
    /// What the consumer may not take by itself.
    pub(crate) closed: Closed,
}

pub(crate) fn is_even(revision: &Revision) -> bool {
    revision.number().is_multiple_of(2)
}

/// The name of the revision that the table gives, by trying all of them.
pub(crate) fn resolve(world: &World) -> Option<String> {
    let World {
        lineage,
        policy,
        in_use,
        ..
    } = world;
    let all = lineage.revisions();
    let versioned = lineage.scheme() == Scheme::Versioned;
    let recorded = in_use
        .as_ref()
        .and_then(|in_use| all.iter().find(|revision| *revision.name() == in_use.name));
    let follows = match (world.reference.wanted(), policy) {
        (Wanted::Named(_), _) if versioned => return None,
        (Wanted::Series(_), Policy::Pinned) if versioned => return None,
        (_, Policy::Automatic) => true,
        (Wanted::Series(_), Policy::ByReference) => true,
        (Wanted::Newest, Policy::ByReference) => lineage.scheme() == Scheme::ContentAddressed,
        _ => false,
    };
    let fixed = !matches!(world.reference.wanted(), Wanted::Newest)
        && (!versioned || matches!(world.reference.wanted(), Wanted::Exact(_)));
    let chosen = if fixed {
        all.iter()
            .filter(|revision| is_named(world, revision))
            .max_by_key(|revision| revision.given_name().is_some())
    } else if !follows && in_use.is_some() {
        let recorded = recorded?;
        if stays(world, recorded) {
            Some(recorded)
        } else {
            highest(world)
        }
    } else {
        highest(world)
    }?;
    if chosen.altered().is_some() {
        return None;
    }
    let exchanged = in_use.as_ref().is_some_and(|in_use| {
        in_use.name == *chosen.name() && in_use.digest.is_some_and(|digest| digest != chosen.digest())
    });
    let takes_it = follows && !fixed && !versioned;
    (!exchanged || takes_it).then(|| chosen.name().to_string())
}

fn is_named(world: &World, revision: &Revision) -> bool {
    let text = world.reference.to_string();
    let tail = text.split_once('@').map(|(_, tail)| tail).unwrap_or_default();
    let body = tail.strip_prefix('v').unwrap_or(tail);
    if let (Scheme::Versioned, Wanted::Exact(version)) = (world.lineage.scheme(), world.reference.wanted()) {
        return revision.version() == Some(version);
    }
    let given = revision.given_name().map(|name| name.as_str());
    match given {
        Some(given) => given == body || given == tail,
        None => revision.number().to_string() == body,
    }
}

fn stays(world: &World, recorded: &Revision) -> bool {
    let versioned = world.lineage.scheme() == Scheme::Versioned;
    let told = matches!(world.policy, Policy::Pinned | Policy::Manual)
        && *world.reference.wanted() == Wanted::Newest;
    let unversioned = recorded.version().is_none() && *world.reference.wanted() == Wanted::Newest;
    !versioned || told || unversioned || candidate(world, recorded)
}

/// Whether a reference that names no single revision allows this one.
fn candidate(world: &World, revision: &Revision) -> bool {
    if world.lineage.scheme() != Scheme::Versioned {
        return true;
    }
    let release = |version: &&Version| !version.to_string().contains('-');
    revision
        .version()
        .filter(release)
        .is_some_and(|version| match world.reference.wanted() {
            Wanted::Series(series) => {
                let series = format!("{series}.");
                version.to_string().starts_with(&series)
            }
            _ => true,
        })
}

fn highest(world: &World) -> Option<&Revision> {
    let by_content = world.lineage.scheme() == Scheme::ContentAddressed;
    let open = |revision: &&Revision| {
        !(world.closed.contains(revision.name()) || by_content && revision.altered().is_some())
    };
    let selected =
        |revision: &&Revision| !world.selects_even || world.policy == Policy::Manual || is_even(revision);
    let allowed = world
        .lineage
        .revisions()
        .iter()
        .filter(|revision| candidate(world, revision));
    let left = allowed.filter(open).filter(selected);
    match world.lineage.scheme() {
        Scheme::Versioned => left.max_by_key(|revision| revision.version()),
        _ => left.max_by_key(|revision| revision.number()),
    }
}

/// What keeps a revision, in the words of the design: current, N newest, referenced, newest match, young.
pub(crate) fn is_kept(
    lineage: &Lineage,
    used: &[String],
    retention: &Retention,
    revision: &Revision,
) -> bool {
    let all = lineage.revisions();
    let current = match lineage.scheme() {
        Scheme::Versioned => all
            .iter()
            .filter(|one| one.version().is_some_and(Version::is_release))
            .max_by_key(|one| one.version()),
        _ => all.iter().max_by_key(|one| one.number()),
    };
    let newer = all
        .iter()
        .filter(|one| Some(*one) != current && one.number() > revision.number())
        .count();
    let newest_even = all
        .iter()
        .filter(|one| is_even(one))
        .max_by_key(|one| one.number());
    Some(revision) == current
        || newer < retention.newest
        || used.contains(&revision.name().to_string())
        || Some(revision) == newest_even
        || revision.created() > now() - retention.grace
}

fn version() -> impl Strategy<Value = String> {
    let prerelease =
        prop_oneof![3 => Just(String::new()), 1 => (0..3).prop_map(|number| format!("-rc.{number}"))];
    (0..3, 0..3, 0..3, prerelease)
        .prop_map(|(major, minor, patch, pre)| format!("{major}.{minor}.{patch}{pre}"))
}

pub(crate) fn scheme() -> impl Strategy<Value = Scheme> {
    prop_oneof![2 => Just(Scheme::Versioned), 1 => Just(Scheme::Numbered), 1 => Just(Scheme::ContentAddressed)]
}

/// A revision before it has a number: version, given name, whether it was edited, its age, and whether it is marked.
type Sketch = (Option<String>, Option<&'static str>, bool, i64, bool);

fn sketch() -> impl Strategy<Value = Sketch> {
    let given = prop_oneof![4 => Just(None), 1 => prop::sample::select(vec!["prod", "1.2", "2", "1.2.3"]).prop_map(Some)];
    (
        prop::option::weighted(0.9, version()),
        given,
        prop::bool::weighted(0.05),
        0_i64..48,
        any::<bool>(),
    )
}

pub(crate) fn lineage() -> impl Strategy<Value = Lineage> {
    (scheme(), prop::collection::vec((sketch(), 1_u64..3), 0..14)).prop_map(|(scheme, sketches)| {
        let mut number = 0;
        let mut taken = std::collections::BTreeSet::new();
        let mut builder = Lineage::builder("web", scheme);
        for ((version, given, edited, age, marked), step) in sketches {
            number += step;
            let mut name = format!("web-{number}");
            let text = version.clone().unwrap_or_else(|| name.clone());
            let version =
                version.filter(|version| scheme == Scheme::Versioned && taken.insert(version.clone()));
            let given = given.filter(|given| scheme != Scheme::Versioned && taken.insert(given.to_string()));
            if let Some(version) = &version {
                name = format!("web-v{version}");
            }
            let mut revision = Revision::new(
                name.parse().expect("a name"),
                number,
                content(&text),
                now() - hours(age),
            );
            if let Some(version) = version {
                revision = revision.with_version(version.parse().expect("a version"));
            }
            if let Some(given) = given {
                revision = revision.with_given_name(given.parse().expect("a name"));
            }
            if edited {
                revision = revision.with_content_found(content("edited"));
            }
            if marked {
                revision = revision.with_unused_since(now() - hours(age.min(5)));
            }
            builder = builder.revision(revision);
        }
        builder.build().expect("a lineage")
    })
}

fn reference() -> impl Strategy<Value = String> {
    let tail = prop_oneof![
        2 => Just(String::new()),
        2 => (0..4).prop_map(|major| format!("@{major}")),
        2 => (0..4, 0..4).prop_map(|(major, minor)| format!("@v{major}.{minor}")),
        2 => version().prop_map(|version| format!("@{version}")),
        1 => Just("@prod".into()),
    ];
    tail.prop_map(|tail| format!("web{tail}"))
}

pub(crate) fn policy() -> impl Strategy<Value = Policy> {
    prop_oneof![
        Just(Policy::ByReference),
        Just(Policy::Automatic),
        Just(Policy::Pinned),
        Just(Policy::Manual),
    ]
}

pub(crate) fn world() -> impl Strategy<Value = World> {
    let parts = (
        lineage(),
        reference(),
        policy(),
        prop::option::of((any::<prop::sample::Index>(), 0..10)),
        any::<bool>(),
        prop::collection::vec(any::<prop::sample::Index>(), 0..4),
    );
    parts.prop_map(|(lineage, reference, policy, in_use, selects_even, closed)| {
        let closed = closed.iter().filter(|_| !lineage.revisions().is_empty());
        let closed: Closed = closed
            .map(|index| index.get(lineage.revisions()).name().clone())
            .collect();
        let in_use = in_use.map(|(index, kind)| {
            let revisions = lineage.revisions();
            match kind {
                0 => InUse::named("web-gone".parse().expect("a name")),
                _ if revisions.is_empty() => InUse::named("web-gone".parse().expect("a name")),
                1 => InUse {
                    digest: Some(content("exchanged")),
                    ..InUse::of(index.get(revisions))
                },
                2 => InUse {
                    digest: None,
                    ..InUse::of(index.get(revisions))
                },
                _ => InUse::of(index.get(revisions)),
            }
        });
        World {
            lineage,
            reference: reference.parse().expect("a reference"),
            policy,
            in_use,
            selects_even,
            closed,
        }
    })
}
