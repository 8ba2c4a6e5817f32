//! Builds the OpenAPI v2 document.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::operations::{self, Operation};
use super::schemas::{Dialect, definitions};
use crate::registry::Served;

/// The document of these resources.
pub(super) fn build(resources: &[&Arc<Served>]) -> Value {
    let mut paths = Map::new();
    for served in resources {
        add_paths(&mut paths, served);
    }
    json!({
        "swagger": "2.0",
        "info": {"title": "Kubernetes", "version": crate::health::KUBERNETES_VERSION},
        "paths": paths,
        "definitions": definitions(resources, Dialect::V2),
    })
}

/// Removes from a CRD's schema what v2 cannot express, or what v2 clients would misinterpret.
pub(super) fn simplify(schema: &mut Value) {
    let Some(object) = schema.as_object_mut() else {
        return;
    };
    for word in ["allOf", "oneOf", "anyOf", "not", "default"] {
        object.remove(word);
    }
    let is = |object: &Map<String, Value>, word: &str| object.get(word) == Some(&Value::Bool(true));
    let open = is(object, "x-kubernetes-preserve-unknown-fields");
    let nullable = is(object, "nullable");
    object.remove("nullable");
    if nullable || open {
        // Whatever has no type must have no parts.
        object.remove("items");
        object.remove("properties");
    }
    let kind = object.get("type").and_then(Value::as_str).unwrap_or_default();
    let untyped = nullable || open && kind == "object" || kind == "array" && !object.contains_key("items");
    if untyped {
        object.remove("type");
    }
    leave_out_nullable(object);
    if let Some(Value::Object(properties)) = object.get_mut("properties") {
        properties.values_mut().for_each(simplify);
    }
    for inner in ["items", "additionalProperties"] {
        if let Some(child) = object.get_mut(inner) {
            simplify(child);
        }
    }
}

/// Removes nullable fields from `required`: v2 has no `nullable`.
fn leave_out_nullable(object: &mut Map<String, Value>) {
    let is_nullable = |schema: Option<&Value>| schema.is_some_and(|schema| schema["nullable"] == true);
    let any = is_nullable(object.get("additionalProperties"));
    let Some(Value::Array(required)) = object.get("required") else {
        return;
    };
    let properties = object.get("properties");
    let stays = |name: &&Value| {
        let field = name.as_str().and_then(|name| properties?.get(name));
        !any && !is_nullable(field)
    };
    let required: Vec<Value> = required.iter().filter(stays).cloned().collect();
    match required.is_empty() {
        true => drop(object.remove("required")),
        false => drop(object.insert("required".to_owned(), required.into())),
    }
}

fn add_paths(paths: &mut Map<String, Value>, served: &Served) {
    for operation in operations::of(served) {
        let mut parameters: Vec<Value> = vec![];
        for name in ["name", "namespace"] {
            if operation.path.contains(&format!("{{{name}}}")) {
                parameters.push(in_path(name));
            }
        }
        let item = paths
            .entry(operation.path.clone())
            .or_insert_with(|| json!({"parameters": parameters}));
        item[operation.method] = describe(&operation);
    }
}

fn describe(operation: &Operation) -> Value {
    let query = |name: &str| json!({"name": name, "in": "query", "type": "string", "uniqueItems": true});
    let [group, version, kind] = &operation.about;
    let answer = match &operation.answer {
        Some(name) => Dialect::V2.reference(name),
        None => json!({"type": "string"}),
    };
    let parameters = match &operation.body {
        Some(name) => json!([
            {"name": "body", "in": "body", "required": true, "schema": Dialect::V2.reference(name)},
            query("dryRun"), query("fieldManager"), query("fieldValidation"),
        ]),
        None => json!([]),
    };
    json!({
        "consumes": ["*/*"], "produces": ["application/json", "application/yaml"], "operationId": operation.id,
        "parameters": parameters, "responses": {"200": {"description": "OK", "schema": answer}},
        "x-kubernetes-action": operation.action,
        "x-kubernetes-group-version-kind": {"group": group, "version": version, "kind": kind},
    })
}

fn in_path(name: &str) -> Value {
    json!({"name": name, "in": "path", "required": true, "type": "string", "uniqueItems": true})
}

#[cfg(test)]
mod tests {
    use super::simplify;
    use serde_json::json;

    #[test]
    fn what_v2_cannot_say_is_left_out() {
        let mut schema = json!({
            "type": "object", "required": ["a", "b"], "oneOf": [{"required": ["a"]}],
            "properties": {
                "a": {"type": "array", "nullable": true, "items": {"type": "string"}},
                "b": {"type": "object", "x-kubernetes-preserve-unknown-fields": true, "properties": {"c": {"type": "string"}}},
                "d": {"type": "array", "items": {"not": {"type": "string"}, "type": "integer"}},
            },
        });
        simplify(&mut schema);
        let simple = json!({
            "type": "object", "required": ["b"],
            "properties": {
                "a": {}, "b": {"x-kubernetes-preserve-unknown-fields": true}, "d": {"type": "array", "items": {"type": "integer"}},
            },
        });
        assert_eq!(schema, simple);
    }
}
