//! Which content makes a new revision, and with which number.

use crate::fixtures::{addressed, content, numbered, published, release, revision, version};
use cambium_lineage::{
    Content, HIGHEST_NUMBER, Lineage, LineageProblem, Next, Place, Revision, Scheme, next,
};

fn plain(text: &str) -> Content {
    Content::new(content(text))
}

fn declared(text: &str, number: &str) -> Content {
    Content::versioned(content(text), version(number))
}

fn given(text: &str, name: &str) -> Content {
    Content::named(content(text), name.parse().expect("a fixture"))
}

fn top(number: u64) -> Next<'static> {
    Next::Issue {
        number,
        place: Place::Top,
    }
}

#[test]
fn the_first_revision_has_number_one() {
    for scheme in [Scheme::Versioned, Scheme::Numbered, Scheme::ContentAddressed] {
        let lineage = Lineage::builder("web", scheme).build().unwrap();
        assert_eq!(next(&lineage, &plain("a")), top(1));
    }
}

#[test]
fn an_older_version_than_the_highest_is_a_back_port() {
    let lineage = published(&["1.2.3", "2.0.0"]);
    let below = lineage.highest_release().unwrap();
    assert_eq!(
        next(&lineage, &declared("fix", "1.2.4")),
        Next::Issue {
            number: 3,
            place: Place::BackPort { below }
        }
    );
    assert_eq!(
        next(&lineage, &declared("try", "3.0.0-rc.1")),
        Next::Issue {
            number: 3,
            place: Place::Prerelease
        }
    );
    assert_eq!(next(&lineage, &declared("new", "2.0.1")), top(3));
}

#[test]
fn the_same_content_under_a_new_version_is_a_new_revision() {
    assert_eq!(next(&published(&["1.2.3"]), &declared("1.2.3", "1.2.4")), top(2));
}

#[test]
fn versions_that_differ_in_build_metadata_only_are_one_version() {
    let lineage = published(&["1.2.3+a"]);
    let held = lineage.newest().unwrap();
    assert_eq!(
        next(&lineage, &declared("1.2.3+a", "1.2.3+b")),
        Next::Unchanged(held)
    );
    assert!(matches!(
        next(&lineage, &declared("other", "1.2.3+b")),
        Next::Conflict { .. }
    ));
}

#[test]
fn numbered_lineages_issue_a_new_number_for_a_return_to_earlier_content() {
    let lineage = numbered(2);
    assert_eq!(
        next(&lineage, &plain("2")),
        Next::Unchanged(lineage.newest().unwrap())
    );
    assert_eq!(next(&lineage, &plain("1")), top(3));
    assert_eq!(next(&lineage, &plain("new")), top(3));
}

#[test]
fn a_given_name_stays_with_its_content() {
    let lineage = Lineage::builder("web", Scheme::Numbered)
        .revision(revision("web-v1.1.3", 1, "a").with_given_name("1.1.3".parse().unwrap()))
        .revision(revision("web-v2", 2, "b"))
        .build()
        .unwrap();
    let named = &lineage.revisions()[0];
    let conflict = Next::Conflict {
        published: named,
        offered: content("other"),
    };
    assert_eq!(next(&lineage, &given("other", "1.1.3")), conflict);
    assert_eq!(
        next(&lineage, &given("a", "1.1.3")),
        Next::Reuse {
            revision: named,
            number: 3
        }
    );
    assert_eq!(next(&lineage, &given("b", "prod")), top(3));
}

#[test]
fn a_given_name_cannot_take_the_number_of_another_revision() {
    let lineage = numbered(3);
    assert!(matches!(next(&lineage, &given("x", "2")), Next::Conflict { .. }));
}

#[test]
fn a_number_that_somebody_gave_as_a_name_is_left_out() {
    let lineage = Lineage::builder("web", Scheme::Numbered)
        .revision(revision("web-v2", 1, "a").with_given_name("2".parse().unwrap()))
        .build()
        .unwrap();
    assert_eq!(next(&lineage, &plain("b")), top(3));
}

#[test]
fn numbers_are_never_reused_not_even_after_everything_is_deleted() {
    let lineage = Lineage::builder("web", Scheme::ContentAddressed)
        .issued(7)
        .build()
        .unwrap();
    assert_eq!(next(&lineage, &plain("a")), top(8));
    let trimmed = Lineage::builder("web", Scheme::Numbered)
        .issued(9)
        .revision(revision("web-v4", 4, "d"))
        .build()
        .unwrap();
    assert_eq!(trimmed.issued(), 9);
    assert_eq!(next(&trimmed, &plain("e")), top(10));
}

#[test]
fn an_edited_revision_is_to_be_restored() {
    let altered = revision("web-a", 1, "a").with_content_found(content("edited"));
    let lineage = Lineage::builder("web", Scheme::ContentAddressed)
        .revision(altered)
        .build()
        .unwrap();
    assert_eq!(
        next(&lineage, &plain("a")),
        Next::Restore(lineage.newest().unwrap())
    );
    assert_eq!(next(&lineage, &plain("edited")), top(2));
}

#[test]
fn the_end_of_the_numbers_is_said() {
    let lineage = Lineage::builder("web", Scheme::Numbered)
        .issued(HIGHEST_NUMBER)
        .build()
        .unwrap();
    assert_eq!(next(&lineage, &plain("a")), Next::Exhausted);
}

#[test]
fn revisions_that_contradict_each_other_are_no_lineage_and_all_is_said() {
    let error = Lineage::builder("web", Scheme::Numbered)
        .revision(release(1, "1.2.3"))
        .revision(release(1, "1.2.3+b"))
        .revision(release(3, "1.2.3"))
        .revision(revision("web-zero", 0, "z"))
        .build()
        .unwrap_err();
    assert_eq!(
        error.problems,
        [
            LineageProblem::Number("web-zero".parse().unwrap(), 0),
            LineageProblem::SameNumber(1),
            LineageProblem::SameName("web-v1.2.3".parse().unwrap()),
            LineageProblem::SameVersion(version("1.2.3")),
        ]
    );
    assert_eq!(
        error.to_string(),
        "the revisions of \"web\" contradict each other: web-zero has the number 0; the number 1 occurs more than once; \
         the name web-v1.2.3 occurs more than once; the version 1.2.3 occurs more than once"
    );
}

#[test]
fn the_order_in_which_revisions_are_read_does_not_matter() {
    let forwards = addressed(&["a", "b", "c"]);
    let backwards: Vec<Revision> = forwards.revisions().iter().rev().cloned().collect();
    let again = Lineage::builder("web", Scheme::ContentAddressed)
        .revisions(backwards)
        .build()
        .unwrap();
    assert_eq!(forwards, again);
}
