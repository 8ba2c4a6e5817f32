//! Invalid schemas and their errors.

use serde_json::{Value, json};

use super::*;
use crate::model::{Additional, JsonType, ListType};

const AT: &str = "spec.versions[0].schema.openAPIV3Schema";

fn errors(schema: Value) -> Vec<String> {
    match parse(&schema, &FieldPath::new(AT)) {
        Ok(_) => Vec::new(),
        Err(errors) => {
            let short = |error: &FieldError| error.to_string().replace(AT, "@");
            errors.iter().map(short).collect()
        }
    }
}

/// A schema with one field `x`.
fn with(x: Value) -> Value {
    json!({"type": "object", "properties": {"x": x}})
}

#[test]
fn fields_need_exactly_one_type() {
    let cases = [
        (json!({}), "@.type: Required value: must not be empty at the root"),
        (
            json!({"type": "array", "items": {"type": "string"}}),
            "@.type: Invalid value: \"array\": must be object at the root",
        ),
        (
            with(json!({})),
            "@.properties[x].type: Required value: must not be empty for specified object fields",
        ),
        (
            with(json!({"type": "array"})),
            "@.properties[x].items: Required value: must be specified",
        ),
        (
            with(json!({"type": "array", "items": {}})),
            "@.properties[x].items.type: Required value: must not be empty for specified array items",
        ),
        (
            with(json!({"type": "text"})),
            "@.properties[x].type: Unsupported value: \"text\": supported values: \"array\", \"boolean\", \"integer\", \
             \"number\", \"object\", \"string\"",
        ),
        (
            with(json!({"type": "string", "pattern": "("})),
            "@.properties[x].pattern: Invalid value: \"(\": must be a valid regular expression, but isn't: error \
             parsing regexp: missing closing ): `(`",
        ),
    ];
    for (schema, expected) in cases {
        assert_eq!(errors(schema.clone()), [expected], "{schema}");
    }
}

#[test]
fn keywords_that_are_not_supported_are_forbidden() {
    let cases = [
        (
            json!({"type": "string", "$ref": "#/a"}),
            "$ref: Forbidden: $ref is not supported",
        ),
        (
            json!({"type": "string", "id": "a"}),
            "id: Forbidden: id is not supported",
        ),
        (
            json!({"type": "string", "dependencies": {}}),
            "dependencies: Forbidden: dependencies is not supported",
        ),
        (
            json!({"type": "array", "items": {"type": "string"}, "uniqueItems": true}),
            "uniqueItems: Forbidden: uniqueItems cannot be set to true since the runtime complexity becomes quadratic",
        ),
        (
            json!({"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": {"type": "string"}}),
            "additionalProperties: Forbidden: additionalProperties and properties are mutual exclusive",
        ),
        (
            json!({"type": "object", "x-kubernetes-preserve-unknown-fields": false}),
            "x-kubernetes-preserve-unknown-fields: Invalid value: false: must be true or undefined",
        ),
    ];
    for (schema, expected) in cases {
        assert_eq!(
            errors(with(schema.clone())),
            [format!("@.properties[x].{expected}")],
            "{schema}"
        );
    }
    let url = json!({"type": "object", "$schema": "x"});
    assert_eq!(
        errors(url),
        ["@: Invalid value: \"\": OpenAPIV3Schema 'schema' is not supported"]
    );
}

#[test]
fn junctors_only_narrow() {
    let schema = json!({"type": "object", "properties": {"a": {"type": "string"}}, "anyOf": [
        {"properties": {"b": {"minLength": 1}}},
        {"properties": {"a": {"type": "string"}, "metadata": {}}},
    ]});
    assert_eq!(
        errors(schema),
        [
            "@.anyOf[1].properties[a].type: Forbidden: must be empty to be structural",
            "@.anyOf[1].properties[metadata]: Forbidden: must not be specified in a nested context",
            "@.properties[b]: Required value: because it is defined in @.anyOf[0].properties[b]",
            "@.properties[metadata]: Required value: because it is defined in @.anyOf[1].properties[metadata]",
        ]
    );
    let int_or_string =
        json!({"x-kubernetes-int-or-string": true, "anyOf": [{"type": "integer"}, {"type": "string"}]});
    assert_eq!(errors(with(int_or_string)), [""; 0]);
}

