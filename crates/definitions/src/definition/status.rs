//! The status of a definition: conditions and published versions.

use super::Observed;
use super::plan::Outcome;
use cambium_api::names::{condition, reason};
use cambium_api::{DefinitionStatus, PublishedVersion, Revision, VersionState};
use cambium_convert::definition::edited_elsewhere;
use cambium_lineage::{Lineage, LineageError};
use cambium_objects::Conditions;
use jiff::Timestamp;
use serde_json::Value;

/// How many versions the printer column shows.
const SHOWN: usize = 5;

pub(super) fn status(
    observed: &Observed<'_>,
    definition: &Value,
    before: &DefinitionStatus,
    outcomes: &[Outcome],
    lineage: Option<&Lineage>,
    contradiction: Option<&LineageError>,
    now: Timestamp,
) -> DefinitionStatus {
    let mut after = before.clone();
    after.observed_generation = definition["metadata"]["generation"].as_i64();
    if let Some(lineage) = lineage {
        after.versions = versions(observed, outcomes, lineage);
        after.latest_revision = lineage.newest().map(|newest| Revision {
            name: newest.name().to_string(),
            revision: i64::try_from(newest.number()).unwrap_or(i64::MAX),
            revision_hash: Some(newest.digest().short()),
            ..Default::default()
        });
        let issued = i64::try_from(lineage.issued()).unwrap_or(i64::MAX);
        after.high_water_mark = (issued > 0).then_some(issued);
        after.highest_version = lineage
            .current()
            .or_else(|| lineage.versions().next())
            .map(|revision| match revision.version() {
                Some(version) => version.to_string(),
                None => format!("v{}", revision.number()),
            });
    }
    after.version_summary = summary(&after.versions);
    let workload = &definition["spec"]["workload"];
    let kind = workload["definition"]["kind"]
        .as_str()
        .or(workload["type"].as_str());
    after.workload = kind.map(str::to_owned);
    after.consumers = Some(observed.uses.references.values().sum());
    after.conditions = conditions(definition, before, outcomes, contradiction, now);
    after
}

fn versions(observed: &Observed<'_>, outcomes: &[Outcome], lineage: &Lineage) -> Vec<PublishedVersion> {
    let mut ordered: Vec<_> = lineage.versions().collect();
    let unversioned = lineage.revisions().iter().rev();
    ordered.extend(unversioned.filter(|revision| revision.version().is_none()));
    let mut versions: Vec<PublishedVersion> = ordered
        .into_iter()
        .map(|revision| {
            let outcome = outcomes
                .iter()
                .find(|outcome| outcome.revision.as_ref() == Some(revision.name()));
            PublishedVersion {
                version: match (revision.version(), revision.given_name()) {
                    (Some(version), _) => version.to_string(),
                    (None, Some(given)) => given.to_string(),
                    (None, None) => format!("v{}", revision.number()),
                },
                digest: revision.digest().to_string(),
                revision: revision.name().to_string(),
                state: outcome.map_or(VersionState::Retained, |outcome| outcome.state),
                consumers: observed
                    .uses
                    .references
                    .get(revision.name())
                    .copied()
                    .unwrap_or(0),
                message: outcome.and_then(|outcome| outcome.message.clone()),
                ..Default::default()
            }
        })
        .collect();
    for outcome in outcomes.iter().filter(|outcome| outcome.revision.is_none()) {
        if versions.iter().all(|version| version.version != outcome.called) {
            versions.push(PublishedVersion {
                version: outcome.called.clone(),
                state: outcome.state,
                message: outcome.message.clone(),
                ..Default::default()
            });
        }
    }
    versions
}

fn summary(versions: &[PublishedVersion]) -> Option<String> {
    let usable: Vec<&str> = versions
        .iter()
        .filter(|version| !version.revision.is_empty())
        .map(|version| version.version.as_str())
        .collect();
    match usable.len() {
        0 => None,
        count if count > SHOWN => Some(format!(
            "{} and {} more",
            usable[..SHOWN].join(","),
            count - SHOWN
        )),
        _ => Some(usable.join(",")),
    }
}

fn conditions(
    definition: &Value,
    before: &DefinitionStatus,
    outcomes: &[Outcome],
    contradiction: Option<&LineageError>,
    now: Timestamp,
) -> Vec<k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition> {
    let mut conditions = Conditions::after(
        &before.conditions,
        definition["metadata"]["generation"].as_i64(),
        now,
    );
    let of = |state: VersionState| -> Vec<&Outcome> {
        outcomes.iter().filter(|outcome| outcome.state == state).collect()
    };
    let texts = |outcomes: &[&Outcome]| -> String {
        let texts: Vec<&str> = outcomes
            .iter()
            .filter_map(|outcome| outcome.message.as_deref())
            .collect();
        texts.join("\n")
    };
    let (invalid, conflicts) = (of(VersionState::Invalid), of(VersionState::Conflict));
    let published = of(VersionState::Published).len();
    match (invalid.first(), contradiction) {
        (_, Some(error)) => {
            conditions.set(
                condition::PUBLISHED,
                false,
                reason::CONTENT_CHANGED,
                error.to_string(),
            );
        }
        (Some(first), None) => {
            conditions.set(condition::PUBLISHED, false, first.reason, texts(&invalid));
        }
        (None, None) => {
            let message = match published {
                1 => "1 version is published".to_owned(),
                count => format!("{count} versions are published"),
            };
            conditions.set(
                condition::PUBLISHED,
                conflicts.is_empty(),
                reason::AVAILABLE,
                message,
            );
        }
    }
    if conflicts.is_empty() && !edited_elsewhere(definition) {
        conditions.set(
            condition::CONFLICT,
            false,
            reason::AVAILABLE,
            "Declared versions match the published ones",
        );
    } else if conflicts.is_empty() {
        conditions.set(
            condition::CONFLICT,
            true,
            reason::API_VERSION_CHANGED,
            "It was written at v2beta1 and edited through v1beta1; apply it at v2beta1 again",
        );
    } else {
        conditions.set(
            condition::CONFLICT,
            true,
            reason::CONTENT_CHANGED,
            texts(&conflicts),
        );
    }
    let ready = invalid.is_empty() && conflicts.is_empty() && contradiction.is_none();
    match ready {
        true => conditions.set(
            condition::READY,
            true,
            reason::AVAILABLE,
            "Every version can be used",
        ),
        false => conditions.set(
            condition::READY,
            false,
            reason::BLOCKED,
            "See Published and Conflict; published versions remain usable",
        ),
    }
    conditions.done()
}
