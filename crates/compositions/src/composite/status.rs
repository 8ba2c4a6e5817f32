//! The status, events and connection details of a composite resource after its plan was carried out.

use super::plan::{Observed, Plan};
use super::report::Report;
use super::{Object, function_conditions};
use crate::Layout;
use crate::definition::Definition;
use crate::pipeline::Failed;
use cambium_api::crossplane::UpdatePolicy;
use cambium_api::names::{condition, reason};
use cambium_compositions_render::{ConnectionDetails, ObservedResource};
use cambium_objects::{Conditions, merge_patch};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use serde_json::{Map, Value, json};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// The results of a plan.
#[derive(Debug, Clone, Default)]
pub struct Happened {
    /// The resources that are there now, with what their own connection secrets hold.
    pub there: BTreeMap<Object, ObservedResource>,
    /// Resources that could not be applied, and why.
    pub failed: Vec<(String, String)>,
    /// Resources that were applied without fields that their kinds do not know, and the paths of those.
    pub ignored: Vec<(String, Vec<String>)>,
}

impl Happened {
    /// The resources that are there now, by what the composition calls them.
    pub fn there_by_name(&self, plan: &Plan) -> BTreeMap<String, ObservedResource> {
        let there = plan.resources.iter();
        there
            .filter_map(|apply| Some((apply.name.clone(), self.there.get(&apply.object)?.clone())))
            .collect()
    }
}

/// Everything that is left to be written.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Concluded {
    /// The merge patch that composed resources make of the composite resource, outside of its status.
    pub record: Option<Value>,
    /// The whole wanted status.
    pub status: Value,
    /// The connection details.
    pub details: ConnectionDetails,
    /// Events to emit.
    pub notes: Vec<Note>,
    /// Whether the reconcile has failed and is requeued with back-off.
    pub retry: bool,
}

/// An event of a composite resource.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Note {
    /// Whether it is a warning.
    pub warning: bool,
    /// The reason.
    pub reason: Cow<'static, str>,
    /// The note.
    pub text: String,
    /// The note of the claim's event, if it gets one.
    pub claim: Option<String>,
}

impl Note {
    /// A normal event.
    pub fn normal(reason: &'static str, text: impl Into<String>) -> Self {
        Self {
            warning: false,
            reason: Cow::Borrowed(reason),
            text: text.into(),
            claim: None,
        }
    }

    /// A warning event.
    pub fn warning(reason: &'static str, text: impl Into<String>) -> Self {
        Self {
            warning: true,
            ..Self::normal(reason, text)
        }
    }
}

/// How many names a condition lists.
const LISTED: usize = 3;

/// Concludes a reconcile from the report of the composer and the results of the plan.
pub fn conclude(
    observed: &Observed<'_>,
    report: &Report,
    plan: &Plan,
    happened: &Happened,
    now: Timestamp,
) -> Concluded {
    let unsynced: Vec<(String, String)> = plan.failed.iter().chain(&happened.failed).cloned().collect();
    let failure = failure_text(&unsynced, &report.problems);
    let ignored = ignored_text(&happened.ignored);
    let (definition, composite) = (observed.definition, observed.composite);
    let mut status = status(
        definition,
        composite,
        &report.composite["status"],
        now,
        |conditions| {
            match &failure {
                None => match &ignored {
                    None => conditions.set(condition::SYNCED, true, reason::RECONCILE_SUCCESS, ""),
                    Some(text) => conditions.set(condition::SYNCED, true, reason::FIELDS_IGNORED, text),
                },
                Some(text) => conditions.set(condition::SYNCED, false, reason::RECONCILE_ERROR, text),
            }
            match (report.ready, report.unready.is_empty()) {
                // Who cannot be read cannot be judged: it stays as it was.
                _ if !report.problems.is_empty() => {}
                (Some(true), _) | (None, true) => {
                    conditions.set(condition::READY, true, reason::AVAILABLE, "")
                }
                (Some(false), _) => conditions.set(condition::READY, false, reason::CREATING, ""),
                (None, false) => {
                    let names: Vec<&str> = report.unready.iter().map(String::as_str).collect();
                    let text = format!("Unready resources: {}", some_of(&names));
                    conditions.set(condition::READY, false, reason::CREATING, text);
                }
            }
            function_conditions::set(conditions, &report.conditions);
        },
    );
    function_conditions::show_to_claim(&mut status, definition.layout(), &report.conditions);
    let mut notes: Vec<Note> = plan.moved_note().into_iter().collect();
    // A failure is told once: as long as the condition says the same, it is known.
    if failure.is_some() && message_of(composite, condition::SYNCED) != failure.as_deref() {
        let told = unsynced.iter().chain(&report.problems);
        notes.extend(told.map(|(_, why)| Note::warning(reason::COMPOSE_RESOURCES, why.as_str())));
    }
    let news = ignored.filter(|text| message_of(composite, condition::SYNCED) != Some(text));
    if let (None, Some(text)) = (&failure, news) {
        notes.push(Note::warning(reason::FIELDS_IGNORED, text));
    }
    Concluded {
        record: patched(composite, &report.composite),
        status,
        details: report.details.clone(),
        notes,
        retry: failure.is_some(),
    }
}

