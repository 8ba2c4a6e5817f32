//! Every row of the contract's table, for lineages with versions and without.
//!
//! "Absent", "true" and "false" are what the consumer says about automatic upgrades: by reference, automatic, pinned.

use crate::fixtures::{first, gets, numbered, published, reason, reference, then, using};
use cambium_lineage::{
    Chosen, InUse, Lineage, Movement, Policy, Question, Reference, ReferenceProblem, Refusal, Scheme, resolve,
};

const ABSENT: Policy = Policy::ByReference;
const TRUE: Policy = Policy::Automatic;
const FALSE: Policy = Policy::Pinned;
const ALL: [Policy; 3] = [ABSENT, TRUE, FALSE];

/// `web` without versions, with numbers 1 to 4, of which 2, 3 and 4 were given the names 1.2, 1.2.3 and 1.3.0-rc.1.
fn named() -> Lineage {
    let given = ["", "1.2", "1.2.3", "1.3.0-rc.1"];
    let revisions = (1..).zip(given).map(|(number, given)| match given {
        "" => crate::fixtures::revision("web-v1", number, "plain"),
        _ => crate::fixtures::revision(&format!("web-v{given}"), number, given)
            .with_given_name(given.parse().expect("a fixture")),
    });
    Lineage::builder("web", Scheme::Numbered)
        .revisions(revisions)
        .build()
        .expect("a fixture")
}

#[test]
fn bare_absent_versioned_takes_the_highest_release_at_creation_and_is_then_pinned() {
    let before = published(&["1.0.0", "1.2.3", "2.0.0-rc.1"]);
    assert_eq!(first("web", ABSENT, &before), gets("web-v1.2.3"));
    let after = published(&["1.0.0", "1.2.3", "2.0.0-rc.1", "1.2.4", "2.0.0"]);
    assert_eq!(then("web", ABSENT, &after, "web-v1.2.3"), gets("web-v1.2.3"));
    let in_use = using(&after, "web-v1.2.3");
    assert_eq!(
        reason("web", ABSENT, &after, Some(&in_use)),
        (Chosen::Kept, Movement::Stays)
    );
}

#[test]
fn bare_absent_legacy_takes_the_latest_at_creation_and_when_edited_and_stays_in_between() {
    assert_eq!(first("web", ABSENT, &numbered(2)), gets("web-v2"));
    assert_eq!(then("web", ABSENT, &numbered(3), "web-v2"), gets("web-v2"));
    let (lineage, reference) = (numbered(3), reference("web"));
    let in_use = using(&lineage, "web-v2");
    let edited = |policy| {
        let question = Question::new(&reference, policy, &lineage).using(Some(&in_use));
        question.edited().resolve().revision().map(ToString::to_string)
    };
    assert_eq!(edited(ABSENT).as_deref(), Some("web-v3"));
    assert_eq!(edited(TRUE).as_deref(), Some("web-v3"));
    assert_eq!(edited(FALSE).as_deref(), Some("web-v2"));
}

#[test]
fn an_edit_does_not_move_a_bare_reference_to_a_versioned_definition() {
    let (lineage, reference) = (published(&["1.0.0", "1.2.3"]), reference("web"));
    let in_use = using(&lineage, "web-v1.0.0");
    let question = Question::new(&reference, ABSENT, &lineage).using(Some(&in_use));
    assert_eq!(
        question
            .edited()
            .resolve()
            .revision()
            .map(ToString::to_string)
            .as_deref(),
        Some("1.0.0")
    );
}

#[test]
fn bare_true_versioned_follows_the_highest_release() {
    let lineage = published(&["1.0.0", "1.2.3", "2.0.0", "3.0.0-rc.1"]);
    assert_eq!(first("web", TRUE, &lineage), gets("web-v2.0.0"));
    assert_eq!(then("web", TRUE, &lineage, "web-v1.0.0"), gets("web-v2.0.0"));
}

#[test]
fn bare_true_legacy_takes_the_latest_revision_always() {
    assert_eq!(then("web", TRUE, &numbered(3), "web-v1"), gets("web-v3"));
}

