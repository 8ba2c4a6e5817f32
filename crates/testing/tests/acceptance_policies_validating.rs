//! ValidatingAdmissionPolicy: what is refused, and in which words.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod policies_support;

use anyhow::Result;
use cambium_testing::{eventually, eventually_some};
use policies_support::{API, Place, config_map};
use serde_json::{Value, json};

/// An expression that takes longer than anybody waits.
fn endless() -> String {
    let digits = "[0,1,2,3,4,5,6,7,8,9]";
    (0..6).fold("true".to_owned(), |inner, level| format!("{digits}.all(x{level}, {inner})"))
}

/// What a case is answered with: a refusal, or nothing but warnings.
enum Expected {
    Refused(u16, &'static str, String),
    Allowed(Vec<String>),
}
use Expected::{Allowed, Refused};

fn invalid(why: impl Into<String>) -> Expected {
    Refused(422, "Invalid", why.into())
}

#[tokio::test]
async fn policies_refuse_in_the_words_of_the_api_server() -> Result<()> {
    let place = Place::start("words").await?;
    let validation = |validation: Value| json!({"validations": [validation]});
    let fails = |source: &str, why: &str| invalid(format!("expression '{source}' resulted in error: {why}"));
    let cases: Vec<(&str, Value, Value, Expected)> = vec![
        ("plain", validation(json!({"expression": " object.data.k == 'w' "})), json!({}),
            invalid("failed expression: object.data.k == 'w'")),
        ("holds", validation(json!({"expression": "object.data.k == 'v' && object.kind == 'ConfigMap'"})), json!({}), Allowed(vec![])),
        ("message", validation(json!({"expression": "false", "message": " no, "})), json!({}), invalid("no,")),
        ("expression", validation(json!({"expression": "false", "message": "no", "messageExpression": "'k is ' + object.data.k"})), json!({}),
            invalid("k is v")),
        ("failing-message", validation(json!({"expression": "false", "message": "no", "messageExpression": "string(object.data.none)"})), json!({}),
            invalid("no")),
        ("blank-message", validation(json!({"expression": "false", "messageExpression": "'  '"})), json!({}), invalid("failed expression: false")),
        ("lines", validation(json!({"expression": "false", "messageExpression": "'a\\nb'"})), json!({}), invalid("failed expression: false")),
        ("forbidden", validation(json!({"expression": "false", "reason": "Forbidden"})), json!({}),
            Refused(403, "Forbidden", "failed expression: false".into())),
        ("too-large", validation(json!({"expression": "false", "reason": "RequestEntityTooLarge"})), json!({}),
            Refused(413, "RequestEntityTooLarge", "failed expression: false".into())),
        ("error", validation(json!({"expression": "object.data.none == 'x'", "message": "no"})), json!({}),
            fails("object.data.none == 'x'", "no such key: none")),
        ("ignored", json!({"failurePolicy": "Ignore", "validations": [{"expression": "object.data.none == 'x'"}]}), json!({}), Allowed(vec![])),
        ("ignored-but-false", json!({"failurePolicy": "Ignore", "validations": [{"expression": "false"}]}), json!({}),
            invalid("failed expression: false")),
        ("warns", validation(json!({"expression": "false", "message": "careful"})), json!({"validationActions": ["Warn", "Audit"]}),
            Allowed(vec!["careful".into()])),
        ("audits", validation(json!({"expression": "false"})), json!({"validationActions": ["Audit"]}), Allowed(vec![])),
        ("annotates", json!({"auditAnnotations": [{"key": "k", "valueExpression": "string(object.data.k)"}, {"key": "n", "valueExpression": "null"}]}),
            json!({}), Allowed(vec![])),
        ("annotation-fails", json!({"auditAnnotations": [{"key": "k", "valueExpression": "'x' + object.data.none"}]}),
            json!({"validationActions": ["Audit"]}), fails("'x' + object.data.none", "no such key: none")),
        ("second", json!({"validations": [{"expression": "true"}, {"expression": "false", "message": "second"}, {"expression": "false", "message": "third"}]}),
            json!({}), invalid("second")),
        ("variables", json!({"variables": [{"name": "k", "expression": "object.data.k"}, {"name": "long", "expression": "variables.k + variables.k"}],
            "validations": [{"expression": "variables.long == 'v'", "messageExpression": "'long is ' + variables.long"}]}),
            json!({}), invalid("long is vv")),
        ("variable-fails", json!({"variables": [{"name": "none", "expression": "object.data.none"}, {"name": "next", "expression": "variables.none + 'x'"}],
            "validations": [{"expression": "variables.next == 'v'"}]}), json!({}),
            fails("variables.next == 'v'", "composited variable \"next\" fails to evaluate: composited variable \"none\" fails to \
                   evaluate: no such key: none")),
        ("variable-unused", json!({"variables": [{"name": "none", "expression": "object.data.none"}],
            "validations": [{"expression": "true || variables.none == ''"}]}), json!({}), Allowed(vec![])),
        ("unmet", json!({"matchConditions": [{"name": "a", "expression": "object.data.none == ''"}, {"name": "b", "expression": "object.data.k == 'w'"}],
            "validations": [{"expression": "false"}]}), json!({}), Allowed(vec![])),
        ("unclear", json!({"matchConditions": [{"name": "a", "expression": "object.data.none == ''"}, {"name": "b", "expression": "object.data.other == ''"}],
            "validations": [{"expression": "true"}]}), json!({}),
            invalid("[expression 'object.data.none == ''' resulted in error: no such key: none, expression 'object.data.other == ''' \
                     resulted in error: no such key: other]")),
        ("unclear-ignored", json!({"failurePolicy": "Ignore", "matchConditions": [{"name": "a", "expression": "object.data.none == ''"}],
            "validations": [{"expression": "false"}]}), json!({}), Allowed(vec![])),
        ("endless", validation(json!({"expression": endless()})), json!({}),
            fails(&endless(), "operation cancelled: actual cost limit exceeded")),
        ("endless-many", json!({"validations": vec![json!({"expression": endless()}); 11]}), json!({}),
            invalid("validation failed due to running out of cost budget, no further validation rules will be run")),
        ("endless-message", validation(json!({"expression": "true", "messageExpression": format!("{} ? 'a' : 'b'", endless())})),
            json!({}), Allowed(vec![])),
        ("endless-variable", json!({"variables": [{"name": "e", "expression": endless()}], "validations": [{"expression": "variables.e"}]}), json!({}),
            fails("variables.e", "composited variable \"e\" fails to evaluate: operation cancelled: actual cost limit exceeded")),
        ("world", validation(json!({"expression": "request.operation == 'CREATE' && request.kind.kind == 'ConfigMap' && request.resource.resource == \
            'configmaps' && request.name == 'world' && request.namespace == namespaceObject.metadata.name && oldObject == null && \
            !request.dryRun && 'system:masters' in request.userInfo.groups && namespaceObject.status.phase == 'Active'"})), json!({}), Allowed(vec![])),
        ("rights", json!({"validations": [
            {"expression": "authorizer.group('').resource('configmaps').namespace('default').check('create').allowed()"},
            {"expression": "authorizer.requestResource.check('delete').allowed() && authorizer.path('/healthz').check('get').allowed()"},
            {"expression": "!authorizer.serviceAccount('default', 'nobody').group('').resource('secrets').name('x').check('delete').allowed()"}]}),
            json!({}), Allowed(vec![])),
        ("too-many-rights", validation(json!({"expression": "authorizer.path('/').check('a').allowed() || authorizer.path('/').check('b').allowed() \
            || authorizer.path('/').check('c').allowed()", "message": "x"})), json!({}), Allowed(vec![])),
        ("wrong-account", validation(json!({"expression": "authorizer.serviceAccount('de fault', 'x').path('/a').check('get').allowed()"})), json!({}),
            fails("authorizer.serviceAccount('de fault', 'x').path('/a').check('get').allowed()", "Invalid service account namespace")),
        ("excluded", json!({"matchConstraints": {"excludeResourceRules": [{"operations": ["CREATE"], "apiGroups": ["*"], "apiVersions": ["*"],
            "resources": ["configmaps"], "resourceNames": ["excluded"]}],
            "resourceRules": [{"operations": ["*"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"]}],
            "objectSelector": {"matchLabels": {"case": "excluded"}}}, "validations": [{"expression": "false"}]}), json!({}), Allowed(vec![])),
        ("other-name", json!({"matchConstraints": {"resourceRules": [{"operations": ["*"], "apiGroups": [""], "apiVersions": ["v1"],
            "resources": ["configmaps"], "resourceNames": ["somebody-else"]}],
            "objectSelector": {"matchLabels": {"case": "other-name"}}}, "validations": [{"expression": "false"}]}), json!({}), Allowed(vec![])),
        ("cluster-only", json!({"matchConstraints": {"resourceRules": [{"operations": ["*"], "apiGroups": [""], "apiVersions": ["v1"],
            "resources": ["*"], "scope": "Cluster"}], "objectSelector": {"matchLabels": {"case": "cluster-only"}}},
            "validations": [{"expression": "false"}]}), json!({}), Allowed(vec![])),
        ("not-bound-here", validation(json!({"expression": "false"})),
            json!({"matchResources": {"namespaceSelector": {"matchLabels": {"no": "such"}}}}), Allowed(vec![])),
        ("unknown-params", json!({"paramKind": {"apiVersion": "no.such/v1", "kind": "Thing"}, "validations": [{"expression": "true"}]}),
            json!({"paramRef": {"name": "x", "parameterNotFoundAction": "Deny"}}),
            invalid("failed to configure policy: failed to find resource referenced by paramKind: 'no.such/v1, Kind=Thing'")),
        ("unknown-params-ignored", json!({"failurePolicy": "Ignore", "paramKind": {"apiVersion": "no.such/v1", "kind": "Thing"},
            "validations": [{"expression": "true"}]}), json!({"paramRef": {"name": "x", "parameterNotFoundAction": "Deny"}}), Allowed(vec![])),
    ];
    for (case, spec, binding, _) in &cases {
        place.install("Validating", case, spec.clone(), binding.clone()).await?;
    }
    place.in_force("Validating").await?;
    let mut problems = Vec::new();
    for (case, _, _, expected) in &cases {
        let made = place.create(case, json!({"k": "v"})).await?;
        let policy = place.name(case);
        let (wanted, got) = match expected {
            Allowed(warnings) => {
                let warnings: Vec<String> = warnings
                    .iter()
                    .map(|why| format!("Validation failed for ValidatingAdmissionPolicy '{policy}' with binding '{policy}': {why}"))
                    .collect();
                (format!("201 {warnings:?}"), format!("{} {:?}", made.code, made.warnings))
            }
            Refused(code, reason, why) => {
                let by = match why.starts_with("failed to configure policy") {
                    true => format!("ValidatingAdmissionPolicy '{policy}' denied request: {why}"),
                    false => format!("ValidatingAdmissionPolicy '{policy}' with binding '{policy}' denied request: {why}"),
                };
                let details = json!({"name": case, "kind": "configmaps", "causes": [{"message": by}]});
                let message = format!("configmaps \"{case}\" is forbidden: {by}");
                (
                    format!("{code} {reason} {message} {details}"),
                    format!("{} {} {} {}", made.code, made.reason(), made.message(), made.body["details"]),
                )
            }
        };
        if wanted != got {
            problems.push(format!("{case}\n wanted: {wanted}\n    got: {got} {}", made.message()));
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
    Ok(())
}

#[tokio::test]
async fn changes_and_deletions_are_judged_too() -> Result<()> {
    let place = Place::start("changes").await?;
    let rules = json!({"resourceRules": [{"operations": ["UPDATE", "DELETE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"]}],
        "objectSelector": {"matchLabels": {"case": "kept"}}});
    let spec = json!({"matchConstraints": rules, "validations": [
        {"expression": "request.operation != 'DELETE' || (object == null && oldObject.data.k == 'done')", "message": "not done"},
        {"expression": "request.operation == 'DELETE' || object.data.k != oldObject.data.k", "message": "nothing new"}]});
    let name = place.install("Validating", "kept", spec, json!({})).await?;
    place.in_force("Validating").await?;
    assert_eq!(place.create("kept", json!({"k": "a"})).await?.code, 201);
    let path = format!("{}/kept", place.config_maps());
    let denied = |why: &str| {
        format!("configmaps \"kept\" is forbidden: ValidatingAdmissionPolicy '{name}' with binding '{name}' denied request: {why}")
    };
    let refused = place.raw.delete(&path, &json!({})).await?;
    assert_eq!((refused.code, refused.message()), (422, denied("not done").as_str()));
    let refused = place.raw.patch("merge", &path, &json!({"data": {"other": "x"}})).await?;
    assert_eq!((refused.code, refused.message()), (422, denied("nothing new").as_str()));
    assert_eq!(place.raw.patch("merge", &path, &json!({"data": {"k": "done"}})).await?.code, 200);
    assert_eq!(place.raw.delete(&path, &json!({})).await?.code, 200);
    Ok(())
}

#[tokio::test]
async fn parameters_are_found_by_name_and_by_label() -> Result<()> {
    let place = Place::start("params").await?;
    let maps = place.config_maps();
    let limit = |name: &str, limit: &str| {
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "labels": {"limit": "yes"}}, "data": {"most": limit}})
    };
    for (name, most) in [("low", "3"), ("high", "5")] {
        assert_eq!(place.raw.post(&maps, &limit(name, most)).await?.code, 201);
    }
    let spec = json!({"paramKind": {"apiVersion": "v1", "kind": "ConfigMap"},
        "matchConditions": [{"name": "has-params", "expression": "params == null || params.kind == 'ConfigMap'"}],
        "validations": [{"expression": "params == null || size(object.data.k) <= int(params.data.most)",
            "messageExpression": "'at most ' + params.data.most"}]});
    let named = |name: &str, action: &str| json!({"paramRef": {"name": name, "parameterNotFoundAction": action}});
    let labelled = |label: &str, action: &str| json!({"paramRef": {"selector": {"matchLabels": {label: "yes"}}, "parameterNotFoundAction": action}});
    let elsewhere = json!({"paramRef": {"name": "low", "namespace": "default", "parameterNotFoundAction": "Deny"}});
    let none = "failed to configure binding: no params found for policy binding with `Deny` parameterNotFoundAction";
    let cases: Vec<(&str, Value, &str, Option<&str>)> = vec![
        ("by-name", named("low", "Deny"), "1234", Some("at most 3")),
        ("by-name-fits", named("high", "Deny"), "1234", None),
        ("by-label", labelled("limit", "Deny"), "1234", Some("at most 3")),
        ("by-label-fits", labelled("limit", "Deny"), "123", None),
        ("missing", named("none", "Deny"), "1", Some(none)),
        ("missing-allowed", named("none", "Allow"), "123456", None),
        ("no-label", labelled("none", "Deny"), "1", Some(none)),
        ("elsewhere", elsewhere, "1", Some(none)),
        ("no-reference", json!({}), "123456", None),
    ];
    for (case, binding, ..) in &cases {
        place.install("Validating", case, spec.clone(), binding.clone()).await?;
    }
    place.in_force("Validating").await?;
    for (case, _, value, expected) in &cases {
        let wanted = expected.map(|why| {
            let name = place.name(case);
            format!("configmaps \"{case}\" is forbidden: ValidatingAdmissionPolicy '{name}' with binding '{name}' denied request: {why}")
        });
        // Parameters come by another way than policies, and may be later.
        eventually(case, || async {
            let made = place.raw.post(&format!("{maps}?dryRun=All"), &config_map(case, case, json!({"k": value}))).await?;
            Ok(match &wanted {
                Some(wanted) => made.message() == wanted,
                None => made.code == 201,
            })
        })
        .await?;
    }
    Ok(())
}

#[tokio::test]
async fn parameters_of_a_custom_kind_may_go_away() -> Result<()> {
    let place = Place::start("custom").await?;
    let group = format!("{}.example.com", place.namespace);
    let crd = json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": format!("limits.{group}")},
        "spec": {"group": group, "scope": "Cluster", "names": {"plural": "limits", "kind": "Limit"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {"type": "object",
                "properties": {"spec": {"type": "object", "properties": {"most": {"type": "integer"}}}}}}}]}});
    let definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    assert_eq!(place.raw.post(definitions, &crd).await?.code, 201);
    let limits = format!("/apis/{group}/v1/limits");
    let limit = json!({"apiVersion": format!("{group}/v1"), "kind": "Limit", "metadata": {"name": "low"}, "spec": {"most": 2}});
    eventually("the kind is served", || async { Ok(place.raw.post(&limits, &limit).await?.code != 404) }).await?;
    let spec = json!({"paramKind": {"apiVersion": format!("{group}/v1"), "kind": "Limit"},
        "validations": [{"expression": "size(object.data.k) <= params.spec.most", "messageExpression": "'at most ' + string(params.spec.most)"}]});
    let name = place.install("Validating", "custom", spec.clone(), json!({"paramRef": {"name": "low", "parameterNotFoundAction": "Deny"}})).await?;
    let spaced = place.install("Validating", "spaced", spec, json!({"paramRef": {"name": "low", "namespace": "default", "parameterNotFoundAction": "Deny"}})).await?;
    place.in_force("Validating").await?;
    let path = format!("{}?dryRun=All", place.config_maps());
    let refusal = |case: &str, name: &str, why: &str| {
        format!("configmaps \"{case}\" is forbidden: ValidatingAdmissionPolicy '{name}' with binding '{name}' denied request: {why}")
    };
    let wanted = refusal("custom", &name, "at most 2");
    eventually("the parameter is known", || async {
        let made = place.raw.post(&path, &config_map("custom", "custom", json!({"k": "abc"}))).await?;
        Ok(made.message() == wanted)
    })
    .await?;
    let wanted = refusal("spaced", &spaced, "failed to configure binding: paramRef.namespace must not be provided for a cluster-scoped `paramKind`");
    let made = place.raw.post(&path, &config_map("spaced", "spaced", json!({"k": "a"}))).await?;
    assert_eq!(made.message(), wanted);
    place.raw.delete(&format!("{definitions}/limits.{group}"), &json!({})).await?;
    // Whether the kind or only its objects are missed depends on how long ago it was that the policy was read.
    eventually("the parameter is missed", || async {
        let made = place.raw.post(&path, &config_map("custom", "custom", json!({"k": "a"}))).await?;
        Ok(made.code == 422 && made.message().contains("denied request: failed to configure "))
    })
    .await
}

