//! The status of references: the revision that each resolves to, the one that its component runs, and a failed upgrade.

use super::Draft;
use super::plan::Plan;
use super::status::Happened;
use crate::{Answer, Asked, Refused};
use cambium_api::v1beta1::{
    ApplicationStatus, DefinitionType, NewerVersion, ResolvedReference, RunningRevision,
};
use cambium_lineage::Policy;
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use serde_json::Value;

/// How far a plan was carried out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Progress {
    /// Every object is as it was rendered.
    Done,
    /// Something waits for something else, or nothing was planned.
    Waiting,
    /// Some objects could not be applied, and the others are as they were rendered.
    InPart,
    /// Nothing was applied.
    Refused,
}

/// How far a plan was carried out for one component, or for all of them.
pub(super) fn progress(plan: Option<&Plan>, happened: &Happened, component: Option<&str>) -> Progress {
    let Some(plan) = plan else {
        return Progress::Waiting;
    };
    if !plan.refused.is_empty() {
        return Progress::Refused;
    }
    let is_of_it = |index: &usize| component.is_none_or(|name| plan.wanted[*index].component == name);
    let count = |places: &[usize]| places.iter().filter(|index| is_of_it(index)).count();
    let failed = |index: &&usize| is_of_it(index) && !happened.applied.contains(index);
    let (failed, waiting) = (plan.apply.iter().filter(failed).count(), count(&plan.waiting));
    let all = (0..plan.wanted.len()).filter(is_of_it).count();
    match (failed, waiting) {
        (0, 0) => Progress::Done,
        (0, _) => Progress::Waiting,
        _ if failed + waiting == all => Progress::Refused,
        _ => Progress::InPart,
    }
}

/// The reasons that objects of a component were not applied, or that nothing was.
fn failures<'h>(plan: &'h Plan, happened: &'h Happened, component: Option<&str>) -> Vec<&'h str> {
    let of_it = happened.not_applied.iter();
    let of_it =
        of_it.filter(|(index, _)| component.is_none_or(|name| plan.wanted[**index].component == name));
    let mut all: Vec<&Refused> = plan.refused.iter().collect();
    all.extend(of_it.map(|(_, refused)| refused));
    if all.is_empty() {
        all.extend(&happened.failed);
    }
    all.into_iter()
        .filter_map(|one| one.message.lines().next())
        .collect()
}

/// The component that a reference belongs to; those of policies and workflow steps belong to none.
fn component_of(path: &str) -> Option<&str> {
    path.strip_prefix("components[")?.split(']').next()
}

/// The status of each reference. A component runs a revision when all its objects are applied from it.
pub(super) fn references(
    draft: &Draft,
    frozen: Option<&str>,
    before: &ApplicationStatus,
    plan: Option<&Plan>,
    happened: &Happened,
    now: Timestamp,
) -> Vec<ResolvedReference> {
    draft
        .answers
        .iter()
        .map(|answer| {
            let progress = progress(plan, happened, component_of(&answer.asked.path));
            let known = before
                .references
                .iter()
                .find(|known| known.path == answer.asked.path && known.asked == answer.asked.text);
            let mut reference = ResolvedReference {
                path: answer.asked.path.clone(),
                definition_type: answer.asked.type_,
                asked: answer.asked.text.clone(),
                policy: Some(policy_name(answer.policy, frozen).to_owned()),
                running: match answer.rendered().filter(|_| progress == Progress::Done) {
                    Some(stored) => Some(RunningRevision {
                        version: stored.revision.version().map(ToString::to_string),
                        revision: stored.revision.name().to_string(),
                        namespace: Some(stored.artifact.namespace.clone()),
                        digest: Some(stored.revision.digest().to_string()),
                    }),
                    None => running_before(answer, before),
                },
                ..Default::default()
            };
            match &answer.outcome {
                Ok(resolved) => {
                    let stored = &resolved.stored;
                    reference.namespace = Some(stored.artifact.namespace.clone());
                    reference.version = stored.revision.version().map(ToString::to_string);
                    reference.revision = Some(stored.revision.name().to_string());
                    reference.digest = Some(stored.revision.digest().to_string());
                    let other = reference
                        .running
                        .as_ref()
                        .filter(|running| Some(&running.revision) != reference.revision.as_ref());
                    let not_applied = match (progress, other) {
                        (Progress::Refused, Some(running)) => Some(format!(
                            "stays at {}: {} cannot be applied",
                            running.called(),
                            stored.revision
                        )),
                        (Progress::InPart, Some(running)) => Some(format!(
                            "{} cannot be applied in full: the rest stays at {}",
                            stored.revision,
                            running.called()
                        )),
                        _ => None,
                    };
                    reference.message = Some(match (&answer.held_back, frozen) {
                        (Some(held_back), _) => {
                            let at = &held_back.at.revision;
                            format!("stays at {at}: {} cannot be rendered", stored.revision)
                        }
                        (None, _) if let Some(not_applied) = not_applied => not_applied,
                        (None, Some(revision)) => format!("frozen at {revision}"),
                        (None, None) => resolved.reason.to_string(),
                    });
                    reference.newer = resolved.newer.as_ref().map(|(version, reason)| NewerVersion {
                        version: version.clone(),
                        reason: reason.clone(),
                    });
                    let same = |known: &&ResolvedReference| {
                        known.revision == reference.revision && known.digest == reference.digest
                    };
                    reference.since = known
                        .filter(same)
                        .and_then(|known| known.since.clone())
                        .or(Some(Time(now)));
                }
                Err(refused) => {
                    // What it is at is not touched, and stays recorded.
                    if let Some(known) = known {
                        reference.namespace.clone_from(&known.namespace);
                        reference.version.clone_from(&known.version);
                        reference.revision.clone_from(&known.revision);
                        reference.digest.clone_from(&known.digest);
                        reference.since.clone_from(&known.since);
                    }
                    reference.message = Some(refused.message.clone());
                }
            }
            reference
        })
        .collect()
}

