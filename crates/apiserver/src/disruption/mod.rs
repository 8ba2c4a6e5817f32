//! PodDisruptionBudgets: how many pods may be missing on purpose.
//!
//! A controller keeps each budget's status in step with its pods ([`budget`]); an eviction asks the status, and takes
//! from it what it uses up before it deletes the pod ([`eviction`]). Both are decided by pure functions.

mod budget;
mod eviction;

pub(crate) use budget::{Observed, counts_scale, plan};
pub(crate) use eviction::{Verdict, charged, may_ignore_budgets, too_many, verdict};

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::object;

/// Where budgets are kept.
pub(crate) const BUDGETS: &str = "policy/poddisruptionbudgets";

/// Whether a pod is ready.
fn is_ready(pod: &Value) -> bool {
    let conditions = object::at(pod, "status.conditions").and_then(Value::as_array);
    conditions
        .into_iter()
        .flatten()
        .any(|one| one["type"] == "Ready" && one["status"] == "True")
}

/// A number of a status; 0 when it is missing.
fn number(budget: &Value, path: &str) -> i64 {
    object::at(budget, path)
        .and_then(Value::as_i64)
        .unwrap_or_default()
}

/// Writes the condition that says whether pods may be disrupted; the time is that of its last change.
fn set_condition(status: &mut Value, allowed: &str, reason: &str, message: &str, now: Timestamp) {
    let generation = status["observedGeneration"].clone();
    let mut conditions = status["conditions"].as_array().cloned().unwrap_or_default();
    let position = conditions
        .iter()
        .position(|one| one["type"] == "DisruptionAllowed");
    let since = position
        .map(|at| &conditions[at])
        .filter(|one| one["status"] == allowed)
        .map_or_else(
            || json!(object::timestamp(now)),
            |one| one["lastTransitionTime"].clone(),
        );
    let condition = json!({"type": "DisruptionAllowed", "status": allowed, "reason": reason, "message": message,
        "observedGeneration": generation, "lastTransitionTime": since});
    match position {
        Some(at) => conditions[at] = condition,
        None => conditions.push(condition),
    }
    status["conditions"] = json!(conditions);
}

/// The condition that follows from the number of disruptions that are allowed.
fn set_allowed(status: &mut Value, now: Timestamp) {
    match status["disruptionsAllowed"].as_i64().unwrap_or_default() > 0 {
        true => set_condition(status, "True", "SufficientPods", "", now),
        false => set_condition(status, "False", "InsufficientPods", "", now),
    }
}
