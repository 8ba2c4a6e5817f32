//! The order of the stages.

use cambium_pipeline::{FieldPath, Pipeline, Written};
use serde_json::{Value, json};

fn pipeline(spec: Value) -> Pipeline {
    let schema = json!({"type": "object", "properties": {"spec": spec}});
    Pipeline::compile(&schema, &FieldPath::new("schema")).unwrap()
}

fn object(spec: Value) -> Value {
    json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "a"}, "spec": spec})
}

fn errors(written: &Written) -> Vec<String> {
    written.errors.iter().map(ToString::to_string).collect()
}

#[test]
fn what_is_unknown_is_pruned_and_reported_before_defaults_are_filled_in() {
    let pipeline = pipeline(json!({"type": "object", "properties": {
        "size": {"type": "integer", "default": 3}, "text": {"type": "string"}, "none": {"type": "string", "nullable": true}}}));
    let written = pipeline.create(object(
        json!({"size": null, "text": null, "none": null, "sise": 4.0}),
    ));
    let written = written.unwrap();
    assert_eq!(written.unknown_fields, ["spec.sise"]);
    assert_eq!(written.object["spec"], json!({"size": 3, "none": null}));
    assert!(written.is_accepted());
}

#[test]
fn metadata_of_the_wrong_type_cannot_be_decoded() {
    let embedded = json!({"type": "object", "properties": {"template": {"type": "object",
        "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true}}});
    let pipeline = pipeline(embedded);
    let mut wrong = object(json!({}));
    wrong["metadata"]["labels"] = json!({"a": 1});
    let refused = pipeline.create(wrong).unwrap_err().to_string();
    assert_eq!(
        refused,
        "json: cannot unmarshal number into Go struct field ObjectMeta.labels of type string"
    );
    let inside = |name: Value| {
        object(json!({"template": {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "x": 1}}}))
    };
    let refused = pipeline.create(inside(json!(5))).unwrap_err().to_string();
    assert!(
        refused.starts_with("spec.template.metadata: Invalid value"),
        "{refused}"
    );
    let written = pipeline.create(inside(json!("p"))).unwrap();
    assert_eq!(written.unknown_fields, ["spec.template.metadata.x"]);
    // What is stored already cannot be refused.
    let mut stored = inside(json!(5));
    pipeline.read(&mut stored);
    assert_eq!(stored["spec"]["template"]["metadata"], json!({}));
}

#[test]
fn rules_run_only_on_the_shape_that_they_rely_on() {
    let pipeline = pipeline(
        json!({"type": "object", "required": ["size"], "properties": {"size": {"type": "integer", "maximum": 9}},
        "x-kubernetes-validations": [{"rule": "self.size % 2 == 0", "message": "must be even"}]}),
    );
    let told = |spec: Value| errors(&pipeline.create(object(spec)).unwrap());
    assert_eq!(told(json!({"size": 4})), [] as [&str; 0]);
    assert_eq!(told(json!({"size": 5})), ["spec: Invalid value: must be even"]);
    // A value out of bounds is no reason not to run them.
    assert_eq!(told(json!({"size": 11})).len(), 2);
    assert_eq!(
        told(json!({})),
        [
            "spec.size: Required value",
            "<nil>: Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing \
             errors to complete validation"
        ]
    );
}

#[test]
fn what_did_not_change_is_forgiven() {
    let pipeline = pipeline(json!({"type": "object", "properties": {
        "size": {"type": "integer", "maximum": 9}, "text": {"type": "string"},
        "inner": {"type": "object", "properties": {"a": {"type": "integer"}}, "x-kubernetes-validations": [{"rule": "self.a > 0"}]}}}));
    let old = object(json!({"size": 11, "text": "a", "inner": {"a": 0}}));
    let update = |spec: Value| pipeline.update(object(spec), &old).unwrap();
    let kept = update(json!({"size": 11, "text": "b", "inner": {"a": 0}}));
    assert!(kept.is_accepted(), "{kept:?}");
    let warnings: Vec<String> = kept.warnings.iter().map(ToString::to_string).collect();
    assert_eq!(warnings, ["spec.inner: Invalid value: failed rule: self.a > 0"]);
    let worse = update(json!({"size": 12, "text": "a", "inner": {"a": -1}}));
    assert_eq!(errors(&worse).len(), 2);
}

#[test]
fn writing_what_was_written_changes_nothing() {
    let pipeline = pipeline(json!({"type": "object", "properties": {
        "list": {"type": "array", "items": {"type": "object", "properties": {"a": {"type": "number", "default": 1}}}}}}));
    let once = pipeline
        .create(object(json!({"list": [{"b": 1}, {"a": 2.0}, {"a": 2.5}]})))
        .unwrap();
    let again = pipeline.update(once.object.clone(), &once.object).unwrap();
    assert_eq!(again.object, once.object);
    assert_eq!(again.unknown_fields, [] as [&str; 0]);
}
