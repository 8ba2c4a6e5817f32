//! Invalid values with upstream's messages, and ratcheting.

use serde_json::{Value, json};

use super::*;
use crate::parse::parse;

fn schema(properties: Value) -> Schema {
    let raw = json!({"type": "object", "properties": {"spec": {"type": "object", "properties": properties}}});
    parse(&raw, &FieldPath::new("schema")).expect("the test's schema is valid")
}

fn errors(schema: &Schema, spec: Value, old: Option<Value>) -> Vec<String> {
    let old = old.map(|old| json!({ "spec": old }));
    validate(schema, &json!({ "spec": spec }), old.as_ref())
        .iter()
        .map(ToString::to_string)
        .collect()
}

#[test]
fn values_are_refused_in_upstreams_words() {
    let of = |x: Value| schema(json!({ "x": x }));
    let cases = [
        (
            json!({"type": "integer"}),
            json!("a"),
            "spec.x: Invalid value: \"string\": spec.x in body must be of type integer: \"string\"",
        ),
        (
            json!({"type": "string"}),
            json!(null),
            "spec.x: Invalid value: \"null\": spec.x in body must be of type string: \"null\"",
        ),
        (
            json!({"x-kubernetes-int-or-string": true}),
            json!(true),
            "spec.x: Invalid value: \"boolean\": spec.x in body must be of type integer,string: \"boolean\"",
        ),
        (
            json!({"type": "string", "format": "date-time"}),
            json!("x"),
            "spec.x: Invalid value: \"x\": spec.x in body must be of type date-time: \"x\"",
        ),
        (
            json!({"type": "string", "enum": ["b", "a"]}),
            json!("c"),
            "spec.x: Unsupported value: \"c\": supported values: \"b\", \"a\"",
        ),
        (
            json!({"type": "string", "maxLength": 2}),
            json!("abc"),
            "spec.x: Too long: may not be more than 2 bytes",
        ),
        (
            json!({"type": "string", "minLength": 2}),
            json!("a"),
            "spec.x: Invalid value: \"a\": spec.x in body should be at least 2 chars long",
        ),
        (
            json!({"type": "string", "pattern": "^a$"}),
            json!("b"),
            "spec.x: Invalid value: \"b\": spec.x in body should match '^a$'",
        ),
        (
            json!({"type": "integer", "minimum": 1}),
            json!(0),
            "spec.x: Invalid value: 0: spec.x in body should be greater than or equal to 1",
        ),
        (
            json!({"type": "number", "maximum": 1.5, "exclusiveMaximum": true}),
            json!(1.5),
            "spec.x: Invalid value: 1.5: spec.x in body should be less than 1.5",
        ),
        (
            json!({"type": "integer", "multipleOf": 2}),
            json!(3),
            "spec.x: Invalid value: 3: spec.x in body should be a multiple of 2",
        ),
        (
            json!({"type": "integer", "format": "int32"}),
            json!(5_000_000_000_i64),
            "<nil>: Invalid value: \"\": Checked value must be of type integer with format int32 in spec.x",
        ),
        (
            json!({"type": "array", "items": {"type": "string"}, "maxItems": 1}),
            json!(["a", "b"]),
            "spec.x: Too many: 2: must have at most 1 item",
        ),
        (
            json!({"type": "array", "items": {"type": "string"}, "minItems": 1}),
            json!([]),
            "spec.x: Invalid value: 0: spec.x in body should have at least 1 items",
        ),
        (
            json!({"type": "object", "maxProperties": 0}),
            json!({"a": 1}),
            "spec.x: Too many: 1: must have at most 0 items",
        ),
        (
            json!({"type": "object", "additionalProperties": false}),
            json!({"a": 1}),
            "spec.x: Invalid value: \"a\": spec.x.a in body is a forbidden property",
        ),
        (
            json!({"type": "object", "required": ["y"]}),
            json!({}),
            "spec.x.y: Required value",
        ),
        (
            json!({"type": "string", "not": {"enum": ["a"]}}),
            json!("a"),
            "<nil>: Invalid value: \"\": \"spec.x\" must not validate the schema (not)",
        ),
        (
            json!({"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"}),
            json!(["a", "a", "a"]),
            "spec.x[1]: Duplicate value: \"a\"",
        ),
    ];
    for (x, value, expected) in cases {
        assert_eq!(
            errors(&of(x.clone()), json!({ "x": value }), None),
            [expected],
            "{x}"
        );
    }
}

#[test]
fn whole_floats_are_integers() {
    let schema = schema(json!({"x": {"type": "integer"}, "y": {"type": "number"}}));
    assert_eq!(errors(&schema, json!({"x": 1.0, "y": 1}), None), [""; 0]);
    assert_eq!(errors(&schema, json!({"x": 1.5}), None).len(), 2);
}

#[test]
fn of_failed_alternatives_the_furthest_explains() {
    let schema = schema(json!({
        "x": {"type": "string", "oneOf": [{"maxLength": 1}, {"pattern": "^b"}]},
        "y": {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}},
              "oneOf": [{"required": ["a"]}, {"required": ["b"]}]},
    }));
    assert_eq!(
        errors(&schema, json!({"x": "ab", "y": {"a": "1", "b": "2"}}), None),
        [
            "<nil>: Invalid value: \"\": \"spec.x\" must validate one and only one schema (oneOf). Found none valid",
            "spec.x: Too long: may not be more than 1 byte",
            "<nil>: Invalid value: \"\": \"spec.y\" must validate one and only one schema (oneOf). Found 2 valid alternatives",
        ]
    );
}

#[test]
fn unchanged_errors_are_forgiven() {
    let schema = schema(json!({
        "text": {"type": "string", "maxLength": 1},
        "map": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"], "items": {
            "type": "object", "required": ["name"],
            "properties": {"name": {"type": "string"}, "text": {"type": "string", "maxLength": 1}},
        }},
        "atomic": {"type": "array", "items": {"type": "string", "maxLength": 1}},
    }));
    let old = json!({
        "text": "long",
        "map": [{"name": "a", "text": "long"}, {"name": "b", "text": "long"}],
        "atomic": ["long"],
    });
    assert_eq!(errors(&schema, old.clone(), None).len(), 4);
    assert_eq!(errors(&schema, old.clone(), Some(old.clone())), [""; 0]);
    let mut new = old.clone();
    new["map"] = json!([{"name": "b", "text": "longer"}, {"name": "a", "text": "long"}]);
    new["atomic"] = json!(["long", "b"]);
    assert_eq!(
        errors(&schema, new, Some(old)),
        [
            "spec.atomic[0]: Too long: may not be more than 1 byte",
            "spec.map[0].text: Too long: may not be more than 1 byte",
        ]
    );
}

#[test]
fn duplicates_are_forgiven_when_they_were_there() {
    let schema =
        schema(json!({"x": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"}}));
    let duplicates = json!({"x": ["a", "a"]});
    assert_eq!(
        errors(&schema, json!({"x": ["b", "b"]}), Some(duplicates.clone())),
        [""; 0]
    );
    assert_eq!(
        errors(&schema, duplicates, Some(json!({"x": ["a"]}))),
        ["spec.x[1]: Duplicate value: \"a\""]
    );
}

#[test]
fn embedded_objects_are_checked() {
    let schema = schema(json!({"x": {
        "type": "object", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true,
    }}));
    assert_eq!(
        errors(
            &schema,
            json!({"x": {"kind": "Pod", "metadata": {"name": "a/b"}}}),
            None
        ),
        [
            "spec.x.apiVersion: Required value",
            "spec.x.metadata.name: Invalid value: \"a/b\": may not contain '/'"
        ]
    );
}
