//! CRDs with generated schemas, and objects for them.

use proptest::prelude::*;
use serde_json::{Map, Value, json};

/// The path of CRDs.
pub(crate) const PATH: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

/// `widgets` → `Widgets`.
pub(crate) fn kind(plural: &str) -> String {
    plural[..1].to_uppercase() + &plural[1..]
}

/// A CRD in `example.com` with this schema.
pub(crate) fn definition(plural: &str, schema: &Value) -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.example.com")},
        "spec": {"group": "example.com", "scope": "Namespaced",
            "names": {"plural": plural, "kind": kind(plural), "listKind": format!("{}List", kind(plural))},
            "versions": [{"name": "v1", "served": true, "storage": true,
                "subresources": {"status": {}},
                "additionalPrinterColumns": [{"name": "A", "type": "string", "jsonPath": ".spec.a"}],
                "schema": {"openAPIV3Schema": schema}}]},
    })
}

/// A schema, mostly structural.
pub(crate) fn schema() -> impl Strategy<Value = Value> {
    let rule = prop::sample::select(vec![
        "self == self",
        "true",
        "self.size() >= 0",
        "self.all(x, true)",
        "has(self.a)",
        "!has(self.a) || has(self.b)",
        "self.a == oldSelf.a",
        "self > 0",
        "self.startsWith('a')",
        "self.matches('[a-z]*')",
        "self.exists(k, k == 'a')",
        "self[0] == self[0]",
        "1 / 0 == 1",
        "self.a.b.c == 1",
        "dyn(self) == 1",
        "self +",
        "isURL(self)",
        "self.map(x, x).size() < 3",
        "[1,2,3].all(i, self.all(x, x == x))",
        "quantity(self).isGreaterThan(quantity('1'))",
    ]);
    let pattern = prop::sample::select(vec![
        "^[a-z]+$", "a*", "(a+)+$", "[", "\\d{1,3}", "(?i)x", "\\p{L}", "(?=a)", "^$", "\\bx",
    ]);
    let leaf = prop_oneof![
        (0..5_i64, 0..5_i64, any::<bool>()).prop_map(|(min, max, limits)| match limits {
            true => json!({"type": "integer", "minimum": min, "maximum": max}),
            false => json!({"type": "integer", "multipleOf": min, "format": "int32"}),
        }),
        any::<f64>().prop_map(|max| json!({"type": "number", "maximum": max, "exclusiveMaximum": true})),
        (pattern, 0..6_i64)
            .prop_map(|(pattern, max)| json!({"type": "string", "pattern": pattern, "maxLength": max})),
        prop::sample::select(vec![
            "date-time",
            "ipv4",
            "uuid",
            "byte",
            "int64",
            "duration",
            "email",
            "x",
            "cidr",
            "date"
        ])
        .prop_map(|format| json!({"type": "string", "format": format})),
        Just(json!({"type": "string", "enum": ["a", "b", ""]})),
        Just(json!({"type": "boolean", "default": true})),
        Just(json!({"type": "string", "default": "a", "nullable": true})),
        Just(json!({"x-kubernetes-int-or-string": true})),
        Just(json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true})),
        Just(
            json!({"type": "object", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true})
        ),
    ];
    leaf.prop_recursive(4, 20, 4, |inner| {
        prop_oneof![
            3 => (prop::collection::btree_map(prop::sample::select(vec!["a", "b", "c", "d-e", "f.g", "self", "if"]), inner.clone(), 0..4),
                any::<bool>())
                .prop_map(|(properties, required)| {
                    let names: Vec<_> = properties.keys().copied().take(1).collect();
                    let mut schema = json!({"type": "object", "properties": properties});
                    if required {
                        schema["required"] = json!(names);
                    }
                    schema
                }),
            1 => (inner.clone(), prop::sample::select(vec!["atomic", "set", "map"]), 0..4_u8).prop_map(|(items, list, max)| {
                let mut schema = json!({"type": "array", "items": items, "x-kubernetes-list-type": list, "maxItems": max});
                if list == "map" {
                    schema["x-kubernetes-list-map-keys"] = json!(["a"]);
                    schema["items"] = json!({"type": "object", "required": ["a"], "properties": {
                        "a": {"type": "string"}, "b": schema["items"].take()}});
                }
                schema
            }),
            1 => inner.clone().prop_map(|values| json!({"type": "object", "additionalProperties": values, "maxProperties": 3})),
            1 => inner.clone().prop_map(|mut schema| {
                schema["anyOf"] = json!([{"properties": {"a": {"minimum": 1}}}, {"not": {"enum": [1]}}]);
                schema
            }),
            1 => (inner.clone(), super::tree()).prop_map(|(mut schema, default)| {
                schema["default"] = default;
                schema
            }),
        ]
    })
    .prop_flat_map(move |schema| {
        (Just(schema), prop::option::of(rule.clone()), any::<bool>())
    })
    .prop_map(|(mut schema, rule, message)| {
        if let Some(rule) = rule {
            let mut validation = json!({"rule": rule});
            if message {
                validation["messageExpression"] = json!("'a' + string(self)");
            }
            schema["x-kubernetes-validations"] = json!([validation]);
        }
        schema
    })
}

