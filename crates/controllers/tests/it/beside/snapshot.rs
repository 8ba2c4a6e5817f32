//! Everything there is of a scenario, without what must differ: identities, times, and the random parts of names.

use super::scenario::Scenario;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// Objects by what they are called in scenarios, and their leaves by path.
#[derive(Debug, Default, Clone, PartialEq)]
pub(crate) struct Snapshot(pub(crate) BTreeMap<String, BTreeMap<String, Value>>);

type Names = BTreeMap<String, String>;

impl Snapshot {
    /// What there is of a scenario; learns what objects are really called. What is gone may still be spoken of.
    pub(crate) fn of(scenario: &Scenario, objects: Vec<Value>, names: &mut Names) -> Self {
        let mut own: Vec<Value> = objects
            .into_iter()
            .filter(|object| belongs(scenario, object))
            .collect();
        own.sort_by_key(|object| text(&object["metadata"]["name"]).to_owned());
        learn(names, &own);
        // The longest first: the name of what is composed begins with the name of what it is composed for.
        let mut real: Vec<(String, String)> = names
            .iter()
            .map(|(name, real)| (real.clone(), name.clone()))
            .collect();
        real.extend(own.iter().map(|object| {
            let known = format!("uid of {}", called(object, names));
            (text(&object["metadata"]["uid"]).to_owned(), known)
        }));
        real.sort_by_key(|(real, _)| std::cmp::Reverse(real.len()));
        let mut snapshot = BTreeMap::new();
        for object in own {
            let translate = |words: String| {
                let known = real.iter().filter(|(real, _)| !real.is_empty());
                known.fold(words, |words, (real, name)| words.replace(real, name))
            };
            let called = translate(called(&object, names));
            let words = translate(plain(object).to_string());
            let object: Value = serde_json::from_str(&words).unwrap_or_default();
            let mut leaves = BTreeMap::new();
            flatten(&object, String::new(), &mut leaves);
            snapshot.insert(called, leaves);
        }
        Self(snapshot)
    }
}

/// Whether an object is one of this scenario's.
fn belongs(scenario: &Scenario, object: &Value) -> bool {
    let group = scenario.group();
    let metadata = &object["metadata"];
    let owned = metadata["ownerReferences"].as_array().into_iter().flatten();
    let versions = owned.map(|owner| text(&owner["apiVersion"]));
    let named = text(&metadata["name"]);
    versions
        .chain([text(&object["apiVersion"])])
        .any(|version| version.starts_with(&format!("{group}/")))
        || named.ends_with(&format!(".{group}"))
        || named.starts_with(&format!("{}-", scenario.name))
        || metadata["namespace"] == scenario.name.as_str()
}

/// What generated names stand for: what is composed by what composes it, revisions by number, composite resources by their claims.
fn learn(names: &mut Names, objects: &[Value]) {
    for object in objects {
        let real = text(&object["metadata"]["name"]);
        let name = match text(&object["kind"]) {
            "CompositionRevision" => {
                let composition = text(&object["metadata"]["labels"]["crossplane.io/composition-name"]);
                format!("{composition}@{}", object["spec"]["revision"])
            }
            "XThing" => match object["spec"]["claimRef"]["name"].as_str() {
                Some(claim) if real.starts_with(&format!("{claim}-")) => format!("{claim}:xr"),
                _ => continue,
            },
            _ => continue,
        };
        names.insert(name, real.to_owned());
    }
    for composite in objects.iter().filter(|object| object["kind"] == "XThing") {
        let real = text(&composite["metadata"]["name"]);
        let known = names.iter().find(|(_, known)| *known == real);
        let composite_name = known.map_or(real, |(name, _)| name).to_owned();
        let prefix = composite["metadata"]["labels"]["crossplane.io/composite"].as_str();
        let prefix = prefix.unwrap_or(real);
        let references = composite["spec"]["resourceRefs"].as_array().into_iter().flatten();
        for (place, reference) in references.enumerate() {
            let referred = text(&reference["name"]);
            let there = objects
                .iter()
                .find(|object| object["kind"] == reference["kind"] && object["metadata"]["name"] == referred);
            let resource = there.and_then(|object| {
                object["metadata"]["annotations"]["crossplane.io/composition-resource-name"].as_str()
            });
            if resource.is_some() {
                // It says itself what it is called, whatever it was called before.
                names.retain(|_, known| known != referred);
            }
            let resource = resource.map_or_else(|| place.to_string(), str::to_owned);
            // Who was seen under its own name keeps it.
            let known = there.is_none() && names.values().any(|known| known == referred);
            if referred.starts_with(&format!("{prefix}-")) && !known {
                names.insert(format!("{composite_name}:{resource}"), referred.to_owned());
            }
        }
    }
}

