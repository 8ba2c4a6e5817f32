//! ValidatingAdmissionPolicy: denials and their messages.

use crate::acceptance::policies_support::{API, Place, config_map};
use anyhow::Result;
use cambium_testing::eventually;
use serde_json::{Value, json};

/// An expression that exceeds the cost limit.
fn endless() -> String {
    let digits = "[0,1,2,3,4,5,6,7,8,9]";
    (0..6).fold("true".to_owned(), |inner, level| {
        format!("{digits}.all(x{level}, {inner})")
    })
}

/// The expected response: a denial, or warnings.
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
        (
            "plain",
            validation(json!({"expression": " object.data.k == 'w' "})),
            json!({}),
            invalid("failed expression: object.data.k == 'w'"),
        ),
        (
            "holds",
            validation(json!({"expression": "object.data.k == 'v' && object.kind == 'ConfigMap'"})),
            json!({}),
            Allowed(vec![]),
        ),
        (
            "message",
            validation(json!({"expression": "false", "message": " no, "})),
            json!({}),
            invalid("no,"),
        ),
        (
            "expression",
            validation(
                json!({"expression": "false", "message": "no", "messageExpression": "'k is ' + object.data.k"}),
            ),
            json!({}),
            invalid("k is v"),
        ),
        (
            "failing-message",
            validation(
                json!({"expression": "false", "message": "no", "messageExpression": "string(object.data.none)"}),
            ),
            json!({}),
            invalid("no"),
        ),
        (
            "blank-message",
            validation(json!({"expression": "false", "messageExpression": "'  '"})),
            json!({}),
            invalid("failed expression: false"),
        ),
        (
            "lines",
            validation(json!({"expression": "false", "messageExpression": "'a\\nb'"})),
            json!({}),
            invalid("failed expression: false"),
        ),
        (
            "forbidden",
            validation(json!({"expression": "false", "reason": "Forbidden"})),
            json!({}),
            Refused(403, "Forbidden", "failed expression: false".into()),
        ),
        (
            "too-large",
            validation(json!({"expression": "false", "reason": "RequestEntityTooLarge"})),
            json!({}),
            Refused(413, "RequestEntityTooLarge", "failed expression: false".into()),
        ),
        (
            "error",
            validation(json!({"expression": "object.data.none == 'x'", "message": "no"})),
            json!({}),
            fails("object.data.none == 'x'", "no such key: none"),
        ),
        (
            "ignored",
            json!({"failurePolicy": "Ignore", "validations": [{"expression": "object.data.none == 'x'"}]}),
            json!({}),
            Allowed(vec![]),
        ),
        (
            "ignored-but-false",
            json!({"failurePolicy": "Ignore", "validations": [{"expression": "false"}]}),
            json!({}),
            invalid("failed expression: false"),
        ),
        (
            "warns",
            validation(json!({"expression": "false", "message": "careful"})),
            json!({"validationActions": ["Warn", "Audit"]}),
            Allowed(vec!["careful".into()]),
        ),
        (
            "audits",
            validation(json!({"expression": "false"})),
            json!({"validationActions": ["Audit"]}),
            Allowed(vec![]),
        ),
        (
            "annotates",
            json!({"auditAnnotations": [{"key": "k", "valueExpression": "string(object.data.k)"}, {"key": "n", "valueExpression": "null"}]}),
            json!({}),
            Allowed(vec![]),
        ),
        (
            "annotation-fails",
            json!({"auditAnnotations": [{"key": "k", "valueExpression": "'x' + object.data.none"}]}),
            json!({"validationActions": ["Audit"]}),
            fails("'x' + object.data.none", "no such key: none"),
        ),
        (
            "second",
            json!({"validations": [{"expression": "true"}, {"expression": "false", "message": "second"}, {"expression": "false", "message": "third"}]}),
            json!({}),
            invalid("second"),
        ),
        (
            "variables",
            json!({"variables": [{"name": "k", "expression": "object.data.k"}, {"name": "long", "expression": "variables.k + variables.k"}],
            "validations": [{"expression": "variables.long == 'v'", "messageExpression": "'long is ' + variables.long"}]}),
            json!({}),
            invalid("long is vv"),
        ),
        (
            "variable-fails",
            json!({"variables": [{"name": "none", "expression": "object.data.none"}, {"name": "next", "expression": "variables.none + 'x'"}],
            "validations": [{"expression": "variables.next == 'v'"}]}),
            json!({}),
            fails(
                "variables.next == 'v'",
                "composited variable \"next\" fails to evaluate: composited variable \"none\" fails to \
                   evaluate: no such key: none",
            ),
        ),
        (
            "variable-unused",
            json!({"variables": [{"name": "none", "expression": "object.data.none"}],
            "validations": [{"expression": "true || variables.none == ''"}]}),
            json!({}),
            Allowed(vec![]),
        ),
        (
            "unmet",
            json!({"matchConditions": [{"name": "a", "expression": "object.data.none == ''"}, {"name": "b", "expression": "object.data.k == 'w'"}],
            "validations": [{"expression": "false"}]}),
            json!({}),
            Allowed(vec![]),
        ),
        (
            "unclear",
            json!({"matchConditions": [{"name": "a", "expression": "object.data.none == ''"}, {"name": "b", "expression": "object.data.other == ''"}],
            "validations": [{"expression": "true"}]}),
            json!({}),
            invalid(
                "[expression 'object.data.none == ''' resulted in error: no such key: none, expression 'object.data.other == ''' \
                     resulted in error: no such key: other]",
            ),
        ),
        (
            "unclear-ignored",
            json!({"failurePolicy": "Ignore", "matchConditions": [{"name": "a", "expression": "object.data.none == ''"}],
            "validations": [{"expression": "false"}]}),
            json!({}),
            Allowed(vec![]),
        ),
        (
            "endless",
            validation(json!({"expression": endless()})),
            json!({}),
            fails(&endless(), "operation cancelled: actual cost limit exceeded"),
        ),
        (
            "endless-many",
            json!({"validations": vec![json!({"expression": endless()}); 11]}),
            json!({}),
            invalid(
                "validation failed due to running out of cost budget, no further validation rules will be run",
            ),
        ),
        (
            "endless-message",
            validation(
                json!({"expression": "true", "messageExpression": format!("{} ? 'a' : 'b'", endless())}),
            ),
            json!({}),
            Allowed(vec![]),
        ),
        (
            "endless-variable",
            json!({"variables": [{"name": "e", "expression": endless()}], "validations": [{"expression": "variables.e"}]}),
            json!({}),
            fails(
                "variables.e",
                "composited variable \"e\" fails to evaluate: operation cancelled: actual cost limit exceeded",
            ),
        ),
        (
            "world",
            validation(
                json!({"expression": "request.operation == 'CREATE' && request.kind.kind == 'ConfigMap' && request.resource.resource == \
            'configmaps' && request.name == 'world' && request.namespace == namespaceObject.metadata.name && oldObject == null && \
            !request.dryRun && 'system:masters' in request.userInfo.groups && namespaceObject.status.phase == 'Active'"}),
            ),
            json!({}),
            Allowed(vec![]),
        ),
        (
            "rights",
            json!({"validations": [
            {"expression": "authorizer.group('').resource('configmaps').namespace('default').check('create').allowed()"},
            {"expression": "authorizer.requestResource.check('delete').allowed() && authorizer.path('/healthz').check('get').allowed()"},
            {"expression": "!authorizer.serviceAccount('default', 'nobody').group('').resource('secrets').name('x').check('delete').allowed()"}]}),
            json!({}),
            Allowed(vec![]),
        ),
        (
            "too-many-rights",
            validation(
                json!({"expression": "authorizer.path('/').check('a').allowed() || authorizer.path('/').check('b').allowed() \
            || authorizer.path('/').check('c').allowed()", "message": "x"}),
            ),
            json!({}),
            Allowed(vec![]),
        ),
        (
            "wrong-account",
            validation(
                json!({"expression": "authorizer.serviceAccount('de fault', 'x').path('/a').check('get').allowed()"}),
            ),
            json!({}),
            fails(
                "authorizer.serviceAccount('de fault', 'x').path('/a').check('get').allowed()",
                "Invalid service account namespace",
            ),
        ),
        (
            "excluded",
            json!({"matchConstraints": {"excludeResourceRules": [{"operations": ["CREATE"], "apiGroups": ["*"], "apiVersions": ["*"],
            "resources": ["configmaps"], "resourceNames": ["excluded"]}],
            "resourceRules": [{"operations": ["*"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"]}],
            "objectSelector": {"matchLabels": {"case": "excluded"}}}, "validations": [{"expression": "false"}]}),
            json!({}),
            Allowed(vec![]),
        ),
        (
            "other-name",
            json!({"matchConstraints": {"resourceRules": [{"operations": ["*"], "apiGroups": [""], "apiVersions": ["v1"],
            "resources": ["configmaps"], "resourceNames": ["somebody-else"]}],
            "objectSelector": {"matchLabels": {"case": "other-name"}}}, "validations": [{"expression": "false"}]}),
            json!({}),
            Allowed(vec![]),
        ),
        (
            "cluster-only",
            json!({"matchConstraints": {"resourceRules": [{"operations": ["*"], "apiGroups": [""], "apiVersions": ["v1"],
            "resources": ["*"], "scope": "Cluster"}], "objectSelector": {"matchLabels": {"case": "cluster-only"}}},
            "validations": [{"expression": "false"}]}),
            json!({}),
            Allowed(vec![]),
        ),
        (
            "not-bound-here",
            validation(json!({"expression": "false"})),
            json!({"matchResources": {"namespaceSelector": {"matchLabels": {"no": "such"}}}}),
            Allowed(vec![]),
        ),
        (
            "unknown-params",
            json!({"paramKind": {"apiVersion": "no.such/v1", "kind": "Thing"}, "validations": [{"expression": "true"}]}),
            json!({"paramRef": {"name": "x", "parameterNotFoundAction": "Deny"}}),
            invalid(
                "failed to configure policy: failed to find resource referenced by paramKind: 'no.such/v1, Kind=Thing'",
            ),
        ),
        (
            "unknown-params-ignored",
            json!({"failurePolicy": "Ignore", "paramKind": {"apiVersion": "no.such/v1", "kind": "Thing"},
            "validations": [{"expression": "true"}]}),
            json!({"paramRef": {"name": "x", "parameterNotFoundAction": "Deny"}}),
            Allowed(vec![]),
        ),
    ];
    for (case, spec, binding, _) in &cases {
        place
            .install("Validating", case, spec.clone(), binding.clone())
            .await?;
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
                (
                    format!("201 {warnings:?}"),
                    format!("{} {:?}", made.code, made.warnings),
                )
            }
            Refused(code, reason, why) => {
                let by = match why.starts_with("failed to configure policy") {
                    true => format!("ValidatingAdmissionPolicy '{policy}' denied request: {why}"),
                    false => format!(
                        "ValidatingAdmissionPolicy '{policy}' with binding '{policy}' denied request: {why}"
                    ),
                };
                let details = json!({"name": case, "kind": "configmaps", "causes": [{"message": by}]});
                let message = format!("configmaps \"{case}\" is forbidden: {by}");
                (
                    format!("{code} {reason} {message} {details}"),
                    format!(
                        "{} {} {} {}",
                        made.code,
                        made.reason(),
                        made.message(),
                        made.body["details"]
                    ),
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

#[tokio::test]
async fn expressions_see_the_request_and_know_the_libraries() -> Result<()> {
    let place = Place::start("libraries").await?;
    let hold = [
        "[1, 2, 3].sum() == 6 && [3, 1].min() == 1 && ['a', 'b'].isSorted() && [1, 2].indexOf(2) == 1",
        "'abc 123'.find('[0-9]+') == '123' && 'a1b2'.findAll('[0-9]') == ['1', '2']",
        "url('https://example.com:80/path').getHostname() == 'example.com' && isURL('/a') && !isURL('a b')",
        "quantity('1.5Gi').isGreaterThan(quantity('1Gi')) && quantity('500m').add(quantity('1')).compareTo(quantity('1500m')) == 0",
        "ip('10.0.0.1').family() == 4 && cidr('10.0.0.0/8').containsIP('10.1.2.3') && !isIP('x')",
        "!format.dns1123Label().validate('ok').hasValue() && format.named('uuid').value().validate('x').hasValue()",
        "semver('1.2.3').isLessThan(semver('1.10.0')) && semver('1.2.3').major() == 1 && isSemver('1.0.0')",
        "sets.contains([1, 2, 3], [2]) && sets.equivalent([1, 2], [2, 1]) && sets.intersects([1], [1, 2])",
        "object.?data.k.orValue('') == 'v' && !object[?'none'].hasValue() && optional.of(1).value() == 1",
        "'a,b'.split(',').map(x, x.upperAscii()).join('-') == 'A-B' && 'x%d'.format([1]) == 'x1'",
        "[1, 2].transformList(i, v, i + v) == [1, 3] && {'a': 1}.transformMap(k, v, v + 1) == {'a': 2} && {'a': 1}.exists(k, v, v == 1)",
        "[[1], [2]].flatten() == [1, 2] && [2, 1].sort() == [1, 2] && lists.range(3) == [0, 1, 2]",
        "duration('1h') > duration('59m') && timestamp(object.metadata.creationTimestamp) > timestamp('2020-01-01T00:00:00Z')",
        "object.metadata.name == 'libraries' && object.metadata.labels.case == 'libraries' && has(object.metadata.uid) && has(object.metadata.managedFields)",
        "!has(request.subResource) && !has(request.requestSubResource) && request.requestKind == request.kind",
        "request.kind.group == '' && request.kind.version == 'v1' && request.requestResource.resource == 'configmaps'",
        "request.options.kind == 'CreateOptions' && request.options.apiVersion == 'meta.k8s.io/v1' && !has(request.options.dryRun)",
        "request.options.fieldManager == 'tester' && !has(request.options.fieldValidation)",
        "has(request.userInfo.username) && !has(request.userInfo.extra)",
        "namespaceObject.metadata.labels['kubernetes.io/metadata.name'] == request.namespace && !has(namespaceObject.metadata.generateName)",
        "namespaceObject.spec.finalizers == ['kubernetes']",
        "type(object.data) == map && type(request.dryRun) == bool && type(oldObject) == null_type",
        "dyn(object).data.k == 'v' && object.data['k'].matches('^v$')",
        "object.data.all(key, key == 'k') && object.data == {'k': 'v'} && size(object.data) == 1",
    ];
    let validations: Vec<Value> = hold
        .iter()
        .map(|source| json!({ "expression": source }))
        .collect();
    place
        .install(
            "Validating",
            "libraries",
            json!({"validations": validations}),
            json!({"validationActions": ["Warn"]}),
        )
        .await?;
    place.in_force("Validating").await?;
    let path = format!("{}?fieldManager=tester", place.config_maps());
    let made = place
        .raw
        .post(&path, &config_map("libraries", "libraries", json!({"k": "v"})))
        .await?;
    assert_eq!((made.code, made.warnings.as_slice()), (201, &[][..]));
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
        format!(
            "configmaps \"kept\" is forbidden: ValidatingAdmissionPolicy '{name}' with binding '{name}' denied request: {why}"
        )
    };
    let refused = place.raw.delete(&path, &json!({})).await?;
    assert_eq!(
        (refused.code, refused.message()),
        (422, denied("not done").as_str())
    );
    let refused = place
        .raw
        .patch("merge", &path, &json!({"data": {"other": "x"}}))
        .await?;
    assert_eq!(
        (refused.code, refused.message()),
        (422, denied("nothing new").as_str())
    );
    assert_eq!(
        place
            .raw
            .patch("merge", &path, &json!({"data": {"k": "done"}}))
            .await?
            .code,
        200
    );
    assert_eq!(place.raw.delete(&path, &json!({})).await?.code, 200);
    Ok(())
}

#[tokio::test]
async fn parameters_are_found_by_name_and_by_label() -> Result<()> {
    let place = Place::start("params").await?;
    let maps = place.config_maps();
    let limit = |name: &str, limit: &str| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "labels": {"limit": "yes"}}, "data": {"most": limit}});
    for (name, most) in [("low", "3"), ("high", "5")] {
        assert_eq!(place.raw.post(&maps, &limit(name, most)).await?.code, 201);
    }
    let spec = json!({"paramKind": {"apiVersion": "v1", "kind": "ConfigMap"},
        "matchConditions": [{"name": "has-params", "expression": "params == null || params.kind == 'ConfigMap'"}],
        "validations": [{"expression": "params == null || size(object.data.k) <= int(params.data.most)",
            "messageExpression": "'at most ' + params.data.most"}]});
    let named =
        |name: &str, action: &str| json!({"paramRef": {"name": name, "parameterNotFoundAction": action}});
    let labelled = |label: &str, action: &str| json!({"paramRef": {"selector": {"matchLabels": {label: "yes"}}, "parameterNotFoundAction": action}});
    let elsewhere =
        json!({"paramRef": {"name": "low", "namespace": "default", "parameterNotFoundAction": "Deny"}});
    let none =
        "failed to configure binding: no params found for policy binding with `Deny` parameterNotFoundAction";
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
        place
            .install("Validating", case, spec.clone(), binding.clone())
            .await?;
    }
    place.in_force("Validating").await?;
    for (case, _, value, expected) in &cases {
        let wanted = expected.map(|why| {
            let name = place.name(case);
            format!("configmaps \"{case}\" is forbidden: ValidatingAdmissionPolicy '{name}' with binding '{name}' denied request: {why}")
        });
        // Parameters come by another way than policies, and may be later.
        eventually(case, || async {
            let made = place
                .raw
                .post(
                    &format!("{maps}?dryRun=All"),
                    &config_map(case, case, json!({"k": value})),
                )
                .await?;
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
    eventually("the kind is served", || async {
        Ok(place.raw.post(&limits, &limit).await?.code != 404)
    })
    .await?;
    let spec = json!({"paramKind": {"apiVersion": format!("{group}/v1"), "kind": "Limit"},
        "validations": [{"expression": "size(object.data.k) <= params.spec.most", "messageExpression": "'at most ' + string(params.spec.most)"}]});
    let name = place
        .install(
            "Validating",
            "custom",
            spec.clone(),
            json!({"paramRef": {"name": "low", "parameterNotFoundAction": "Deny"}}),
        )
        .await?;
    let spaced = place
        .install(
            "Validating",
            "spaced",
            spec,
            json!({"paramRef": {"name": "low", "namespace": "default", "parameterNotFoundAction": "Deny"}}),
        )
        .await?;
    place.in_force("Validating").await?;
    let path = format!("{}?dryRun=All", place.config_maps());
    let refusal = |case: &str, name: &str, why: &str| {
        format!(
            "configmaps \"{case}\" is forbidden: ValidatingAdmissionPolicy '{name}' with binding '{name}' denied request: {why}"
        )
    };
    let wanted = refusal("custom", &name, "at most 2");
    eventually("the parameter is known", || async {
        let made = place
            .raw
            .post(&path, &config_map("custom", "custom", json!({"k": "abc"})))
            .await?;
        Ok(made.message() == wanted)
    })
    .await?;
    let wanted = refusal(
        "spaced",
        &spaced,
        "failed to configure binding: paramRef.namespace must not be provided for a cluster-scoped `paramKind`",
    );
    let made = place
        .raw
        .post(&path, &config_map("spaced", "spaced", json!({"k": "a"})))
        .await?;
    assert_eq!(made.message(), wanted);
    place
        .raw
        .delete(&format!("{definitions}/limits.{group}"), &json!({}))
        .await?;
    // Whether the kind or only its objects are missed depends on how long ago it was that the policy was read.
    eventually("the parameter is missed", || async {
        let made = place
            .raw
            .post(&path, &config_map("custom", "custom", json!({"k": "a"})))
            .await?;
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
    for (case, version, policy) in [
        ("same", "v1", "Exact"),
        ("exact", "v2", "Exact"),
        ("equivalent", "v2", "Equivalent"),
    ] {
        let spec = json!({"matchConstraints": rules(case, version, policy), "validations": validations});
        place.install("Validating", case, spec, json!({})).await?;
    }
    place.in_force("Validating").await?;
    let path = format!(
        "/apis/autoscaling/v1/namespaces/{}/horizontalpodautoscalers",
        place.namespace
    );
    for (case, expected) in [
        ("same", Some("autoscaling/v1 v1 v1")),
        ("exact", None),
        ("equivalent", Some("autoscaling/v2 v2 v1")),
    ] {
        let scaler = json!({"apiVersion": "autoscaling/v1", "kind": "HorizontalPodAutoscaler", "metadata": {"name": case, "labels": {"case": case}},
            "spec": {"maxReplicas": 3, "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}}});
        let made = place.raw.post(&path, &scaler).await?;
        match expected {
            Some(seen) => assert!(
                made.message().ends_with(&format!("denied request: {seen}")),
                "{made:?}"
            ),
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
    place
        .install("Validating", "self", spec, json!({"matchResources": null}))
        .await?;
    place.in_force("Validating").await?;
    // Webhook configurations are not exempt.
    let hook = json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration", "metadata": {"name": name}, "webhooks": []});
    let refused = place
        .raw
        .post(&format!("{API}/validatingwebhookconfigurations"), &hook)
        .await?;
    assert_eq!((refused.code, refused.reason()), (422, "Invalid"), "{refused:?}");
    let path = format!("{API}/validatingadmissionpolicies/{name}");
    let changed = place
        .raw
        .patch("merge", &path, &json!({"metadata": {"labels": {"a": "b"}}}))
        .await?;
    assert_eq!(changed.code, 200, "{changed:?}");
    assert_eq!(place.raw.delete(&path, &json!({})).await?.code, 200);
    Ok(())
}
