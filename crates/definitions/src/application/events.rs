//! The events that a change of an Application's status causes.

use super::Direction;
use cambium_api::names::{condition, reason};
use cambium_api::v1beta1::{ApplicationStatus, Phase, ResolvedReference};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;

/// Events: the reason and the note of each.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Events {
    /// Normal events: reason and message.
    pub normal: Vec<(&'static str, String)>,
    /// Warning events: reason and message.
    pub warnings: Vec<(String, String)>,
}

/// The events between two statuses. A move is told when its objects are applied, and not before.
pub fn events(before: &ApplicationStatus, after: &ApplicationStatus) -> Events {
    let mut events = Events::default();
    for now in &after.references {
        let was = before.references.iter().find(|was| is_same_place(was, now));
        if let Some(moved) = was.and_then(|was| moved(was, now)) {
            events.normal.push(moved);
        }
    }
    let upgrade_failed = news(before, after, condition::UPGRADED, "False");
    if let Some(failed) = upgrade_failed {
        events
            .warnings
            .push((reason::UPGRADE_FAILED.to_owned(), failed.message.clone()));
    }
    if after.phase == Some(Phase::Failed)
        && let Some(ready) = news(before, after, condition::READY, "False")
    {
        let not_moved: Vec<String> = after.references.iter().filter_map(not_moved).collect();
        let applied = after
            .conditions
            .iter()
            .find(|one| one.type_ == condition::APPLIED);
        let is_refused = applied.is_some_and(|applied| applied.status == "False");
        match not_moved.is_empty() {
            true => events
                .warnings
                .push((ready.reason.clone(), ready.message.clone())),
            // What could not be applied is in what was said of the upgrade.
            false if is_refused && upgrade_failed.is_some() => {}
            false => {
                let note = format!("{}: {}", not_moved.join("; "), ready.message);
                events.warnings.push((reason::UPGRADE_FAILED.to_owned(), note));
            }
        }
    }
    let ignored = news(before, after, condition::APPLIED, "True");
    let left_out = [reason::FIELDS_IGNORED, reason::UNSUPPORTED_IGNORED];
    if let Some(applied) = ignored.filter(|applied| left_out.contains(&applied.reason.as_str())) {
        events
            .warnings
            .push((applied.reason.clone(), applied.message.clone()));
    }
    events
}

/// A condition that has this status now and did not say the same before.
fn news<'a>(
    before: &ApplicationStatus,
    after: &'a ApplicationStatus,
    type_: &str,
    status: &str,
) -> Option<&'a Condition> {
    let of = |conditions: &'a [Condition]| {
        conditions
            .iter()
            .find(|known| known.type_ == type_ && known.status == status)
    };
    let now = of(&after.conditions)?;
    let mut known = before.conditions.iter();
    let same = |was: &Condition| was.type_ == type_ && was.status == status && was.message == now.message;
    (!known.any(same)).then_some(now)
}

fn is_same_place(was: &ResolvedReference, now: &ResolvedReference) -> bool {
    let definition = |asked: &str| asked.split('@').next().map(str::to_owned);
    was.path == now.path
        && was.definition_type == now.definition_type
        && definition(&was.asked) == definition(&now.asked)
}

/// A reference whose objects are now made from another revision.
fn moved(was: &ResolvedReference, now: &ResolvedReference) -> Option<(&'static str, String)> {
    let (from, to) = (was.running.as_ref()?, now.running.as_ref()?);
    if (&from.revision, &from.namespace) == (&to.revision, &to.namespace) {
        return None;
    }
    let reason = Direction::of(from, to).reason();
    let (from, to) = (from.called(), to.called());
    Some((
        reason,
        format!("{}: {} moved from {from} to {to}", now.path, now.asked),
    ))
}

/// A reference that resolves to another revision than the one that runs.
fn not_moved(now: &ResolvedReference) -> Option<String> {
    let (running, revision) = (now.running.as_ref()?, now.revision.as_ref()?);
    (running.revision != *revision).then(|| {
        let to = now.version.as_ref().unwrap_or(revision);
        format!(
            "{}: {} did not move from {} to {to}",
            now.path,
            now.asked,
            running.called()
        )
    })
}
