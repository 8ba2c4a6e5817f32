//! Which revisions stay, which go, and why.

use crate::fixtures::{addressed, hours, now, numbered, published, reference, revision};
use cambium_lineage::{Action, KeepReason, Lineage, Retention, Revision, Scheme, Selector, Usage, retain};
use std::collections::BTreeSet;

const STRICT: Retention = Retention {
    newest: 0,
    grace: jiff::SignedDuration::ZERO,
    delay: jiff::SignedDuration::ZERO,
};

fn keeping(newest: usize) -> Retention {
    Retention { newest, ..STRICT }
}

/// The names of the revisions that get this action.
fn with(action: Action, lineage: &Lineage, usage: &Usage<'_>, retention: &Retention) -> Vec<String> {
    retain(lineage, usage, retention, now())
        .into_iter()
        .filter(|retained| retained.action == action)
        .map(|retained| retained.revision.name().to_string())
        .collect()
}

fn reasons(lineage: &Lineage, usage: &Usage<'_>, retention: &Retention, name: &str) -> Vec<KeepReason> {
    let all = retain(lineage, usage, retention, now());
    let found = all
        .into_iter()
        .find(|retained| retained.revision.name().as_str() == name);
    found.map(|retained| retained.reasons).unwrap_or_default()
}

#[test]
fn the_current_revision_and_the_newest_besides_it_are_kept() {
    let lineage = numbered(7);
    let kept = with(Action::Keep, &lineage, &Usage::none(), &keeping(5));
    assert_eq!(kept, ["web-v2", "web-v3", "web-v4", "web-v5", "web-v6", "web-v7"]);
    assert_eq!(
        with(Action::Mark, &lineage, &Usage::none(), &keeping(5)),
        ["web-v1"]
    );
}

#[test]
fn a_revision_in_use_is_never_taken_however_many_are_published() {
    let lineage = published(&["1.0.0", "1.1.0", "1.2.0", "1.3.0"]);
    let mut usage = Usage::none();
    usage.refer("web-v1.0.0".parse().unwrap(), "application default/shop");
    usage.refer("web-v1.0.0".parse().unwrap(), "application default/till");
    assert_eq!(with(Action::Mark, &lineage, &usage, &keeping(1)), ["web-v1.1.0"]);
    let by = BTreeSet::from([
        "application default/shop".into(),
        "application default/till".into(),
    ]);
    assert_eq!(
        reasons(&lineage, &usage, &keeping(1), "web-v1.0.0"),
        [KeepReason::Used { by }]
    );
}

#[test]
fn with_versions_the_highest_release_is_current_even_if_back_ports_are_newer() {
    let lineage = published(&["2.0.0", "1.0.1", "1.0.2", "3.0.0-rc.1"]);
    assert_eq!(
        with(Action::Keep, &lineage, &Usage::none(), &STRICT),
        ["web-v2.0.0"]
    );
    assert_eq!(
        reasons(&lineage, &Usage::none(), &STRICT, "web-v2.0.0"),
        [KeepReason::Current]
    );
}

#[test]
fn what_the_artifact_declares_is_kept() {
    let lineage = published(&["1.0.0", "2.0.0"]);
    let mut usage = Usage::none();
    usage.declare("web-v1.0.0".parse().unwrap());
    assert_eq!(
        reasons(&lineage, &usage, &STRICT, "web-v1.0.0"),
        [KeepReason::Declared]
    );
}

#[test]
fn the_newest_match_of_every_live_selector_is_kept() {
    let lineage = addressed(&["a", "b", "c", "d"]);
    let production = |revision: &Revision| revision.number() <= 2;
    let nothing = |_: &Revision| false;
    let mut usage = Usage::none();
    usage.select(Selector::new("channel=production", &production));
    usage.select(Selector::new("channel=nothing", &nothing));
    assert_eq!(with(Action::Keep, &lineage, &usage, &STRICT), ["web-b", "web-d"]);
    let of = "channel=production".to_string();
    assert_eq!(
        reasons(&lineage, &usage, &STRICT, "web-b"),
        [KeepReason::Newest { of }]
    );
}

#[test]
fn what_a_live_reference_would_get_is_kept_before_it_is_resolved() {
    let lineage = published(&["1.0.0", "1.0.1", "2.0.0"]);
    let mut usage = Usage::none();
    usage.follow(reference("web@1.0"));
    usage.follow(reference("web@9"));
    assert_eq!(
        with(Action::Keep, &lineage, &usage, &STRICT),
        ["web-v1.0.1", "web-v2.0.0"]
    );
}

