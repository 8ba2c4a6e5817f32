//! OpenAPI v3: one document per group and version, made when first asked for.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use cambium_schema::{Additional, JsonType, ListType, MapType, PatchStrategy, Property, Schema};
use http::StatusCode;
use http::header::{CACHE_CONTROL, ETAG, HeaderMap, HeaderValue, IF_NONE_MATCH};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use crate::registry::{Origin, Registry, Served};
use crate::server::Server;
use crate::status::{Result, Status};
use crate::wire::{Body, Encoding, Response, bytes_response, text_response, value_response};

const META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1";

/// Documents that were made, by group version, each good for one state of its resources.
#[derive(Default)]
pub(crate) struct Cache(Mutex<HashMap<String, Document>>);

#[derive(Clone)]
struct Document {
    /// What the document was made from; kept, so that the comparison by address holds.
    of: Vec<Arc<Served>>,
    hash: String,
    bytes: Bytes,
}

/// Serves the index and the documents.
pub(crate) fn serve(server: &Server, path: &str, headers: &HeaderMap) -> Result<Response> {
    let registry = server.registry();
    let name = path.trim_start_matches("/openapi/v3").trim_matches('/');
    if name.is_empty() {
        let mut paths = BTreeMap::new();
        for (name, group, version) in documents(&registry) {
            let hash = document(server, &registry, &name, &group, &version).hash;
            let url = format!("/openapi/v3/{name}?hash={hash}");
            paths.insert(name, json!({"serverRelativeURL": url}));
        }
        return Ok(value_response(
            StatusCode::OK,
            Encoding::Json,
            &json!({"paths": paths}),
        ));
    }
    let Some((_, group, version)) = documents(&registry).into_iter().find(|(one, ..)| one == name) else {
        return Ok(text_response(StatusCode::NOT_FOUND, "404 page not found\n"));
    };
    let document = document(server, &registry, name, &group, &version);
    let tag = HeaderValue::from_str(&format!("\"{}\"", document.hash)).map_err(Status::internal)?;
    let known = headers.get(IF_NONE_MATCH).is_some_and(|given| *given == tag);
    let mut response = match known {
        true => bytes_response(StatusCode::NOT_MODIFIED, "application/json", Body::empty()),
        false => bytes_response(StatusCode::OK, "application/json", Body::full(document.bytes)),
    };
    response.headers_mut().insert(ETAG, tag);
    response
        .headers_mut()
        .insert(CACHE_CONTROL, HeaderValue::from_static("public, immutable"));
    Ok(response)
}

/// `(name, group, version)` of every document.
fn documents(registry: &Registry) -> Vec<(String, Arc<str>, Arc<str>)> {
    let mut list: Vec<_> = registry
        .all()
        .map(|served| {
            let root = if served.group.is_empty() { "api" } else { "apis" };
            (
                format!("{root}/{}", served.api_version),
                served.group.clone(),
                served.version.clone(),
            )
        })
        .collect();
    list.sort();
    list.dedup();
    list
}

fn document(server: &Server, registry: &Registry, name: &str, group: &str, version: &str) -> Document {
    let resources: Vec<&Arc<Served>> = registry.of_version(group, version).collect();
    let mut cache = server.openapi.0.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(document) = cache.get(name).filter(|document| same(&document.of, &resources)) {
        return document.clone();
    }
    let bytes = serde_json::to_vec(&build(&resources)).expect("a JSON tree always encodes into memory");
    let hash: String = Sha256::digest(&bytes)
        .iter()
        .map(|byte| format!("{byte:02X}"))
        .collect();
    let of = resources.into_iter().cloned().collect();
    let document = Document {
        of,
        hash,
        bytes: bytes.into(),
    };
    cache.insert(name.to_owned(), document.clone());
    document
}

fn same(known: &[Arc<Served>], now: &[&Arc<Served>]) -> bool {
    known.len() == now.len() && known.iter().zip(now).all(|(known, now)| Arc::ptr_eq(known, now))
}

fn build(resources: &[&Arc<Served>]) -> Value {
    let mut paths = Map::new();
    let mut schemas = Map::new();
    let mut add_type = |schema: &'static Schema| {
        for found in cambium_builtin::types_in(schema) {
            if !schemas.contains_key(found.name) {
                schemas.insert(found.name.to_owned(), component(found));
            }
        }
    };
    for name in ["ObjectMeta", "ListMeta", "DeleteOptions", "Status"] {
        if let Some(schema) = cambium_builtin::type_named(&format!("{META}.{name}")) {
            add_type(schema);
        }
    }
    for served in resources {
        if let Origin::Builtin(row) = &served.origin {
            add_type(row.schema);
        }
    }
    for served in resources {
        let name = component_name(served);
        if let Origin::Custom(definition, index) = &served.origin {
            schemas.insert(
                name.clone(),
                custom_component(&definition.versions[*index].raw_schema),
            );
        }
        let kind = json!([{"group": served.group, "version": served.version, "kind": served.kind}]);
        if let Some(schema) = schemas.get_mut(&name) {
            schema["x-kubernetes-group-version-kind"] = kind;
        }
        schemas.insert(format!("{name}List"), list_component(served, &name));
        add_paths(&mut paths, served, &name);
    }
    json!({
        "openapi": "3.0.0",
        "info": {"title": "Kubernetes", "version": crate::health::KUBERNETES_VERSION},
        "paths": paths,
        "components": {"schemas": schemas},
    })
}

