//! Conditions of workloads and pods.

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::object;

/// A desired condition.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Condition {
    pub(super) kind: &'static str,
    pub(super) status: &'static str,
    pub(super) reason: &'static str,
    pub(super) message: String,
}

impl Condition {
    pub(super) fn new(
        kind: &'static str,
        status: &'static str,
        reason: &'static str,
        message: impl Into<String>,
    ) -> Self {
        Self {
            kind,
            status,
            reason,
            message: message.into(),
        }
    }

    /// The condition as JSON with `lastTransitionTime` of `now`.
    pub(super) fn at(&self, now: Timestamp) -> Value {
        let now = object::timestamp(now);
        let mut value = json!({"type": self.kind, "status": self.status, "lastTransitionTime": now});
        if !self.reason.is_empty() {
            value["reason"] = json!(self.reason);
        }
        if !self.message.is_empty() {
            value["message"] = json!(self.message);
        }
        value
    }
}

/// Finds the condition of a type.
pub(super) fn find<'a>(conditions: &'a [Value], kind: &str) -> Option<&'a Value> {
    conditions.iter().find(|one| field(one, "type") == kind)
}

/// A string field of a condition.
pub(super) fn field<'a>(condition: &'a Value, name: &str) -> &'a str {
    condition.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// Whether a condition is `True`.
pub(super) fn holds(conditions: &[Value], kind: &str) -> bool {
    find(conditions, kind).is_some_and(|one| field(one, "status") == "True")
}

/// Removes a condition.
pub(super) fn remove(conditions: &mut Vec<Value>, kind: &str) {
    conditions.retain(|one| field(one, "type") != kind);
}

/// Sets a condition in place, keeping `lastTransitionTime` while the status is unchanged.
pub(super) fn set(conditions: &mut Vec<Value>, condition: &Condition, now: Timestamp) {
    let mut wanted = condition.at(now);
    match conditions
        .iter_mut()
        .find(|one| field(one, "type") == condition.kind)
    {
        Some(existing) => {
            if field(existing, "status") == condition.status {
                wanted["lastTransitionTime"] = existing["lastTransitionTime"].clone();
            }
            for (name, value) in existing.as_object().into_iter().flatten() {
                if !matches!(
                    name.as_str(),
                    "type" | "status" | "reason" | "message" | "lastTransitionTime"
                ) {
                    wanted[name] = value.clone();
                }
            }
            *existing = wanted;
        }
        None => conditions.push(wanted),
    }
}

/// Sets a condition of a Deployment, which has a `lastUpdateTime` and moves to the end of the list when it changes.
/// With the same status and reason nothing is written, even if the message differs, as upstream.
pub(super) fn set_deployment(conditions: &mut Vec<Value>, condition: &Condition, now: Timestamp) {
    let current = find(conditions, condition.kind);
    if current.is_some_and(|one| {
        field(one, "status") == condition.status && field(one, "reason") == condition.reason
    }) {
        return;
    }
    let mut wanted = condition.at(now);
    wanted["lastUpdateTime"] = json!(object::timestamp(now));
    if let Some(current) = current.filter(|one| field(one, "status") == condition.status) {
        wanted["lastTransitionTime"] = current["lastTransitionTime"].clone();
    }
    remove(conditions, condition.kind);
    conditions.push(wanted);
}
