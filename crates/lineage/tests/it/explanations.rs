//! What people are shown: the chosen revision, every one that was passed over, and what is newer.

use crate::fixtures::{published, reference, revision, using};
use cambium_lineage::{Lineage, PassedOver, Policy, Question, Scheme, Selector, Series, Verdict, resolve};

/// One line for each revision, as a command would print them.
fn lines(text: &str, policy: Policy, lineage: &Lineage, in_use: Option<&str>) -> Vec<String> {
    let reference = reference(text);
    let in_use = in_use.map(|name| using(lineage, name));
    let explanation = Question::new(&reference, policy, lineage)
        .using(in_use.as_ref())
        .explain();
    let line = |(revision, verdict): &(&cambium_lineage::Revision, Verdict)| match verdict {
        Verdict::Chosen(reason) => format!("{revision}: {reason}"),
        Verdict::PassedOver(reason) => format!("{revision} {reason}"),
    };
    explanation.lines.iter().map(line).collect()
}

#[test]
fn every_revision_has_a_line_highest_first() {
    let lineage = published(&["1.2.3", "2.0.0", "1.3.0-rc.1", "1.2.4"]);
    assert_eq!(
        lines("web@1", Policy::Automatic, &lineage, None),
        [
            "2.0.0 not in series 1",
            "1.3.0-rc.1 pre-release: selected only by its full version",
            "1.2.4: highest release in the series",
            "1.2.3 lower than the chosen revision",
        ]
    );
}

#[test]
fn a_pinned_consumer_is_told_what_it_does_not_take() {
    let lineage = published(&["1.0.0", "1.1.0", "2.0.0"]);
    assert_eq!(
        lines("web", Policy::ByReference, &lineage, Some("web-v1.1.0")),
        [
            "2.0.0 pinned to 1.1.0",
            "1.1.0: pinned to the revision in use",
            "1.0.0 lower than the chosen revision",
        ]
    );
}

#[test]
fn a_refused_reference_has_lines_too() {
    let lineage = published(&["1.0.0", "1.1.0-rc.1"]);
    assert_eq!(
        lines("web@1", Policy::Pinned, &lineage, None),
        [
            "1.1.0-rc.1 pre-release: selected only by its full version",
            "1.0.0 reference refused",
        ]
    );
    assert_eq!(
        lines("web@2.0.0", Policy::ByReference, &lineage, None),
        ["1.1.0-rc.1 pinned to 2.0.0", "1.0.0 pinned to 2.0.0"]
    );
}

#[test]
fn revisions_from_before_versions_come_last() {
    let lineage = Lineage::builder("web", Scheme::Versioned)
        .revision(revision("web-v1", 1, "a"))
        .revision(revision("web-v2", 2, "b"))
        .revision(crate::fixtures::release(3, "1.0.0"))
        .build()
        .unwrap();
    assert_eq!(
        lines("web", Policy::Automatic, &lineage, None),
        [
            "1.0.0: highest release",
            "web-v2 has no version",
            "web-v1 has no version"
        ]
    );
}

#[test]
fn a_newer_version_that_is_not_taken_is_named_with_the_reason() {
    let lineage = published(&["1.2.3", "1.2.4", "2.0.0", "3.0.0-rc.1"]);
    let newer = |text: &str, policy, in_use: Option<&str>| {
        let in_use = in_use.map(|name| using(&lineage, name));
        let resolution = resolve(&reference(text), policy, &lineage, in_use.as_ref());
        resolution
            .newer
            .map(|newer| (newer.revision.to_string(), newer.reason))
    };
    let two = |reason| Some(("2.0.0".to_string(), reason));
    assert_eq!(
        newer("web@1", Policy::Automatic, None),
        two(PassedOver::OutsideSeries(Series::major(1)))
    );
    assert_eq!(
        newer("web@1.2.3", Policy::Automatic, None),
        two(PassedOver::OtherVersion("1.2.3".parse().unwrap()))
    );
    assert_eq!(
        newer("web", Policy::ByReference, Some("web-v1.2.3")),
        two(PassedOver::Staying("1.2.3".to_owned()))
    );
    let closed = ["web-v2.0.0".parse().unwrap()].into_iter().collect();
    let web = reference("web");
    let question = Question::new(&web, Policy::Automatic, &lineage).closed_to(&closed);
    let newer_than = question
        .resolve()
        .newer
        .map(|newer| (newer.revision.to_string(), newer.reason));
    assert_eq!(newer_than, two(PassedOver::Closed));
    assert_eq!(newer("web", Policy::Automatic, None), None);
    assert_eq!(newer("web@3.0.0-rc.1", Policy::Automatic, None), None);
}

#[test]
fn programs_are_told_the_same_as_people() {
    let lineage = published(&["1.0.0"]);
    let json = |text: &str| {
        serde_json::to_value(resolve(&reference(text), Policy::ByReference, &lineage, None)).unwrap()
    };
    let chosen = json("web");
    assert_eq!(
        chosen.pointer("/decision/Ok/revision/version"),
        Some(&"1.0.0".into())
    );
    assert_eq!(
        chosen.pointer("/decision/Ok/reason"),
        Some(&"highestRelease".into())
    );
    let refused = json("web@2.0.0");
    assert_eq!(
        refused.pointer("/decision/Err/reason"),
        Some(&"NotPublished".into())
    );
}

#[test]
fn a_selector_is_a_reason() {
    let lineage = published(&["1.0.0", "1.1.0"]);
    let old = |revision: &cambium_lineage::Revision| revision.number() == 1;
    let web = reference("web");
    let question = Question::new(&web, Policy::Automatic, &lineage).among(Selector::new("channel=old", &old));
    let verdicts: Vec<Verdict> = question
        .explain()
        .lines
        .into_iter()
        .map(|(_, verdict)| verdict)
        .collect();
    assert_eq!(verdicts[0], Verdict::PassedOver(PassedOver::NotSelected));
}
