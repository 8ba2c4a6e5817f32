//! The observed state that a pipeline starts with, and the wanted resources that it results in.

use super::run::Done;
use crate::composite::{Report, Wanted, name_it};
use cambium_compositions_render::function::{Ready, Resource, State};
use cambium_compositions_render::{ConnectionDetails, ObservedResource, composed};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// What of a composite resource's status belongs to whoever composes it, whatever functions say.
const MACHINERY: [&str; 4] = [
    "conditions",
    "connectionDetails",
    "claimConditionTypes",
    "crossplane",
];

/// What there is, as functions are told: the composite resource with what its connection secret holds, and what it is composed of.
pub fn observed(
    composite: &Value,
    details: ConnectionDetails,
    known: &BTreeMap<String, ObservedResource>,
) -> State {
    let resource = |object: &Value, connection_details: ConnectionDetails| Resource {
        resource: object.as_object().cloned().unwrap_or_default(),
        connection_details,
        ready: Ready::Unspecified,
    };
    State {
        composite: resource(composite, details),
        resources: known
            .iter()
            .map(|(name, known)| (name.clone(), resource(&known.object, known.secret.clone())))
            .collect(),
    }
}

/// The resources that functions desire. What is there already keeps its name.
pub fn wanted(desired: &State, composite: &Value, known: &BTreeMap<String, ObservedResource>) -> Vec<Wanted> {
    let desired = desired.resources.iter();
    desired
        .map(|(name, resource)| {
            let known = known.get(name).map(|known| &known.object);
            let outcome = outcome(name, resource, composite, known);
            name_it(name.clone(), outcome, composite)
        })
        .collect()
}

fn outcome(
    name: &str,
    resource: &Resource,
    composite: &Value,
    known: Option<&Value>,
) -> Result<Value, String> {
    let mut object = Value::Object(resource.resource.clone());
    for field in ["apiVersion", "kind"] {
        if object[field].as_str().is_none_or(str::is_empty) {
            return Err(format!(
                "cannot apply composed resource {name:?}: no function set its {field:?}"
            ));
        }
    }
    if let Some(known) = known {
        let mut metadata = object["metadata"].as_object().cloned().unwrap_or_default();
        for field in ["name", "namespace"] {
            match known["metadata"].get(field) {
                Some(value) => metadata.insert(field.to_owned(), value.clone()),
                None => metadata.remove(field),
            };
        }
        object["metadata"] = Value::Object(metadata);
    }
    composed(object, composite, Some(name))
        .map_err(|error| format!("cannot render metadata for composed resource {name:?}: {error}"))
}

/// What the composite resource says after its pipeline. Of itself, functions change the status and the connection details, and nothing else.
pub fn report(composite: &Value, done: &Done) -> Report {
    let desired = &done.desired.composite;
    let mut status = match desired.resource.get("status") {
        Some(Value::Object(status)) => status.clone(),
        _ => Map::new(),
    };
    for field in MACHINERY {
        match composite["status"].get(field) {
            Some(value) => drop(status.insert(field.to_owned(), value.clone())),
            None => drop(status.remove(field)),
        }
    }
    let mut composite = composite.clone();
    composite["status"] = Value::Object(status);
    let resources = done.desired.resources.iter();
    Report {
        composite,
        problems: Vec::new(),
        unready: resources
            .filter(|(_, resource)| resource.ready != Ready::True)
            .map(|(name, _)| name.clone())
            .collect(),
        ready: match desired.ready {
            Ready::Unspecified => None,
            Ready::True => Some(true),
            Ready::False => Some(false),
        },
        details: desired.connection_details.clone(),
        conditions: done.conditions.clone(),
        notes: done.notes.clone(),
    }
}
