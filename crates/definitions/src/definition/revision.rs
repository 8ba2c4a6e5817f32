//! The DefinitionRevision object of a version.

use super::{Called, DeclaredVersion};
use crate::Artifact;
use cambium_api::names::{annotation, finalizer, label};
use cambium_api::v1beta1::{API_VERSION, DefinitionType};
use cambium_lineage::RevisionName;
use serde_json::{Value, json};

/// The object that holds a version of a definition, as it is applied.
pub(super) fn revision_object(
    artifact: &Artifact,
    definition: &Value,
    declared: &DeclaredVersion,
    name: &RevisionName,
    number: u64,
) -> Value {
    let kind = artifact.type_.kind();
    let digest = declared.digest;
    let mut labels = json!({});
    if let Some(inherited) = definition["metadata"]["labels"].as_object() {
        for (name, value) in inherited {
            labels[name] = value.clone();
        }
    }
    if is_label_value(&artifact.name) {
        labels[artifact.type_.label()] = json!(artifact.name);
    }
    labels[label::DIGEST] = json!(digest.short());
    let mut spec = json!({
        "revision": number,
        "revisionHash": digest.short(),
        "definitionType": artifact.type_,
        "definitionName": artifact.name,
        "digest": digest.to_string(),
        snapshot_field(artifact.type_): {
            "apiVersion": API_VERSION, "kind": kind,
            "metadata": {"name": artifact.name, "namespace": artifact.namespace},
            "spec": declared.spec,
        },
    });
    if let Called::Version { version, written } = &declared.called {
        spec["version"] = json!(written);
        // A label holds no `+`.
        let text = version.to_string().replace('+', "_");
        if is_label_value(&text) {
            labels[label::DEFINITION_VERSION] = json!(text);
        }
    }
    json!({
        "apiVersion": API_VERSION,
        "kind": "DefinitionRevision",
        "metadata": {
            "name": name,
            "namespace": artifact.namespace,
            "labels": labels,
            "annotations": {annotation::DIGEST: digest.to_string()},
            "finalizers": [finalizer::IN_USE],
            "ownerReferences": [{
                "apiVersion": API_VERSION, "kind": kind, "name": artifact.name,
                "uid": definition["metadata"]["uid"], "controller": true, "blockOwnerDeletion": false,
            }],
        },
        "spec": spec,
    })
}

fn snapshot_field(type_: DefinitionType) -> &'static str {
    match type_ {
        DefinitionType::Component => "componentDefinition",
        DefinitionType::Trait => "traitDefinition",
        DefinitionType::Policy => "policyDefinition",
        DefinitionType::WorkflowStep => "workflowStepDefinition",
    }
}

fn is_label_value(text: &str) -> bool {
    let legal = |character: char| character.is_ascii_alphanumeric() || matches!(character, '-' | '_' | '.');
    text.len() <= 63
        && text.chars().all(legal)
        && text.starts_with(|first: char| first.is_ascii_alphanumeric())
        && text.ends_with(|last: char| last.is_ascii_alphanumeric())
}
