//! The acceptance criteria of definition versioning, scenario by scenario and variant by variant.

use crate::fixtures::{
    content, first, gets, published, published_as, reason, release, revision, then, using, version,
};
use cambium_lineage::{Chosen, Content, Lineage, Movement, Next, Place, Policy, Refusal, Scheme, next};

const ENABLED: Policy = Policy::Automatic;
const DISABLED: Policy = Policy::Pinned;

#[test]
fn a_declared_version_becomes_one_of_the_many_versions_in_the_list() {
    let lineage = published(&["1.2.2", "1.2.3"]);
    let declared = Content::versioned(content("new"), version("1.2.4"));
    assert_eq!(
        next(&lineage, &declared),
        Next::Issue {
            number: 3,
            place: Place::Top
        }
    );
    let after = published(&["1.2.2", "1.2.3", "1.2.4"]);
    let versions: Vec<String> = after.versions().map(ToString::to_string).collect();
    assert_eq!(versions, ["1.2.4", "1.2.3", "1.2.2"]);
}

#[test]
fn scenario_1_uses_the_version_specified_in_the_application() {
    let a = published_as("a", &["1.2.2", "1.2.3"]);
    let b = published_as("b", &["4.4.2", "4.5.6"]);
    assert_eq!(first("a@1.2.2", Policy::ByReference, &a), gets("web-v1.2.2"));
    assert_eq!(first("b@4.4.2", Policy::ByReference, &b), gets("web-v4.4.2"));
}

#[test]
fn scenario_1_variant_uses_the_latest_for_the_part_that_is_not_specified() {
    let a = published_as("a", &["1.2.2", "1.2.3"]);
    let b = published_as("b", &["4.4.2", "4.5.6"]);
    assert_eq!(first("a@1.2", Policy::ByReference, &a), gets("web-v1.2.3"));
    assert_eq!(first("b@4", Policy::ByReference, &b), gets("web-v4.5.6"));
}

#[test]
fn scenario_2_auto_upgrade_disabled_keeps_the_version_when_a_new_one_is_released() {
    let lineage = published(&["1.2.3", "1.2.5"]);
    assert_eq!(
        then("web@1.2.3", DISABLED, &lineage, "web-v1.2.3"),
        gets("web-v1.2.3")
    );
}

#[test]
fn scenario_2_variant_exact_version_unavailable_fails() {
    let refusal = first("web@1.2.2", DISABLED, &published(&["1.2.3"])).unwrap_err();
    assert!(matches!(refusal, Refusal::NotPublished { .. }), "{refusal}");
}

#[test]
fn scenario_2_variant_partial_version_with_auto_upgrade_disabled_fails() {
    let refusal = first("web@1.2", DISABLED, &published(&["1.2.3"])).unwrap_err();
    assert!(matches!(refusal, Refusal::PartialWhilePinned { .. }), "{refusal}");
}

#[test]
fn scenario_3_auto_upgrade_takes_the_new_patch() {
    let before = published(&["1.2.3"]);
    assert_eq!(first("web@1.2", ENABLED, &before), gets("web-v1.2.3"));
    let after = published(&["1.2.3", "1.2.5"]);
    assert_eq!(then("web@1.2", ENABLED, &after, "web-v1.2.3"), gets("web-v1.2.5"));
    let in_use = using(&after, "web-v1.2.3");
    assert_eq!(
        reason("web@1.2", ENABLED, &after, Some(&in_use)),
        (Chosen::HighestOfSeries, Movement::Up)
    );
}

#[test]
fn scenario_3_variant_exact_version_unavailable_fails() {
    let refusal = first("web@1.2.2", ENABLED, &published(&["1.2.3"])).unwrap_err();
    assert!(matches!(refusal, Refusal::NotPublished { .. }), "{refusal}");
}

#[test]
fn scenario_3_variant_partial_version_uses_what_the_series_has() {
    assert_eq!(
        first("web@1.2", ENABLED, &published(&["1.2.3"])),
        gets("web-v1.2.3")
    );
}

#[test]
fn scenario_4_the_same_version_is_the_same_content_in_every_cluster() {
    let development = published(&["1.2.1", "1.2.2", "2.2.1"]);
    let production = published(&["2.2.1", "1.2.2", "1.2.1"]);
    let digest = |lineage: &Lineage| {
        lineage
            .version(&version("1.2.2"))
            .map(|revision| revision.digest())
    };
    assert_eq!(digest(&development), digest(&production));
    for lineage in [&development, &production] {
        assert_eq!(
            first("web@1.2.2", Policy::ByReference, lineage),
            gets("web-v1.2.2")
        );
        assert_eq!(first("web", Policy::ByReference, lineage), gets("web-v2.2.1"));
        assert_eq!(first("web@1", Policy::ByReference, lineage), gets("web-v1.2.2"));
    }
}

#[test]
fn without_a_version_the_latest_at_creation_is_pinned() {
    let at_creation = published(&["1.2.3"]);
    assert_eq!(
        first("web", Policy::ByReference, &at_creation),
        gets("web-v1.2.3")
    );
    let later = published(&["1.2.3", "1.2.4", "2.0.0"]);
    assert_eq!(
        then("web", Policy::ByReference, &later, "web-v1.2.3"),
        gets("web-v1.2.3")
    );
}

#[test]
fn a_non_specific_version_upgrades_within_its_series() {
    let lineage = published(&["1.0.0", "1.0.1", "1.1.0"]);
    assert_eq!(
        then("web@1.0", Policy::ByReference, &lineage, "web-v1.0.0"),
        gets("web-v1.0.1")
    );
    assert_eq!(
        then("web@v1", Policy::ByReference, &lineage, "web-v1.0.0"),
        gets("web-v1.1.0")
    );
}

#[test]
fn a_change_of_a_version_demands_a_new_version() {
    let lineage = published(&["1.2.3"]);
    let edited = Content::versioned(content("edited"), version("1.2.3"));
    let published = lineage.newest().unwrap();
    assert_eq!(
        next(&lineage, &edited),
        Next::Conflict {
            published,
            offered: content("edited")
        }
    );
    let same = Content::versioned(content("1.2.3"), version("1.2.3"));
    assert_eq!(next(&lineage, &same), Next::Unchanged(published));
}

#[test]
fn existing_definitions_keep_their_named_and_numbered_revisions() {
    let lineage = Lineage::builder("web", Scheme::Numbered)
        .revision(revision("web-v1", 1, "a"))
        .revision(revision("web-v4.4", 2, "b").with_given_name("4.4".parse().unwrap()))
        .build()
        .unwrap();
    assert_eq!(first("web@v4.4", Policy::ByReference, &lineage), gets("web-v4.4"));
    assert_eq!(first("web@v1", Policy::ByReference, &lineage), gets("web-v1"));
    assert!(matches!(
        first("web@v2", Policy::ByReference, &lineage),
        Err(Refusal::NoSuchRevision { .. })
    ));
}

#[test]
fn versioned_definitions_are_referable_by_version_and_not_by_revision() {
    let lineage = Lineage::builder("web", Scheme::Versioned)
        .revision(revision("web-v1", 1, "from before versions"))
        .revision(release(2, "3.4.0"))
        .build()
        .unwrap();
    assert!(matches!(
        first("web@v1", Policy::ByReference, &lineage),
        Err(Refusal::NoRelease { .. })
    ));
    assert_eq!(first("web@v3", Policy::ByReference, &lineage), gets("web-v3.4.0"));
}
