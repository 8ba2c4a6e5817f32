//! What resolution does at the edges: back-ports, pins that are gone, content that was exchanged, stages.

use crate::fixtures::{
    content, first, gets, name, numbered, published, reason, reference, release, revision, then, using,
};
use cambium_lineage::{
    Chosen, Closures, InUse, Lineage, Movement, Policy, Question, Refusal, RevisionName, Scheme, Selector,
    resolve,
};

const FOLLOWING: Policy = Policy::Automatic;

#[test]
fn a_back_port_moves_its_series_and_nobody_above_it() {
    let lineage = published(&["1.2.3", "1.3.0", "2.0.0", "1.2.4"]);
    assert_eq!(
        then("web@1.2", FOLLOWING, &lineage, "web-v1.2.3"),
        gets("web-v1.2.4")
    );
    assert_eq!(
        then("web@1", FOLLOWING, &lineage, "web-v1.3.0"),
        gets("web-v1.3.0")
    );
    assert_eq!(then("web", FOLLOWING, &lineage, "web-v2.0.0"), gets("web-v2.0.0"));
}

#[test]
fn a_version_that_vanished_while_pinned_is_refused_and_nothing_else_is_taken() {
    let lineage = published(&["1.2.4", "2.0.0"]);
    let gone = InUse {
        name: "web-v1.2.3".parse().unwrap(),
        digest: Some(content("1.2.3")),
    };
    for policy in [Policy::ByReference, Policy::Pinned, Policy::Manual] {
        let refusal = name(resolve(&reference("web"), policy, &lineage, Some(&gone))).unwrap_err();
        assert!(matches!(refusal, Refusal::Vanished { .. }), "{refusal}");
    }
    assert_eq!(
        name(resolve(&reference("web@1.2"), FOLLOWING, &lineage, Some(&gone))),
        gets("web-v1.2.4")
    );
    assert_eq!(
        reason("web", FOLLOWING, &lineage, Some(&gone)),
        (Chosen::HighestRelease, Movement::Elsewhere)
    );
}

#[test]
fn content_exchanged_under_a_pinned_version_is_refused_never_swapped() {
    let lineage = Lineage::builder("web", Scheme::Versioned)
        .revision(revision("web-v1.2.3", 2, "other").with_version("1.2.3".parse().unwrap()))
        .build()
        .unwrap();
    let recorded = InUse {
        name: "web-v1.2.3".parse().unwrap(),
        digest: Some(content("1.2.3")),
    };
    for (text, policy) in [
        ("web@1.2.3", Policy::ByReference),
        ("web", Policy::Pinned),
        ("web@1", FOLLOWING),
    ] {
        let refusal = name(resolve(&reference(text), policy, &lineage, Some(&recorded))).unwrap_err();
        assert!(matches!(refusal, Refusal::Exchanged { .. }), "{text}: {refusal}");
    }
}

#[test]
fn a_follower_without_versions_takes_exchanged_content_and_says_so() {
    let lineage = numbered(1);
    let recorded = InUse {
        name: "web-v1".parse().unwrap(),
        digest: Some(content("before")),
    };
    assert_eq!(
        reason("web", FOLLOWING, &lineage, Some(&recorded)),
        (Chosen::Newest, Movement::Replaced)
    );
    let pinned = name(resolve(
        &reference("web@v1"),
        FOLLOWING,
        &lineage,
        Some(&recorded),
    ));
    assert!(matches!(pinned, Err(Refusal::Exchanged { .. })));
}

#[test]
fn what_is_in_use_and_no_longer_satisfies_the_reference_is_left() {
    let lineage = published(&["1.2.3", "1.3.0", "1.4.0-rc.1", "2.0.0"]);
    assert_eq!(
        then("web@1.3", FOLLOWING, &lineage, "web-v1.2.3"),
        gets("web-v1.3.0")
    );
    assert_eq!(
        then("web@1", FOLLOWING, &lineage, "web-v2.0.0"),
        gets("web-v1.3.0")
    );
    assert_eq!(
        then("web@1.3", Policy::Manual, &lineage, "web-v1.2.3"),
        gets("web-v1.3.0")
    );
    assert_eq!(
        then("web", Policy::ByReference, &lineage, "web-v1.4.0-rc.1"),
        gets("web-v2.0.0")
    );
    let in_use = using(&lineage, "web-v2.0.0");
    assert_eq!(
        reason("web@1", FOLLOWING, &lineage, Some(&in_use)).1,
        Movement::Down
    );
}

