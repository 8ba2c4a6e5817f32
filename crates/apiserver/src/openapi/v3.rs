//! Documents of OpenAPI v3.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::schemas::{Dialect, component_name, definitions};
use crate::registry::Served;

/// The document of one group and version.
pub(super) fn build(resources: &[&Arc<Served>]) -> Value {
    let mut paths = Map::new();
    for served in resources {
        add_paths(&mut paths, served, &component_name(served));
    }
    json!({
        "openapi": "3.0.0",
        "info": {"title": "Kubernetes", "version": crate::health::KUBERNETES_VERSION},
        "paths": paths,
        "components": {"schemas": definitions(resources, Dialect::V3)},
    })
}

fn add_paths(paths: &mut Map<String, Value>, served: &Served, name: &str) {
    let root = if served.group.is_empty() { "/api" } else { "/apis" };
    let place = if served.namespaced {
        "/namespaces/{namespace}"
    } else {
        ""
    };
    let collection = format!("{root}/{}{place}/{}", served.api_version, served.plural);
    let kind = json!({"group": served.group, "version": served.version, "kind": served.kind});
    let query =
        |name: &str| json!({"name": name, "in": "query", "schema": {"type": "string", "uniqueItems": true}});
    let writing = [query("dryRun"), query("fieldManager"), query("fieldValidation")];
    let operation = |action: &str, writes: bool| {
        let mut operation = json!({
            "responses": {"200": {"description": "OK", "content": {"application/json": {"schema": Dialect::V3.reference(name)}}}},
            "x-kubernetes-action": action, "x-kubernetes-group-version-kind": kind,
        });
        if writes {
            operation["parameters"] = json!(writing);
            operation["requestBody"] =
                json!({"content": {"*/*": {"schema": Dialect::V3.reference(name)}}, "required": true});
        }
        operation
    };
    if !served.is_stored() {
        paths.insert(collection, json!({"post": operation("post", true)}));
        return;
    }
    let one = format!("{collection}/{{name}}");
    paths.insert(
        collection,
        json!({"get": operation("list", false), "post": operation("post", true), "delete": operation("deletecollection", false)}),
    );
    paths.insert(
        one,
        json!({
            "get": operation("get", false), "put": operation("put", true),
            "patch": operation("patch", true), "delete": operation("delete", false),
        }),
    );
}
