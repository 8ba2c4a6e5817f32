//! Locks: a version and a digest for every reference, enforced.

use crate::fixtures::{content, name, numbered, published, reference, revision, version};
use cambium_lineage::{Chosen, Lineage, Lock, LockRefusal, Movement, Policy, Question, Refusal, Scheme};

fn lock_to(text: &str, lineage: &Lineage, number: &str) -> Lock {
    let mut lock = Lock::default();
    lock.record(
        "component",
        reference(text),
        lineage.version(&version(number)).expect("a fixture"),
    );
    lock
}

fn resolve(text: &str, lineage: &Lineage, lock: &Lock) -> Result<String, Refusal> {
    let reference = reference(text);
    let locked = lock.locked("component", &reference)?;
    name(
        Question::new(&reference, Policy::ByReference, lineage)
            .locked_to(locked)
            .resolve(),
    )
}

#[test]
fn a_locked_reference_stays_where_the_lock_says_while_others_follow() {
    let before = published(&["1.2.3"]);
    let lock = lock_to("web@1.2", &before, "1.2.3");
    let after = published(&["1.2.3", "1.2.4"]);
    assert_eq!(resolve("web@1.2", &after, &lock), Ok("web-v1.2.3".into()));
    let reference = reference("web@1.2");
    let question = Question::new(&reference, Policy::ByReference, &after)
        .locked_to(lock.locked("component", &reference).unwrap());
    let resolution = question.resolve();
    let choice = resolution.decision.unwrap();
    assert_eq!(
        (choice.reason, choice.movement),
        (Chosen::Locked, Movement::First)
    );
    assert_eq!(
        resolution.newer.unwrap().reason.to_string(),
        "locked to another version"
    );
}

#[test]
fn other_content_under_the_locked_version_is_refused_with_both_digests() {
    let lock = lock_to("web@1.2.3", &published(&["1.2.3"]), "1.2.3");
    let elsewhere = Lineage::builder("web", Scheme::Versioned)
        .revision(revision("web-v1.2.3", 1, "other").with_version(version("1.2.3")))
        .build()
        .unwrap();
    let refusal = resolve("web@1.2.3", &elsewhere, &lock).unwrap_err();
    assert_eq!(
        refusal.to_string(),
        format!(
            "\"web@1.2.3\" is locked to {}, but the content of 1.2.3 is {}",
            content("1.2.3"),
            content("other")
        )
    );
}

#[test]
fn a_locked_version_that_is_not_published_is_refused() {
    let lock = lock_to("web@1.2", &published(&["1.2.3"]), "1.2.3");
    let refusal = resolve("web@1.2", &published(&["1.2.4"]), &lock).unwrap_err();
    assert_eq!(
        refusal.to_string(),
        "\"web@1.2\" is locked to 1.2.3, which is not published"
    );
}

#[test]
fn a_reference_that_the_lock_does_not_know_is_refused() {
    let lineage = published(&["1.2.3"]);
    let lock = lock_to("web@1.2", &lineage, "1.2.3");
    let refusal = resolve("web@1", &lineage, &lock).unwrap_err();
    assert_eq!(
        refusal.to_string(),
        "the component reference \"web@1\" is not in the lock; lock again"
    );
    assert!(lock.locked("trait", &reference("web@1.2")).is_err());
}

#[test]
fn a_lock_that_contradicts_its_reference_is_refused() {
    let lineage = published(&["1.2.3", "1.3.0", "2.0.0-rc.1"]);
    for (text, locked) in [("web@1.2", "1.3.0"), ("web", "2.0.0-rc.1")] {
        let lock = lock_to(text, &lineage, locked);
        let refusal = resolve(text, &lineage, &lock).unwrap_err();
        assert!(
            matches!(refusal, Refusal::Lock(LockRefusal::Unsatisfying { .. })),
            "{refusal}"
        );
    }
}

#[test]
fn an_exact_reference_that_is_locked_to_another_version_is_refused() {
    let lineage = published(&["1.2.3", "1.3.0"]);
    let lock = lock_to("web@1.2.3", &lineage, "1.3.0");
    let refusal = resolve("web@1.2.3", &lineage, &lock).unwrap_err();
    assert_eq!(refusal.to_string(), "\"web@1.2.3\" is locked to 1.3.0, not 1.2.3");
}

#[test]
fn a_number_is_locked_to_itself_even_if_a_newer_revision_has_the_same_content() {
    let lineage = Lineage::builder("web", Scheme::Numbered)
        .revisions([
            revision("web-v1", 1, "a"),
            revision("web-v2", 2, "b"),
            revision("web-v3", 3, "a"),
        ])
        .build()
        .unwrap();
    let mut lock = Lock::default();
    lock.record("component", reference("web@v1"), &lineage.revisions()[0]);
    assert_eq!(resolve("web@v1", &lineage, &lock), Ok("web-v1".into()));
}

#[test]
fn without_versions_the_digest_alone_is_locked() {
    let lineage = numbered(2);
    let mut lock = Lock::default();
    lock.record("trait", reference("web"), &lineage.revisions()[0]);
    let web = reference("web");
    let locked = lock.locked("trait", &web).unwrap();
    let resolution = Question::new(&web, Policy::ByReference, &lineage)
        .locked_to(locked)
        .resolve();
    assert_eq!(name(resolution), Ok("web-v1".into()));
}

#[test]
fn a_resolution_is_checked_against_a_lock() {
    let lineage = published(&["1.2.3", "1.2.4"]);
    let lock = lock_to("web@1.2", &lineage, "1.2.3");
    let check = |number: &str| {
        lock.check(
            "component",
            &reference("web@1.2"),
            lineage.version(&version(number)).unwrap(),
        )
    };
    assert_eq!(check("1.2.3"), Ok(()));
    assert_eq!(
        check("1.2.4").unwrap_err().to_string(),
        "\"web@1.2\" is locked to 1.2.3, not 1.2.4"
    );
}

#[test]
fn a_lock_is_one_line_of_json_and_reads_back() {
    let lineage = published(&["1.2.3"]);
    let mut lock = lock_to("web@1.2", &lineage, "1.2.3");
    lock.record("trait", reference("scaler@v1"), lineage.newest().unwrap());
    let digest = content("1.2.3");
    let text = format!(
        r#"{{"component":{{"web@1.2":{{"version":"1.2.3","digest":"{digest}"}}}},"trait":{{"scaler@v1":{{"version":"1.2.3","digest":"{digest}"}}}}}}"#
    );
    assert_eq!(lock.to_string(), text);
    assert_eq!(text.parse::<Lock>().unwrap(), lock);
    assert_eq!(lock.entries().count(), 2);
}

#[test]
fn a_text_that_is_no_lock_says_where_it_goes_wrong() {
    for text in [
        "",
        "[]",
        r#"{"component":{"web@^1":{"digest":"sha256:00"}}}"#,
        r#"{"component":{"web":{"digest":"sha256:00"}}}"#,
        r#"{"component":{"web":{"version":"1.2.3"}}}"#,
        r#"{"component":{"web":{"version":"v1","digest":"sha256:00"}}}"#,
    ] {
        let error = text.parse::<Lock>().unwrap_err().to_string();
        assert!(
            error.starts_with("not a lock: ") && error.contains("line 1"),
            "{error}"
        );
    }
}
