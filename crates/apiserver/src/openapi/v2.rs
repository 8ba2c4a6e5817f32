//! The document of OpenAPI v2.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::schemas::{Dialect, component_name, definitions};
use crate::registry::Served;

/// The document of everything that is served.
pub(super) fn build(resources: &[&Arc<Served>]) -> Value {
    let mut paths = Map::new();
    for served in resources {
        add_paths(&mut paths, served, &component_name(served));
    }
    json!({
        "swagger": "2.0",
        "info": {"title": "Kubernetes", "version": crate::health::KUBERNETES_VERSION},
        "paths": paths,
        "definitions": definitions(resources, Dialect::V2),
    })
}

/// Leaves out of a CRD's schema what v2 cannot say, and what clients of v2 would misread.
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

/// A field that may be null may be missing, too: v2 has no other way to say so.
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

fn add_paths(paths: &mut Map<String, Value>, served: &Served, name: &str) {
    let root = if served.group.is_empty() { "/api" } else { "/apis" };
    let collection = format!("{root}/{}", served.api_version);
    let (place, parameters) = match served.namespaced {
        true => ("/namespaces/{namespace}", vec![in_path("namespace")]),
        false => ("", vec![]),
    };
    let collection = format!("{collection}{place}/{}", served.plural);
    let operation = |action: &str, writes: bool| operation(served, name, action, writes);
    if !served.is_stored() {
        let path = json!({"post": operation("post", true), "parameters": parameters});
        paths.insert(collection, path);
        return;
    }
    let mut named = parameters.clone();
    named.insert(0, in_path("name"));
    let one = format!("{collection}/{{name}}");
    paths.insert(
        collection,
        json!({
            "get": operation("list", false), "post": operation("post", true),
            "delete": operation("deletecollection", false), "parameters": parameters,
        }),
    );
    paths.insert(
        one,
        json!({
            "get": operation("get", false), "put": operation("put", true), "patch": operation("patch", true),
            "delete": operation("delete", false), "parameters": named,
        }),
    );
}

fn operation(served: &Served, name: &str, action: &str, writes: bool) -> Value {
    let query = |name: &str| json!({"name": name, "in": "query", "type": "string", "uniqueItems": true});
    let kind = json!({"group": served.group, "version": served.version, "kind": served.kind});
    let answer = match action {
        "list" => Dialect::V2.reference(&format!("{name}List")),
        _ => Dialect::V2.reference(name),
    };
    let parameters = match writes {
        true => json!([
            {"name": "body", "in": "body", "required": true, "schema": Dialect::V2.reference(name)},
            query("dryRun"), query("fieldManager"), query("fieldValidation"),
        ]),
        false => json!([]),
    };
    json!({
        "consumes": ["*/*"], "produces": ["application/json", "application/yaml"],
        "parameters": parameters, "responses": {"200": {"description": "OK", "schema": answer}},
        "x-kubernetes-action": action, "x-kubernetes-group-version-kind": kind,
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
