//! MutatingAdmissionPolicy: mutations and failures.

use std::sync::Arc;

use crate::acceptance::policies_support::{API, Place, config_map};
use anyhow::Result;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use cambium_testing::{WebhookServer, eventually};
use serde_json::{Value, json};

fn apply(expression: &str) -> Value {
    json!({"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": expression}})
}

fn patch(expression: &str) -> Value {
    json!({"patchType": "JSONPatch", "jsonPatch": {"expression": expression}})
}

fn never(mutations: &[Value]) -> Value {
    json!({"reinvocationPolicy": "Never", "mutations": mutations})
}

/// The expected result for a ConfigMap: some of its fields, or a denial.
enum Expected {
    Made(&'static str, Value),
    Refused(u16, &'static str, &'static str),
}
use Expected::{Made, Refused};

fn invalid(why: &'static str) -> Expected {
    Refused(403, "Invalid", why)
}

#[tokio::test]
async fn config_maps_are_changed() -> Result<()> {
    let place = Place::start("mutate").await?;
    let one = |mutation: Value| never(&[mutation]);
    let cases: Vec<(&str, Value, Value, Expected)> = vec![
        (
            "applies",
            one(apply(
                "Object{metadata: Object.metadata{annotations: {'a/b': object.data.k}}, data: {'added': 'yes'}}",
            )),
            json!({}),
            Made("data", json!({"added": "yes", "k": "v"})),
        ),
        (
            "overwrites",
            one(apply("Object{data: Object.data{k: 'w'}}")),
            json!({}),
            Made("data", json!({"k": "w"})),
        ),
        (
            "one-after-the-other",
            never(&[
                apply("Object{data: {'first': 'x'}}"),
                patch("[JSONPatch{op: 'copy', from: '/data/first', path: '/data/second'}]"),
            ]),
            json!({}),
            Made("data", json!({"first": "x", "k": "v", "second": "x"})),
        ),
        (
            "patches",
            one(patch(
                "[JSONPatch{op: 'add', path: '/metadata/labels/' + jsonpatch.escapeKey('a.b/c'), value: 'x'}, \
            JSONPatch{op: 'remove', path: '/data/k'}, JSONPatch{op: 'replace', path: '/data/l', value: string(1 + 1)}]",
            )),
            json!({}),
            Made("data", json!({"l": "2"})),
        ),
        (
            "patch-object",
            one(patch(
                "[JSONPatch{op: 'replace', path: '/data', value: Object.data{x: 'y'}}]",
            )),
            json!({}),
            Made("data", json!({"x": "y"})),
        ),
        (
            "patch-test-fails",
            one(patch(
                "[JSONPatch{op: 'test', path: '/data/k', value: 'w'}, JSONPatch{op: 'remove', path: '/data/k'}]",
            )),
            json!({}),
            Made("data", json!({"k": "v"})),
        ),
        (
            "patch-test-holds",
            one(patch(
                "[JSONPatch{op: 'test', path: '/data/k', value: 'v'}, JSONPatch{op: 'move', from: '/data/k', path: '/data/m'}]",
            )),
            json!({}),
            Made("data", json!({"m": "v"})),
        ),
        (
            "patch-either",
            one(patch(
                "has(object.immutable) ? [] : [JSONPatch{op: 'add', path: '/immutable', value: false}]",
            )),
            json!({}),
            Made("immutable", json!(false)),
        ),
        (
            "variables",
            json!({"reinvocationPolicy": "Never", "variables": [{"name": "k", "expression": "object.data.k + '!'"}],
            "mutations": [apply("Object{data: {'k': variables.k}}")]}),
            json!({}),
            Made("data", json!({"k": "v!"})),
        ),
        (
            "fresh-variables",
            json!({"reinvocationPolicy": "Never", "variables": [{"name": "k", "expression": "object.data.k + '!'"}],
            "mutations": [apply("Object{data: {'k': variables.k}}"), apply("Object{data: {'k': variables.k}}")]}),
            json!({}),
            Made("data", json!({"k": "v!!"})),
        ),
        (
            "unmet",
            json!({"reinvocationPolicy": "Never", "matchConditions": [{"name": "a", "expression": "object.data.k == 'w'"}],
            "mutations": [apply("Object{data: {'x': 'y'}}")]}),
            json!({}),
            Made("data", json!({"k": "v"})),
        ),
        (
            "optional",
            one(apply("Object{?immutable: object[?'none']}")),
            json!({}),
            Made("data", json!({"k": "v"})),
        ),
        (
            "rights",
            one(apply(
                "Object{data: {'may': string(authorizer.requestResource.check('create').allowed())}}",
            )),
            json!({}),
            Made("data", json!({"k": "v", "may": "true"})),
        ),
        (
            "no-such-field",
            one(apply("Object{nothing: 1}")),
            json!({}),
            invalid(
                "error applying patch: failed to convert patch object to typed object: .nothing: field not declared in schema",
            ),
        ),
        (
            "wrong-type",
            one(apply("Object{immutable: 'yes'}")),
            json!({}),
            invalid(
                "error applying patch: failed to convert patch object to typed object: .immutable: expected boolean, got &{yes}",
            ),
        ),
        (
            "misplaced",
            one(apply("Object{metadata: Object.spec{}}")),
            json!({}),
            invalid(
                "type mismatch: unexpected type name \"Object.spec\", expected \"Object.metadata\", which matches field name path from root Object type",
            ),
        ),
        (
            "error",
            one(apply("Object{data: {'x': object.data.none}}")),
            json!({}),
            invalid(
                "expression 'Object{data: {'x': object.data.none}}' resulted in error: no such key: none",
            ),
        ),
        (
            "error-ignored",
            json!({"failurePolicy": "Ignore", "reinvocationPolicy": "Never", "mutations": [apply("Object{data: {'x': object.data.none}}"),
            apply("Object{data: {'y': 'z'}}")]}),
            json!({}),
            Made("data", json!({"k": "v", "y": "z"})),
        ),
        (
            "patch-nowhere",
            one(patch("[JSONPatch{op: 'add', path: '/nowhere/x', value: 1}]")),
            json!({}),
            invalid(
                "JSON Patch: add operation does not apply: doc is missing path: \"/nowhere/x\": missing value",
            ),
        ),
        (
            "patch-nothing",
            one(patch("[JSONPatch{op: 'remove', path: '/data/x'}]")),
            json!({}),
            invalid(
                "JSON Patch: error in remove for path: '/data/x': Unable to remove nonexistent key: x: missing value",
            ),
        ),
        (
            "patch-strange",
            one(patch("[JSONPatch{op: 'swap', path: '/data/x'}]")),
            json!({}),
            invalid("JSON Patch: Unexpected kind: swap"),
        ),
        (
            "patch-unknown",
            one(patch("[JSONPatch{op: 'add', path: '/nothing', value: 1}]")),
            json!({}),
            Refused(
                500,
                "InternalError",
                "Internal error occurred: strict decoding error: unknown field \"nothing\"",
            ),
        ),
        (
            "condition-fails",
            json!({"reinvocationPolicy": "Never", "matchConditions": [{"name": "a", "expression": "object.data.none == ''"}],
            "mutations": [apply("Object{}")]}),
            json!({}),
            invalid("expression 'object.data.none == ''' resulted in error: no such key: none"),
        ),
        (
            // Kubernetes asks every policy of such an object, if it cannot be configured: the name is no other test's.
            "unknown-mutating-params",
            json!({"paramKind": {"apiVersion": "no.such/v1", "kind": "Thing"}, "reinvocationPolicy": "Never",
            "mutations": [apply("Object{}")]}),
            json!({"paramRef": {"name": "x", "parameterNotFoundAction": "Deny"}}),
            Refused(
                403,
                "Forbidden",
                "failed to configure policy: failed to find resource referenced by paramKind: 'no.such/v1, Kind=Thing'",
            ),
        ),
        (
            "moves-away",
            one(patch(
                "[JSONPatch{op: 'replace', path: '/metadata/namespace', value: 'default'}]",
            )),
            json!({}),
            Refused(
                400,
                "BadRequest",
                "the namespace of the provided object does not match the namespace sent on the request",
            ),
        ),
        (
            "makes-it-invalid",
            one(apply("Object{data: {'a b': 'x'}}")),
            json!({}),
            Refused(
                422,
                "Invalid",
                "ConfigMap \"makes-it-invalid\" is invalid: data[a b]: Invalid value: \"a b\": a valid config key must consist of \
                alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')",
            ),
        ),
    ];
    for (case, spec, binding, _) in &cases {
        place
            .install("Mutating", case, spec.clone(), binding.clone())
            .await?;
    }
    place.in_force("Mutating").await?;
    let mut problems = Vec::new();
    for (case, _, _, expected) in &cases {
        let made = place.create(case, json!({"k": "v"})).await?;
        let policy = place.name(case);
        let (wanted, got) = match expected {
            Made(field, value) => (
                format!("201 {value}"),
                format!("{} {}", made.code, made.body[*field]),
            ),
            Refused(code, reason, why) => {
                let message = match (code, reason) {
                    (403, &"Forbidden") => format!("policy \"{policy}\" denied request: {why}"),
                    (403, _) => format!("policy '{policy}' with binding '{policy}' denied request: {why}"),
                    _ => (*why).to_owned(),
                };
                (
                    format!("{code} {reason} {message}"),
                    format!("{} {} {}", made.code, made.reason(), made.message()),
                )
            }
        };
        if wanted != got {
            problems.push(format!(
                "{case}\n wanted: {wanted}\n    got: {got} {}",
                made.message()
            ));
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
    Ok(())
}

fn deployment(case: &str) -> Value {
    json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": case, "labels": {"case": case}}, "spec": {"replicas": 0,
        "selector": {"matchLabels": {"app": "web"}}, "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [
            {"name": "web", "image": "web:1", "env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}], "ports": [{"containerPort": 80}]}]}}}})
}

/// The value at a path, or the denial.
type Outcome<'a> = Result<(&'a str, Value), String>;

#[tokio::test]
async fn lists_merge_by_key_and_whole_ones_not_at_all() -> Result<()> {
    let place = Place::start("lists").await?;
    let rules = |case: &str| {
        json!({"objectSelector": {"matchLabels": {"case": case}}, "resourceRules": [
            {"operations": ["CREATE"], "apiGroups": ["apps"], "apiVersions": ["v1"], "resources": ["deployments"]}]})
    };
    let container = |fields: &str| {
        format!(
            "Object{{spec: Object.spec{{template: Object.spec.template{{spec: Object.spec.template.spec{{containers: \
                 [Object.spec.template.spec.containers{{{fields}}}]}}}}}}}}"
        )
    };
    let at = "Object.spec.template.spec.containers";
    let whole =
        "error applying patch: invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: ";
    let cases: Vec<(&str, String, Outcome<'_>)> = vec![
        ("replicas", "Object{spec: Object.spec{replicas: 3}}".into(), Ok(("/spec/replicas", json!(3)))),
        ("env", container(&format!("name: 'web', env: [{at}.env{{name: 'B', value: '3'}}, {at}.env{{name: 'C', value: '4'}}]")),
            Ok(("/spec/template/spec/containers/0/env",
                json!([{"name": "A", "value": "1"}, {"name": "B", "value": "3"}, {"name": "C", "value": "4"}])))),
        ("ports", container(&format!("name: 'web', ports: [{at}.ports{{containerPort: 80, name: 'http'}}]")),
            Ok(("/spec/template/spec/containers/0/ports", json!([{"containerPort": 80, "name": "http", "protocol": "TCP"}])))),
        ("sidecar", container("name: 'side', image: 'side:1'"), Ok(("/spec/template/spec/containers/1/terminationMessagePath", json!("/dev/termination-log")))),
        ("args", container("name: 'web', args: ['-v']"), Err(format!("{whole}.spec.template.spec.containers[0].args"))),
        ("selector", "Object{spec: Object.spec{selector: Object.spec.selector{matchLabels: {'a': 'b'}}}}".into(), Err(format!("{whole}.spec.selector"))),
        ("no-key", container("image: 'x'"), Err("Deployment.apps \"no-key\" is invalid: spec.template.spec.containers[1].name: Required value".into())),
    ];
    for (case, source, _) in &cases {
        let mut spec = never(&[apply(source)]);
        spec["matchConstraints"] = rules(case);
        place.install("Mutating", case, spec, json!({})).await?;
    }
    place.in_force("Mutating").await?;
    let path = format!("/apis/apps/v1/namespaces/{}/deployments", place.namespace);
    let mut problems = Vec::new();
    for (case, _, expected) in &cases {
        let made = place.raw.post(&path, &deployment(case)).await?;
        let policy = place.name(case);
        let (wanted, got) = match expected {
            Ok((pointer, value)) => (
                value.to_string(),
                made.body.pointer(pointer).unwrap_or(&made.body).to_string(),
            ),
            Err(why) if why.starts_with("Deployment") => (why.clone(), made.message().to_owned()),
            Err(why) => (
                format!("policy '{policy}' with binding '{policy}' denied request: {why}"),
                made.message().to_owned(),
            ),
        };
        if wanted != got {
            problems.push(format!("{case}\n wanted: {wanted}\n    got: {got}"));
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
    Ok(())
}

#[tokio::test]
async fn custom_objects_are_changed_by_their_schema() -> Result<()> {
    let place = Place::start("custom").await?;
    let group = format!("{}.example.com", place.namespace);
    let crd = json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": format!("things.{group}")},
        "spec": {"group": group, "scope": "Namespaced", "names": {"plural": "things", "kind": "Thing"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": {
                "type": "object", "properties": {
                    "size": {"type": "string", "default": "small"},
                    "items": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["id"], "items": {"type": "object",
                        "required": ["id"], "properties": {"id": {"type": "integer"}, "text": {"type": "string"}}}},
                    "tags": {"type": "array", "items": {"type": "string"}}}}}}}}]}});
    assert_eq!(
        place
            .raw
            .post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", &crd)
            .await?
            .code,
        201
    );
    let things = format!("/apis/{group}/v1/namespaces/{}/things", place.namespace);
    let thing = |case: &str| {
        json!({"apiVersion": format!("{group}/v1"), "kind": "Thing", "metadata": {"name": case, "labels": {"case": case}},
            "spec": {"items": [{"id": 1, "text": "a"}]}})
    };
    eventually("the kind is served", || async {
        Ok(place.raw.get(&things).await?.code == 200)
    })
    .await?;
    let cases = [
        (
            "items",
            apply("Object{spec: Object.spec{items: [Object.spec.items{id: 2, text: 'b'}]}}"),
            Ok(json!({"items": [{"id": 1, "text": "a"}, {"id": 2, "text": "b"}], "size": "small"})),
        ),
        (
            "patched",
            patch(
                "[JSONPatch{op: 'add', path: '/spec/tags', value: ['x']}, JSONPatch{op: 'remove', path: '/spec/size'}]",
            ),
            Ok(json!({"items": [{"id": 1, "text": "a"}], "size": "small", "tags": ["x"]})),
        ),
        (
            "tags",
            apply("Object{spec: Object.spec{tags: ['x']}}"),
            Err(
                "error applying patch: invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: .spec.tags",
            ),
        ),
        (
            "unknown",
            apply("Object{spec: Object.spec{other: 1}}"),
            Err(
                "error applying patch: failed to convert patch object to typed object: .spec.other: field not declared in schema",
            ),
        ),
    ];
    for (case, mutation, _) in &cases {
        let mut spec = never(std::slice::from_ref(mutation));
        spec["matchConstraints"] = json!({"objectSelector": {"matchLabels": {"case": case}}, "resourceRules": [
            {"operations": ["CREATE"], "apiGroups": [group], "apiVersions": ["v1"], "resources": ["things"]}]});
        place.install("Mutating", case, spec, json!({})).await?;
    }
    place.in_force("Mutating").await?;
    for (case, _, expected) in &cases {
        let policy = place.name(case);
        // The schema of a new kind may be known later than the kind.
        eventually(case, || async {
            let made = place
                .raw
                .post(&format!("{things}?dryRun=All"), &thing(case))
                .await?;
            Ok(match expected {
                Ok(spec) => made.code == 201 && made.body["spec"] == *spec,
                Err(why) => {
                    made.message()
                        == format!("policy '{policy}' with binding '{policy}' denied request: {why}")
                }
            })
        })
        .await?;
    }
    Ok(())
}

