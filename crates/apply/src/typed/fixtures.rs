//! Test schemas, in the syntax of a CRD.

use std::borrow::Cow;
use std::sync::Arc;

use cambium_schema::{Additional, Child, JsonType, ListType, MapType, PatchStrategy, Property, Schema};
use serde_json::{Value, json};

/// Parses the parts of an OpenAPI schema that matter for merging.
pub(crate) fn schema(value: &Value) -> Schema {
    let text = |name: &str| value.get(name).and_then(Value::as_str).unwrap_or_default();
    let flag = |name: &str| value.get(name).and_then(Value::as_bool).unwrap_or_default();
    let json_type = match text("type") {
        _ if flag("x-kubernetes-int-or-string") => JsonType::IntOrString,
        "object" => JsonType::Object,
        "array" => JsonType::Array,
        "string" => JsonType::String,
        "integer" => JsonType::Integer,
        "number" => JsonType::Number,
        "boolean" => JsonType::Boolean,
        _ => JsonType::Any,
    };
    let mut properties: Vec<Property> = value
        .get("properties")
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
        .map(property)
        .collect();
    properties.sort_by(|left, right| left.name.cmp(&right.name));
    Schema {
        format: Cow::Owned(text("format").to_owned()),
        properties: Cow::Owned(properties),
        additional: match value.get("additionalProperties") {
            None => Additional::None,
            Some(Value::Bool(true)) => Additional::Any,
            Some(entry) => Additional::Schema(child(entry)),
        },
        items: value.get("items").map(child),
        list: match text("x-kubernetes-list-type") {
            "set" => ListType::Set,
            "map" => {
                let keys = value["x-kubernetes-list-map-keys"]
                    .as_array()
                    .into_iter()
                    .flatten();
                ListType::Map(
                    keys.filter_map(Value::as_str)
                        .map(|key| Cow::Owned(key.to_owned()))
                        .collect(),
                )
            }
            _ => ListType::Atomic,
        },
        map: if text("x-kubernetes-map-type") == "atomic" {
            MapType::Atomic
        } else {
            MapType::Granular
        },
        preserve_unknown_fields: flag("x-kubernetes-preserve-unknown-fields"),
        embedded_resource: flag("x-kubernetes-embedded-resource"),
        default: value.get("default").cloned(),
        ..Schema::of(json_type)
    }
}

fn child(value: &Value) -> Child {
    Child::Shared(Arc::new(schema(value)))
}

fn property((name, value): (&String, &Value)) -> Property {
    Property {
        name: Cow::Owned(name.clone()),
        schema: child(value),
        required: false,
        number: 0,
        patch: match value.get("x-kubernetes-patch-strategy").and_then(Value::as_str) {
            Some("merge") => PatchStrategy::Merge,
            Some("retainKeys") => PatchStrategy::RetainKeys,
            Some("merge,retainKeys") => PatchStrategy::MergeRetainKeys,
            _ => PatchStrategy::Replace,
        },
        patch_merge_key: match value.get("x-kubernetes-patch-merge-key").and_then(Value::as_str) {
            Some("name") => "name",
            Some("uid") => "uid",
            _ => "",
        },
    }
}

/// A small kind with a field of every type.
pub(crate) fn sorts() -> Schema {
    schema(&sorts_json())
}

/// The same as JSON.
pub(crate) fn sorts_json() -> Value {
    json!({"type": "object", "properties": {
        "spec": {"type": "object", "properties": {
            "replicas": {"type": "integer"},
            "paused": {"type": "boolean"},
            "title": {"type": "string"},
            "at": {"type": "string", "format": "date-time"},
            "port": {"x-kubernetes-int-or-string": true},
            "selector": {"type": "object", "x-kubernetes-map-type": "atomic", "additionalProperties": {"type": "string"}},
            "labels": {"type": "object", "additionalProperties": {"type": "string"}},
            "args": {"type": "array", "items": {"type": "string"}},
            "tags": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
            "containers": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"], "items": {"type": "object", "properties": {
                "name": {"type": "string"},
                "image": {"type": "string"},
                "env": {"type": "object", "additionalProperties": {"type": "string"}},
            }}},
            "ports": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["port", "protocol"], "items": {"type": "object", "properties": {
                "port": {"type": "integer"},
                "protocol": {"type": "string", "default": "TCP"},
                "name": {"type": "string"},
            }}},
            "anything": {"x-kubernetes-preserve-unknown-fields": true},
            "open": {"type": "object", "x-kubernetes-preserve-unknown-fields": true, "properties": {"known": {"type": "object", "properties": {"a": {"type": "string"}}}}},
            "free": {"type": "object"},
            "embedded": {"type": "object", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true},
            "nested": {"type": "object", "properties": {"leaf": {"type": "string"}, "other": {"type": "string"}}},
        }},
        "status": {"type": "object", "properties": {"ready": {"type": "boolean"}}},
    }})
}
