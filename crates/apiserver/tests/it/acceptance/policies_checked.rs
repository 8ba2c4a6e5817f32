//! Validation and type checking of admission policies.

use crate::acceptance::policies_support;

use crate::acceptance::policies_support::{API, Place};
use anyhow::Result;
use cambium_testing::{eventually, eventually_some};
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
    let many = |count: usize| {
        (0..count)
            .map(|index| json!({"name": format!("n{index}"), "expression": "true"}))
            .collect::<Vec<_>>()
    };
    let cases: Vec<(Value, &str)> = vec![
        (
            bad(json!({})),
            "[spec.validations: Required value: validations or auditAnnotations must contain at least one item, \
            spec.auditAnnotations: Required value: validations or auditAnnotations must contain at least one item]",
        ),
        (
            validation(json!({"expression": "object.x >"})),
            "spec.validations[0].expression: Invalid value: \"object.x >\": compilation failed: ERROR: <input>:1:11: Syntax error: mismatched input \
             '<EOF>' expecting {'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, \
             IDENTIFIER}\n | object.x >\n | ..........^",
        ),
        (
            validation(json!({"expression": "foo"})),
            "spec.validations[0].expression: Invalid value: \"foo\": compilation failed: ERROR: <input>:1:1: undeclared reference to 'foo' (in \
             container '')\n | foo\n | ^",
        ),
        (
            validation(json!({"expression": "object.x"})),
            "spec.validations[0].expression: Invalid value: \"object.x\": must evaluate to bool but got dyn",
        ),
        (
            validation(json!({"expression": " "})),
            "spec.validations[0].expression: Required value: expression is not specified",
        ),
        (
            validation(json!({"expression": "params.x == 1"})),
            "spec.validations[0].expression: Invalid value: \"params.x == 1\": compilation failed: ERROR: <input>:1:1: undeclared reference to \
             'params' (in container '')\n | params.x == 1\n | ^",
        ),
        (
            validation(json!({"expression": "variables.x == 1"})),
            "spec.validations[0].expression: Invalid value: \"variables.x == 1\": compilation failed: ERROR: <input>:1:1: undeclared reference to \
             'variables' (in container '')\n | variables.x == 1\n | ^",
        ),
        (
            validation(json!({"expression": "Object{} == null"})),
            "spec.validations[0].expression: Invalid value: \"Object{} == null\": compilation failed: ERROR: <input>:1:7: undeclared reference to \
             'Object' (in container '')\n | Object{} == null\n | ......^",
        ),
        (
            validation(json!({"expression": "true", "messageExpression": "1"})),
            "spec.validations[0].messageExpression: Invalid value: \"1\": must evaluate to string but got int",
        ),
        (
            validation(json!({"expression": "true", "messageExpression": " "})),
            "spec.validations[0].messageExpression: Invalid value: \" \": must be non-empty if specified",
        ),
        (
            validation(
                json!({"expression": "true", "messageExpression": "authorizer.path('/').check('get').reason()"}),
            ),
            "spec.validations[0].messageExpression: Invalid value: \"authorizer.path('/').check('get').reason()\": compilation failed: ERROR: \
             <input>:1:1: undeclared reference to 'authorizer' (in container '')\n | authorizer.path('/').check('get').reason()\n | ^",
        ),
        (
            validation(json!({"expression": "true", "message": "a\nb"})),
            "spec.validations[0].message: Invalid value: \"a\\nb\": must not contain line breaks",
        ),
        (
            validation(json!({"expression": "true", "message": " "})),
            "spec.validations[0].message: Invalid value: \" \": must be non-empty if specified",
        ),
        (
            validation(json!({"expression": "true", "reason": "Unauthorized"})),
            "spec.validations[0].reason: Unsupported value: \"Unauthorized\": supported values: \"Forbidden\", \"Invalid\", \"RequestEntityTooLarge\"",
        ),
        (
            validation(json!({"expression": "int('x') == 1"})),
            "spec.validations[0].expression: Internal error: program instantiation failed: type conversion error from 'string' to 'int'",
        ),
        (
            validation(json!({"expression": "authorizer.foo == 1"})),
            "spec.validations[0].expression: Invalid value: \"authorizer.foo == 1\": compilation failed: ERROR: <input>:1:11: unexpected failed \
             resolution of 'kubernetes.authorization.Authorizer'\n | authorizer.foo == 1\n | ..........^",
        ),
        (
            with(json!({"failurePolicy": "Maybe"})),
            "spec.failurePolicy: Unsupported value: \"Maybe\": supported values: \"Fail\", \"Ignore\"",
        ),
        (
            with(
                json!({"variables": [{"name": "a", "expression": "variables.b"}, {"name": "b", "expression": "variables.a"}]}),
            ),
            "spec.variables[0].expression: Invalid value: \"variables.b\": compilation failed: ERROR: <input>:1:10: undefined field 'b'\n | \
             variables.b\n | .........^",
        ),
        (
            with(json!({"variables": [{"name": "a", "expression": "variables.a"}]})),
            "spec.variables[0].expression: Invalid value: \"variables.a\": compilation failed: ERROR: <input>:1:10: undefined field 'a'\n | \
             variables.a\n | .........^",
        ),
        (
            with(json!({"variables": [{"name": "in", "expression": "1"}]})),
            "spec.variables[0].name: Invalid value: \"in\": must be a valid CEL identifier",
        ),
        (
            with(json!({"variables": [{"name": "1x", "expression": "1"}]})),
            "spec.variables[0].name: Invalid value: \"1x\": must be a valid CEL identifier",
        ),
        (
            with(json!({"variables": [{"name": "", "expression": " "}]})),
            "[spec.variables[0].name: Required value: name is not specified, spec.variables[0].expression: Required value: expression is not specified]",
        ),
        (
            with(json!({"matchConditions": [{"name": "a", "expression": "1"}]})),
            "spec.matchConditions[0].expression: Invalid value: \"1\": must evaluate to bool but got int",
        ),
        (
            with(
                json!({"matchConditions": [{"name": "a", "expression": "true"}, {"name": "a", "expression": "true"}]}),
            ),
            "spec.matchConditions[1].name: Duplicate value: \"a\"",
        ),
        (
            with(json!({"matchConditions": many(65)})),
            "spec.matchConditions: Too many: 65: must have at most 64 items",
        ),
        (
            with(
                json!({"variables": [{"name": "v", "expression": "1"}], "matchConditions": [{"name": "a", "expression": "variables.v == 1"}]}),
            ),
            "spec.matchConditions[0].expression: Invalid value: \"variables.v == 1\": compilation failed: ERROR: <input>:1:1: undeclared reference \
             to 'variables' (in container '')\n | variables.v == 1\n | ^",
        ),
        (
            bad(json!({"auditAnnotations": [{"key": "k", "valueExpression": "1"}]})),
            "spec.auditAnnotations[0].valueExpression: Invalid value: \"1\": must evaluate to one of [string null_type] but got int",
        ),
        (
            bad(
                json!({"auditAnnotations": [{"key": "k", "valueExpression": "'a'"}, {"key": "k", "valueExpression": "'a'"}]}),
            ),
            "spec.auditAnnotations[1].key: Duplicate value: \"k\"",
        ),
        (
            with(json!({"paramKind": {"apiVersion": "", "kind": ""}})),
            "[spec.paramKind.apiVersion: Required value, spec.paramKind.kind: Required value]",
        ),
        (
            with(json!({"paramKind": {"apiVersion": "a/b/c", "kind": "A_b"}})),
            "[spec.paramKind.apiVersion: Invalid value: \"a/b/c\": unexpected GroupVersion string: a/b/c, spec.paramKind.kind: Invalid value: \
             \"A_b\": may have mixed case, but should otherwise match: a DNS-1035 label must consist of lower case alphanumeric characters or '-', \
             start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation \
             is '[a-z]([-a-z0-9]*[a-z0-9])?')]",
        ),
        (
            with(json!({"matchConstraints": null})),
            "spec.matchConstraints: Required value",
        ),
        (
            with(json!({"matchConstraints": {}})),
            "spec.matchConstraints.resourceRules: Required value",
        ),
        (
            rule(json!({"operations": ["CREATE", "*"]})),
            "spec.matchConstraints.resourceRules[0].operations: Invalid value: [\"CREATE\",\"*\"]: if '*' is present, must not specify other operations",
        ),
        (
            rule(json!({"operations": ["READ"]})),
            "spec.matchConstraints.resourceRules[0].operations[0]: Unsupported value: \"READ\": supported values: \"*\", \"CONNECT\", \"CREATE\", \
             \"DELETE\", \"UPDATE\"",
        ),
        (
            rule(json!({"resourceNames": ["a", "a", "b/c"]})),
            "[spec.matchConstraints.resourceRules[0].resourceNames[1]: Duplicate value: \"a\", \
             spec.matchConstraints.resourceRules[0].resourceNames[2]: Invalid value: \"b/c\": may not contain '/']",
        ),
        (
            rule(json!({"apiVersions": []})),
            "spec.matchConstraints.resourceRules[0].apiVersions: Required value",
        ),
    ];
    let mut problems = Vec::new();
    let path = format!("{API}/validatingadmissionpolicies?dryRun=All");
    for (policy, expected) in cases {
        let made = place.raw.post(&path, &policy).await?;
        let name = place.name("bad");
        let wanted = format!(
            "ValidatingAdmissionPolicy.admissionregistration.k8s.io \"{name}\" is invalid: {expected}"
        );
        if (made.code, made.message()) != (422, wanted.as_str()) {
            problems.push(format!(
                "{}\n wanted: {expected}\n    got: {} {}",
                policy["spec"],
                made.code,
                made.message()
            ));
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
    Ok(())
}

#[tokio::test]
async fn mutating_policies_that_make_no_sense_are_refused() -> Result<()> {
    let place = Place::start("senseless").await?;
    let mutation = |mutation: Value| place.policy("Mutating", "bad", never(&[mutation]));
    let with = |fields: Value| {
        let mut spec = never(&[apply("Object{}")]);
        policies_support::overlay(&mut spec, fields);
        place.policy("Mutating", "bad", spec)
    };
    let at = "spec.mutations[0]";
    let cases: Vec<(Value, String)> = vec![
        (with(json!({"mutations": []})), "spec.mutations: Required value: mutations must contain at least one item".into()),
        (with(json!({"reinvocationPolicy": null})), "spec.reinvocationPolicy: Required value".into()),
        (with(json!({"reinvocationPolicy": "Maybe"})),
            "spec.reinvocationPolicy: Unsupported value: \"Maybe\": supported values: \"IfNeeded\", \"Never\"".into()),
        (with(json!({"matchConstraints": {"resourceRules": [{"operations": ["DELETE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"]}]}})),
            "spec.matchConstraints.resourceRules.operations: Unsupported value: \"DELETE\": supported values: \"*\", \"CONNECT\", \"CREATE\", \
             \"UPDATE\"".into()),
        (mutation(json!({})), format!("{at}.patchType: Required value")),
        (mutation(json!({"patchType": "Merge"})),
            format!("{at}.patchType: Unsupported value: \"Merge\": supported values: \"ApplyConfiguration\", \"JSONPatch\"")),
        (mutation(json!({"patchType": "JSONPatch"})), format!("{at}.jsonPatch: Required value: must be specified when patchType is JSONPatch")),
        (mutation(json!({"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": "Object{}"}, "jsonPatch": {"expression": "x"}})),
            format!("{at}.jsonPatch: Invalid value: \"{{jsonPatch}}\": must not be specified when patchType is ApplyConfiguration")),
        (mutation(apply(" ")), format!("{at}.applyConfiguration.expression: Required value")),
        (mutation(apply("Object.spec{}")), format!("{at}.applyConfiguration.expression: Invalid value: \"Object.spec{{}}\": must evaluate to Object but \
            got Object.spec")),
        (mutation(apply("Thing{}")), format!("{at}.applyConfiguration.expression: Invalid value: \"Thing{{}}\": compilation failed: ERROR: \
            <input>:1:6: undeclared reference to 'Thing' (in container '')\n | Thing{{}}\n | .....^")),
        (mutation(patch("[]")), format!("{at}.jsonPatch.expression: Invalid value: \"[]\": must evaluate to list(JSONPatch) but got list(dyn)")),
        (mutation(patch("JSONPatch{op: 'add'}")),
            format!("{at}.jsonPatch.expression: Invalid value: \"JSONPatch{{op: 'add'}}\": must evaluate to list(JSONPatch) but got JSONPatch")),
        (mutation(patch("[JSONPatch{op: 1}]")), format!("{at}.jsonPatch.expression: Invalid value: \"[JSONPatch{{op: 1}}]\": compilation failed: \
            ERROR: <input>:1:14: expected type of field 'op' is 'string' but provided type is 'int'\n | [JSONPatch{{op: 1}}]\n | .............^")),
        (mutation(apply("Object{?spec: 1}")), format!("{at}.applyConfiguration.expression: Invalid value: \"Object{{?spec: 1}}\": compilation failed: \
            ERROR: <input>:1:15: expected type 'optional_type(int)' but found 'int'\n | Object{{?spec: 1}}\n | ..............^")),
        (mutation(apply("string{}")), format!("{at}.applyConfiguration.expression: Invalid value: \"string{{}}\": compilation failed: ERROR: \
            <input>:1:7: 'string' is not a message type\n | string{{}}\n | ......^")),
        (mutation(apply("object{}")), format!("{at}.applyConfiguration.expression: Invalid value: \"object{{}}\": compilation failed: ERROR: \
            <input>:1:7: 'dyn' is not a type\n | object{{}}\n | ......^")),
        (with(json!({"variables": [{"name": "a", "expression": "Object{}"}]})), "spec.variables[0].expression: Invalid value: \"Object{}\": compilation \
            failed: ERROR: <input>:1:7: undeclared reference to 'Object' (in container '')\n | Object{}\n | ......^".into()),
        (with(json!({"variables": [{"name": "a", "expression": "variables.b"}, {"name": "b", "expression": "1"}]})), "spec.variables[0].expression: \
            Invalid value: \"variables.b\": compilation failed: ERROR: <input>:1:10: undefined field 'b'\n | variables.b\n | .........^".into()),
    ];
    let mut problems = Vec::new();
    let path = format!("{API}/mutatingadmissionpolicies?dryRun=All");
    for (policy, expected) in cases {
        let made = place.raw.post(&path, &policy).await?;
        let name = place.name("bad");
        let wanted =
            format!("MutatingAdmissionPolicy.admissionregistration.k8s.io \"{name}\" is invalid: {expected}");
        if (made.code, made.message()) != (422, wanted.as_str()) {
            problems.push(format!(
                "{}\n wanted: {expected}\n    got: {} {}",
                policy["spec"],
                made.code,
                made.message()
            ));
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
        (
            json!({"validationActions": []}),
            "spec.validationActions: Required value: at least one validation action is required",
        ),
        (
            json!({"validationActions": ["Deny", "Warn"]}),
            "spec.validationActions: Invalid value: [\"Deny\",\"Warn\"]: must not contain both Deny and Warn (repeating the same validation failure \
             information in the API response and headers serves no purpose)",
        ),
        (
            json!({"validationActions": ["Deny", "Deny"]}),
            "spec.validationActions[1]: Duplicate value: \"Deny\"",
        ),
        (
            json!({"paramRef": {"name": "a", "selector": {}, "parameterNotFoundAction": "Deny"}}),
            "[spec.paramRef.name: Forbidden: name and selector are mutually exclusive, spec.paramRef.selector: Forbidden: name and selector are \
             mutually exclusive]",
        ),
        (
            json!({"paramRef": {"parameterNotFoundAction": "Deny"}}),
            "spec.paramRef: Required value: one of name or selector must be specified",
        ),
        (
            json!({"paramRef": {"name": "a"}}),
            "spec.paramRef.parameterNotFoundAction: Required value",
        ),
        (
            json!({"paramRef": {"name": "a", "parameterNotFoundAction": "Maybe"}}),
            "spec.paramRef.parameterNotFoundAction: Unsupported value: \"Maybe\": supported values: \"Deny\", \"Allow\"",
        ),
    ];
    let mut problems = Vec::new();
    for (spec, expected) in cases {
        let binding = place.binding("Validating", "bad", spec.clone());
        let made = place
            .raw
            .post(
                &format!("{API}/validatingadmissionpolicybindings?dryRun=All"),
                &binding,
            )
            .await?;
        let name = place.name("bad");
        let wanted = format!(
            "ValidatingAdmissionPolicyBinding.admissionregistration.k8s.io \"{name}\" is invalid: {expected}"
        );
        if (made.code, made.message()) != (422, wanted.as_str()) {
            problems.push(format!(
                "{spec}\n wanted: {expected}\n    got: {} {}",
                made.code,
                made.message()
            ));
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
    assert_eq!(
        place
            .raw
            .post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", &crd)
            .await?
            .code,
        201
    );
    eventually("the kind is published", || async {
        Ok(place.raw.get(&format!("/openapi/v3/apis/{group}/v1")).await?.code == 200)
    })
    .await?;
    let rule = |group: &str, resources: &[&str]| json!({"resourceRules": [{"operations": ["CREATE"], "apiGroups": [group], "apiVersions": ["v1"], "resources": resources}]});
    let deployments = rule("apps", &["deployments"]);
    let things = rule(&group, &["things"]);
    let cases: Vec<(&str, &Value, &str, Option<&str>)> = vec![
        (
            "fits",
            &deployments,
            "object.spec.replicas > 1 && oldObject.metadata.labels['a'] == 'b'",
            None,
        ),
        (
            "number",
            &deployments,
            "object.spec.replicas > '1'",
            Some(
                "<input>:1:22: found no matching overload for '_>_' applied to '(int, string)'\n | object.spec.replicas > '1'\n | .....................^",
            ),
        ),
        (
            "field",
            &deployments,
            "object.spec.nothing == 1",
            Some("<input>:1:12: undefined field 'nothing'\n | object.spec.nothing == 1\n | ...........^"),
        ),
        (
            "time",
            &deployments,
            "object.metadata.creationTimestamp > timestamp('2020-01-01T00:00:00Z')",
            None,
        ),
        (
            "quantity",
            &deployments,
            "object.spec.template.spec.containers.all(c, c.resources.limits['cpu'] == '1')",
            Some(
                "<input>:1:56: undefined field 'limits'\n | object.spec.template.spec.containers.all(c, c.resources.limits['cpu'] == '1')\n | \
                  .......................................................^",
            ),
        ),
        (
            "port",
            &deployments,
            "object.spec.template.spec.containers.all(c, c.livenessProbe.httpGet.port == 80)",
            None,
        ),
        (
            "surge",
            &deployments,
            "object.spec.strategy.rollingUpdate.maxSurge == '25%'",
            None,
        ),
        (
            "rights",
            &deployments,
            "authorizer.requestResource.check('get').allowed()",
            Some(
                "<input>:1:11: unexpected failed resolution of 'kubernetes.authorization.Authorizer'\n | authorizer.requestResource.check('get').allowed()\n | ..........^",
            ),
        ),
        (
            "custom",
            &things,
            "object.spec.count > 1 && object.metadata.labels['a'] == 'b' && object.spec.port == 'http'",
            None,
        ),
        (
            "custom-number",
            &things,
            "object.spec.count == 'x'",
            Some(
                "<input>:1:19: found no matching overload for '_==_' applied to '(int, string)'\n | object.spec.count == 'x'\n | ..................^",
            ),
        ),
        (
            "custom-field",
            &things,
            "object.spec.maxRetries < 10",
            Some(
                "<input>:1:12: undefined field 'maxRetries'\n | object.spec.maxRetries < 10\n | ...........^",
            ),
        ),
        (
            "custom-free",
            &things,
            "object.spec.free.anything == 1",
            Some(
                "<input>:1:17: undefined field 'anything'\n | object.spec.free.anything == 1\n | ................^",
            ),
        ),
    ];
    for (case, constraints, source, _) in &cases {
        let policy = place.policy(
            "Validating",
            case,
            json!({"matchConstraints": constraints, "validations": [{"expression": source}]}),
        );
        let made = place
            .raw
            .post(&format!("{API}/validatingadmissionpolicies"), &policy)
            .await?;
        assert_eq!(made.code, 201, "{made:?}");
    }
    let mut problems = Vec::new();
    for (case, constraints, _, expected) in &cases {
        let status = eventually_some(case, || async {
            let policy = place
                .raw
                .get(&format!("{API}/validatingadmissionpolicies/{}", place.name(case)))
                .await?
                .body;
            Ok((policy["status"]["observedGeneration"] == 1).then(|| policy["status"].clone()))
        })
        .await?;
        let kind = match *constraints == &deployments {
            true => "apps/v1, Kind=Deployment".to_owned(),
            false => format!("{group}/v1, Kind=Thing"),
        };
        let wanted = match expected {
            Some(why) => {
                json!({"expressionWarnings": [{"fieldRef": "spec.validations[0].expression", "warning": format!("{kind}: ERROR: {why}\n")}]})
            }
            None => json!({}),
        };
        if status["typeChecking"] != wanted {
            problems.push(format!(
                "{case}\n wanted: {wanted}\n    got: {}",
                status["typeChecking"]
            ));
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
    let policy = place.policy(
        "Validating",
        "again",
        json!({"validations": [{"expression": "object.data.k == 'v'"}]}),
    );
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
    let owner = first["metadata"]["managedFields"]
        .as_array()
        .unwrap()
        .iter()
        .find(|entry| entry["subresource"] == "status");
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
    assert!(
        warning.contains("found no matching overload for '_==_' applied to '(string, int)'"),
        "{warning}"
    );
    Ok(())
}
