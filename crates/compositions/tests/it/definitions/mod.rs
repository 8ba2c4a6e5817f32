//! Definitions to test with.

use cambium_api::crossplane::CompositeResourceDefinition;
use serde_json::{Value, json};

/// A definition with nothing wrong in it, as JSON.
pub(crate) fn lakes() -> Value {
    json!({
        "apiVersion": "apiextensions.crossplane.io/v1", "kind": "CompositeResourceDefinition",
        "metadata": {"name": "xlakes.water.example.org", "uid": "u-1", "generation": 4},
        "spec": {
            "group": "water.example.org",
            "names": {"kind": "XLake", "plural": "xlakes"},
            "versions": [version("v1", true, json!({"depth": {"type": "integer"}}))],
        },
    })
}

/// The same, with claims.
pub(crate) fn claimed() -> Value {
    with(
        lakes(),
        "/spec/claimNames",
        json!({"kind": "Lake", "plural": "lakes"}),
    )
}

/// One version, with these fields in `spec`.
pub(crate) fn version(name: &str, referenceable: bool, fields: Value) -> Value {
    json!({"name": name, "served": true, "referenceable": referenceable,
        "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": {"type": "object", "properties": fields}}}}})
}

/// With something in a place that is there, or is a new field of one that is.
pub(crate) fn with(mut object: Value, path: &str, value: Value) -> Value {
    let (parent, field) = path.rsplit_once('/').unwrap();
    let parent = object.pointer_mut(parent).unwrap();
    match parent {
        Value::Array(items) => items[field.parse::<usize>().unwrap()] = value,
        parent => parent[field] = value,
    }
    object
}

pub(crate) fn typed(object: Value) -> CompositeResourceDefinition {
    serde_json::from_value(object).unwrap()
}
