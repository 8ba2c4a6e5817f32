//! The schema of a composition: what Crossplane 1.20 and 2.x accept, taken together.
//!
//! Fields that it does not name are kept, and there are no defaults: a revision is what somebody wrote.

use schemars::{Schema, json_schema};
use serde_json::{Value, json};

use super::definition_schema::immutable;
use super::patch_schema::patches;

/// The most steps that a pipeline may have.
const MAX_STEPS: usize = 99;

/// The schema of a Composition's spec.
pub(super) fn composition() -> Schema {
    let rules = json!([{
        "rule": "!has(self.mode) || self.mode != 'Pipeline' || has(self.pipeline)", "fieldPath": ".pipeline",
        "message": "an array of pipeline steps is required in Pipeline mode",
    }]);
    json_schema!({
        "type": "object",
        "description": "What composite resources are composed of.",
        "required": ["compositeTypeRef"],
        "properties": fields(),
        "x-kubernetes-preserve-unknown-fields": true,
        "x-kubernetes-validations": rules,
    })
}

/// The schema of a CompositionRevision's spec: a Composition's, and `revision`.
pub(super) fn revision() -> Schema {
    let mut fields = fields();
    fields["revision"] = json!({
        "type": "integer", "format": "int64",
        "description": "Its number in the lineage. The highest is current; numbers are not used again.",
    });
    json_schema!({
        "type": "object",
        "description": "The Composition's spec as it was, and its number.",
        "required": ["compositeTypeRef", "revision"],
        "properties": fields,
        "x-kubernetes-preserve-unknown-fields": true,
    })
}

fn fields() -> Value {
    let mut type_ref = object(
        "The kind that it is for. It cannot be changed.",
        &["apiVersion", "kind"],
        json!({
            "apiVersion": text("Group and version: those of the definition's referenceable version."),
            "kind": text("The kind of the composite resource."),
        }),
    );
    type_ref["x-kubernetes-validations"] = immutable();
    json!({
        "compositeTypeRef": type_ref,
        "mode": choice(
            "`Resources` patches templates, `Pipeline` calls functions. If it is not given, what is there decides.",
            &["Resources", "Pipeline"],
        ),
        "patchSets": list("Patches that several resources share.", object(
            "A set of patches.",
            &["name", "patches"],
            json!({"name": text("The name by which resources take it."), "patches": patches()}),
        )),
        "resources": list("The resources to compose, in mode Resources.", resource()),
        "pipeline": pipeline(),
        "writeConnectionSecretsToNamespace": text("Where the connection secrets of composite resources are written."),
        "publishConnectionDetailsWithStoreConfigRef": object(
            "Where Crossplane 1.x published connection details besides. It is not used.",
            &["name"],
            json!({"name": text("The name of a StoreConfig.")}),
        ),
    })
}

fn resource() -> Value {
    object(
        "A resource to compose.",
        &["base"],
        json!({
            "name": text("What the resource is called among its siblings. Resources without a name are told apart by their place."),
            "base": manifest("The resource, before it is patched."),
            "patches": patches(),
            "connectionDetails": list("What the resource adds to the connection secret.", connection_detail()),
            "readinessChecks": list("When the resource is ready. All must hold; none: its condition Ready is True.", readiness_check()),
        }),
    )
}

fn connection_detail() -> Value {
    object(
        "One entry of the connection secret.",
        &[],
        json!({
            "name": text("The key in the secret."),
            "type": choice("Where the value is from.", &["FromConnectionSecretKey", "FromFieldPath", "FromValue"]),
            "fromConnectionSecretKey": text("The key in the resource's own connection secret."),
            "fromFieldPath": text("The field of the resource."),
            "value": text("The value itself."),
        }),
    )
}

fn readiness_check() -> Value {
    let types = [
        "MatchString",
        "MatchInteger",
        "NonEmpty",
        "MatchCondition",
        "MatchTrue",
        "MatchFalse",
        "None",
    ];
    object(
        "What must hold.",
        &["type"],
        json!({
            "type": choice("What is compared.", &types),
            "fieldPath": text("The field that is looked at."),
            "matchString": text("What the field must be, for MatchString."),
            "matchInteger": integer("What the field must be, for MatchInteger."),
            "matchCondition": object("The condition that must be there, for MatchCondition.", &[], json!({
                "type": text("The type of the condition. Ready, if it is not given."),
                "status": text("The status that it must have. True, if it is not given."),
            })),
        }),
    )
}

