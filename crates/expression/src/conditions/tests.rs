//! Conditions, with what a real API server (1.36) says about them.

use cambium_schema::FieldPath;
use serde_json::json;

use super::{ConditionInput, Conditions, Matched, check_condition};

#[test]
fn conditions_are_checked() {
    let cases = [
        (
            "object.foo",
            "x: Invalid value: \"object.foo\": must evaluate to bool but got dyn",
        ),
        ("1", "x: Invalid value: \"1\": must evaluate to bool but got int"),
        ("  ", "x: Required value"),
        (
            "foo",
            "x: Invalid value: \"foo\": compilation failed: ERROR: <input>:1:1: undeclared reference to 'foo' (in container \
             '')\n | foo\n | ^",
        ),
        (
            "request.kind.group == 2",
            "x: Invalid value: \"request.kind.group == 2\": compilation failed: ERROR: <input>:1:20: found no matching \
             overload for '_==_' applied to '(string, int)'\n | request.kind.group == 2\n | ...................^",
        ),
        (
            "namespaceObject == 1",
            "x: Invalid value: \"namespaceObject == 1\": compilation failed: ERROR: <input>:1:17: found no matching overload \
             for '_==_' applied to '(kubernetes.Namespace, int)'\n | namespaceObject == 1\n | ................^",
        ),
        (
            "int('x') == 1",
            "x: Internal error: program instantiation failed: type conversion error from 'string' to 'int'",
        ),
        ("authorizer.requestResource.check('x').allowed()", ""),
        (
            "request.namespace == 'a' && object.metadata.name == 'b' && oldObject == null",
            "",
        ),
    ];
    for (source, expected) in cases {
        let error = check_condition(source, &FieldPath::new("x"));
        assert_eq!(
            error.map(|error| error.to_string()).unwrap_or_default(),
            expected,
            "{source}"
        );
    }
}

#[test]
fn conditions_match() {
    let object = json!({"metadata": {"name": "a", "labels": {"app": "web"}}, "spec": {"replicas": 3}});
    let request = json!({"operation": "CREATE", "userInfo": {"username": "me", "groups": ["x"]}});
    let input = ConditionInput {
        object: Some(&object),
        request: Some(&request),
        ..ConditionInput::default()
    };
    let matches = |sources: &[&'static str]| {
        Conditions::compile(sources.iter().map(|source| ("n", *source))).matches(&input)
    };
    assert_eq!(matches(&[]), Matched::Yes);
    assert_eq!(
        matches(&["object.spec.replicas > 2", "'x' in request.userInfo.groups"]),
        Matched::Yes
    );
    assert_eq!(
        matches(&["oldObject == null && request.operation == 'CREATE'"]),
        Matched::Yes
    );
    assert_eq!(
        matches(&["object.foo == 1", "1 == 2"]),
        Matched::No("n".to_owned())
    );
    assert_eq!(
        matches(&["object.foo == 1", "true"]),
        Matched::Unknown(vec![
            "expression 'object.foo == 1' resulted in error: no such key: foo".to_owned()
        ])
    );
    assert_eq!(
        matches(&["authorizer.group('').resource('pods').check('get').allowed()"]),
        Matched::Unknown(vec![
            "expression 'authorizer.group('').resource('pods').check('get').allowed()' resulted in error: the authorizer is not \
             supported"
                .to_owned()
        ])
    );
}
