//! Schemas of the standard fields that every composite resource and claim has for composition.

use cambium_api::crossplane::Scope;
use serde_json::{Map, Value, json};

use super::parsed::Definition;

/// Objects of schemas by the name of the field, to be added to `spec` and `status`.
pub(super) struct Fields {
    pub(super) spec: Value,
    pub(super) status: Value,
}

/// Those of composite resources.
pub(super) fn composite(definition: &Definition) -> Fields {
    let mut spec = common();
    spec["compositionUpdatePolicy"]["default"] = json!(definition.default_policy());
    spec["resourceRefs"] = resource_refs(definition.scope());
    if definition.scope() != Scope::LegacyCluster {
        return nested(&spec);
    }
    spec["claimRef"] = reference(
        "The claim that it is bound to.",
        &["apiVersion", "kind", "namespace", "name"],
    );
    spec["writeConnectionSecretToRef"] = reference(
        "The Secret that connection details are written to.",
        &["name", "namespace"],
    );
    spec["publishConnectionDetailsTo"] = secret_store();
    Fields {
        spec,
        status: legacy_status(),
    }
}

/// Those of claims.
pub(super) fn claim(definition: &Definition) -> Fields {
    let mut spec = common();
    spec["compositeDeletePolicy"] = json!({
        "type": "string", "enum": ["Background", "Foreground"], "default": definition.default_delete_policy(),
        "description": "`Background` deletes the claim at once, `Foreground` after all composed resources are deleted.",
    });
    spec["resourceRef"] = reference(
        "The composite resource that it is bound to.",
        &["apiVersion", "kind", "name"],
    );
    spec["writeConnectionSecretToRef"] = reference(
        "The Secret that connection details are written to, in the claim's namespace.",
        &["name"],
    );
    spec["publishConnectionDetailsTo"] = secret_store();
    Fields {
        spec,
        status: legacy_status(),
    }
}

fn common() -> Value {
    let policy = "`Automatic` takes the current revision as soon as there is one, `Manual` stays at the revision that is named.";
    json!({
        "compositionRef": reference("The Composition that it is composed by.", &["name"]),
        "compositionSelector": selector("Chooses a Composition by its labels, once, if none is named."),
        "compositionRevisionRef": reference("The revision of the Composition that it is composed by.", &["name"]),
        "compositionRevisionSelector": selector("Narrows by their labels the revisions that an automatic update may take."),
        "compositionUpdatePolicy": {"type": "string", "enum": ["Automatic", "Manual"], "description": policy},
    })
}

fn nested(spec: &Value) -> Fields {
    let object = |description: &str, fields: &Value| json!({"type": "object", "description": description, "properties": fields});
    let status = json!({"compositionUpdatePolicy": policy_in_force()});
    Fields {
        spec: json!({"crossplane": object("Configures how it is composed.", spec)}),
        status: json!({
            "conditions": conditions(),
            "crossplane": object("Shows how it is composed.", &status),
        }),
    }
}

fn legacy_status() -> Value {
    json!({
        "conditions": conditions(),
        "connectionDetails": {
            "type": "object",
            "description": "The state of the connection details.",
            "properties": {"lastPublishedTime": {
                "type": "string", "format": "date-time", "description": "When they were last written.",
            }},
        },
        "claimConditionTypes": {
            "type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set",
            "description": "The conditions that the claim shows as well.",
        },
        "compositionUpdatePolicy": policy_in_force(),
    })
}

fn policy_in_force() -> Value {
    json!({
        "type": "string", "enum": ["Automatic", "Manual"],
        "description": "The update policy that is in force: that of the spec, or the one that the definition enforces.",
    })
}

fn resource_refs(scope: Scope) -> Value {
    let names: &[&str] = match scope {
        // What a namespaced resource composes is in its own namespace.
        Scope::Namespaced => &["apiVersion", "kind", "name"],
        Scope::Cluster | Scope::LegacyCluster => &["apiVersion", "kind", "name", "namespace"],
    };
    let mut item = reference("A composed resource. Its name is set once it is known.", names);
    item["required"] = json!(["apiVersion", "kind"]);
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
            "description": "Labels that an object must have, all of them.",
        }},
    })
}

/// An object that is named by these fields, all required.
fn reference(description: &str, names: &[&str]) -> Value {
    let field = |name: &&str| {
        let schema = json!({"type": "string", "description": meaning(name)});
        ((*name).to_owned(), schema)
    };
    let fields: Map<String, Value> = names.iter().map(field).collect();
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
    let text = |description: &str| json!({"type": "string", "description": description});
    json!({
        "type": "array",
        "description": "`Synced`: all composed resources were applied. `Ready`: all of them are ready.",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["type"],
        "items": {
            "type": "object",
            "required": ["lastTransitionTime", "reason", "status", "type"],
            "properties": {
                "lastTransitionTime": {
                    "type": "string", "format": "date-time", "description": "When the status last changed.",
                },
                "message": text("A human-readable message with details and what to do."),
                "observedGeneration": {
                    "type": "integer", "format": "int64",
                    "description": "The generation of the object that the condition was made for.",
                },
                "reason": text("A CamelCase reason for the condition's last transition."),
                "status": text("True, False or Unknown."),
                "type": text("The type of the condition."),
            },
        },
    })
}