#[test]
fn bare_false_versioned_takes_the_highest_release_at_creation_and_is_then_pinned() {
    let lineage = published(&["1.0.0", "1.2.3"]);
    assert_eq!(first("web", FALSE, &lineage), gets("web-v1.2.3"));
    assert_eq!(then("web", FALSE, &lineage, "web-v1.0.0"), gets("web-v1.0.0"));
}

#[test]
fn bare_false_legacy_keeps_the_revision_in_use() {
    assert_eq!(first("web", FALSE, &numbered(2)), gets("web-v2"));
    assert_eq!(then("web", FALSE, &numbered(3), "web-v2"), gets("web-v2"));
}

#[test]
fn partial_absent_or_true_versioned_follows_the_highest_release_of_the_series() {
    let lineage = published(&["1.2.0", "1.2.4", "1.3.0", "2.0.0", "1.4.0-rc.1"]);
    for policy in [ABSENT, TRUE] {
        for (text, expected) in [
            ("web@1.2", "1.2.4"),
            ("web@v1.2", "1.2.4"),
            ("web@1", "1.3.0"),
            ("web@v1", "1.3.0"),
            ("web@2", "2.0.0"),
        ] {
            assert_eq!(
                first(text, policy, &lineage),
                Ok(format!("web-v{expected}")),
                "{text}"
            );
        }
        assert_eq!(then("web@1", policy, &lineage, "web-v1.2.0"), gets("web-v1.3.0"));
    }
}

#[test]
fn partial_false_versioned_is_refused_because_it_names_no_exact_version() {
    let lineage = published(&["1.2.3"]);
    let refusal = first("web@1.2", FALSE, &lineage).unwrap_err();
    assert_eq!(
        refusal.to_string(),
        "\"web@1.2\" names no exact version while automatic upgrades are off; write web@1.2.3"
    );
    assert!(then("web@v1", FALSE, &lineage, "web-v1.2.3").is_err());
}

#[test]
fn partial_legacy_is_the_named_or_numbered_revision_of_that_name_and_fixed() {
    for policy in ALL {
        assert_eq!(first("web@1.2", policy, &named()), gets("web-v1.2"));
        assert_eq!(first("web@v1.2", policy, &named()), gets("web-v1.2"));
        assert_eq!(first("web@v1", policy, &named()), gets("web-v1"));
        assert_eq!(then("web@v2", policy, &numbered(5), "web-v5"), gets("web-v2"));
        assert!(matches!(
            first("web@1.6", policy, &named()),
            Err(Refusal::NoSuchRevision { .. })
        ));
        assert!(matches!(
            first("web@v10", policy, &numbered(5)),
            Err(Refusal::NoSuchRevision { .. })
        ));
    }
}

#[test]
fn exact_versioned_is_that_version_fixed() {
    let lineage = published(&["1.2.3", "1.2.5", "2.0.0"]);
    for policy in ALL {
        assert_eq!(first("web@1.2.3", policy, &lineage), gets("web-v1.2.3"));
        assert_eq!(first("web@v1.2.3", policy, &lineage), gets("web-v1.2.3"));
        assert_eq!(
            then("web@1.2.3", policy, &lineage, "web-v2.0.0"),
            gets("web-v1.2.3")
        );
    }
}

#[test]
fn exact_versioned_is_refused_if_it_does_not_exist() {
    let lineage = published(&["1.2.3", "1.3.0", "2.0.0"]);
    for policy in ALL {
        let refusal = first("web@1.2.2", policy, &lineage).unwrap_err();
        assert_eq!(
            refusal.to_string(),
            "the version of \"web@1.2.2\" is not published; the nearest is 1.2.3"
        );
    }
}

#[test]
fn exact_legacy_is_the_named_revision_of_that_name_fixed() {
    for policy in ALL {
        assert_eq!(first("web@1.2.3", policy, &named()), gets("web-v1.2.3"));
        assert!(matches!(
            first("web@1.2.4", policy, &named()),
            Err(Refusal::NoSuchRevision { .. })
        ));
    }
}

