//! Tables: the rows and columns that `kubectl get` prints.

use serde_json::{Map, Value, json};

use super::Call;
use crate::object;
use crate::registry::{Origin, Served};
use crate::request::IncludeObject;

/// Whether a Table includes its column definitions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Headings {
    Shown,
    /// They were sent before.
    Known,
}

/// A Table of these objects.
pub(super) fn table(
    call: &Call,
    objects: &[Value],
    metadata: Map<String, Value>,
    headings: Headings,
) -> Value {
    let now = call.server.sources.now();
    let row = |value: &Value| {
        let mut row = Map::new();
        row.insert(
            "cells".to_owned(),
            Value::Array(cells(&call.resource, value, now)),
        );
        let object = match &call.options.include_object {
            IncludeObject::None => None,
            IncludeObject::Object => Some(value.clone()),
            IncludeObject::Metadata | IncludeObject::Unknown(_) => Some(json!({
                "kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1",
                "metadata": object::metadata(value),
            })),
        };
        row.insert("object".to_owned(), object.unwrap_or_default());
        Value::Object(row)
    };
    json!({
        "kind": "Table", "apiVersion": "meta.k8s.io/v1", "metadata": metadata,
        "columnDefinitions": (headings == Headings::Shown).then(|| columns(&call.resource)),
        "rows": objects.iter().map(row).collect::<Vec<_>>(),
    })
}

fn columns(resource: &Served) -> Vec<Value> {
    match &resource.origin {
        Origin::Builtin(row) => row
            .columns
            .iter()
            .map(|column| {
                json!({
                    "name": column.name, "type": column.kind, "format": column.format,
                    "description": column.description, "priority": column.priority,
                })
            })
            .collect(),
        Origin::Custom(definition, index) => definition.versions[*index].column_definitions(),
    }
}

fn cells(resource: &Served, value: &Value, now: jiff::Timestamp) -> Vec<Value> {
    match &resource.origin {
        Origin::Builtin(row) => (row.cells)(value, now),
        Origin::Custom(definition, index) => definition.versions[*index].cells(value, now),
    }
}
