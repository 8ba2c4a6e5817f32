//! CRD ratcheting: a stricter schema tolerates unchanged invalid values.

use anyhow::Result;
use cambium_testing::{TestCluster, eventually};
use serde_json::{Value, json};

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

/// A schema before and after, a value that is valid only before, and updates of it.
struct Case {
    name: &'static str,
    loose: Value,
    tight: Value,
    value: Value,
    /// Updates with the expected warnings and errors.
    changes: Vec<(Value, &'static str)>,
}

fn case(
    name: &'static str,
    loose: Value,
    tight: Value,
    value: Value,
    changes: Vec<(Value, &'static str)>,
) -> Case {
    Case {
        name,
        loose,
        tight,
        value,
        changes,
    }
}

/// A schema with more keywords.
fn with(schema: &Value, more: Value) -> Value {
    let mut all = schema.clone();
    for (key, value) in more.as_object().cloned().unwrap_or_default() {
        all[key] = value;
    }
    all
}

fn rule(rule: &str) -> Value {
    json!({"x-kubernetes-validations": [{"rule": rule}]})
}

fn cases() -> Vec<Case> {
    let (text, number) = (
        json!({"type": "string", "maxLength": 20}),
        json!({"type": "integer"}),
    );
    let object = |properties: Value| json!({"type": "object", "properties": properties});
    let list = |items: &Value| json!({"type": "array", "maxItems": 9, "items": items});
    let map = |values: &Value| json!({"type": "object", "maxProperties": 9, "additionalProperties": values});
    let keyed = |items: Value| json!({"type": "array", "maxItems": 9, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["id"], "items": items});
    let item = |id: Value, text: Value| json!({"type": "object", "required": ["id"], "properties": {"id": id, "text": text, "other": {"type": "string", "maxLength": 20}}});
    let pair = object(json!({"a": number, "b": number}));
    let free = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let short = with(&text, json!({"maxLength": 2}));
    let ks = with(&text, rule("self.startsWith('k')"));
    vec![
        case(
            "minimum",
            number.clone(),
            with(&number, json!({"minimum": 10})),
            json!(5),
            vec![
                (json!(5), ""),
                (
                    json!(6),
                    "spec.minimum: Invalid value: 6: spec.minimum in body should be greater than or equal to 10",
                ),
                (json!(12), ""),
            ],
        ),
        case(
            "enum",
            text.clone(),
            with(&text, json!({"enum": ["a", "b"]})),
            json!("c"),
            vec![
                (json!("c"), ""),
                (
                    json!("d"),
                    "[spec.enum: Unsupported value: \"d\": supported values: \"a\", \"b\", <nil>: Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation]",
                ),
                (json!("a"), ""),
            ],
        ),
        case(
            "pattern",
            text.clone(),
            with(&text, json!({"pattern": "^a"})),
            json!("c"),
            vec![
                (json!("c"), ""),
                (
                    json!("d"),
                    "spec.pattern: Invalid value: \"d\": spec.pattern in body should match '^a'",
                ),
            ],
        ),
        case(
            "format",
            text.clone(),
            with(&text, json!({"format": "ipv4"})),
            json!("c"),
            vec![
                (json!("c"), ""),
                (
                    json!("d"),
                    "[spec.format: Invalid value: \"d\": spec.format in body must be of type ipv4: \"d\", <nil>: Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation]",
                ),
            ],
        ),
        case(
            "type",
            text.clone(),
            number.clone(),
            json!("c"),
            vec![
                (json!("c"), ""),
                (
                    json!("d"),
                    "[spec.type: Invalid value: \"string\": spec.type in body must be of type integer: \"string\", <nil>: Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation]",
                ),
                (json!(1), ""),
            ],
        ),
        case(
            "entries",
            map(&text),
            map(&short),
            json!({"a": "long", "b": "b"}),
            vec![
                (json!({"a": "long", "b": "c", "c": "d"}), ""),
                (
                    json!({"a": "longer", "b": "b"}),
                    "[spec.entries.a: Too long: may not be more than 2 bytes, <nil>: Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation]",
                ),
                (
                    json!({"b": "long"}),
                    "[spec.entries.b: Too long: may not be more than 2 bytes, <nil>: Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation]",
                ),
            ],
        ),
        case(
            "count",
            map(&text),
            with(&map(&text), json!({"maxProperties": 1})),
            json!({"a": "a", "b": "b"}),
            vec![
                (json!({"b": "b", "a": "a"}), ""),
                (
                    json!({"a": "a", "b": "c"}),
                    "[spec.count: Too many: 2: must have at most 1 item, <nil>: Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation]",
                ),
            ],
        ),
        case(
            "required",
            pair.clone(),
            with(&pair, json!({"required": ["b"]})),
            json!({"a": 1}),
            vec![
                (json!({"a": 1}), ""),
                (
                    json!({"a": 2}),
                    "[spec.required.b: Required value, <nil>: Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation]",
                ),
                (json!({"b": 2}), ""),
            ],
        ),
        case(
            "atomic-count",
            list(&text),
            with(&list(&text), json!({"maxItems": 1})),
            json!(["a", "b"]),
            vec![
                (json!(["a", "b"]), ""),
                (
                    json!(["b", "a"]),
                    "[spec.atomic-count: Too many: 2: must have at most 1 item, <nil>: Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation]",
                ),
                (json!(["a"]), ""),
            ],
        ),
        case(
            "atomic-items",
            list(&text),
            list(&short),
            json!(["long", "b"]),
            vec![
                (json!(["long", "b"]), ""),
                (
                    json!(["long", "b", "c"]),
                    "[spec.atomic-items[0]: Too long: may not be more than 2 bytes, <nil>: Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation]",
                ),
                (json!(["b"]), ""),
            ],
        ),
        case(
            "set-items",
            with(&list(&text), json!({"x-kubernetes-list-type": "set"})),
            with(&list(&short), json!({"x-kubernetes-list-type": "set"})),
            json!(["long", "b"]),
            vec![
                (json!(["long", "b"]), ""),
                (
                    json!(["b", "long"]),
                    "[spec.set-items[1]: Too long: may not be more than 2 bytes, <nil>: Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation]",
                ),
                (
                    json!(["long", "b", "c"]),
                    "[spec.set-items[0]: Too long: may not be more than 2 bytes, <nil>: Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation]",
                ),
            ],
        ),
        case(
            "keyed-items",
            keyed(item(number.clone(), text.clone())),
            keyed(item(number.clone(), short.clone())),
            json!([{"id": 1, "text": "long"}, {"id": 2, "text": "b"}]),
            vec![
                (
                    json!([{"id": 2, "text": "c"}, {"id": 1, "text": "long", "other": "x"}, {"id": 3, "text": "d"}]),
                    "",
                ),
                (
                    json!([{"id": 1, "text": "longer"}]),
                    "[spec.keyed-items[0].text: Too long: may not be more than 2 bytes, <nil>: Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation]",
                ),
                (
                    json!([{"id": 1, "text": "long"}, {"id": 3, "text": "long"}]),
                    "[spec.keyed-items[1].text: Too long: may not be more than 2 bytes, <nil>: Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation]",
                ),
            ],
        ),
        case(
            "keyed-keys",
            keyed(item(number.clone(), text.clone())),
            keyed(item(with(&number, json!({"multipleOf": 2})), text.clone())),
            json!([{"id": 1, "text": "a"}, {"id": 2, "text": "b"}]),
            vec![
                (json!([{"id": 2, "text": "b"}, {"id": 1, "text": "changed"}]), ""),
                (
                    json!([{"id": 1, "text": "a"}, {"id": 3, "text": "a"}]),
                    "spec.keyed-keys[1].id: Invalid value: 3: spec.keyed-keys[1].id in body should be a multiple of 2",
                ),
            ],
        ),
        case(
            "keyed-count",
            keyed(item(number.clone(), text.clone())),
            with(&keyed(item(number.clone(), text.clone())), json!({"maxItems": 1})),
            json!([{"id": 1}, {"id": 2}]),
            vec![
                (json!([{"id": 2}, {"id": 1}]), ""),
                (
                    json!([{"id": 1}, {"id": 2, "text": "x"}]),
                    "[spec.keyed-count: Too many: 2: must have at most 1 item, <nil>: Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation]",
                ),
                (
                    json!([{"id": 1}, {"id": 3}]),
                    "[spec.keyed-count: Too many: 2: must have at most 1 item, <nil>: Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation]",
                ),
            ],
        ),
        case(
            "becomes-set",
            list(&text),
            with(&list(&text), json!({"x-kubernetes-list-type": "set"})),
            json!(["a", "a"]),
            vec![
                (json!(["a", "a"]), ""),
                (json!(["a", "a", "b"]), ""),
                (json!(["a"]), ""),
            ],
        ),
        case(
            "becomes-keyed",
            list(&item(number.clone(), text.clone())),
            keyed(item(number.clone(), text.clone())),
            json!([{"id": 1}, {"id": 1}]),
            vec![(json!([{"id": 1}, {"id": 1}]), ""), (json!([{"id": 1}]), "")],
        ),
        case(
            "all-of",
            text.clone(),
            with(&text, json!({"allOf": [{"maxLength": 2}]})),
            json!("long"),
            vec![
                (json!("long"), ""),
                (
                    json!("longer"),
                    "[spec.all-of: Too long: may not be more than 2 bytes, <nil>: Invalid value: \"\": \"spec.all-of\" must validate all the schemas (allOf). None validated, <nil>: Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation]",
                ),
            ],
        ),
        case(
            "any-of",
            text.clone(),
            with(&text, json!({"anyOf": [{"maxLength": 2}, {"minLength": 9}]})),
            json!("long"),
            vec![
                (json!("long"), ""),
                (
                    json!("longer"),
                    "[<nil>: Invalid value: \"\": \"spec.any-of\" must validate at least one schema (anyOf), spec.any-of: Too long: may not be more than 2 bytes, <nil>: Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation]",
                ),
            ],
        ),
        case(
            "one-of",
            text.clone(),
            with(&text, json!({"oneOf": [{"maxLength": 2}, {"minLength": 9}]})),
            json!("long"),
            vec![
                (json!("long"), ""),
                (
                    json!("longer"),
                    "[<nil>: Invalid value: \"\": \"spec.one-of\" must validate one and only one schema (oneOf). Found none valid, spec.one-of: Too long: may not be more than 2 bytes, <nil>: Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation]",
                ),
            ],
        ),
        case(
            "not",
            text.clone(),
            with(&text, json!({"not": {"minLength": 3}})),
            json!("long"),
            vec![
                (json!("long"), ""),
                (
                    json!("longer"),
                    "<nil>: Invalid value: \"\": \"spec.not\" must not validate the schema (not)",
                ),
            ],
        ),
        case(
            "any-of-inside",
            pair.clone(),
            with(
                &pair,
                json!({"anyOf": [{"properties": {"a": {"minimum": 5}}}, {"required": ["b"]}]}),
            ),
            json!({"a": 1}),
            vec![
                (json!({"a": 1}), ""),
                (
                    json!({"a": 2}),
                    "[<nil>: Invalid value: \"\": \"spec.any-of-inside\" must validate at least one schema (anyOf), spec.any-of-inside.a: Invalid value: 2: spec.any-of-inside.a in body should be greater than or equal to 5]",
                ),
            ],
        ),
        case(
            "rule",
            text.clone(),
            ks.clone(),
            json!("a"),
            vec![
                (
                    json!("a"),
                    "forgiven: spec.rule: Invalid value: \"a\": failed rule: self.startsWith('k')",
                ),
                (
                    json!("b"),
                    "spec.rule: Invalid value: \"b\": failed rule: self.startsWith('k')",
                ),
                (json!("k"), ""),
            ],
        ),
        case(
            "rule-of-object",
            pair.clone(),
            with(&pair, rule("self.a < self.b")),
            json!({"a": 2, "b": 1}),
            vec![
                (
                    json!({"b": 1, "a": 2}),
                    "forgiven: spec.rule-of-object: Invalid value: failed rule: self.a < self.b",
                ),
                (
                    json!({"a": 3, "b": 1}),
                    "spec.rule-of-object: Invalid value: failed rule: self.a < self.b",
                ),
                (json!({"a": 0, "b": 1}), ""),
            ],
        ),
        case(
            "rule-that-fails",
            pair.clone(),
            with(&pair, rule("self.b == 1")),
            json!({"a": 2}),
            vec![
                (
                    json!({"a": 2}),
                    "spec.rule-that-fails: Invalid value: \"object\": no such key: b evaluating rule: self.b == 1",
                ),
                (
                    json!({"a": 3}),
                    "spec.rule-that-fails: Invalid value: \"object\": no such key: b evaluating rule: self.b == 1",
                ),
            ],
        ),
        case(
            "rule-of-entries",
            map(&text),
            map(&ks),
            json!({"a": "a", "b": "b"}),
            vec![
                (
                    json!({"a": "a", "b": "k", "c": "k"}),
                    "forgiven: spec.rule-of-entries[a]: Invalid value: \"a\": failed rule: self.startsWith('k')",
                ),
                (
                    json!({"a": "a", "c": "c"}),
                    "forgiven: spec.rule-of-entries[a]: Invalid value: \"a\": failed rule: self.startsWith('k'); spec.rule-of-entries[c]: Invalid value: \"c\": failed rule: self.startsWith('k')",
                ),
                (
                    json!({"a": "b"}),
                    "spec.rule-of-entries[a]: Invalid value: \"b\": failed rule: self.startsWith('k')",
                ),
            ],
        ),
        case(
            "rule-of-nested",
            map(&map(&text)),
            map(&map(&ks)),
            json!({"x": {"a": "a"}, "y": {"b": "b"}}),
            vec![
                (
                    json!({"x": {"a": "a", "c": "k"}, "y": {"b": "k"}}),
                    "forgiven: spec.rule-of-nested[x][a]: Invalid value: \"a\": failed rule: self.startsWith('k')",
                ),
                (
                    json!({"x": {"b": "b"}}),
                    "spec.rule-of-nested[x][b]: Invalid value: \"b\": failed rule: self.startsWith('k')",
                ),
            ],
        ),
        case(
            "rule-of-items",
            list(&text),
            list(&ks),
            json!(["a"]),
            vec![
                (
                    json!(["a"]),
                    "forgiven: spec.rule-of-items[0]: Invalid value: \"a\": failed rule: self.startsWith('k')",
                ),
                (
                    json!(["a", "k"]),
                    "spec.rule-of-items[0]: Invalid value: \"a\": failed rule: self.startsWith('k')",
                ),
            ],
        ),
        case(
            "rule-of-keyed",
            keyed(item(number.clone(), text.clone())),
            keyed(item(number.clone(), ks.clone())),
            json!([{"id": 1, "text": "a"}]),
            vec![
                (
                    json!([{"id": 2, "text": "k"}, {"id": 1, "text": "a", "other": "x"}]),
                    "forgiven: spec.rule-of-keyed[1].text: Invalid value: \"a\": failed rule: self.startsWith('k')",
                ),
                (
                    json!([{"id": 2, "text": "a"}]),
                    "spec.rule-of-keyed[0].text: Invalid value: \"a\": failed rule: self.startsWith('k')",
                ),
            ],
        ),
        case(
            "rule-of-keyed-item",
            keyed(item(number.clone(), text.clone())),
            keyed(with(&item(number.clone(), text.clone()), rule("self.id > 5"))),
            json!([{"id": 1, "text": "a"}]),
            vec![
                (
                    json!([{"id": 7}, {"id": 1, "text": "a"}]),
                    "forgiven: spec.rule-of-keyed-item[1]: Invalid value: failed rule: self.id > 5",
                ),
                (
                    json!([{"id": 1, "text": "b"}]),
                    "spec.rule-of-keyed-item[0]: Invalid value: failed rule: self.id > 5",
                ),
            ],
        ),
        case(
            "transition",
            text.clone(),
            with(&text, rule("oldSelf != 'a' || self == 'k'")),
            json!("a"),
            vec![
                (
                    json!("a"),
                    "spec.transition: Invalid value: \"a\": failed rule: oldSelf != 'a' || self == 'k'",
                ),
                (json!("k"), ""),
                (
                    json!("z"),
                    "spec.transition: Invalid value: \"z\": failed rule: oldSelf != 'a' || self == 'k'",
                ),
            ],
        ),
        case(
            "transition-of-keyed",
            keyed(item(number.clone(), text.clone())),
            keyed(item(number.clone(), with(&text, rule("self == oldSelf")))),
            json!([{"id": 1, "text": "a"}]),
            vec![
                (json!([{"id": 1, "text": "a"}, {"id": 2, "text": "b"}]), ""),
                (
                    json!([{"id": 1, "text": "b"}]),
                    "spec.transition-of-keyed[0].text: Invalid value: \"b\": failed rule: self == oldSelf",
                ),
            ],
        ),
        case(
            "optional-old",
            text.clone(),
            with(
                &text,
                json!({"x-kubernetes-validations": [{"rule": "!oldSelf.hasValue()", "optionalOldSelf": true}]}),
            ),
            json!("a"),
            vec![
                (
                    json!("a"),
                    "spec.optional-old: Invalid value: \"a\": failed rule: !oldSelf.hasValue()",
                ),
                (
                    json!("b"),
                    "spec.optional-old: Invalid value: \"b\": failed rule: !oldSelf.hasValue()",
                ),
            ],
        ),
        case(
            "optional-old-entries",
            map(&text),
            map(&with(
                &text,
                json!({"x-kubernetes-validations": [{"rule": "oldSelf.orValue(self) == self", "message": "stays", "optionalOldSelf": true}]}),
            )),
            json!({"a": "a"}),
            vec![
                (json!({"a": "a", "b": "b"}), ""),
                (
                    json!({"a": "c"}),
                    "spec.optional-old-entries[a]: Invalid value: \"c\": stays",
                ),
            ],
        ),
        case(
            "message",
            text.clone(),
            with(
                &text,
                json!({"x-kubernetes-validations": [{"rule": "self == 'k'", "messageExpression": "'not ' + self", "reason": "FieldValueForbidden"}]}),
            ),
            json!("a"),
            vec![
                (json!("a"), "forgiven: spec.message: Forbidden: not a"),
                (json!("b"), "spec.message: Forbidden: not b"),
            ],
        ),
        case(
            "free",
            free.clone(),
            with(&free, json!({"minProperties": 2})),
            json!({"a": 1}),
            vec![
                (
                    json!({"a": 1}),
                    "spec.free: Invalid value: 1: spec.free in body should have at least 2 properties",
                ),
                (json!({"a": 1, "b": 2}), ""),
            ],
        ),
        case(
            "embedded",
            free.clone(),
            with(&free, json!({"x-kubernetes-embedded-resource": true})),
            json!({"apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": "Not Valid"}}),
            vec![
                (
                    json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "Not Valid"}}),
                    "",
                ),
                (
                    json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "valid"}}),
                    "",
                ),
            ],
        ),
        case(
            "embedded-kindless",
            free.clone(),
            with(&free, json!({"x-kubernetes-embedded-resource": true})),
            json!({"metadata": {}}),
            vec![(
                json!({"metadata": {}}),
                "[spec.embedded-kindless.apiVersion: Required value, spec.embedded-kindless.kind: Required value, <nil>: Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation]",
            )],
        ),
        case(
            "nulls",
            with(&text, json!({"nullable": true})),
            with(&text, json!({"nullable": true, "minLength": 3})),
            json!(null),
            vec![
                (json!(null), ""),
                (
                    json!("a"),
                    "spec.nulls: Invalid value: \"a\": spec.nulls in body should be at least 3 chars long",
                ),
            ],
        ),
    ]
}