#[test]
fn prerelease_versioned_is_exactly_that_and_no_partial_reference_selects_it() {
    let lineage = published(&["1.2.9", "1.3.0-rc.1", "1.3.0-rc.2", "1.4.0-beta"]);
    for policy in ALL {
        assert_eq!(first("web@1.3.0-rc.1", policy, &lineage), gets("web-v1.3.0-rc.1"));
        assert!(matches!(
            first("web@1.3.0-rc.3", policy, &lineage),
            Err(Refusal::NotPublished { .. })
        ));
    }
    assert_eq!(first("web@1", ABSENT, &lineage), gets("web-v1.2.9"));
    assert_eq!(first("web", TRUE, &lineage), gets("web-v1.2.9"));
    let refusal = first("web@1.3", ABSENT, &lineage).unwrap_err();
    assert_eq!(
        refusal.to_string(),
        "no release satisfies \"web@1.3\"; 1.3.0-rc.2 is selected only by its full version; the highest is 1.2.9"
    );
}

#[test]
fn prerelease_legacy_is_the_named_revision() {
    for policy in ALL {
        assert_eq!(first("web@1.3.0-rc.1", policy, &named()), gets("web-v1.3.0-rc.1"));
    }
}

#[test]
fn ranges_are_refused_with_the_nearest_legal_reference() {
    for (text, nearest) in [
        ("web@>1.2", "web@1"),
        ("web@^1", "web@1"),
        ("web@latest", "web"),
        ("web@1.x", "web@1"),
    ] {
        let error = text.parse::<Reference>().unwrap_err();
        assert!(
            matches!(error.problem, ReferenceProblem::Range | ReferenceProblem::Latest),
            "{error}"
        );
        assert_eq!(error.suggestion.as_deref(), Some(nearest), "{text}");
    }
}

#[test]
fn declared_2_and_3_4_mean_2_0_0_and_3_4_0() {
    let lineage = published(&["2", "3.4"]);
    let versions: Vec<String> = lineage.versions().map(ToString::to_string).collect();
    assert_eq!(versions, ["3.4.0", "2.0.0"]);
    for text in ["web@v3.4", "web@3.4", "web@3", "web@3.4.0", "web"] {
        assert_eq!(first(text, ABSENT, &lineage), gets("web-v3.4"), "{text}");
    }
}

#[test]
fn v1_is_a_major_version_in_every_versioned_lineage_and_never_a_number() {
    let lineage = published(&["0.9.0", "1.2.3", "1.4.0"]);
    assert_eq!(first("web@v1", ABSENT, &lineage), gets("web-v1.4.0"));
    let refusal = first("web@v3", ABSENT, &lineage).unwrap_err();
    assert_eq!(
        refusal.to_string(),
        "no release satisfies \"web@v3\"; the highest is 1.4.0"
    );
}

#[test]
fn two_versions_of_one_definition_live_in_one_application() {
    let lineage = published(&["1.2.3", "2.5.0"]);
    assert_eq!(first("web@v1", ABSENT, &lineage), gets("web-v1.2.3"));
    assert_eq!(first("web@v2", ABSENT, &lineage), gets("web-v2.5.0"));
}

#[test]
fn a_given_name_is_no_reference_to_a_versioned_definition() {
    let lineage = published(&["1.2.3"]);
    for policy in ALL {
        let refusal = first("web@prod", policy, &lineage).unwrap_err();
        assert_eq!(
            refusal.to_string(),
            "\"web@prod\" names no version, and the artifact has versions"
        );
    }
    let refusal = first("web@1.2-rc.1", ABSENT, &lineage).unwrap_err();
    assert!(
        refusal.to_string().ends_with("; write web@1.2.0-rc.1"),
        "{refusal}"
    );
    let refusal = first("web@01.2", ABSENT, &lineage).unwrap_err();
    assert!(refusal.to_string().ends_with("; write web@1.2"), "{refusal}");
}

#[test]
fn a_record_without_a_digest_is_enough_to_stay() {
    let lineage = published(&["1.0.0", "2.0.0"]);
    let in_use = InUse::named("web-v1.0.0".parse().unwrap());
    let resolution = resolve(&reference("web"), ABSENT, &lineage, Some(&in_use));
    assert_eq!(
        resolution.revision().map(ToString::to_string).as_deref(),
        Some("1.0.0")
    );
}