fn policy_name(policy: Policy, frozen: Option<&str>) -> &'static str {
    if frozen.is_some() {
        return "Frozen";
    }
    match policy {
        Policy::ByReference => "ByReference",
        Policy::Automatic => "Automatic",
        Policy::Pinned => "Pinned",
        Policy::Manual => "Manual",
    }
}

/// The revision that a reference ran before: it still runs until another is applied.
fn running_before(answer: &Answer, before: &ApplicationStatus) -> Option<RunningRevision> {
    let definition = |asked: &str| asked.split('@').next().map(str::to_owned);
    let known = before.references.iter().find(|known| {
        known.path == answer.asked.path
            && known.definition_type == answer.asked.type_
            && definition(&known.asked) == definition(&answer.asked.text)
    })?;
    known.running.clone()
}

/// Whether what it resolves to is what runs.
pub(super) fn runs_what_it_got(reference: &ResolvedReference) -> bool {
    let running = reference.running.as_ref();
    running.is_none_or(|running| reference.revision.as_ref() == Some(&running.revision))
}

/// References that stay at what they run, because they cannot be rendered with what they resolve to.
pub(super) fn held_back(application: &Value, answers: &[Answer]) -> Vec<String> {
    let told = answers.iter().filter_map(|answer| {
        let (held_back, resolved) = (answer.held_back.as_ref()?, answer.outcome.as_ref().ok()?);
        let stay = stay(application, &answer.asked, &held_back.at.revision.to_string());
        Some(format!(
            "{}: {} resolves to {}, which cannot be rendered; it stays at {}: {}. Change the properties, or pin it: {stay}",
            answer.asked.path,
            answer.asked.text,
            resolved.stored.revision,
            held_back.at.revision,
            held_back.why.lines().next().unwrap_or_default()
        ))
    });
    told.collect()
}

/// References whose components do not run what they resolve to, because it could not be applied, or not all of it.
pub(super) fn not_applied(
    application: &Value,
    references: &[ResolvedReference],
    answers: &[Answer],
    plan: Option<&Plan>,
    happened: &Happened,
) -> Vec<String> {
    let told = references.iter().zip(answers).filter_map(|(reference, answer)| {
        let running = reference.running.as_ref()?.called();
        if answer.held_back.is_some() || answer.outcome.is_err() || runs_what_it_got(reference) {
            return None;
        }
        let got = reference.version.as_ref().or(reference.revision.as_ref())?;
        let component = component_of(&reference.path);
        let how = match progress(plan, happened, component) {
            Progress::Done | Progress::Waiting => return None,
            Progress::InPart => format!("which cannot be applied in full; the rest stays at {running}"),
            Progress::Refused => format!("which cannot be applied; it stays at {running}"),
        };
        Some(format!(
            "{}: {} resolves to {got}, {how}: {}. Change the properties, or pin it: {}",
            answer.asked.path,
            answer.asked.text,
            failures(plan?, happened, component).join("; "),
            stay(application, &answer.asked, running)
        ))
    });
    told.collect()
}

/// How to pin a reference to a version: a command for a component, the reference itself for the other kinds.
fn stay(application: &Value, asked: &Asked, at: &str) -> String {
    let metadata = |field: &str| application["metadata"][field].as_str().unwrap_or_default();
    let definition = asked.definition();
    // The third revision of a definition without versions is asked for as `v3`.
    let number = at
        .strip_prefix(definition)
        .and_then(|rest| rest.strip_prefix('-'));
    let at = number.filter(|number| is_number(number)).unwrap_or(at);
    let component = asked.path.strip_prefix("components[");
    match component.and_then(|path| path.split_once(']')) {
        Some((component, "")) => format!(
            "`cambium upgrade {} {component}={at} -n {}`",
            metadata("name"),
            metadata("namespace")
        ),
        _ => format!("{definition}@{at}"),
    }
}

/// Whether this is a revision's number, as in `v3`.
fn is_number(text: &str) -> bool {
    let digits = text.strip_prefix('v').unwrap_or_default();
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

/// The components and what they run, or are to run, in one line. A component of which nothing could be applied has no version.
pub(super) fn resolved(references: &[ResolvedReference], is_there: impl Fn(&str) -> bool) -> String {
    let is_component =
        |reference: &&ResolvedReference| reference.definition_type == DefinitionType::Component;
    let components = references.iter().filter(is_component).filter_map(|reference| {
        let component = reference.path.strip_prefix("components[")?.strip_suffix(']')?;
        let name = reference.asked.split('@').next()?;
        let (version, revision) = match &reference.running {
            Some(running) => (&running.version, Some(&running.revision)),
            None if !is_there(component) => return Some(format!("{component}=<none>")),
            None => (&reference.version, reference.revision.as_ref()),
        };
        Some(match (version, revision) {
            (Some(version), _) => format!("{component}={name}@{version}"),
            (None, revision) => format!("{component}={}", revision?),
        })
    });
    components.collect::<Vec<_>>().join(",")
}
