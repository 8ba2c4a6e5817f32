//! Conditions that functions set on a composite resource.

use crate::Layout;
use cambium_api::names::{condition, reason};
use cambium_compositions_render::function::{Condition, ConditionStatus, Target};
use cambium_objects::Conditions;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// Conditions that are not for functions to give.
const OURS: [&str; 4] = [
    condition::READY,
    condition::SYNCED,
    condition::HEALTHY,
    condition::RESPONSIVE,
];

/// What a condition says after a failure, if nobody said anything about it before that.
const NOT_HEARD: &str = "A fatal error occurred before the status of this condition could be determined.";

/// Sets what functions gave. Where several gave the same, the last is right.
pub(super) fn set(conditions: &mut Conditions<'_>, given: &[Condition]) {
    for (place, condition) in given.iter().enumerate() {
        let later = &given[place + 1..];
        if is_ours(&condition.kind) || later.iter().any(|later| later.kind == condition.kind) {
            continue;
        }
        let (kind, why) = (condition.kind.as_str(), condition.reason.as_str());
        let message = condition.message.clone().unwrap_or_default();
        match condition.status {
            ConditionStatus::True => conditions.set(kind, true, why, message),
            ConditionStatus::False => conditions.set(kind, false, why, message),
            ConditionStatus::Unknown | ConditionStatus::Unspecified => conditions.unknown(kind, why, message),
        }
    }
}

/// What functions gave earlier and did not get to give this time is not known.
pub(super) fn doubt(conditions: &mut Conditions<'_>, composite: &Value, given: &[Condition]) {
    let before = composite["status"]["conditions"].as_array();
    for condition in before.into_iter().flatten() {
        let kind = condition["type"].as_str().unwrap_or_default();
        if !is_ours(kind) && given.iter().all(|given| given.kind != kind) {
            conditions.unknown(kind, reason::FATAL_ERROR, NOT_HEARD);
        }
    }
}

/// Notes which conditions the claim shows as well. What it showed once it goes on showing.
pub(super) fn show_to_claim(status: &mut Value, layout: Layout, given: &[Condition]) {
    let for_claim = given
        .iter()
        .filter(|condition| condition.target == Some(Target::CompositeAndClaim) && !is_ours(&condition.kind));
    let known = status["claimConditionTypes"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    let known = known.iter().filter_map(Value::as_str).map(str::to_owned);
    let types: BTreeSet<String> = known
        .chain(for_claim.map(|condition| condition.kind.clone()))
        .collect();
    if layout == Layout::Legacy && !types.is_empty() {
        status["claimConditionTypes"] = json!(types);
    }
}

fn is_ours(kind: &str) -> bool {
    OURS.contains(&kind)
}