fn pipeline() -> Value {
    let step = object(
        "A step.",
        &["step", "functionRef"],
        json!({
            "step": text("The name of the step. No two have the same."),
            "functionRef": object("The function that is called.", &["name"], json!({"name": text("The name of a Function.")})),
            "input": manifest("What the function is given, in a form of its own."),
            "credentials": credentials(),
            "requirements": object("What the function is given of the cluster, without asking.", &[], json!({
                "requiredResources": required_resources(),
                "requiredSchemas": required_schemas(),
            })),
        }),
    );
    let mut steps = keyed(
        "The functions to call, in mode Pipeline, in this order.",
        "step",
        step,
    );
    steps["minItems"] = json!(1);
    steps["maxItems"] = json!(MAX_STEPS);
    steps
}

fn credentials() -> Value {
    let secret = json!({"name": text("The Secret's name."), "namespace": text("The Secret's namespace.")});
    let mut credential = object(
        "One set of secret values.",
        &["name", "source"],
        json!({
            "name": text("What the function calls it."),
            "source": choice("Where it is from.", &["None", "Secret"]),
            "secretRef": object("The Secret that holds it.", &["name", "namespace"], secret),
        }),
    );
    credential["x-kubernetes-validations"] = json!([{
        "rule": "self.source != 'Secret' || has(self.secretRef)", "fieldPath": ".secretRef",
        "message": "the Secret source requires a secretRef",
    }]);
    keyed("Secret values that the function is given.", "name", credential)
}

fn required_resources() -> Value {
    let labels = json!({
        "type": "object", "description": "Labels that all must be there.",
        "additionalProperties": {"type": "string"},
    });
    let mut required = object(
        "Resources, by name or by labels.",
        &["requirementName", "apiVersion", "kind"],
        json!({
            "requirementName": text("What the function calls them."),
            "apiVersion": text("Group and version."),
            "kind": text("The kind."),
            "name": text("The name of the one that is meant."),
            "namespace": text("The namespace, if the kind has any."),
            "matchLabels": labels,
        }),
    );
    required["x-kubernetes-validations"] = json!([{
        "rule": "!(has(self.name) && has(self.matchLabels))",
        "message": "name and matchLabels are mutually exclusive",
    }]);
    keyed(
        "Resources that the function is given.",
        "requirementName",
        required,
    )
}

fn required_schemas() -> Value {
    let required = object(
        "The schema of a kind.",
        &["requirementName", "apiVersion", "kind"],
        json!({
            "requirementName": text("What the function calls it."),
            "apiVersion": text("Group and version."),
            "kind": text("The kind."),
        }),
    );
    keyed("Schemas that the function is given.", "requirementName", required)
}

/// A resource or an input: of some kind, otherwise anything.
fn manifest(description: &str) -> Value {
    let fields = json!({"apiVersion": text("Group and version."), "kind": text("The kind.")});
    object(description, &["apiVersion", "kind"], fields)
}

/// An object with these fields, and any others.
pub(super) fn object(description: &str, required: &[&str], fields: Value) -> Value {
    let mut schema = json!({
        "type": "object", "description": description, "properties": fields,
        "x-kubernetes-preserve-unknown-fields": true,
    });
    if !required.is_empty() {
        schema["required"] = json!(required);
    }
    schema
}

pub(super) fn list(description: &str, items: Value) -> Value {
    json!({"type": "array", "description": description, "items": items})
}

/// A list in which no two have the same key.
fn keyed(description: &str, key: &str, items: Value) -> Value {
    let mut schema = list(description, items);
    schema["x-kubernetes-list-type"] = json!("map");
    schema["x-kubernetes-list-map-keys"] = json!([key]);
    schema
}

pub(super) fn text(description: &str) -> Value {
    json!({"type": "string", "description": description})
}

pub(super) fn integer(description: &str) -> Value {
    json!({"type": "integer", "format": "int64", "description": description})
}

pub(super) fn choice(description: &str, words: &[&str]) -> Value {
    json!({"type": "string", "description": description, "enum": words})
}