#[test]
fn what_is_younger_than_the_grace_period_is_kept() {
    let young = Revision::new(
        "web-v1".parse().unwrap(),
        1,
        crate::fixtures::content("a"),
        now() - hours(1),
    );
    let future = Revision::new(
        "web-v2".parse().unwrap(),
        2,
        crate::fixtures::content("b"),
        now() + hours(1),
    );
    let lineage = Lineage::builder("web", Scheme::Numbered)
        .revisions([
            young,
            future,
            revision("web-v3", 3, "c"),
            revision("web-v4", 4, "d"),
        ])
        .build()
        .unwrap();
    let retention = Retention {
        grace: hours(2),
        ..STRICT
    };
    assert_eq!(
        with(Action::Keep, &lineage, &Usage::none(), &retention),
        ["web-v1", "web-v2", "web-v4"]
    );
    let retention = Retention {
        grace: hours(1),
        ..STRICT
    };
    assert_eq!(
        with(Action::Mark, &lineage, &Usage::none(), &retention),
        ["web-v1", "web-v3"]
    );
}

/// `web-v1`, marked an hour ago, and `web-v2`, which is current.
fn marked() -> Lineage {
    Lineage::builder("web", Scheme::Numbered)
        .revision(revision("web-v1", 1, "a").with_unused_since(now() - hours(1)))
        .revision(revision("web-v2", 2, "b"))
        .build()
        .expect("a fixture")
}

#[test]
fn deletion_has_two_phases_even_without_a_delay() {
    assert_eq!(
        with(Action::Mark, &numbered(2), &Usage::none(), &STRICT),
        ["web-v1"]
    );
    assert_eq!(
        with(Action::Delete, &marked(), &Usage::none(), &STRICT),
        ["web-v1"]
    );
}

#[test]
fn a_marked_revision_waits_until_it_has_been_marked_for_long_enough() {
    let patient = Retention {
        delay: hours(2),
        ..STRICT
    };
    assert_eq!(
        with(Action::Wait, &marked(), &Usage::none(), &patient),
        ["web-v1"]
    );
    let less = Retention {
        delay: hours(1),
        ..STRICT
    };
    assert_eq!(with(Action::Delete, &marked(), &Usage::none(), &less), ["web-v1"]);
}

#[test]
fn a_pin_that_arrives_between_the_phases_wins() {
    let mut usage = Usage::none();
    usage.refer("web-v1".parse().unwrap(), "xr shop");
    assert_eq!(with(Action::Unmark, &marked(), &usage, &STRICT), ["web-v1"]);
}

#[test]
fn a_return_to_earlier_content_with_a_limit_of_one_keeps_both() {
    let lineage = Lineage::builder("web", Scheme::ContentAddressed)
        .revision(revision("web-a", 3, "a"))
        .revision(revision("web-b", 2, "b"))
        .build()
        .unwrap();
    assert_eq!(
        with(Action::Keep, &lineage, &Usage::none(), &keeping(1)),
        ["web-b", "web-a"]
    );
    assert_eq!(with(Action::Mark, &lineage, &Usage::none(), &STRICT), ["web-b"]);
}

#[test]
fn names_that_are_not_in_the_lineage_keep_nothing() {
    let mut usage = Usage::none();
    usage.refer("gone".parse().unwrap(), "xr shop");
    usage.declare("gone".parse().unwrap());
    assert_eq!(with(Action::Keep, &numbered(2), &usage, &STRICT), ["web-v2"]);
}

#[test]
fn an_empty_lineage_has_nothing_to_keep() {
    assert!(retain(&numbered(0), &Usage::none(), &STRICT, now()).is_empty());
}

#[test]
fn with_versions_two_of_one_number_are_two() {
    let same = |number, version: &str| {
        let name = format!("web-v{version}");
        revision(&name, number, version).with_version(version.parse().unwrap())
    };
    let lineage = Lineage::builder("web", Scheme::Versioned)
        .revisions([same(7, "1.0.0"), same(7, "1.1.0"), same(2, "1.2.0")])
        .build()
        .unwrap();
    let mut usage = Usage::none();
    usage.refer("web-v1.1.0".parse().unwrap(), "application default/shop");
    assert_eq!(
        with(Action::Keep, &lineage, &usage, &STRICT),
        ["web-v1.2.0", "web-v1.1.0"]
    );
    assert_eq!(with(Action::Mark, &lineage, &usage, &STRICT), ["web-v1.0.0"]);
    assert_eq!(lineage.issued(), 7);
}
