//! Match conditions, with the results of a real API server (1.36).

use cambium_schema::FieldPath;
use serde_json::json;

use super::{Conditions, Matched, check_condition};
use crate::functions::{Answer, Authorize, Question, Subject};
use crate::policies::{Compiler, Inputs, Params, Variables};

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
        let error = check_condition(source, Params::Absent, &FieldPath::new("x"));
        assert_eq!(
            error.map(|error| error.to_string()).unwrap_or_default(),
            expected,
            "{source}"
        );
    }
}

/// Allows everybody to read pods.
#[derive(Debug)]
struct Readers;

impl Authorize for Readers {
    fn ask(&self, subject: Subject<'_>, question: &Question<'_>) -> Answer {
        let is_read = matches!(
            question,
            Question::Resource {
                verb: "get",
                resource: "pods",
                ..
            }
        );
        Answer {
            allowed: is_read && subject == Subject::Caller,
            reason: format!("{question:?}"),
        }
    }
}

#[test]
fn conditions_match() {
    let object = json!({"metadata": {"name": "a", "labels": {"app": "web"}}, "spec": {"replicas": 3}});
    let request = json!({"operation": "CREATE", "userInfo": {"username": "me", "groups": ["x"]},
        "requestResource": {"group": "apps", "version": "v1", "resource": "deployments"}, "name": "a"});
    let namespace = json!({"metadata": {"name": "here"}});
    let input = Inputs {
        object: Some(&object),
        request: Some(&request),
        namespace: Some(&namespace),
        authorizer: Some(&Readers),
        ..Inputs::default()
    };
    let (compiler, variables) = (Compiler::alone(Params::Absent), Variables::default());
    let matches = |sources: &[&'static str]| {
        let conditions = Conditions::compile(&compiler, sources.iter().map(|source| ("n", *source)));
        conditions.matches(&variables, &input)
    };
    let no = || Matched::No("n".to_owned());
    let unknown = |why: &str| Matched::Unknown(why.to_owned());
    assert_eq!(matches(&[]), Matched::Yes);
    assert_eq!(
        matches(&["object.spec.replicas > 2", "'x' in request.userInfo.groups"]),
        Matched::Yes
    );
    assert_eq!(
        matches(&["oldObject == null && request.operation == 'CREATE' && namespaceObject == null"]),
        Matched::Yes
    );
    assert_eq!(matches(&["object.foo == 1", "1 == 2"]), no());
    assert_eq!(
        matches(&["object.foo == 1", "true"]),
        unknown("expression 'object.foo == 1' resulted in error: no such key: foo")
    );
    assert_eq!(
        matches(&["object.foo == 1", "object.bar == 1"]),
        unknown(
            "[expression 'object.foo == 1' resulted in error: no such key: foo, expression 'object.bar == 1' resulted in \
             error: no such key: bar]"
        )
    );
    assert_eq!(
        matches(&["authorizer.group('').resource('pods').check('get').allowed()"]),
        Matched::Yes
    );
    let asked =
        "authorizer.requestResource.check('x').reason().contains('apps\", resource: \"deployments\"')";
    assert_eq!(matches(&[asked]), Matched::Yes);
    assert_eq!(
        matches(&["authorizer.serviceAccount('a', 'b').group('').resource('pods').check('get').allowed()"]),
        no()
    );
    assert_eq!(
        matches(&["authorizer.group('').resource(' ').check('get').allowed()"]),
        unknown(
            "expression 'authorizer.group('').resource(' ').check('get').allowed()' resulted in error: resource must not be \
             empty"
        )
    );
    // A question about rights is dear: seven of them are more than the budget.
    let ask = "authorizer.path('/x').check('get').allowed() || true";
    assert_eq!(matches(&[ask; 7]), Matched::Yes);
    assert_eq!(
        matches(&[ask; 8]),
        unknown(
            "validation failed due to running out of cost budget, no further validation rules will be run"
        )
    );
}
