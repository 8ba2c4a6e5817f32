//! Lineages, references and records that read aloud.

use cambium_lineage::{
    Chosen, Digest, InUse, Lineage, Movement, Policy, Reference, Refusal, Resolution, Revision, Scheme,
    Version, resolve,
};
use jiff::{SignedDuration, Timestamp};
use serde_json::json;

/// The moment at which all tests take place.
pub(crate) fn now() -> Timestamp {
    "2026-08-01T12:00:00Z".parse().expect("a moment")
}

pub(crate) fn hours(count: i64) -> SignedDuration {
    SignedDuration::from_hours(count)
}

/// The digest of content that differs from all content with another text.
pub(crate) fn content(text: &str) -> Digest {
    Digest::of(&json!({ "content": text }))
}

pub(crate) fn version(text: &str) -> Version {
    text.parse().expect("a version")
}

pub(crate) fn reference(text: &str) -> Reference {
    text.parse().expect("a reference")
}

/// A revision that was issued long ago.
pub(crate) fn revision(name: &str, number: u64, text: &str) -> Revision {
    Revision::new(
        name.parse().expect("a name"),
        number,
        content(text),
        now() - hours(24 * 365),
    )
}

/// A revision of `web` with this version, whose content is named after it.
pub(crate) fn release(number: u64, text: &str) -> Revision {
    revision(&stored(text), number, text).with_version(version(text))
}

fn stored(text: &str) -> String {
    format!("web-v{}", text.to_lowercase().replace('+', "-"))
}

/// `web` with these versions, published in this order.
pub(crate) fn published(versions: &[&str]) -> Lineage {
    published_as("web", versions)
}

pub(crate) fn published_as(artifact: &str, versions: &[&str]) -> Lineage {
    let numbers = 1..;
    Lineage::builder(artifact, Scheme::Versioned)
        .revisions(numbers.zip(versions).map(|(number, text)| release(number, text)))
        .build()
        .expect("a lineage")
}

/// `web` without versions: `web-v1` to `web-v<count>`.
pub(crate) fn numbered(count: u64) -> Lineage {
    Lineage::builder("web", Scheme::Numbered)
        .revisions((1..=count).map(|number| revision(&format!("web-v{number}"), number, &number.to_string())))
        .build()
        .expect("a lineage")
}

/// `web`, addressed by content: one revision for each text, in this order.
pub(crate) fn addressed(texts: &[&str]) -> Lineage {
    let numbers = 1..;
    Lineage::builder("web", Scheme::ContentAddressed)
        .revisions(
            numbers
                .zip(texts)
                .map(|(number, text)| revision(&format!("web-{text}"), number, text)),
        )
        .build()
        .expect("a lineage")
}

/// A record that the revision with this stored name is in use.
pub(crate) fn using(lineage: &Lineage, name: &str) -> InUse {
    let found = lineage
        .revisions()
        .iter()
        .find(|revision| revision.name().as_str() == name);
    InUse::of(found.unwrap_or_else(|| unreachable!("no revision {name}")))
}

/// What a new consumer gets: the stored name, or the refusal.
pub(crate) fn first(text: &str, policy: Policy, lineage: &Lineage) -> Result<String, Refusal> {
    name(resolve(&reference(text), policy, lineage, None))
}

/// What a consumer that uses the revision with this stored name gets.
pub(crate) fn then(text: &str, policy: Policy, lineage: &Lineage, in_use: &str) -> Result<String, Refusal> {
    name(resolve(
        &reference(text),
        policy,
        lineage,
        Some(&using(lineage, in_use)),
    ))
}

pub(crate) fn name(resolution: Resolution<'_>) -> Result<String, Refusal> {
    resolution
        .decision
        .map(|choice| choice.revision.name().to_string())
}

/// Why and whither, for those who look closer.
pub(crate) fn reason(
    text: &str,
    policy: Policy,
    lineage: &Lineage,
    in_use: Option<&InUse>,
) -> (Chosen, Movement) {
    let choice = resolve(&reference(text), policy, lineage, in_use)
        .decision
        .expect("a choice");
    (choice.reason, choice.movement)
}

/// Shorthand for a resolution that must succeed with this stored name.
pub(crate) fn gets(name: &str) -> Result<String, Refusal> {
    Ok(name.into())
}