fn called(object: &Value, names: &Names) -> String {
    let real = text(&object["metadata"]["name"]);
    let known = names.iter().find(|(_, known)| *known == real);
    format!(
        "{}/{}",
        text(&object["kind"]),
        known.map_or(real, |(name, _)| name)
    )
}

/// An object without identities, times and hashes.
fn plain(mut object: Value) -> Value {
    for field in [
        "resourceVersion",
        "generation",
        "creationTimestamp",
        "managedFields",
        "deletionGracePeriodSeconds",
        "selfLink",
        "uid",
    ] {
        remove(&mut object["metadata"], field);
    }
    if object["metadata"]["deletionTimestamp"].is_string() {
        object["metadata"]["deletionTimestamp"] = json!("some time");
    }
    for field in [
        "crossplane.io/composition-hash",
        "crossplane.io/composition-spec-hash",
    ] {
        remove(&mut object["metadata"]["labels"], field);
    }
    if let Some(finalizers) = object["metadata"]["finalizers"].as_array_mut() {
        // Two controllers of Crossplane's add theirs, whichever comes first.
        finalizers.sort_by_key(Value::to_string);
    }
    let owners = object["metadata"]["ownerReferences"].as_array_mut();
    owners
        .into_iter()
        .flatten()
        .for_each(|owner| remove(owner, "uid"));
    if let Some(annotations) = object["metadata"]["annotations"].as_object_mut() {
        annotations.retain(|name, _| !name.contains("cambium.dev/"));
    }
    for field in ["labels", "annotations"] {
        if object["metadata"][field].as_object().is_some_and(Map::is_empty)
            || object["metadata"][field].is_null()
        {
            remove(&mut object["metadata"], field);
        }
    }
    if object["status"]["connectionDetails"]["lastPublishedTime"].is_string() {
        object["status"]["connectionDetails"]["lastPublishedTime"] = json!("some time");
    }
    if let Some(conditions) = object["status"]["conditions"].as_array() {
        let by_type = conditions.iter().map(|condition| {
            let mut condition = condition.clone();
            remove(&mut condition, "lastTransitionTime");
            if condition["message"] == "" {
                remove(&mut condition, "message");
            }
            (text(&condition["type"]).to_owned(), condition)
        });
        object["status"]["conditions"] = Value::Object(by_type.collect());
    }
    if object["kind"] == "CustomResourceDefinition" {
        // The API server's own.
        remove(&mut object, "status");
        undescribe(&mut object["spec"]["versions"]);
    }
    object
}

/// Takes away what only people read.
fn undescribe(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            fields.retain(|name, value| name != "description" || !value.is_string());
            fields.values_mut().for_each(undescribe);
        }
        Value::Array(items) => items.iter_mut().for_each(undescribe),
        _ => {}
    }
}

fn remove(value: &mut Value, field: &str) {
    if let Some(fields) = value.as_object_mut() {
        fields.remove(field);
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// The leaves of a value, by path. What is empty is a leaf.
fn flatten(value: &Value, path: String, leaves: &mut BTreeMap<String, Value>) {
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            for (name, value) in fields {
                let path = match path.as_str() {
                    "" => name.clone(),
                    path => format!("{path}.{name}"),
                };
                flatten(value, path, leaves);
            }
        }
        Value::Array(items) if !items.is_empty() => {
            for (place, value) in items.iter().enumerate() {
                flatten(value, format!("{path}[{place}]"), leaves);
            }
        }
        value => drop(leaves.insert(path, value.clone())),
    }
}