#[tokio::test]
async fn parameters_say_what_is_changed() -> Result<()> {
    let place = Place::start("given").await?;
    let maps = place.config_maps();
    for name in ["red", "blue"] {
        let params = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "labels": {"colour": "yes"}}, "data": {"key": name}});
        assert_eq!(place.raw.post(&maps, &params).await?.code, 201);
    }
    let spec = json!({"reinvocationPolicy": "Never", "paramKind": {"apiVersion": "v1", "kind": "ConfigMap"},
        "mutations": [patch("[JSONPatch{op: 'add', path: '/data/' + params.data.key, value: 'yes'}]")]});
    let reference = |reference: Value| json!({"paramRef": reference});
    place
        .install(
            "Mutating",
            "one",
            spec.clone(),
            reference(json!({"name": "red", "parameterNotFoundAction": "Deny"})),
        )
        .await?;
    place
        .install(
            "Mutating",
            "all",
            spec.clone(),
            reference(
                json!({"selector": {"matchLabels": {"colour": "yes"}}, "parameterNotFoundAction": "Deny"}),
            ),
        )
        .await?;
    place
        .install(
            "Mutating",
            "none",
            spec.clone(),
            reference(json!({"name": "green", "parameterNotFoundAction": "Allow"})),
        )
        .await?;
    let missing = place
        .install(
            "Mutating",
            "missing",
            spec,
            reference(json!({"name": "green", "parameterNotFoundAction": "Deny"})),
        )
        .await?;
    place.in_force("Mutating").await?;
    for (case, expected) in [
        ("one", json!({"k": "v", "red": "yes"})),
        ("all", json!({"blue": "yes", "k": "v", "red": "yes"})),
        ("none", json!({"k": "v"})),
    ] {
        eventually(case, || async {
            let made = place
                .raw
                .post(
                    &format!("{maps}?dryRun=All"),
                    &config_map(case, case, json!({"k": "v"})),
                )
                .await?;
            Ok(made.body["data"] == expected)
        })
        .await?;
    }
    let refused = place.create("missing", json!({"k": "v"})).await?;
    let why =
        "failed to configure binding: no params found for policy binding with `Deny` parameterNotFoundAction";
    assert_eq!(
        (refused.code, refused.reason(), refused.message()),
        (
            403,
            "Forbidden",
            format!("policy '{missing}' with binding '{missing}' denied request: {why}").as_str()
        )
    );
    assert_eq!(
        refused.body["details"]["causes"],
        json!([{"message": refused.message()}])
    );
    Ok(())
}

