//! Pipelines of the versions of a CRD.

use cambium_pipeline::{CompileError, Pipeline};
use serde_json::{Value, json};

fn crd(preserve: bool, schema: &Value) -> Value {
    json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "spec": {"group": "example.com", "preserveUnknownFields": preserve, "versions": [
            {"name": "v1alpha1"}, {"name": "v1", "schema": {"openAPIV3Schema": schema}}]}})
}

#[test]
fn a_version_has_its_own_schema() {
    let crd = crd(
        false,
        &json!({"type": "object", "properties": {"a": {"type": "integer"}}}),
    );
    let keep = |version: &str| {
        let pipeline = Pipeline::of_version(&crd, version).unwrap();
        let mut object =
            json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {}, "a": 1, "b": 2});
        pipeline.read(&mut object);
        object.as_object().unwrap().keys().cloned().collect::<Vec<_>>()
    };
    assert_eq!(keep("v1"), ["a", "apiVersion", "kind", "metadata"]);
    assert_eq!(keep("v1alpha1"), ["apiVersion", "kind", "metadata"]);
}

#[test]
fn unknown_fields_are_preserved_where_the_crd_says_so() {
    let crd = crd(
        true,
        &json!({"type": "object", "properties": {"a": {"type": "integer"}}}),
    );
    let pipeline = Pipeline::of_version(&crd, "v1").unwrap();
    let written = pipeline.create(json!({"a": 1, "b": null})).unwrap();
    assert_eq!(written.object, json!({"a": 1, "b": null}));
    assert_eq!(written.unknown_fields, [] as [&str; 0]);
}

#[test]
fn what_cannot_be_compiled_says_why() {
    let crd = crd(
        false,
        &json!({"type": "object", "properties": {"a": {"type": "integre"}}}),
    );
    let missing = Pipeline::of_version(&crd, "v2").unwrap_err();
    assert_eq!(missing.to_string(), "there is no version \"v2\"");
    let Err(CompileError::InvalidSchema(errors)) = Pipeline::of_version(&crd, "v1") else {
        unreachable!("the schema has a type that there is not");
    };
    let path = errors[0].path.to_string();
    assert!(
        path.starts_with("spec.versions[1].schema.openAPIV3Schema.properties[a]"),
        "{path}"
    );
}
