//! Schemas that preserve unknown fields.

use std::collections::BTreeMap;

use schemars::{Schema, SchemaGenerator, json_schema};
use serde_json::Value;

/// A JSON object as the user wrote it.
pub type Tree = BTreeMap<String, Value>;

/// The schema of an object whose fields are unknown and preserved.
pub(crate) fn any_object(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "object", "nullable": true, "x-kubernetes-preserve-unknown-fields": true})
}

/// The schema of a list of such objects.
pub(crate) fn any_objects(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "array", "nullable": true,
        "items": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
    })
}

/// The schema of a list of conditions: one of each type.
pub(crate) fn conditions(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "array",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["type"],
        "items": {
            "type": "object",
            "required": ["type", "status", "lastTransitionTime"],
            "x-kubernetes-preserve-unknown-fields": true,
            "properties": {
                "type": {"type": "string", "description": "What the condition is about."},
                "status": {"type": "string", "enum": ["True", "False", "Unknown"], "description": "Whether it holds."},
                "reason": {"type": "string", "description": "Why, as one word to look up."},
                "message": {"type": "string", "description": "Why, and what to do, for a person."},
                "lastTransitionTime": {
                    "type": "string", "format": "date-time",
                    "description": "When the status last changed.",
                },
                "observedGeneration": {
                    "type": "integer", "format": "int64",
                    "description": "The generation of the object that the condition was made for.",
                },
            },
        },
    })
}