#[test]
fn list_keys_are_scalars_that_are_always_there() {
    let list = |keys: Value, item: Value| {
        with(
            json!({"type": "array", "items": item, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": keys}),
        )
    };
    let item = json!({"type": "object", "properties": {
        "a": {"type": "string"}, "b": {"type": "object"}, "c": {"type": "string", "default": "x"},
    }});
    assert_eq!(errors(list(json!(["c"]), item.clone())), [""; 0]);
    assert_eq!(
        errors(list(json!(["a", "b", "q"]), item)),
        [
            "@.properties[x].items.properties[b].type: Invalid value: \"object\": must be a scalar type if parent \
             array's x-kubernetes-list-type is map",
            "@.properties[x].x-kubernetes-list-map-keys: Invalid value: [\"a\",\"b\",\"q\"]: entries must all be names \
             of item properties",
            "@.properties[x].items.properties[a].default: Required value: this property is in \
             x-kubernetes-list-map-keys, so it must have a default or be a required property",
            "@.properties[x].items.properties[b].default: Required value: this property is in \
             x-kubernetes-list-map-keys, so it must have a default or be a required property",
        ]
    );
}

#[test]
fn metadata_is_not_for_schemas_to_specify() {
    let metadata = |metadata: Value| json!({"type": "object", "properties": {"metadata": metadata}});
    assert_eq!(
        errors(metadata(
            json!({"type": "object", "properties": {"name": {"type": "string", "maxLength": 9}}})
        )),
        [""; 0]
    );
    assert_eq!(
        errors(metadata(
            json!({"type": "object", "properties": {"labels": {"type": "object"}}})
        )),
        [
            "@.properties[metadata]: Forbidden: must not specify anything other than name and generateName, but metadata \
          is implicitly specified"
        ]
    );
}

#[test]
fn defaults_are_valid_and_pruned() {
    let cases = [
        (
            json!({"type": "integer", "default": "a"}),
            "@.properties[x].default: Invalid value: \"string\":  in body must be of type integer: \"string\"",
        ),
        (
            json!({"type": "object", "properties": {"a": {"type": "string"}}, "default": {"b": 1}}),
            "@.properties[x].default: Invalid value: {\"b\":1}: must not have unknown fields",
        ),
        (
            json!({"type": "object", "properties": {"a": {"type": "string", "maxLength": 1}}, "default": {"a": "bc"}}),
            "@.properties[x].default.a: Too long: may not be more than 1 byte",
        ),
    ];
    for (schema, expected) in cases {
        assert_eq!(errors(with(schema.clone())), [expected], "{schema}");
    }
    let top = json!({"type": "object", "properties": {"kind": {"type": "string", "default": "A"}}});
    assert_eq!(
        errors(top),
        ["@.properties[kind].default: Forbidden: must not be set in top-level kind"]
    );
}

#[test]
fn rules_have_a_form() {
    let rules = |rule: Value| with(json!({"type": "string", "x-kubernetes-validations": [rule]}));
    let at = "@.properties[x].x-kubernetes-validations[0]";
    let cases = [
        (
            json!({"rule": " "}),
            "rule: Required value: rule is not specified",
        ),
        (
            json!({"rule": "a\nb"}),
            "message: Required value: message must be specified if rule contains line breaks",
        ),
        (
            json!({"rule": "a", "fieldPath": ".b"}),
            "fieldPath: Invalid value: \".b\": must be a valid path",
        ),
    ];
    for (rule, expected) in cases {
        assert_eq!(
            errors(rules(rule.clone())),
            [format!("{at}.{expected}")],
            "{rule}"
        );
    }
}

#[test]
fn a_schema_is_read_into_the_model() -> Result<(), Vec<FieldError>> {
    let raw = json!({"type": "object", "required": ["a"], "properties": {
        "a": {"x-kubernetes-int-or-string": true},
        "b": {"type": "object", "additionalProperties": {"type": "string"}},
        "c": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
        "d": {"type": "string", "pattern": "^a$"},
    }});
    let schema = parse(&raw, &FieldPath::new(AT))?;
    assert!(schema.embedded_resource);
    assert!(
        schema
            .property("a")
            .is_some_and(|a| a.required && a.schema.json_type == JsonType::IntOrString)
    );
    assert!(
        schema
            .field("b")
            .is_some_and(|b| matches!(b.additional, Additional::Schema(_)))
    );
    assert!(schema.field("c").is_some_and(|c| c.list == ListType::Set));
    assert_eq!(schema.resource_field("metadata"), Some(crate::object_meta()));
    assert_eq!(parse(&raw, &FieldPath::new(AT))?, schema);
    Ok(())
}

#[test]
fn hostile_depth_is_refused() {
    let deep = (0..300).fold(
        json!({"type": "string"}),
        |inner, _| json!({"type": "array", "items": inner}),
    );
    let errors = errors(with(deep));
    assert!(
        errors[0].ends_with("Forbidden: must not be nested deeper than 100 levels"),
        "{errors:?}"
    );
}

#[test]
fn field_paths_are_read() -> Result<(), Vec<FieldError>> {
    let raw = json!({"type": "object", "properties": {"spec": {"type": "object", "properties": {
        "labels": {"type": "object", "additionalProperties": {"type": "string"}},
    }}}});
    let schema = parse(&raw, &FieldPath::new(AT))?;
    let read = |path: &str| rule_field_path(&schema, path).map(|path| path.to_string());
    assert_eq!(read(".spec.labels['a.b']"), Ok("spec.labels[a.b]".to_owned()));
    assert_eq!(read("['spec'].labels"), Ok("spec.labels".to_owned()));
    assert_eq!(
        read(".spec.other"),
        Err("does not refer to a valid field".to_owned())
    );
    assert_eq!(read("spec"), Err("expected [ or . but got: spec".to_owned()));
    assert_eq!(read(".spec["), Err("unexpected end of JSON path".to_owned()));
    Ok(())
}
