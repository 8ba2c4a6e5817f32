//! The publish gate.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use crate::fixtures::content;
use cambium_lineage::{
    Candidate, Content, Digest, Findings, Lineage, Next, Revision, Scheme, Version, publish,
};
use jiff::Timestamp;
use std::cell::Cell;

/// Content that says how often it was checked, and is refused if it is "bad".
struct Offered<'a> {
    content: Content,
    bad: bool,
    checked: &'a Cell<u32>,
}

impl Candidate for Offered<'_> {
    type Refused = String;

    fn content(&self) -> Content {
        self.content.clone()
    }

    fn check(&self) -> Findings<String> {
        self.checked.set(self.checked.get() + 1);
        Findings {
            refused: self.bad.then(|| "bad".to_owned()).into_iter().collect(),
            warnings: vec!["new".to_owned()],
        }
    }

    fn conflict(&self, published: &Revision, offered: Digest) -> String {
        format!("{} is not {}", published.name(), offered.short())
    }

    fn exhausted(&self) -> String {
        "exhausted".to_owned()
    }
}

fn version(text: &str) -> Version {
    text.parse().unwrap()
}

fn published() -> Lineage {
    let revision = Revision::new(
        "web-v1.0.0".parse().unwrap(),
        1,
        content("a"),
        Timestamp::UNIX_EPOCH,
    );
    Lineage::builder("web", Scheme::Versioned)
        .revision(revision.with_version(version("1.0.0")))
        .build()
        .unwrap()
}

fn findings(lineage: &Lineage, as_version: &str, text: &str, bad: bool) -> (u32, Vec<String>, Vec<String>) {
    let checked = Cell::new(0);
    let offered = Offered {
        content: Content::versioned(content(text), version(as_version)),
        bad,
        checked: &checked,
    };
    let verdict = publish(lineage, &offered);
    assert_eq!(matches!(verdict.next, Next::Issue { .. }), checked.get() == 1);
    (checked.get(), verdict.findings.refused, verdict.findings.warnings)
}

#[test]
fn what_is_new_is_checked_once() {
    let new = || vec!["new".to_owned()];
    assert_eq!(findings(&published(), "1.1.0", "b", false), (1, vec![], new()));
    assert_eq!(
        findings(&published(), "1.1.0", "b", true),
        (1, vec!["bad".to_owned()], new())
    );
    let nothing = Lineage::empty("web", Scheme::Versioned);
    assert_eq!(findings(&nothing, "1.0.0", "a", false), (1, vec![], new()));
}

#[test]
fn what_has_been_published_is_never_judged_again() {
    assert_eq!(findings(&published(), "1.0.0", "a", true), (0, vec![], vec![]));
}

#[test]
fn a_published_version_with_other_content_is_refused_unchecked() {
    let (checked, refused, _) = findings(&published(), "1.0.0", "b", false);
    let expected = format!("web-v1.0.0 is not {}", content("b").short());
    assert_eq!((checked, refused), (0, vec![expected]));
}