fn definition(group: &str, spec: Value) -> Value {
    json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": format!("things.{group}")},
        "spec": {"group": group, "scope": "Cluster", "names": {"plural": "things", "kind": "Thing"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}}}]}})
}

#[tokio::test]
async fn what_does_not_change_is_forgiven() -> Result<()> {
    let cluster = TestCluster::start().await?;
    let raw = cluster.raw();
    let group = format!("{}.example.com", cluster.unique("ratchet"));
    let cases = cases();
    let schema = |of: fn(&Case) -> &Value, probe: Value| {
        let mut spec = json!({"type": "object", "properties": {"probe": probe}});
        for case in &cases {
            spec["properties"][case.name] = of(case).clone();
        }
        spec
    };
    let loose = definition(&group, schema(|case| &case.loose, json!({"type": "string"})));
    let made = raw.post(DEFINITIONS, &loose).await?;
    assert_eq!(made.code, 201, "{made:?}");
    let things = format!("/apis/{group}/v1/things");
    let thing = |name: &str, spec: Value| json!({"apiVersion": format!("{group}/v1"), "kind": "Thing", "metadata": {"name": name}, "spec": spec});
    eventually("the kind is served", || async {
        Ok(raw.get(&things).await?.code == 200)
    })
    .await?;
    for case in &cases {
        let made = raw
            .post(&things, &thing(case.name, json!({case.name: case.value})))
            .await?;
        assert_eq!(made.code, 201, "{}: {made:?}", case.name);
    }
    let tight = definition(
        &group,
        schema(|case| &case.tight, json!({"type": "string", "maxLength": 1})),
    );
    let path = format!("{DEFINITIONS}/things.{group}");
    let changed = raw.patch("merge", &path, &json!({"spec": tight["spec"]})).await?;
    assert_eq!(changed.code, 200, "{changed:?}");
    eventually("the schema is stricter", || async {
        let probe = thing("probe", json!({"probe": "long"}));
        Ok(raw.post(&format!("{things}?dryRun=All"), &probe).await?.code == 422)
    })
    .await?;
    let mut problems = Vec::new();
    for case in &cases {
        let path = format!("{things}/{}", case.name);
        let old = raw.get(&path).await?.body;
        for (value, expected) in &case.changes {
            // Something always changes, or nothing would be looked at.
            let mut new = old.clone();
            new["metadata"]["labels"] = json!({"touched": "yes"});
            new["spec"][case.name] = value.clone();
            let answer = raw.put(&format!("{path}?dryRun=All"), &new).await?;
            let prefix = format!("Thing.{group} \"{}\" is invalid: ", case.name);
            let refused = match answer.code {
                200 => None,
                _ => Some(answer.message().strip_prefix(&prefix).unwrap_or(answer.message())),
            };
            let forgiven = answer
                .warnings
                .iter()
                .map(|warning| format!("forgiven: {warning}"));
            let got: Vec<String> = forgiven.chain(refused.map(str::to_owned)).collect();
            if got.join("; ") != *expected {
                problems.push(format!("{} {value} -> {}", case.name, got.join("; ")));
            }
        }
    }
    assert!(problems.is_empty(), "\n{}", problems.join("\n"));
    Ok(())
}
