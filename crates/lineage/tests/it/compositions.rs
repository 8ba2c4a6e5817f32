//! Compositions: the rows of what Crossplane does (C: an edit makes a revision, X: a consumer picks one) that need no cluster,
//! in our behaviour where it differs.

use crate::fixtures::{addressed, content, first, gets, name, reference, revision, then};
use cambium_lineage::{
    Content, InUse, Lineage, Movement, Next, Place, Policy, Question, Refusal, Revision, Scheme, Selector,
    next, resolve,
};

fn plain(text: &str) -> Content {
    Content::new(content(text))
}

fn top(number: u64) -> Next<'static> {
    Next::Issue {
        number,
        place: Place::Top,
    }
}

/// A, then B, then A again: A has number 3, B has number 2.
fn reverted() -> Lineage {
    Lineage::builder("web", Scheme::ContentAddressed)
        .revision(revision("web-a", 3, "a"))
        .revision(revision("web-b", 2, "b"))
        .build()
        .expect("a fixture")
}

#[test]
fn c1_a_new_composition_gets_revision_one() {
    assert_eq!(next(&addressed(&[]), &plain("a")), top(1));
}

#[test]
fn c2_a_changed_spec_gets_the_next_number() {
    assert_eq!(next(&addressed(&["a", "b"]), &plain("c")), top(3));
}

#[test]
fn c3_c4_c5_labels_and_annotations_are_not_content_and_the_same_content_is_no_revision() {
    let lineage = addressed(&["a", "b"]);
    assert_eq!(
        next(&lineage, &plain("b")),
        Next::Unchanged(lineage.newest().unwrap())
    );
}

#[test]
fn c6_going_back_renumbers_the_old_revision_to_the_newest_number() {
    let lineage = addressed(&["a", "b"]);
    let a = &lineage.revisions()[0];
    assert_eq!(
        next(&lineage, &plain("a")),
        Next::Reuse {
            revision: a,
            number: 3
        }
    );
    let after = reverted();
    assert_eq!(after.current().map(ToString::to_string).as_deref(), Some("web-a"));
    assert_eq!(
        next(&after, &plain("a")),
        Next::Unchanged(after.newest().unwrap())
    );
}

#[test]
fn c7_flapping_makes_two_objects_and_growing_numbers() {
    let lineage = reverted();
    let b = &lineage.revisions()[0];
    assert_eq!(
        next(&lineage, &plain("b")),
        Next::Reuse {
            revision: b,
            number: 4
        }
    );
}

#[test]
fn c8_the_matching_revision_with_the_highest_number_is_not_written() {
    let lineage = reverted();
    assert!(matches!(next(&lineage, &plain("a")), Next::Unchanged(_)));
}

#[test]
fn c12_a_current_revision_that_was_deleted_is_issued_again_with_a_new_number() {
    let lineage = Lineage::builder("web", Scheme::ContentAddressed)
        .issued(2)
        .revision(revision("web-a", 1, "a"))
        .build()
        .unwrap();
    assert_eq!(next(&lineage, &plain("b")), top(3));
}

#[test]
fn c13_x7_a_pin_to_a_deleted_revision_is_refused_and_does_not_fall_back() {
    let lineage = addressed(&["a", "b"]);
    let gone = InUse::named("web-gone".parse().unwrap());
    let refusal = name(resolve(&reference("web"), Policy::Manual, &lineage, Some(&gone))).unwrap_err();
    assert_eq!(
        refusal.to_string(),
        "revision web-gone is in use and is not a revision of \"web\"; refer to another one to move on"
    );
}

#[test]
fn x1_automatic_without_a_record_takes_the_current_revision() {
    assert_eq!(
        first("web", Policy::Automatic, &addressed(&["a", "b"])),
        gets("web-b")
    );
}

#[test]
fn x2_automatic_with_an_older_record_takes_the_current_revision() {
    assert_eq!(
        then("web", Policy::Automatic, &addressed(&["a", "b"]), "web-a"),
        gets("web-b")
    );
}

#[test]
fn x3_automatic_with_a_selector_takes_the_highest_match() {
    let lineage = addressed(&["a", "b", "c"]);
    let channel = |revision: &Revision| revision.name().as_str() != "web-c";
    let web = reference("web");
    let question =
        Question::new(&web, Policy::Automatic, &lineage).among(Selector::new("channel=prod", &channel));
    assert_eq!(name(question.resolve()), gets("web-b"));
}