/// An object that is mostly valid for a schema.
pub(crate) fn instance(schema: &Value, seed: u64, depth: usize) -> Value {
    let next = seed
        .wrapping_mul(6_364_136_223_846_793_005)
        .wrapping_add(1_442_695_040_888_963_407);
    let pick = (next >> 33) % 8;
    if depth > 6 {
        return Value::Null;
    }
    match schema["type"].as_str() {
        Some("integer") => json!(pick),
        Some("number") => json!(pick as f64 / 2.0),
        Some("boolean") => json!(pick > 3),
        Some("string") => {
            json!(["a", "b", "", "abc", "2026-01-01T00:00:00Z", "10.0.0.1", "é", "1h"][pick as usize])
        }
        Some("array") => (0..pick % 3)
            .map(|index| instance(&schema["items"], next ^ index, depth + 1))
            .collect(),
        Some("object") => {
            let mut map = Map::new();
            for (index, (name, property)) in
                schema["properties"].as_object().into_iter().flatten().enumerate()
            {
                if (next >> (index + 3)) & 3 > 0 {
                    map.insert(
                        name.clone(),
                        instance(property, next ^ (index as u64 + 1), depth + 1),
                    );
                }
            }
            if schema["additionalProperties"].is_object() {
                map.insert(
                    "x".to_owned(),
                    instance(&schema["additionalProperties"], next, depth + 1),
                );
            }
            if schema["x-kubernetes-embedded-resource"] == true {
                map.insert("apiVersion".to_owned(), json!("v1"));
                map.insert("kind".to_owned(), json!("Pod"));
                map.insert(
                    "metadata".to_owned(),
                    json!({"name": "p", "creationTimestamp": null}),
                );
            }
            Value::Object(map)
        }
        _ => json!(pick),
    }
}

/// A schema with some constraints tightened.
pub(crate) fn tightened(schema: &Value, seed: u64) -> Value {
    let mut schema = schema.clone();
    let next = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(99);
    let pick = (next >> 33) % 4;
    match (schema["type"].as_str(), pick) {
        (Some("integer" | "number"), 0 | 1) => schema["maximum"] = json!(1),
        (Some("integer"), 2) => schema["type"] = json!("boolean"),
        (Some("string"), 0 | 1) => schema["maxLength"] = json!(1),
        (Some("string"), 2) => schema["enum"] = json!(["b", "abc"]),
        (Some("array"), 0) => schema["maxItems"] = json!(0),
        (Some("object"), 0) => schema["required"] = json!(["b"]),
        (Some("object"), 1) => {
            schema["x-kubernetes-validations"] =
                json!([{"rule": "!has(self.a) && !has(self.b)", "message": "not \"so\""}]);
        }
        (Some("object"), 2) if schema["properties"]["a"].is_object() => {
            schema["properties"].as_object_mut().unwrap().remove("a");
            schema.as_object_mut().unwrap().remove("required");
        }
        _ => {}
    }
    for (index, part) in ["properties", "items", "additionalProperties"]
        .into_iter()
        .enumerate()
    {
        let seed = next ^ index as u64;
        match (part, &mut schema[part]) {
            (_, Value::Null) => drop(schema.as_object_mut().unwrap().remove(part)),
            ("properties", Value::Object(fields)) => {
                for (index, field) in fields.values_mut().enumerate() {
                    *field = tightened(field, seed.wrapping_add(7 * index as u64));
                }
            }
            (_, inner @ Value::Object(_)) => *inner = tightened(inner, seed),
            _ => {}
        }
    }
    schema
}