#[test]
fn an_edit_from_an_exact_reference_to_the_bare_artifact_does_not_move() {
    let lineage = published(&["1.2.3", "2.0.0"]);
    assert_eq!(
        then("web", Policy::ByReference, &lineage, "web-v1.2.3"),
        gets("web-v1.2.3")
    );
}

#[test]
fn a_bare_reference_that_stays_is_not_moved_by_a_definition_that_begins_to_have_versions() {
    let lineage = Lineage::builder("web", Scheme::Versioned)
        .revision(revision("web-v1", 1, "before"))
        .revision(release(2, "1.0.0"))
        .build()
        .unwrap();
    assert_eq!(then("web", Policy::Pinned, &lineage, "web-v1"), gets("web-v1"));
    assert_eq!(
        then("web", Policy::ByReference, &lineage, "web-v1"),
        gets("web-v1")
    );
    assert_eq!(
        then("web", Policy::Automatic, &lineage, "web-v1"),
        gets("web-v1.0.0")
    );
    let (reference, in_use) = (reference("web"), using(&lineage, "web-v1"));
    let question = Question::new(&reference, Policy::ByReference, &lineage).using(Some(&in_use));
    let edited = question.edited().resolve();
    assert_eq!(
        edited.revision().map(ToString::to_string).as_deref(),
        Some("1.0.0")
    );
}

#[test]
fn manual_takes_the_highest_once_and_then_stays() {
    let lineage = published(&["1.2.3", "1.2.4", "2.0.0"]);
    assert_eq!(first("web@1", Policy::Manual, &lineage), gets("web-v1.2.4"));
    assert_eq!(
        then("web@1", Policy::Manual, &lineage, "web-v1.2.3"),
        gets("web-v1.2.3")
    );
    assert_eq!(
        then("web", Policy::Manual, &lineage, "web-v1.2.3"),
        gets("web-v1.2.3")
    );
}

#[test]
fn a_follower_takes_the_highest_revision_that_is_not_closed_for_it() {
    let lineage = published(&["1.0.0", "1.1.0", "1.2.0", "1.0.1"]);
    let get = |text: &str, policy, in_use: Option<&str>, closed: &[&str]| {
        let closed = closed.iter().map(|name| name.parse().unwrap()).collect();
        let reference = reference(text);
        let in_use = in_use.map(|name| InUse::of(lineage.get(&name.parse().unwrap()).unwrap()));
        let question = Question::new(&reference, policy, &lineage).using(in_use.as_ref());
        name(question.closed_to(&closed).resolve())
    };
    let (top, back_port) = ("web-v1.2.0", "web-v1.0.1");
    assert_eq!(get("web", FOLLOWING, None, &[top]), gets("web-v1.1.0"));
    assert_eq!(
        get("web@1", FOLLOWING, Some("web-v1.0.0"), &[top]),
        gets("web-v1.1.0")
    );
    // A back-port is opened or closed by itself, whatever was published before it.
    assert_eq!(
        get("web@1.0", FOLLOWING, Some("web-v1.0.0"), &[back_port]),
        gets("web-v1.0.0")
    );
    assert_eq!(
        get("web@1.0", FOLLOWING, Some("web-v1.0.0"), &[top]),
        gets(back_port)
    );
    // What is closed again is taken back from those who follow.
    assert_eq!(get("web@1", FOLLOWING, Some(top), &[top]), gets("web-v1.1.0"));
    // Those who were told what to use are not concerned.
    assert_eq!(get("web@1.2.0", FOLLOWING, Some(top), &[top]), gets(top));
    assert_eq!(get("web", Policy::ByReference, Some(top), &[top]), gets(top));
    assert_eq!(get("web", Policy::Manual, Some(top), &[top]), gets(top));
    // A new consumer takes nothing that is closed, however it follows.
    assert_eq!(get("web", Policy::Pinned, None, &[top]), gets("web-v1.1.0"));
    assert!(matches!(
        get("web@1.0", FOLLOWING, None, &["web-v1.0.0", back_port]),
        Err(Refusal::Closed { .. })
    ));
}