/// The status of a composite resource that could not be composed this time, and what to tell about it. Conditions of functions that were not
/// heard are no longer known.
pub fn failed_status(
    definition: &Definition,
    composite: &Value,
    failed: &Failed,
    now: Timestamp,
) -> (Value, Option<Note>) {
    let message = format!("cannot compose resources: {}", failed.message);
    let mut status = status(definition, composite, &composite["status"], now, |conditions| {
        conditions.set(
            condition::SYNCED,
            false,
            reason::RECONCILE_ERROR,
            message.as_str(),
        );
        function_conditions::set(conditions, &failed.conditions);
        function_conditions::doubt(conditions, composite, &failed.conditions);
    });
    function_conditions::show_to_claim(&mut status, definition.layout(), &failed.conditions);
    let news = message_of(composite, condition::SYNCED) != Some(message.as_str());
    (
        status,
        news.then(|| Note::warning(reason::COMPOSE_RESOURCES, message)),
    )
}

/// The status of a composite resource that cannot be composed: composed resources are unchanged.
pub fn refused_status(definition: &Definition, composite: &Value, message: &str, now: Timestamp) -> Value {
    status(definition, composite, &composite["status"], now, |conditions| {
        conditions.set(condition::SYNCED, false, reason::RECONCILE_ERROR, message);
    })
}

/// The status of a composite resource whose patches or functions take too long: composed resources and readiness are unchanged.
pub fn too_expensive_status(
    definition: &Definition,
    composite: &Value,
    message: &str,
    now: Timestamp,
) -> Value {
    status(definition, composite, &composite["status"], now, |conditions| {
        conditions.set(condition::SYNCED, false, reason::TEMPLATE_TOO_EXPENSIVE, message);
    })
}

/// The status of a paused composite resource.
pub fn paused_status(definition: &Definition, composite: &Value, now: Timestamp) -> Value {
    const MESSAGE: &str = "Reconciliation (including deletion) is paused via the pause annotation";
    status(definition, composite, &composite["status"], now, |conditions| {
        conditions.set(condition::SYNCED, false, reason::RECONCILE_PAUSED, MESSAGE);
    })
}

