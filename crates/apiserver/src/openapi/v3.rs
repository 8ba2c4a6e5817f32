//! Builds OpenAPI v3 documents.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::operations::{self, Operation};
use super::schemas::{Dialect, definitions};
use crate::registry::Served;

/// The document of one group version.
pub(super) fn build(resources: &[&Arc<Served>]) -> Value {
    let mut paths = Map::new();
    for served in resources {
        add_paths(&mut paths, served);
    }
    json!({
        "openapi": "3.0.0",
        "info": {"title": "Kubernetes", "version": crate::health::KUBERNETES_VERSION},
        "paths": paths,
        "components": {"schemas": definitions(resources, Dialect::V3)},
    })
}

fn add_paths(paths: &mut Map<String, Value>, served: &Served) {
    for operation in operations::of(served) {
        let item = paths.entry(operation.path.clone()).or_insert_with(|| json!({}));
        item[operation.method] = describe(&operation);
    }
}

fn describe(operation: &Operation) -> Value {
    let query =
        |name: &str| json!({"name": name, "in": "query", "schema": {"type": "string", "uniqueItems": true}});
    let [group, version, kind] = &operation.about;
    let content = match &operation.answer {
        Some(name) => json!({"application/json": {"schema": Dialect::V3.reference(name)}}),
        None => json!({"*/*": {"schema": {"type": "string"}}}),
    };
    let mut described = json!({
        "operationId": operation.id,
        "responses": {"200": {"description": "OK", "content": content}},
        "x-kubernetes-action": operation.action,
        "x-kubernetes-group-version-kind": {"group": group, "version": version, "kind": kind},
    });
    if let Some(name) = &operation.body {
        described["parameters"] = json!([query("dryRun"), query("fieldManager"), query("fieldValidation")]);
        described["requestBody"] =
            json!({"content": {"*/*": {"schema": Dialect::V3.reference(name)}}, "required": true});
    }
    described
}
