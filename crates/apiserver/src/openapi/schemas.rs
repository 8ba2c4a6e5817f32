//! OpenAPI definitions of kinds.

use std::sync::Arc;

use cambium_schema::{Additional, JsonType, ListType, MapType, PatchStrategy, Property, Schema};
use serde_json::{Map, Value, json};

use super::v2;
use crate::discovery::subresources;
use crate::registry::{Origin, Served};

const META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1";

/// The OpenAPI version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dialect {
    V2,
    V3,
}

impl Dialect {
    pub(super) fn reference(self, name: &str) -> Value {
        match self {
            Self::V2 => json!({"$ref": format!("#/definitions/{name}")}),
            Self::V3 => json!({"$ref": format!("#/components/schemas/{name}")}),
        }
    }

    /// A reference with sibling keywords: v3 ignores the siblings of a plain `$ref`, so it is wrapped in `allOf`.
    fn reference_beside(self, name: &str) -> Value {
        match self {
            Self::V2 => self.reference(name),
            Self::V3 => json!({"allOf": [self.reference(name)]}),
        }
    }
}

/// All definitions of these resources, by name.
pub(super) fn definitions(resources: &[&Arc<Served>], dialect: Dialect) -> Map<String, Value> {
    let mut schemas = Map::new();
    let mut add_type = |schema: &'static Schema| {
        for found in cambium_builtin::types_in(schema) {
            if !schemas.contains_key(found.name) {
                schemas.insert(found.name.to_owned(), component(found, dialect));
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
        for sub in subresources(served) {
            let (group, version) = match sub.version.as_str() {
                "" => (&*served.group, &*served.version),
                version => (&*sub.group, version),
            };
            let found = cambium_builtin::kind_schema(group, version, &sub.kind);
            found.into_iter().for_each(&mut add_type);
        }
    }
    for served in resources {
        let name = component_name(served);
        if let Origin::Custom(definition, index) = &served.origin {
            let raw = &definition.versions[*index].raw_schema;
            schemas.insert(name.clone(), custom_component(raw, dialect));
        }
        let kind = json!([{"group": served.group, "version": served.version, "kind": served.kind}]);
        if let Some(schema) = schemas.get_mut(&name) {
            schema["x-kubernetes-group-version-kind"] = kind;
        }
        schemas.insert(format!("{name}List"), list_component(served, &name, dialect));
    }
    schemas
}

pub(super) fn component_name(served: &Served) -> String {
    match &served.origin {
        Origin::Builtin(row) => row.schema.name.to_owned(),
        Origin::Custom(..) => {
            let group: Vec<&str> = served.group.split('.').rev().collect();
            format!("{}.{}.{}", group.join("."), served.version, served.kind)
        }
    }
}

/// The definition of a built-in type; nested types are references.
pub(super) fn component(schema: &Schema, dialect: Dialect) -> Value {
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
        JsonType::IntOrString if dialect == Dialect::V2 => {
            object.insert("format".to_owned(), json!("int-or-string"));
            Some("string")
        }
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
        let metadata = schema.name.strip_prefix(META) == Some(".ObjectMeta");
        let properties: Map<String, Value> = schema
            .properties
            .iter()
            .map(|property| {
                let mut shown = property_schema(property, dialect);
                if metadata && let Some(description) = about_metadata(&property.name) {
                    shown["description"] = json!(description);
                }
                (property.name.to_string(), shown)
            })
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
        object.insert("additionalProperties".to_owned(), child_schema(child, dialect));
    }
    if let Some(items) = &schema.items {
        object.insert("items".to_owned(), child_schema(items, dialect));
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

fn property_schema(property: &Property, dialect: Dialect) -> Value {
    let mut shown = child_schema(&property.schema, dialect);
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

fn child_schema(schema: &Schema, dialect: Dialect) -> Value {
    match schema.name.is_empty() {
        true => component(schema, dialect),
        false => dialect.reference_beside(schema.name),
    }
}

/// A CRD's schema with `apiVersion`, `kind` and `metadata` added.
fn custom_component(raw: &Value, dialect: Dialect) -> Value {
    // Where anything is allowed, a list of fields would read as the list of all fields.
    let open = dialect == Dialect::V2 && raw["x-kubernetes-preserve-unknown-fields"] == true;
    if open || !raw.is_object() {
        return json!({"type": "object"});
    }
    let mut schema = raw.clone();
    if dialect == Dialect::V2 {
        v2::simplify(&mut schema);
    }
    complete_embedded(&mut schema, dialect);
    schema["type"] = json!("object");
    add_object_fields(&mut schema, dialect);
    schema
}

/// Adds `apiVersion`, `kind` and `metadata` to a schema.
fn add_object_fields(schema: &mut Value, dialect: Dialect) {
    let described = |mut schema: Value, description: &str| {
        schema["description"] = json!(description);
        schema
    };
    let text = json!({"type": "string"});
    let metadata = dialect.reference_beside(&format!("{META}.ObjectMeta"));
    let fields = [
        (
            "apiVersion",
            described(
                text.clone(),
                "APIVersion defines the group and the version of this object's schema.",
            ),
        ),
        ("kind", described(text, "Kind is the kind of this object.")),
        (
            "metadata",
            described(
                metadata,
                "Standard object's metadata: its name, its labels, whose it is.",
            ),
        ),
    ];
    if !schema["properties"].is_object() {
        schema["properties"] = json!({});
    }
    for (name, field) in fields {
        schema["properties"][name] = field;
    }
}

/// Descriptions of `apiVersion`, `kind` and `metadata`.
fn about_metadata(field: &str) -> Option<&'static str> {
    Some(match field {
        "annotations" => "Annotations hold what tools and people note down; nothing is selected by them.",
        "creationTimestamp" => {
            "CreationTimestamp is a timestamp of when the server first stored the object. Only the server sets it."
        }
        "deletionGracePeriodSeconds" => {
            "How long the object may take to end, once its deletion was asked for."
        }
        "deletionTimestamp" => {
            "When the object will be gone, or could be but for its finalizers. Only the server sets it."
        }
        "finalizers" => "Who must let go of the object before it goes: each removes its own entry.",
        "generateName" => "A prefix for a name that the server makes up, where none is given.",
        "generation" => "Counts the changes of what is asked for. Only the server sets it.",
        "labels" => "Labels tell objects apart; selectors select by them.",
        "managedFields" => "Which manager owns which fields.",
        "name" => "The name, unique among objects of the kind in one namespace. It cannot change.",
        "namespace" => "The namespace that the object is in. It cannot change.",
        "ownerReferences" => {
            "The objects that this one belongs to: when all of them are gone, so is this one."
        }
        "resourceVersion" => {
            "Which state of the object this is; an update that names it fails if there is a newer one."
        }
        "selfLink" => "No longer used.",
        "uid" => "Tells the object from others that had its name before. Only the server sets it.",
        _ => return None,
    })
}

/// Adds these fields to schemas with `x-kubernetes-embedded-resource`.
fn complete_embedded(schema: &mut Value, dialect: Dialect) {
    let Some(object) = schema.as_object_mut() else {
        return;
    };
    if let Some(Value::Object(properties)) = object.get_mut("properties") {
        properties
            .values_mut()
            .for_each(|child| complete_embedded(child, dialect));
    }
    for inner in ["items", "additionalProperties"] {
        if let Some(child) = object.get_mut(inner) {
            complete_embedded(child, dialect);
        }
    }
    let is = |extension: &str| schema[extension] == true;
    let open = dialect == Dialect::V2 && is("x-kubernetes-preserve-unknown-fields");
    if open || !is("x-kubernetes-embedded-resource") {
        return;
    }
    add_object_fields(schema, dialect);
    let mut required = schema["required"].as_array().cloned().unwrap_or_default();
    for name in ["kind", "apiVersion"] {
        if !required.iter().any(|known| known == name) {
            required.push(json!(name));
        }
    }
    schema["required"] = json!(required);
}

fn list_component(served: &Served, item: &str, dialect: Dialect) -> Value {
    json!({
        "type": "object",
        "description": format!("A list of {}.", served.kind),
        "required": ["items"],
        "properties": {
            "apiVersion": {"type": "string"},
            "kind": {"type": "string"},
            "metadata": dialect.reference(&format!("{META}.ListMeta")),
            "items": {"type": "array", "items": dialect.reference(item)},
        },
        "x-kubernetes-group-version-kind": [{"group": served.group, "version": served.version, "kind": served.list_kind}],
    })
}
