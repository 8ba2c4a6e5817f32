//! The fields that every composite resource and every claim has, as schemas.

use cambium_api::crossplane::{CompositeDeletePolicy, Scope};
use serde_json::{Map, Value, json};

use super::meaning::Definition;

/// Fields to add to `spec` and `status`.
pub(super) struct Fields {
    pub(super) spec: Map<String, Value>,
    pub(super) status: Map<String, Value>,
}

/// Those of composite resources.
pub(super) fn composite(definition: &Definition) -> Fields {
    let mut policy = update_policy();
    policy["default"] = json!(definition.default_policy().as_str());
    let mut spec = common(policy);
    spec.insert("resourceRefs".to_owned(), resource_refs(definition.scope()));
    if definition.scope() != Scope::LegacyCluster {
        let description = "How it is composed.";
        return Fields {
            spec: one(
                "crossplane",
                json!({"type": "object", "description": description, "properties": spec}),
            ),
            status: [
                ("conditions".to_owned(), conditions()),
                (
                    "crossplane".to_owned(),
                    json!({
                        "type": "object",
                        "description": "What is known about how it is composed.",
                        "properties": {"compositionUpdatePolicy": policy_in_force()},
                    }),
                ),
            ]
            .into_iter()
            .collect(),
        };
    }
    spec.insert(
        "claimRef".to_owned(),
        reference(
            "The claim that it was made for.",
            &["apiVersion", "kind", "namespace", "name"],
        ),
    );
    spec.insert(
        "writeConnectionSecretToRef".to_owned(),
        reference(
            "The Secret that connection details are written to.",
            &["name", "namespace"],
        ),
    );
    spec.insert("publishConnectionDetailsTo".to_owned(), secret_store());
    Fields {
        spec,
        status: legacy_status(),
    }
}

/// Those of claims.
pub(super) fn claim(definition: &Definition) -> Fields {
    let policy = match definition.default_delete_policy() {
        CompositeDeletePolicy::Background => "Background",
        CompositeDeletePolicy::Foreground => "Foreground",
    };
    let mut spec = common(update_policy());
    spec.insert("compositeDeletePolicy".to_owned(), json!({
        "type": "string", "enum": ["Background", "Foreground"], "default": policy,
        "description": "`Foreground`: the claim goes when everything that was composed is gone. `Background`: it goes at once.",
    }));
    spec.insert(
        "resourceRef".to_owned(),
        reference(
            "The composite resource that was made for it.",
            &["apiVersion", "kind", "name"],
        ),
    );
    spec.insert(
        "writeConnectionSecretToRef".to_owned(),
        reference(
            "The Secret that connection details are written to, in the claim's namespace.",
            &["name"],
        ),
    );
    spec.insert("publishConnectionDetailsTo".to_owned(), secret_store());
    Fields {
        spec,
        status: legacy_status(),
    }
}

fn common(update_policy: Value) -> Map<String, Value> {
    let mut fields = Map::new();
    let mut add = |name: &str, schema| fields.insert(name.to_owned(), schema);
    add(
        "compositionRef",
        reference("The Composition that it is composed by.", &["name"]),
    );
    add(
        "compositionSelector",
        selector("Chooses a Composition by its labels, once, if none is named."),
    );
    add(
        "compositionRevisionRef",
        reference(
            "The revision of the Composition that it is composed by.",
            &["name"],
        ),
    );
    add(
        "compositionRevisionSelector",
        selector("Narrows by their labels the revisions that an automatic update may take."),
    );
    add("compositionUpdatePolicy", update_policy);
    fields
}

fn legacy_status() -> Map<String, Value> {
    let mut fields = one("conditions", conditions());
    let mut add = |name: &str, schema| fields.insert(name.to_owned(), schema);
    add(
        "connectionDetails",
        json!({
            "type": "object",
            "description": "What is known about the connection details.",
            "properties": {"lastPublishedTime": {
                "type": "string", "format": "date-time", "description": "When they were last written.",
            }},
        }),
    );
    add(
        "claimConditionTypes",
        json!({
            "type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set",
            "description": "The conditions that the claim shows as well.",
        }),
    );
    add("compositionUpdatePolicy", policy_in_force());
    fields
}

