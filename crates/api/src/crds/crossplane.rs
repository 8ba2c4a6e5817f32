//! The CRDs of platform APIs and compositions.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, CustomResourceDefinitionVersion, JSON, JSONSchemaProps,
};
use kube::CustomResourceExt;
use serde_json::{Value, json};

use super::{Column, finish};
use crate::crossplane::{
    CompositeDeletePolicy, CompositeResourceDefinition, Composition, CompositionRevision, Function, Scope,
    UpdatePolicy,
};

/// All of them, in the order in which they should be applied.
pub(super) fn all() -> Vec<CustomResourceDefinition> {
    vec![
        definition(),
        finish(Composition::crd(), COMPOSITION),
        finish(CompositionRevision::crd(), COMPOSITION_REVISION),
        function(),
    ]
}

const AGE: Column = ("AGE", "date", ".metadata.creationTimestamp", 0);

const DEFINITION: &[Column] = &[
    (
        "ESTABLISHED",
        "string",
        ".status.conditions[?(@.type=='Established')].status",
        0,
    ),
    (
        "OFFERED",
        "string",
        ".status.conditions[?(@.type=='Offered')].status",
        0,
    ),
    AGE,
];

const COMPOSITION: &[Column] = &[
    ("XR-KIND", "string", ".spec.compositeTypeRef.kind", 0),
    ("XR-APIVERSION", "string", ".spec.compositeTypeRef.apiVersion", 0),
    AGE,
    ("REVISION", "integer", ".status.currentRevision.revision", 1),
    ("CONSUMERS", "integer", ".status.consumers", 1),
];

const COMPOSITION_REVISION: &[Column] = &[
    ("REVISION", "string", ".spec.revision", 0),
    (
        "COMPOSITION",
        "string",
        ".metadata.labels.crossplane\\.io/composition-name",
        0,
    ),
    ("XR-KIND", "string", ".spec.compositeTypeRef.kind", 0),
    ("CURRENT", "boolean", ".status.current", 0),
    ("IN-USE-BY", "string", ".status.inUseBy", 0),
    AGE,
    ("XR-APIVERSION", "string", ".spec.compositeTypeRef.apiVersion", 1),
    ("UNUSED-SINCE", "string", ".status.unusedSince", 1),
];

const FUNCTION: &[Column] = &[
    (
        "HEALTHY",
        "string",
        ".status.conditions[?(@.type=='Healthy')].status",
        0,
    ),
    ("PACKAGE", "string", ".spec.package", 0),
    ("ENDPOINT", "string", ".status.endpoint", 0),
    AGE,
];

/// v1 and v2 are one schema. Whoever writes v2 and does not say means a namespaced XR; the default is stored, so that afterwards the
/// version no longer matters.
fn definition() -> CustomResourceDefinition {
    let mut crd = finish(CompositeResourceDefinition::crd(), DEFINITION);
    if let Some(stored) = crd.spec.versions.first_mut() {
        let mut served = another(stored, "v2");
        for version in [stored, &mut served] {
            let scope = Scope::default_at(&version.name);
            default(version, "scope", json!(scope));
            default(
                version,
                "defaultCompositionUpdatePolicy",
                json!(UpdatePolicy::Automatic),
            );
            default(
                version,
                "defaultCompositeDeletePolicy",
                json!(CompositeDeletePolicy::Background),
            );
        }
        crd.spec.versions.push(served);
    }
    crd
}

/// v1beta1 is how functions were written before Crossplane 1.17; it has the same fields.
fn function() -> CustomResourceDefinition {
    let mut crd = finish(Function::crd(), FUNCTION);
    let before = crd.spec.versions.first().map(|stored| another(stored, "v1beta1"));
    crd.spec.versions.extend(before);
    crd
}

fn another(stored: &CustomResourceDefinitionVersion, name: &str) -> CustomResourceDefinitionVersion {
    CustomResourceDefinitionVersion {
        name: name.to_owned(),
        storage: false,
        ..stored.clone()
    }
}

/// The default of a field of `spec`.
fn default(version: &mut CustomResourceDefinitionVersion, field: &str, value: Value) {
    let schema = version.schema.as_mut();
    let root = schema.and_then(|schema| schema.open_api_v3_schema.as_mut());
    if let Some(field) = root
        .and_then(|root| property(root, "spec"))
        .and_then(|spec| property(spec, field))
    {
        field.default = Some(JSON(value));
    }
}

fn property<'a>(schema: &'a mut JSONSchemaProps, name: &str) -> Option<&'a mut JSONSchemaProps> {
    schema.properties.as_mut()?.get_mut(name)
}
