//! Properties of any schema and any object.

use cambium_schema::{
    FieldPath, Malformed, Schema, coerce_embedded, default, drop_nulls, parse, prune, unknown_fields,
    validate, validate_lists, visit_rules,
};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

fn name() -> impl Strategy<Value = String> {
    prop::sample::select(vec!["a", "b", "name", "kind", "metadata", "x"]).prop_map(str::to_owned)
}

fn scalar() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-3_i64..100).prop_map(Value::from),
        prop::sample::select(vec![0.5, 1.0, 1e20]).prop_map(Value::from),
        "[a-c]{0,3}".prop_map(Value::from),
    ]
}

fn value() -> impl Strategy<Value = Value> {
    scalar().prop_recursive(4, 32, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(name(), inner, 0..4)
                .prop_map(|fields| Value::Object(fields.into_iter().collect::<Map<_, _>>())),
        ]
    })
}

/// Schemas that are mostly structural.
fn schema() -> impl Strategy<Value = Value> {
    let leaf = prop::sample::select(vec![
        json!({"type": "string", "maxLength": 2}),
        json!({"type": "string", "enum": ["a", "b"], "nullable": true}),
        json!({"type": "integer", "minimum": 1}),
        json!({"type": "integer", "default": 7}),
        json!({"type": "string", "default": "a", "pattern": "^a"}),
        json!({"x-kubernetes-int-or-string": true}),
        json!({"x-kubernetes-preserve-unknown-fields": true}),
    ]);
    let nested = leaf.prop_recursive(4, 24, 3, |inner| {
        prop_oneof![
            inner.clone().prop_map(|items| json!({"type": "array", "items": items})),
            inner.clone().prop_map(|items| json!({"type": "object", "additionalProperties": items})),
            inner.clone().prop_map(|x| json!({
                "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
                "items": {"type": "object", "properties": {"x": x, "name": {"type": "string", "default": "b"}}},
            })),
            prop::collection::btree_map(name(), inner, 1..4)
                .prop_map(|properties| json!({"type": "object", "properties": properties, "default": {}})),
        ]
    });
    nested.prop_map(|spec| json!({"type": "object", "properties": {"spec": spec}}))
}

fn parsed(raw: &Value) -> Option<Schema> {
    parse(raw, &FieldPath::new("schema")).ok()
}

fn prepared(schema: &Schema, spec: Value) -> Value {
    let mut object = json!({"apiVersion": "v1", "kind": "A", "spec": spec});
    prune(schema, &mut object);
    drop_nulls(schema, &mut object);
    default(schema, &mut object);
    object
}

proptest! {
    #[test]
    fn pruning_twice_is_pruning_once(raw in schema(), spec in value()) {
        let Some(schema) = parsed(&raw) else { return Ok(()) };
        let mut object = json!({ "spec": spec });
        prop_assert_eq!(unknown_fields(&schema, &object), prune(&schema, &mut object));
        prop_assert_eq!(prune(&schema, &mut object.clone()), Vec::<String>::new());
        prop_assert_eq!(unknown_fields(&schema, &object), Vec::<String>::new());
    }

    #[test]
    fn defaulting_twice_is_defaulting_once(raw in schema(), spec in value()) {
        let Some(schema) = parsed(&raw) else { return Ok(()) };
        let once = prepared(&schema, spec);
        let mut twice = once.clone();
        default(&schema, &mut twice);
        prop_assert_eq!(&twice, &once);
        // Defaults are specified, so nothing of them is unknown.
        prop_assert_eq!(prune(&schema, &mut twice), Vec::<String>::new());
    }

    #[test]
    fn validation_depends_on_nothing_else(raw in schema(), spec in value()) {
        let Some(schema) = parsed(&raw) else { return Ok(()) };
        let object = prepared(&schema, spec);
        prop_assert_eq!(validate(&schema, &object, None), validate(&schema, &object, None));
    }

    #[test]
    fn an_unchanged_field_is_forgiven(raw in schema(), spec in value()) {
        let Some(schema) = parsed(&raw) else { return Ok(()) };
        let object = json!({ "spec": spec });
        let errors = validate(&schema, &object, Some(&object));
        if unknown_fields(&schema, &object).is_empty() && is_comparable(&raw) {
            prop_assert_eq!(errors, vec![]);
        }
    }

    #[test]
    fn nothing_panics_on_arbitrary_json(raw in value(), object in value()) {
        let _ = parsed(&raw);
        let wrapped = json!({"type": "object", "properties": {"spec": raw}});
        if let Some(schema) = parsed(&wrapped) {
            let mut object = object;
            let at = FieldPath::root();
            let _ = validate_lists(&schema, &object, &at);
            let _ = visit_rules(&schema, &object, Some(&object), &at, &mut |_| std::ops::ControlFlow::Continue(()));
            let _ = coerce_embedded(&schema, &mut object, &at, Malformed::Drop);
            let _ = prepared(&schema, object);
        }
    }

    #[test]
    fn nothing_panics_on_keywords_of_any_kind(keywords in prop::collection::btree_map(
        prop::sample::select(vec!["type", "items", "properties", "default", "enum", "pattern", "anyOf", "not", "required",
            "additionalProperties", "x-kubernetes-list-type", "x-kubernetes-list-map-keys", "x-kubernetes-validations",
            "minimum", "maxLength", "format", "x-kubernetes-embedded-resource"]),
        value(), 0..6)) {
        let _ = parsed(&json!(keywords));
        let _ = parsed(&json!({"type": "object", "properties": {"a": keywords}}));
    }
}

/// Whether all parts of a value correlate: no unspecified fields, and no list items without keys.
fn is_comparable(raw: &Value) -> bool {
    let text = raw.to_string();
    !text.contains("preserve-unknown-fields") && !text.contains("list-map-keys")
}
