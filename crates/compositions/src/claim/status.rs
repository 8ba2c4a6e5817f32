//! The status of a claim.

use crate::composite::{Note, compact};
use cambium_api::names::{condition, reason};
use cambium_objects::Conditions;
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use serde_json::{Map, Value, json};

/// What composite resources and claims have in their statuses for themselves.
const OWN: [&str; 3] = ["claimConditionTypes", "conditions", "connectionDetails"];

/// How a claim and its composite resource were made the same.
#[derive(Debug, Clone, PartialEq)]
pub struct Synced<'a> {
    /// The composite resource as it is now.
    pub composite: &'a Value,
    /// Whether the claim became its claim just now.
    pub bound: bool,
    /// Whether connection details were copied just now, or why they could not be.
    pub connection: Result<bool, String>,
}

/// The status of a claim that has a composite resource, and what to tell about.
pub fn synced_status(claim: &Value, synced: &Synced<'_>, now: Timestamp) -> (Value, Vec<Note>) {
    let composite = synced.composite;
    let mut status = match composite["status"].as_object() {
        Some(fields) => without_own(fields),
        None => claim["status"].as_object().map(without_own).unwrap_or_default(),
    };
    if let Some(details) = claim["status"].get("connectionDetails") {
        status.insert("connectionDetails".to_owned(), details.clone());
    }
    let mut notes = Vec::new();
    let mut note = |warning: bool, reason: &'static str, text: &str| {
        notes.push(match warning {
            true => Note::warning(reason, text),
            false => Note::normal(reason, text),
        });
    };
    if synced.bound {
        note(
            false,
            reason::BIND_COMPOSITE,
            "Successfully bound composite resource",
        );
    }
    let ready = find(composite, condition::READY).is_some_and(|ready| ready["status"] == "True");
    let was_waiting = find(claim, condition::READY).is_some_and(|ready| ready["reason"] == reason::WAITING);
    if !ready && !was_waiting {
        note(
            false,
            reason::BIND_COMPOSITE,
            "Composite resource is not yet ready",
        );
    }
    if synced.connection == Ok(true) {
        let text = "Successfully propagated connection details from composite resource";
        note(false, reason::PROPAGATE_CONNECTION, text);
        let published = json!({"lastPublishedTime": now.to_string()});
        status.insert("connectionDetails".to_owned(), published);
    }
    if let Err(why) = &synced.connection
        && find(claim, condition::SYNCED).is_none_or(|known| known["message"] != why.as_str())
    {
        note(true, reason::PROPAGATE_CONNECTION, why);
    }
    let before = before(claim);
    let mut conditions = Conditions::after(&before, None, now);
    match &synced.connection {
        Ok(_) => conditions.set(condition::SYNCED, true, reason::RECONCILE_SUCCESS, ""),
        Err(why) => conditions.set(condition::SYNCED, false, reason::RECONCILE_ERROR, why),
    }
    match (ready, &synced.connection) {
        (false, _) => {
            let text = "Claim is waiting for composite resource to become Ready";
            conditions.set(condition::READY, false, reason::WAITING, text);
        }
        (true, Ok(_)) => conditions.set(condition::READY, true, reason::AVAILABLE, ""),
        // It stays as it was.
        (true, Err(_)) => {}
    }
    let mut conditions: Vec<Value> = conditions.done().into_iter().map(compact).collect();
    for shown in shown(composite) {
        match conditions.iter_mut().find(|known| known["type"] == shown["type"]) {
            Some(known) => *known = shown.clone(),
            None => conditions.push(shown.clone()),
        }
    }
    status.insert("conditions".to_owned(), json!(conditions));
    (Value::Object(status), notes)
}

/// The status of a claim that could not be made the same as its composite resource.
pub fn failed_status(claim: &Value, message: &str, now: Timestamp) -> Value {
    with(claim, now, |conditions| {
        conditions.set(condition::SYNCED, false, reason::RECONCILE_ERROR, message);
    })
}

/// The status of a claim that nobody works on.
pub fn paused_status(claim: &Value, now: Timestamp) -> Value {
    const MESSAGE: &str = "Reconciliation (including deletion) is paused via the pause annotation";
    with(claim, now, |conditions| {
        conditions.set(condition::SYNCED, false, reason::RECONCILE_PAUSED, MESSAGE);
    })
}

/// The status of a claim that waits for its composite resource to go.
pub fn deleting_status(claim: &Value, now: Timestamp) -> Value {
    with(claim, now, |conditions| {
        conditions.set(condition::READY, false, reason::DELETING, "");
    })
}

fn with(claim: &Value, now: Timestamp, set: impl FnOnce(&mut Conditions<'_>)) -> Value {
    let before = before(claim);
    let mut conditions = Conditions::after(&before, None, now);
    set(&mut conditions);
    let mut status = claim["status"].as_object().cloned().unwrap_or_default();
    let conditions = conditions.done().into_iter().map(compact);
    status.insert("conditions".to_owned(), conditions.collect());
    Value::Object(status)
}

fn before(claim: &Value) -> Vec<Condition> {
    serde_json::from_value(claim["status"]["conditions"].clone()).unwrap_or_default()
}

fn without_own(fields: &Map<String, Value>) -> Map<String, Value> {
    let fields = fields.iter().filter(|(name, _)| !OWN.contains(&name.as_str()));
    fields
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}

/// The conditions that the composite resource wants its claim to show. What a claim says of itself is not among them.
fn shown(composite: &Value) -> impl Iterator<Item = &Value> {
    let types = composite["status"]["claimConditionTypes"].as_array();
    types
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .filter(|type_| ![condition::SYNCED, condition::READY].contains(type_))
        .filter_map(|type_| find(composite, type_))
}

fn find<'a>(object: &'a Value, type_: &str) -> Option<&'a Value> {
    let conditions = object["status"]["conditions"].as_array()?;
    conditions.iter().find(|known| known["type"] == type_)
}