fn component_name(served: &Served) -> String {
    match &served.origin {
        Origin::Builtin(row) => row.schema.name.to_owned(),
        Origin::Custom(..) => {
            let group: Vec<&str> = served.group.split('.').rev().collect();
            format!("{}.{}.{}", group.join("."), served.version, served.kind)
        }
    }
}

fn reference(name: &str) -> Value {
    json!({"$ref": format!("#/components/schemas/{name}")})
}

/// A built-in type as a component; types inside it are references.
fn component(schema: &Schema) -> Value {
    let mut object = Map::new();
    if !schema.description.is_empty() {
        object.insert("description".to_owned(), json!(schema.description));
    }
    let kind = match schema.json_type {
        JsonType::Any => None,
        JsonType::Object => Some("object"),
        JsonType::Array => Some("array"),
        JsonType::String => Some("string"),
        JsonType::Integer => Some("integer"),
        JsonType::Number => Some("number"),
        JsonType::Boolean => Some("boolean"),
        JsonType::IntOrString => {
            object.insert(
                "oneOf".to_owned(),
                json!([{"type": "integer"}, {"type": "string"}]),
            );
            object.insert("x-kubernetes-int-or-string".to_owned(), json!(true));
            None
        }
    };
    if let Some(kind) = kind {
        object.insert("type".to_owned(), json!(kind));
    }
    if !schema.format.is_empty()
        && matches!(
            &*schema.format,
            "int32" | "int64" | "byte" | "date-time" | "double"
        )
    {
        object.insert("format".to_owned(), json!(schema.format));
    }
    if !schema.properties.is_empty() {
        let properties: Map<String, Value> = schema
            .properties
            .iter()
            .map(|property| (property.name.to_string(), property_schema(property)))
            .collect();
        object.insert("properties".to_owned(), Value::Object(properties));
        let required: Vec<&str> = schema
            .properties
            .iter()
            .filter(|property| property.required)
            .map(|property| &*property.name)
            .collect();
        if !required.is_empty() {
            object.insert("required".to_owned(), json!(required));
        }
    }
    if let Additional::Schema(child) = &schema.additional {
        object.insert("additionalProperties".to_owned(), child_schema(child));
    }
    if let Some(items) = &schema.items {
        object.insert("items".to_owned(), child_schema(items));
        match &schema.list {
            ListType::Atomic => object.insert("x-kubernetes-list-type".to_owned(), json!("atomic")),
            ListType::Set => object.insert("x-kubernetes-list-type".to_owned(), json!("set")),
            ListType::Map(keys) => {
                object.insert("x-kubernetes-list-map-keys".to_owned(), json!(keys));
                object.insert("x-kubernetes-list-type".to_owned(), json!("map"))
            }
        };
    }
    if schema.map == MapType::Atomic {
        object.insert("x-kubernetes-map-type".to_owned(), json!("atomic"));
    }
    Value::Object(object)
}

fn property_schema(property: &Property) -> Value {
    let mut shown = child_schema(&property.schema);
    let strategy = match property.patch {
        PatchStrategy::Replace => None,
        PatchStrategy::Merge => Some("merge"),
        PatchStrategy::RetainKeys => Some("retainKeys"),
        PatchStrategy::MergeRetainKeys => Some("merge,retainKeys"),
    };
    if let Some(strategy) = strategy {
        shown["x-kubernetes-patch-strategy"] = json!(strategy);
    }
    if !property.patch_merge_key.is_empty() {
        shown["x-kubernetes-patch-merge-key"] = json!(property.patch_merge_key);
    }
    shown
}

fn child_schema(schema: &Schema) -> Value {
    match schema.name.is_empty() {
        true => component(schema),
        false => json!({"allOf": [reference(schema.name)]}),
    }
}

/// A CRD's schema, completed by what every object has.
fn custom_component(raw: &Value) -> Value {
    let mut schema = raw.clone();
    if !schema.is_object() {
        schema = json!({});
    }
    schema["type"] = json!("object");
    let own = schema
        .get("properties")
        .and_then(Value::as_object)
        .cloned()
        .unwrap_or_default();
    let mut properties = own;
    properties.insert(
        "apiVersion".to_owned(),
        json!({"type": "string", "description": "The group and version of this object's schema."}),
    );
    properties.insert(
        "kind".to_owned(),
        json!({"type": "string", "description": "The kind of this object."}),
    );
    let metadata = json!({"allOf": [reference(&format!("{META}.ObjectMeta"))], "description": "What every object has: name, labels, owners."});
    properties.insert("metadata".to_owned(), metadata);
    schema["properties"] = Value::Object(properties);
    schema
}

fn list_component(served: &Served, item: &str) -> Value {
    json!({
        "type": "object",
        "description": format!("A list of {}.", served.kind),
        "required": ["items"],
        "properties": {
            "apiVersion": {"type": "string"},
            "kind": {"type": "string"},
            "metadata": reference(&format!("{META}.ListMeta")),
            "items": {"type": "array", "items": reference(item)},
        },
        "x-kubernetes-group-version-kind": [{"group": served.group, "version": served.version, "kind": served.list_kind}],
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
            "responses": {"200": {"description": "OK", "content": {"application/json": {"schema": reference(name)}}}},
            "x-kubernetes-action": action, "x-kubernetes-group-version-kind": kind,
        });
        if writes {
            operation["parameters"] = json!(writing);
            operation["requestBody"] =
                json!({"content": {"*/*": {"schema": reference(name)}}, "required": true});
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