#[test]
fn x4_automatic_with_a_selector_that_matches_none_is_refused() {
    let lineage = addressed(&["a"]);
    let nothing = |_: &Revision| false;
    let web = reference("web");
    let question =
        Question::new(&web, Policy::Automatic, &lineage).among(Selector::new("channel=none", &nothing));
    let refusal = name(question.resolve()).unwrap_err();
    assert_eq!(
        refusal.to_string(),
        "no revision of \"web\" matches \"channel=none\""
    );
}

#[test]
fn x5_manual_without_a_record_takes_the_current_one_once_and_does_not_select() {
    let lineage = addressed(&["a", "b"]);
    let old = |revision: &Revision| revision.number() == 1;
    let web = reference("web");
    let question = Question::new(&web, Policy::Manual, &lineage).among(Selector::new("channel=old", &old));
    assert_eq!(name(question.resolve()), gets("web-b"));
    assert_eq!(
        then("web", Policy::Manual, &addressed(&["a", "b", "c"]), "web-b"),
        gets("web-b")
    );
}

#[test]
fn x6_manual_takes_the_recorded_revision() {
    assert_eq!(
        then("web", Policy::Manual, &addressed(&["a", "b"]), "web-a"),
        gets("web-a")
    );
}

#[test]
fn x8_manual_with_a_revision_of_another_composition_is_refused_where_crossplane_composes_from_it() {
    let lineage = addressed(&["a", "b"]);
    let foreign = InUse::named("other-a".parse().unwrap());
    let refusal = name(resolve(
        &reference("web"),
        Policy::Manual,
        &lineage,
        Some(&foreign),
    ))
    .unwrap_err();
    assert!(matches!(refusal, Refusal::Vanished { .. }), "{refusal}");
}

#[test]
fn x10_manual_to_automatic_to_manual_moves_once_and_then_stays() {
    let lineage = addressed(&["a", "b"]);
    assert_eq!(then("web", Policy::Manual, &lineage, "web-a"), gets("web-a"));
    assert_eq!(then("web", Policy::Automatic, &lineage, "web-a"), gets("web-b"));
    assert_eq!(
        then("web", Policy::Manual, &addressed(&["a", "b", "c"]), "web-b"),
        gets("web-b")
    );
}

#[test]
fn x12_automatic_consumers_return_with_a_composition_that_returns() {
    let lineage = reverted();
    let in_use = InUse::named("web-b".parse().unwrap());
    let choice = resolve(&reference("web"), Policy::Automatic, &lineage, Some(&in_use))
        .decision
        .unwrap();
    assert_eq!(
        (choice.revision.name().as_str(), choice.movement),
        ("web-a", Movement::Up)
    );
}

#[test]
fn x14_a_relabelled_revision_is_a_promotion() {
    let lineage = addressed(&["a", "b"]);
    let web = reference("web");
    let resolve_with = |promoted: &str| {
        let channel = |revision: &Revision| revision.name().as_str() == promoted;
        let selector = Selector::new("channel=prod", &channel);
        name(
            Question::new(&web, Policy::Automatic, &lineage)
                .among(selector)
                .resolve(),
        )
    };
    assert_eq!(resolve_with("web-a"), gets("web-a"));
    assert_eq!(resolve_with("web-b"), gets("web-b"));
}

#[test]
fn a_hand_edited_revision_is_refused_where_crossplane_uses_it() {
    let lineage = Lineage::builder("web", Scheme::ContentAddressed)
        .revision(revision("web-a", 1, "a").with_content_found(content("edited")))
        .build()
        .unwrap();
    assert!(matches!(
        first("web", Policy::Automatic, &lineage),
        Err(Refusal::Altered { .. })
    ));
}

#[test]
fn numbers_do_not_restart_when_all_revisions_are_gone_where_crossplane_restarts() {
    let lineage = Lineage::builder("web", Scheme::ContentAddressed)
        .issued(5)
        .build()
        .unwrap();
    assert_eq!(next(&lineage, &plain("a")), top(6));
}