#[tokio::test]
async fn a_policy_sees_the_version_that_it_is_for() -> Result<()> {
    let place = Place::start("versions").await?;
    let rules = |case: &str, version: &str, policy: &str| {
        json!({"matchPolicy": policy, "objectSelector": {"matchLabels": {"case": case}}, "resourceRules": [
            {"operations": ["CREATE"], "apiGroups": ["autoscaling"], "apiVersions": [version], "resources": ["horizontalpodautoscalers"]}]})
    };
    let validations = json!([{"expression": "false", "messageExpression": "object.apiVersion + ' ' + request.kind.version + ' ' + request.requestKind.version"}]);
    for (case, version, policy) in [("same", "v1", "Exact"), ("exact", "v2", "Exact"), ("equivalent", "v2", "Equivalent")] {
        let spec = json!({"matchConstraints": rules(case, version, policy), "validations": validations});
        place.install("Validating", case, spec, json!({})).await?;
    }
    place.in_force("Validating").await?;
    let path = format!("/apis/autoscaling/v1/namespaces/{}/horizontalpodautoscalers", place.namespace);
    for (case, expected) in [("same", Some("autoscaling/v1 v1 v1")), ("exact", None), ("equivalent", Some("autoscaling/v2 v2 v1"))] {
        let scaler = json!({"apiVersion": "autoscaling/v1", "kind": "HorizontalPodAutoscaler", "metadata": {"name": case, "labels": {"case": case}},
            "spec": {"maxReplicas": 3, "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}}});
        let made = place.raw.post(&path, &scaler).await?;
        match expected {
            Some(seen) => assert!(made.message().ends_with(&format!("denied request: {seen}")), "{made:?}"),
            None => assert_eq!(made.code, 201, "{made:?}"),
        }
    }
    Ok(())
}

#[tokio::test]
async fn no_policy_keeps_a_policy_from_being_deleted() -> Result<()> {
    let place = Place::start("exempt").await?;
    let name = place.name("self");
    let rules = json!({"resourceRules": [{"operations": ["*"], "apiGroups": ["admissionregistration.k8s.io"], "apiVersions": ["*"],
        "resources": ["*"], "resourceNames": [name]}]});
    let spec = json!({"matchConstraints": rules, "validations": [{"expression": "false"}]});
    place.install("Validating", "self", spec, json!({"matchResources": null})).await?;
    place.in_force("Validating").await?;
    // Webhook configurations are not exempt.
    let hook = json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration", "metadata": {"name": name}, "webhooks": []});
    let refused = place.raw.post(&format!("{API}/validatingwebhookconfigurations"), &hook).await?;
    assert_eq!((refused.code, refused.reason()), (422, "Invalid"), "{refused:?}");
    let path = format!("{API}/validatingadmissionpolicies/{name}");
    let changed = place.raw.patch("merge", &path, &json!({"metadata": {"labels": {"a": "b"}}})).await?;
    assert_eq!(changed.code, 200, "{changed:?}");
    assert_eq!(place.raw.delete(&path, &json!({})).await?.code, 200);
    Ok(())
}

#[tokio::test]
async fn policies_that_make_no_sense_are_refused() -> Result<()> {
    let place = Place::start("senseless").await?;
    let bad = |fields: Value| place.policy("Validating", "bad", fields);
    let validation = |validation: Value| bad(json!({"validations": [validation]}));
    let with = |mut fields: Value| {
        fields["validations"] = json!([{"expression": "true"}]);
        bad(fields)
    };
    let rule = |fields: Value| {
        let mut rule = json!({"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"]});
        policies_support::overlay(&mut rule, fields);
        with(json!({"matchConstraints": {"resourceRules": [rule]}}))
    };
    let many = |count: usize| (0..count).map(|index| json!({"name": format!("n{index}"), "expression": "true"})).collect::<Vec<_>>();
    let cases: Vec<(Value, &str)> = vec![
        (bad(json!({})), "[spec.validations: Required value: validations or auditAnnotations must contain at least one item, \
            spec.auditAnnotations: Required value: validations or auditAnnotations must contain at least one item]"),
        (validation(json!({"expression": "object.x >"})),
            "spec.validations[0].expression: Invalid value: \"object.x >\": compilation failed: ERROR: <input>:1:11: Syntax error: mismatched input \
             '<EOF>' expecting {'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, \
             IDENTIFIER}\n | object.x >\n | ..........^"),
        (validation(json!({"expression": "foo"})),
            "spec.validations[0].expression: Invalid value: \"foo\": compilation failed: ERROR: <input>:1:1: undeclared reference to 'foo' (in \
             container '')\n | foo\n | ^"),
        (validation(json!({"expression": "object.x"})), "spec.validations[0].expression: Invalid value: \"object.x\": must evaluate to bool but got dyn"),
        (validation(json!({"expression": " "})), "spec.validations[0].expression: Required value: expression is not specified"),
        (validation(json!({"expression": "params.x == 1"})),
            "spec.validations[0].expression: Invalid value: \"params.x == 1\": compilation failed: ERROR: <input>:1:1: undeclared reference to \
             'params' (in container '')\n | params.x == 1\n | ^"),
        (validation(json!({"expression": "variables.x == 1"})),
            "spec.validations[0].expression: Invalid value: \"variables.x == 1\": compilation failed: ERROR: <input>:1:1: undeclared reference to \
             'variables' (in container '')\n | variables.x == 1\n | ^"),
        (validation(json!({"expression": "Object{} == null"})),
            "spec.validations[0].expression: Invalid value: \"Object{} == null\": compilation failed: ERROR: <input>:1:7: undeclared reference to \
             'Object' (in container '')\n | Object{} == null\n | ......^"),
        (validation(json!({"expression": "true", "messageExpression": "1"})),
            "spec.validations[0].messageExpression: Invalid value: \"1\": must evaluate to string but got int"),
        (validation(json!({"expression": "true", "messageExpression": " "})),
            "spec.validations[0].messageExpression: Invalid value: \" \": must be non-empty if specified"),
        (validation(json!({"expression": "true", "messageExpression": "authorizer.path('/').check('get').reason()"})),
            "spec.validations[0].messageExpression: Invalid value: \"authorizer.path('/').check('get').reason()\": compilation failed: ERROR: \
             <input>:1:1: undeclared reference to 'authorizer' (in container '')\n | authorizer.path('/').check('get').reason()\n | ^"),
        (validation(json!({"expression": "true", "message": "a\nb"})),
            "spec.validations[0].message: Invalid value: \"a\\nb\": must not contain line breaks"),
        (validation(json!({"expression": "true", "message": " "})), "spec.validations[0].message: Invalid value: \" \": must be non-empty if specified"),
        (validation(json!({"expression": "true", "reason": "Unauthorized"})),
            "spec.validations[0].reason: Unsupported value: \"Unauthorized\": supported values: \"Forbidden\", \"Invalid\", \"RequestEntityTooLarge\""),
        (validation(json!({"expression": "int('x') == 1"})),
            "spec.validations[0].expression: Internal error: program instantiation failed: type conversion error from 'string' to 'int'"),
        (validation(json!({"expression": "authorizer.foo == 1"})),
            "spec.validations[0].expression: Invalid value: \"authorizer.foo == 1\": compilation failed: ERROR: <input>:1:11: unexpected failed \
             resolution of 'kubernetes.authorization.Authorizer'\n | authorizer.foo == 1\n | ..........^"),
        (with(json!({"failurePolicy": "Maybe"})), "spec.failurePolicy: Unsupported value: \"Maybe\": supported values: \"Fail\", \"Ignore\""),
        (with(json!({"variables": [{"name": "a", "expression": "variables.b"}, {"name": "b", "expression": "variables.a"}]})),
            "spec.variables[0].expression: Invalid value: \"variables.b\": compilation failed: ERROR: <input>:1:10: undefined field 'b'\n | \
             variables.b\n | .........^"),
        (with(json!({"variables": [{"name": "a", "expression": "variables.a"}]})),
            "spec.variables[0].expression: Invalid value: \"variables.a\": compilation failed: ERROR: <input>:1:10: undefined field 'a'\n | \
             variables.a\n | .........^"),
        (with(json!({"variables": [{"name": "in", "expression": "1"}]})), "spec.variables[0].name: Invalid value: \"in\": must be a valid CEL identifier"),
        (with(json!({"variables": [{"name": "1x", "expression": "1"}]})), "spec.variables[0].name: Invalid value: \"1x\": must be a valid CEL identifier"),
        (with(json!({"variables": [{"name": "", "expression": " "}]})),
            "[spec.variables[0].name: Required value: name is not specified, spec.variables[0].expression: Required value: expression is not specified]"),
        (with(json!({"matchConditions": [{"name": "a", "expression": "1"}]})),
            "spec.matchConditions[0].expression: Invalid value: \"1\": must evaluate to bool but got int"),
        (with(json!({"matchConditions": [{"name": "a", "expression": "true"}, {"name": "a", "expression": "true"}]})),
            "spec.matchConditions[1].name: Duplicate value: \"a\""),
        (with(json!({"matchConditions": many(65)})), "spec.matchConditions: Too many: 65: must have at most 64 items"),
        (with(json!({"variables": [{"name": "v", "expression": "1"}], "matchConditions": [{"name": "a", "expression": "variables.v == 1"}]})),
            "spec.matchConditions[0].expression: Invalid value: \"variables.v == 1\": compilation failed: ERROR: <input>:1:1: undeclared reference \
             to 'variables' (in container '')\n | variables.v == 1\n | ^"),
        (bad(json!({"auditAnnotations": [{"key": "k", "valueExpression": "1"}]})),
            "spec.auditAnnotations[0].valueExpression: Invalid value: \"1\": must evaluate to one of [string null_type] but got int"),
        (bad(json!({"auditAnnotations": [{"key": "k", "valueExpression": "'a'"}, {"key": "k", "valueExpression": "'a'"}]})),
            "spec.auditAnnotations[1].key: Duplicate value: \"k\""),
        (with(json!({"paramKind": {"apiVersion": "", "kind": ""}})),
            "[spec.paramKind.apiVersion: Required value, spec.paramKind.kind: Required value]"),
        (with(json!({"paramKind": {"apiVersion": "a/b/c", "kind": "A_b"}})),
            "[spec.paramKind.apiVersion: Invalid value: \"a/b/c\": unexpected GroupVersion string: a/b/c, spec.paramKind.kind: Invalid value: \
             \"A_b\": may have mixed case, but should otherwise match: a DNS-1035 label must consist of lower case alphanumeric characters or '-', \
             start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation \
             is '[a-z]([-a-z0-9]*[a-z0-9])?')]"),
        (with(json!({"matchConstraints": null})), "spec.matchConstraints: Required value"),
        (with(json!({"matchConstraints": {}})), "spec.matchConstraints.resourceRules: Required value"),
        (rule(json!({"operations": ["CREATE", "*"]})),
            "spec.matchConstraints.resourceRules[0].operations: Invalid value: [\"CREATE\",\"*\"]: if '*' is present, must not specify other operations"),
        (rule(json!({"operations": ["READ"]})),
            "spec.matchConstraints.resourceRules[0].operations[0]: Unsupported value: \"READ\": supported values: \"*\", \"CONNECT\", \"CREATE\", \
             \"DELETE\", \"UPDATE\""),
        (rule(json!({"resourceNames": ["a", "a", "b/c"]})),
            "[spec.matchConstraints.resourceRules[0].resourceNames[1]: Duplicate value: \"a\", \
             spec.matchConstraints.resourceRules[0].resourceNames[2]: Invalid value: \"b/c\": may not contain '/']"),
        (rule(json!({"apiVersions": []})), "spec.matchConstraints.resourceRules[0].apiVersions: Required value"),
    ];
    let mut problems = Vec::new();
    let path = format!("{API}/validatingadmissionpolicies?dryRun=All");
    for (policy, expected) in cases {
        let made = place.raw.post(&path, &policy).await?;
        let name = place.name("bad");
        let wanted = format!("ValidatingAdmissionPolicy.admissionregistration.k8s.io \"{name}\" is invalid: {expected}");
        if (made.code, made.message()) != (422, wanted.as_str()) {
            problems.push(format!("{}\n wanted: {expected}\n    got: {} {}", policy["spec"], made.code, made.message()));
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
    Ok(())
}

#[tokio::test]
async fn bindings_that_make_no_sense_are_refused() -> Result<()> {
    let place = Place::start("unbound").await?;
    let cases = [
        (json!({"policyName": ""}), "spec.policyName: Required value"),
        (json!({"validationActions": []}), "spec.validationActions: Required value: at least one validation action is required"),
        (json!({"validationActions": ["Deny", "Warn"]}),
            "spec.validationActions: Invalid value: [\"Deny\",\"Warn\"]: must not contain both Deny and Warn (repeating the same validation failure \
             information in the API response and headers serves no purpose)"),
        (json!({"validationActions": ["Deny", "Deny"]}), "spec.validationActions[1]: Duplicate value: \"Deny\""),
        (json!({"paramRef": {"name": "a", "selector": {}, "parameterNotFoundAction": "Deny"}}),
            "[spec.paramRef.name: Forbidden: name and selector are mutually exclusive, spec.paramRef.selector: Forbidden: name and selector are \
             mutually exclusive]"),
        (json!({"paramRef": {"parameterNotFoundAction": "Deny"}}), "spec.paramRef: Required value: one of name or selector must be specified"),
        (json!({"paramRef": {"name": "a"}}), "spec.paramRef.parameterNotFoundAction: Required value"),
        (json!({"paramRef": {"name": "a", "parameterNotFoundAction": "Maybe"}}),
            "spec.paramRef.parameterNotFoundAction: Unsupported value: \"Maybe\": supported values: \"Deny\", \"Allow\""),
    ];
    let mut problems = Vec::new();
    for (spec, expected) in cases {
        let binding = place.binding("Validating", "bad", spec.clone());
        let made = place.raw.post(&format!("{API}/validatingadmissionpolicybindings?dryRun=All"), &binding).await?;
        let name = place.name("bad");
        let wanted = format!("ValidatingAdmissionPolicyBinding.admissionregistration.k8s.io \"{name}\" is invalid: {expected}");
        if (made.code, made.message()) != (422, wanted.as_str()) {
            problems.push(format!("{spec}\n wanted: {expected}\n    got: {} {}", made.code, made.message()));
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
    Ok(())
}

#[tokio::test]
async fn types_are_checked_and_told_in_the_status() -> Result<()> {
    let place = Place::start("types").await?;
    let group = format!("{}.example.com", place.namespace);
    let crd = json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": format!("things.{group}")},
        "spec": {"group": group, "scope": "Namespaced", "names": {"plural": "things", "kind": "Thing"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {"type": "object",
                "properties": {"spec": {"type": "object", "properties": {"count": {"type": "integer"}, "port": {"x-kubernetes-int-or-string": true},
                    "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}}}}}]}});
    assert_eq!(place.raw.post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", &crd).await?.code, 201);
    eventually("the kind is published", || async {
        Ok(place.raw.get(&format!("/openapi/v3/apis/{group}/v1")).await?.code == 200)
    })
    .await?;
    let rule = |group: &str, resources: &[&str]| {
        json!({"resourceRules": [{"operations": ["CREATE"], "apiGroups": [group], "apiVersions": ["v1"], "resources": resources}]})
    };
    let deployments = rule("apps", &["deployments"]);
    let things = rule(&group, &["things"]);
    let cases: Vec<(&str, &Value, &str, Option<&str>)> = vec![
        ("fits", &deployments, "object.spec.replicas > 1 && oldObject.metadata.labels['a'] == 'b'", None),
        ("number", &deployments, "object.spec.replicas > '1'",
            Some("<input>:1:22: found no matching overload for '_>_' applied to '(int, string)'\n | object.spec.replicas > '1'\n | .....................^")),
        ("field", &deployments, "object.spec.nothing == 1", Some("<input>:1:12: undefined field 'nothing'\n | object.spec.nothing == 1\n | ...........^")),
        ("time", &deployments, "object.metadata.creationTimestamp > timestamp('2020-01-01T00:00:00Z')", None),
        ("quantity", &deployments, "object.spec.template.spec.containers.all(c, c.resources.limits['cpu'] == '1')",
            Some("<input>:1:56: undefined field 'limits'\n | object.spec.template.spec.containers.all(c, c.resources.limits['cpu'] == '1')\n | \
                  .......................................................^")),
        ("port", &deployments, "object.spec.template.spec.containers.all(c, c.livenessProbe.httpGet.port == 80)", None),
        ("surge", &deployments, "object.spec.strategy.rollingUpdate.maxSurge == '25%'", None),
        ("rights", &deployments, "authorizer.requestResource.check('get').allowed()",
            Some("<input>:1:11: unexpected failed resolution of 'kubernetes.authorization.Authorizer'\n | authorizer.requestResource.check('get').allowed()\n | ..........^")),
        ("custom", &things, "object.spec.count > 1 && object.metadata.labels['a'] == 'b' && object.spec.port == 'http'", None),
        ("custom-number", &things, "object.spec.count == 'x'",
            Some("<input>:1:19: found no matching overload for '_==_' applied to '(int, string)'\n | object.spec.count == 'x'\n | ..................^")),
        ("custom-field", &things, "object.spec.maxRetries < 10",
            Some("<input>:1:12: undefined field 'maxRetries'\n | object.spec.maxRetries < 10\n | ...........^")),
        ("custom-free", &things, "object.spec.free.anything == 1",
            Some("<input>:1:17: undefined field 'anything'\n | object.spec.free.anything == 1\n | ................^")),
    ];
    for (case, constraints, source, _) in &cases {
        let policy = place.policy("Validating", case, json!({"matchConstraints": constraints, "validations": [{"expression": source}]}));
        let made = place.raw.post(&format!("{API}/validatingadmissionpolicies"), &policy).await?;
        assert_eq!(made.code, 201, "{made:?}");
    }
    let mut problems = Vec::new();
    for (case, constraints, _, expected) in &cases {
        let status = eventually_some(case, || async {
            let policy = place.raw.get(&format!("{API}/validatingadmissionpolicies/{}", place.name(case))).await?.body;
            Ok((policy["status"]["observedGeneration"] == 1).then(|| policy["status"].clone()))
        })
        .await?;
        let kind = match *constraints == &deployments {
            true => "apps/v1, Kind=Deployment".to_owned(),
            false => format!("{group}/v1, Kind=Thing"),
        };
        let wanted = match expected {
            Some(why) => json!({"expressionWarnings": [{"fieldRef": "spec.validations[0].expression", "warning": format!("{kind}: ERROR: {why}\n")}]}),
            None => json!({}),
        };
        if status["typeChecking"] != wanted {
            problems.push(format!("{case}\n wanted: {wanted}\n    got: {}", status["typeChecking"]));
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
    Ok(())
}

#[tokio::test]
async fn a_change_of_the_policy_is_checked_again() -> Result<()> {
    let place = Place::start("again").await?;
    let name = place.name("again");
    let path = format!("{API}/validatingadmissionpolicies");
    let policy = place.policy("Validating", "again", json!({"validations": [{"expression": "object.data.k == 'v'"}]}));
    assert_eq!(place.raw.post(&path, &policy).await?.code, 201);
    let one = format!("{path}/{name}");
    let checked = |generation: i64| {
        let (raw, one) = (place.raw.clone(), one.clone());
        eventually_some("the policy is checked", move || {
            let (raw, one) = (raw.clone(), one.clone());
            async move {
                let policy = raw.get(&one).await?.body;
                Ok((policy["status"]["observedGeneration"] == generation).then_some(policy))
            }
        })
    };
    let first = checked(1).await?;
    assert_eq!(first["status"]["typeChecking"], json!({}));
    let owner = first["metadata"]["managedFields"].as_array().unwrap().iter().find(|entry| entry["subresource"] == "status");
    assert_eq!(
        owner.map(|entry| (entry["manager"].clone(), entry["operation"].clone())),
        Some((json!("validatingadmissionpolicy-status"), json!("Apply")))
    );
    let patch = json!({"spec": {"validations": [{"expression": "object.data.k == 1"}]}});
    assert_eq!(place.raw.patch("merge", &one, &patch).await?.code, 200);
    let second = checked(2).await?;
    let Some(warning) = second["status"]["typeChecking"]["expressionWarnings"][0]["warning"].as_str() else {
        panic!("{second}");
    };
    assert!(warning.contains("found no matching overload for '_==_' applied to '(string, int)'"), "{warning}");
    Ok(())
}