/// A status with these conditions, and what every status shows.
fn status(
    definition: &Definition,
    composite: &Value,
    patched: &Value,
    now: Timestamp,
    set: impl FnOnce(&mut Conditions<'_>),
) -> Value {
    let before: Vec<Condition> =
        serde_json::from_value(composite["status"]["conditions"].clone()).unwrap_or_default();
    let mut conditions = Conditions::after(&before, None, now);
    set(&mut conditions);
    if definition.layout() == Layout::V2 {
        conditions.set(condition::RESPONSIVE, true, reason::WATCH_CIRCUIT_CLOSED, "");
    }
    let mut status = match patched {
        Value::Object(fields) => fields.clone(),
        _ => Map::new(),
    };
    let conditions = conditions.done().into_iter().map(compact);
    status.insert("conditions".to_owned(), conditions.collect());
    let mut status = Value::Object(status);
    if let Some(enforced) = definition.enforced_policy() {
        show_policy(&mut status, definition.layout(), enforced);
    }
    status
}

/// A condition as Crossplane writes it: an empty message is not there.
pub(crate) fn compact(condition: Condition) -> Value {
    let mut value = json!(condition);
    if condition.message.is_empty()
        && let Some(fields) = value.as_object_mut()
    {
        fields.remove("message");
    }
    value
}

fn show_policy(status: &mut Value, layout: Layout, policy: UpdatePolicy) {
    let shown = &layout.policy_patch(policy)["status"];
    for (name, value) in shown.as_object().into_iter().flatten() {
        match value.as_object() {
            Some(inner) if status[name].is_object() => {
                for (name_within, value) in inner {
                    status[name][name_within] = value.clone();
                }
            }
            _ => status[name] = value.clone(),
        }
    }
}

/// Whether a composite resource says something else than it did: whatever composes it may make something else of that. Its own writes count like
/// everybody's.
pub fn has_changed(before: &Value, after: &Value) -> bool {
    let said = |object: &Value| {
        let mut object = object.clone();
        if let Some(metadata) = object["metadata"].as_object_mut() {
            for field in ["resourceVersion", "generation", "managedFields"] {
                metadata.remove(field);
            }
        }
        object
    };
    said(before) != said(after)
}

/// What composed resources have changed outside of the status.
fn patched(before: &Value, after: &Value) -> Option<Value> {
    let mut patch = Map::new();
    for field in ["spec", "metadata"] {
        if let Some(change) = merge_patch(&before[field], &after[field]) {
            patch.insert(field.to_owned(), change);
        }
    }
    (!patch.is_empty()).then_some(Value::Object(patch))
}

fn message_of<'a>(composite: &'a Value, type_: &str) -> Option<&'a str> {
    let conditions = composite["status"]["conditions"].as_array()?;
    let condition = conditions.iter().find(|condition| condition["type"] == type_)?;
    condition["message"].as_str()
}

/// What could not be read back from resources, and which are not as they should be, and why; nothing if all is well.
fn failure_text(unsynced: &[(String, String)], problems: &[(String, String)]) -> Option<String> {
    let reasons = |of: &[(String, String)]| {
        let reasons: Vec<&str> = of.iter().take(LISTED).map(|(_, why)| why.as_str()).collect();
        reasons.join("; ")
    };
    let read = (!problems.is_empty()).then(|| format!("cannot compose resources: {}", reasons(problems)));
    let written = (!unsynced.is_empty()).then(|| {
        let mut names: Vec<&str> = unsynced.iter().map(|(name, _)| name.as_str()).collect();
        names.dedup();
        format!("Unsynced resources: {}: {}", some_of(&names), reasons(unsynced))
    });
    match (read, written) {
        (Some(read), Some(written)) => Some(format!("{read}; {written}")),
        (read, written) => read.or(written),
    }
}

/// Which fields were left out of which resources; nothing if none were.
fn ignored_text(ignored: &[(String, Vec<String>)]) -> Option<String> {
    let mut listed: Vec<String> = ignored
        .iter()
        .take(LISTED)
        .map(|(name, fields)| format!("{name}: {}", fields.join(", ")))
        .collect();
    if let more @ 1.. = ignored.len().saturating_sub(LISTED) {
        listed.push(format!("and {more} more resources"));
    }
    let listed = listed.join("; ");
    (!listed.is_empty()).then(|| format!("Unknown fields were left out: {listed}"))
}

fn some_of(names: &[&str]) -> String {
    let mut sorted: Vec<&str> = names.to_vec();
    sorted.sort_unstable();
    match sorted.len() > LISTED {
        true => format!(
            "{}, and {} more",
            sorted[..LISTED].join(", "),
            sorted.len() - LISTED
        ),
        false => sorted.join(", "),
    }
}
