//! Renders responses: object, Table or PartialObjectMetadata, in the negotiated encoding.

use std::sync::Arc;

use http::StatusCode;
use serde_json::{Map, Value, json};

use super::Call;
use super::table::{self, Headings};
use crate::convert;
use crate::registry::Origin;
use crate::status::Result;
use crate::store::Entry;
use crate::wire::{Body, Chunks, Encoding, Response, Shape, bytes_response, value_response};

/// A stored object.
pub(super) async fn entry(call: &Call, code: StatusCode, entry: &Arc<Entry>) -> Result<Response> {
    if is_plain(call) && call.resource.is_sent_as_stored(entry) {
        return Ok(bytes_response(
            code,
            Encoding::Json.media_type(),
            Body::full(entry.json.clone()),
        ));
    }
    let value = convert::read(&call.server, &call.resource, entry).await?;
    Ok(object(call, code, value))
}

/// An object at the request's version.
pub(super) fn object(call: &Call, code: StatusCode, value: Value) -> Response {
    let shown = match call.representation.shape {
        Shape::Object => value,
        Shape::Metadata => metadata_only(&value),
        Shape::Table => one_row(call, value, Headings::Shown),
    };
    value_response(code, call.representation.encoding, &shown)
}

/// A list of stored objects. Items of built-in lists carry no `apiVersion` and `kind`, as upstream.
pub(super) async fn list(
    call: &Call,
    entries: Vec<Arc<Entry>>,
    metadata: Map<String, Value>,
) -> Result<Response> {
    let resource = &call.resource;
    if is_plain(call) && entries.iter().all(|entry| resource.is_sent_as_stored(entry)) {
        let head =
            json!({"kind": resource.list_kind, "apiVersion": resource.api_version, "metadata": metadata});
        let mut head = serde_json::to_vec(&head).expect("a JSON tree always encodes into memory");
        head.pop();
        head.extend_from_slice(b",\"items\":[");
        let left_out = match &resource.origin {
            Origin::Builtin(_) => format!(
                "\"apiVersion\":\"{}\",\"kind\":\"{}\",",
                resource.api_version, resource.kind
            )
            .len(),
            Origin::Custom(..) => 0,
        };
        let body = Body::chunks(Chunks::new(head, entries, left_out, b"]}\n"));
        return Ok(bytes_response(StatusCode::OK, Encoding::Json.media_type(), body));
    }
    let mut items = convert::read_many(&call.server, resource, &entries).await?;
    if matches!(resource.origin, Origin::Builtin(_)) && call.representation.shape == Shape::Object {
        for item in items.iter_mut().filter_map(Value::as_object_mut) {
            item.remove("apiVersion");
            item.remove("kind");
        }
    }
    let shown = match call.representation.shape {
        Shape::Table => table::table(call, &items, metadata, Headings::Shown),
        Shape::Object => json!({
            "kind": resource.list_kind, "apiVersion": resource.api_version,
            "metadata": metadata, "items": items,
        }),
        Shape::Metadata => json!({
            "kind": "PartialObjectMetadataList", "apiVersion": "meta.k8s.io/v1",
            "metadata": metadata, "items": items.iter().map(metadata_only).collect::<Vec<_>>(),
        }),
    };
    Ok(value_response(
        StatusCode::OK,
        call.representation.encoding,
        &shown,
    ))
}

/// An object of a watch event. Only the first Table of a watch has column definitions.
pub(super) fn in_event(call: &Call, value: Value, headings: Headings) -> Value {
    match call.representation.shape {
        Shape::Object => value,
        Shape::Metadata => metadata_only(&value),
        Shape::Table => one_row(call, value, headings),
    }
}

/// Whether the client accepts plain JSON objects, which can be sent as stored.
pub(super) fn is_plain(call: &Call) -> bool {
    call.representation.shape == Shape::Object && call.representation.encoding == Encoding::Json
}

fn one_row(call: &Call, value: Value, headings: Headings) -> Value {
    let version = value
        .pointer("/metadata/resourceVersion")
        .cloned()
        .unwrap_or_default();
    table::table(
        call,
        &[value],
        Map::from_iter([("resourceVersion".to_owned(), version)]),
        headings,
    )
}

fn metadata_only(object: &Value) -> Value {
    json!({
        "kind": "PartialObjectMetadata",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": object.get("metadata").cloned().unwrap_or_else(|| json!({})),
    })
}