#[tokio::test]
async fn whoever_asks_for_it_sees_what_others_did() -> Result<()> {
    let place = Place::start("rounds").await?;
    // Answers with a label, and an annotation that says which labels it saw.
    let hook = WebhookServer::start(Arc::new(|_, review| {
        let request = &review["request"];
        let patch = json!([{"op": "add", "path": "/metadata/labels/hook", "value": "yes"}]);
        let response = json!({"uid": request["uid"], "allowed": true, "patchType": "JSONPatch", "patch": STANDARD.encode(patch.to_string())});
        json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response})
    }))
    .await?;
    let configuration = json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingWebhookConfiguration", "metadata": {"name": place.name("hook")},
        "webhooks": [{"name": "hook.example.com", "admissionReviewVersions": ["v1"], "sideEffects": "None",
            "clientConfig": {"url": hook.url("/label"), "caBundle": STANDARD.encode(hook.authority())},
            "objectSelector": {"matchLabels": {"case": "rounds"}},
            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": place.namespace}},
            "rules": [{"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"]}]}]});
    assert_eq!(
        place
            .raw
            .post(&format!("{API}/mutatingwebhookconfigurations"), &configuration)
            .await?
            .code,
        201
    );
    let rules = json!({"objectSelector": {"matchLabels": {"case": "rounds"}}, "resourceRules": [
        {"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"]}]});
    // How often each was there, and whether it saw the other's work and the webhook's.
    let counted = |name: &str, again: &str| {
        json!({"matchConstraints": rules, "reinvocationPolicy": again, "mutations": [apply(&format!(
            "Object{{data: {{'{name}': 'x' + object.data[?'{name}'].orValue(''), '{name}-saw-hook': string(has(object.metadata.labels.hook))}}}}"))]})
    };
    place
        .install("Mutating", "rounds-a", counted("a", "IfNeeded"), json!({}))
        .await?;
    place
        .install("Mutating", "rounds-b", counted("b", "Never"), json!({}))
        .await?;
    place.in_force("Mutating").await?;
    let path = format!("{}?dryRun=All", place.config_maps());
    eventually("the webhook is called", || async {
        let made = place
            .raw
            .post(&path, &config_map("probe", "rounds", json!({"k": "v"})))
            .await?;
        Ok(made.body["metadata"]["labels"]["hook"] == "yes")
    })
    .await?;
    let made = place
        .raw
        .post(&path, &config_map("rounds", "rounds", json!({"k": "v"})))
        .await?;
    assert_eq!(
        made.body["data"],
        json!({"k": "v", "a": "xx", "a-saw-hook": "true", "b": "x", "b-saw-hook": "false"}),
        "{made:?}"
    );
    let seen = hook.seen().pop().unwrap();
    assert_eq!(
        seen["request"]["object"]["data"]["a"], "x",
        "policies come before webhooks"
    );
    place
        .raw
        .delete(
            &format!("{API}/mutatingwebhookconfigurations/{}", place.name("hook")),
            &json!({}),
        )
        .await?;
    Ok(())
}