#[test]
fn closures_open_for_some_then_for_all_and_close_again() {
    let mut closures: Closures<&str, u32> = Closures::default();
    let new: RevisionName = "web-v2".parse().unwrap();
    let closed_for =
        |closures: &Closures<_, _>, consumer| closures.closed_for(&"web", &consumer).contains(&new);
    assert!(!closed_for(&closures, 1));
    closures.close(&"web", new.clone());
    closures.open_for(&"web", &new, [1]);
    assert!(!closed_for(&closures, 1) && closed_for(&closures, 2));
    assert!(closures.closed_for(&"other", &2).is_empty());
    closures.close(&"web", new.clone());
    assert!(closed_for(&closures, 1), "closing takes back");
    closures.open(&"web", &new);
    assert!(!closed_for(&closures, 1) && !closures.concerns(&"web"));
    closures.open_for(&"web", &new, [3]);
    assert!(
        !closures.concerns(&"web"),
        "what is open is not closed by opening it"
    );
}

#[test]
fn a_selector_narrows_versions_too() {
    let lineage = published(&["1.0.0", "1.1.0", "2.0.0"]);
    let stable = |revision: &cambium_lineage::Revision| revision.number() < 3;
    let web = reference("web");
    let question = Question::new(&web, FOLLOWING, &lineage).among(Selector::new("channel=stable", &stable));
    assert_eq!(name(question.resolve()), gets("web-v1.1.0"));
}

#[test]
fn an_edited_revision_is_not_used_and_nobody_falls_back() {
    let lineage = Lineage::builder("web", Scheme::Versioned)
        .revision(release(1, "1.0.0"))
        .revision(release(2, "1.1.0").with_content_found(content("edited")))
        .build()
        .unwrap();
    for text in ["web", "web@1", "web@1.1.0"] {
        assert!(
            matches!(first(text, FOLLOWING, &lineage), Err(Refusal::Altered { .. })),
            "{text}"
        );
    }
    assert_eq!(first("web@1.0", FOLLOWING, &lineage), gets("web-v1.0.0"));
}

#[test]
fn a_reference_that_names_a_build_gets_that_build_or_nothing() {
    let lineage = published(&["1.2.3+b7"]);
    assert_eq!(first("web@1.2.3", FOLLOWING, &lineage), gets("web-v1.2.3-b7"));
    assert_eq!(first("web@1.2.3+b7", FOLLOWING, &lineage), gets("web-v1.2.3-b7"));
    let refusal = first("web@1.2.3+b8", FOLLOWING, &lineage).unwrap_err();
    assert_eq!(
        refusal.to_string(),
        "\"web@1.2.3+b8\" names a build that is not published: the version is 1.2.3+b7"
    );
}

#[test]
fn nothing_published_and_the_wrong_lineage_are_said() {
    let refusal = first("web", FOLLOWING, &published(&[])).unwrap_err();
    assert_eq!(refusal.to_string(), "\"web\" has no published revision");
    let refusal = first("api", FOLLOWING, &published(&["1.0.0"])).unwrap_err();
    assert_eq!(refusal.to_string(), "\"api\" does not refer to \"web\"");
    let refusal = first("web", FOLLOWING, &published(&["1.0.0-rc.1"])).unwrap_err();
    assert!(
        refusal
            .to_string()
            .contains("1.0.0-rc.1 is selected only by its full version"),
        "{refusal}"
    );
}

#[test]
fn a_given_name_wins_over_a_number_that_looks_the_same() {
    let lineage = Lineage::builder("web", Scheme::Numbered)
        .revision(revision("web-v3", 1, "a").with_given_name("3".parse().unwrap()))
        .revision(revision("web-vvault", 2, "b").with_given_name("vault".parse().unwrap()))
        .revision(revision("web-v4", 4, "d"))
        .build()
        .unwrap();
    assert_eq!(first("web@v3", FOLLOWING, &lineage), gets("web-v3"));
    assert_eq!(first("web@vault", FOLLOWING, &lineage), gets("web-vvault"));
    assert_eq!(first("web@vvault", FOLLOWING, &lineage), gets("web-vvault"));
    assert_eq!(first("web@4", FOLLOWING, &lineage), gets("web-v4"));
}
