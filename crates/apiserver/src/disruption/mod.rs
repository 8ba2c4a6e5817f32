//! PodDisruptionBudgets: limits on voluntary disruptions (evictions).
//!
//! The disruption controller keeps the status of each budget ([`budget`]); an eviction decrements `disruptionsAllowed` in
//! the status before it deletes the pod ([`eviction`]). Both are pure functions.

mod budget;
mod eviction;

pub(crate) use budget::{Observed, counts_scale, plan};
pub(crate) use eviction::{Verdict, charged, may_ignore_budgets, too_many, verdict};

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::object;

/// The bucket of PodDisruptionBudgets.
pub(crate) const BUDGETS: &str = "policy/poddisruptionbudgets";

/// Whether a pod is ready.
fn is_ready(pod: &Value) -> bool {
    let conditions = object::at(pod, "status.conditions").and_then(Value::as_array);
    conditions
        .into_iter()
        .flatten()
        .any(|one| one["type"] == "Ready" && one["status"] == "True")
}

/// A number in the status; 0 when it is missing.
fn number(budget: &Value, path: &str) -> i64 {
    object::at(budget, path)
        .and_then(Value::as_i64)
        .unwrap_or_default()
}

/// Sets the condition `DisruptionAllowed`.
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

/// Sets `DisruptionAllowed` from `disruptionsAllowed`.
fn set_allowed(status: &mut Value, now: Timestamp) {
    match status["disruptionsAllowed"].as_i64().unwrap_or_default() > 0 {
        true => set_condition(status, "True", "SufficientPods", "", now),
        false => set_condition(status, "False", "InsufficientPods", "", now),
    }
}