fn update_policy() -> Value {
    json!({
        "type": "string", "enum": ["Automatic", "Manual"],
        "description": "`Automatic` takes the current revision as soon as there is one, `Manual` stays at the revision that is named.",
    })
}

fn policy_in_force() -> Value {
    json!({
        "type": "string", "enum": ["Automatic", "Manual"],
        "description": "The update policy that is in force: that of the spec, or the one that the definition enforces.",
    })
}

fn resource_refs(scope: Scope) -> Value {
    let mut names = vec!["apiVersion", "kind", "name"];
    // What a namespaced resource composes is in its own namespace.
    if scope != Scope::Namespaced {
        names.push("namespace");
    }
    let mut item = reference("", &names);
    item["required"] = json!(["apiVersion", "kind"]);
    if let Some(item) = item.as_object_mut() {
        item.remove("description");
    }
    json!({
        "type": "array", "items": item, "x-kubernetes-list-type": "atomic",
        "description": "The resources that it is composed of.",
    })
}

/// An alpha feature of 1.x that 2.x does not have. Objects that use it are taken as they are.
fn secret_store() -> Value {
    let text = |description: &str| json!({"type": "string", "description": description});
    let texts = |description: &str| json!({"type": "object", "additionalProperties": {"type": "string"}, "description": description});
    json!({
        "type": "object",
        "description": "Where Crossplane 1.x published connection details besides. It is not used.",
        "required": ["name"],
        "properties": {
            "name": text("The name under which they were published."),
            "configRef": {
                "type": "object",
                "description": "The store.",
                "default": {"name": "default"},
                "properties": {"name": text("The name of a StoreConfig.")},
            },
            "metadata": {
                "type": "object",
                "description": "What was written beside them.",
                "properties": {
                    "labels": texts("Labels."),
                    "annotations": texts("Annotations."),
                    "type": text("The type of the Secret."),
                },
            },
        },
    })
}

fn selector(description: &str) -> Value {
    json!({
        "type": "object",
        "description": description,
        "required": ["matchLabels"],
        "properties": {"matchLabels": {
            "type": "object", "additionalProperties": {"type": "string"},
            "description": "Labels that all must be there.",
        }},
    })
}

/// An object that is named by these fields, all required.
fn reference(description: &str, names: &[&str]) -> Value {
    let fields: Map<String, Value> = names
        .iter()
        .map(|name| {
            (
                (*name).to_owned(),
                json!({"type": "string", "description": meaning(name)}),
            )
        })
        .collect();
    json!({"type": "object", "description": description, "required": names, "properties": fields})
}

fn meaning(name: &str) -> &'static str {
    match name {
        "apiVersion" => "Group and version.",
        "kind" => "The kind.",
        "namespace" => "The namespace.",
        _ => "The name.",
    }
}

fn conditions() -> Value {
    json!({
        "type": "array",
        "description": "`Synced`: everything was written. `Ready`: everything works.",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["type"],
        "items": {
            "type": "object",
            "required": ["lastTransitionTime", "reason", "status", "type"],
            "properties": {
                "lastTransitionTime": {
                    "type": "string", "format": "date-time", "description": "When the status last changed.",
                },
                "message": {"type": "string", "description": "Why, and what to do, for a person."},
                "observedGeneration": {
                    "type": "integer", "format": "int64",
                    "description": "The generation of the object that the condition was made for.",
                },
                "reason": {"type": "string", "description": "Why, as one word to look up."},
                "status": {"type": "string", "description": "Whether it holds."},
                "type": {"type": "string", "description": "What the condition is about."},
            },
        },
    })
}

fn one(name: &str, schema: Value) -> Map<String, Value> {
    [(name.to_owned(), schema)].into_iter().collect()
}
