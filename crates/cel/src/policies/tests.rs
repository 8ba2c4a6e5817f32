//! Policy expressions, with the results of a real API server (1.36).

use serde_json::{Value as Json, json};

use super::{Compiler, Inputs, Params, PatchOperation, Purpose, Run};

const BUDGET: i64 = crate::RULES_BUDGET;

fn problem(source: &str, purpose: Purpose) -> String {
    let mut compiler = Compiler::new(Params::Declared);
    let added = compiler.add_variable("count", "1 + 1");
    assert_eq!(added, Ok(()));
    compiler
        .check(source, purpose)
        .map(|problem| problem.detail().to_owned())
        .unwrap_or_default()
}

#[test]
fn expressions_give_what_they_are_for() {
    let cases = [
        (
            "object.x",
            Purpose::Condition,
            "must evaluate to bool but got dyn",
        ),
        ("variables.count == 2", Purpose::Condition, ""),
        ("params.x == 1", Purpose::Condition, ""),
        ("1", Purpose::Message, "must evaluate to string but got int"),
        ("'a'", Purpose::Message, ""),
        ("null", Purpose::Annotation, ""),
        (
            "timestamp('2020-01-01T00:00:00Z')",
            Purpose::Annotation,
            "must evaluate to one of [string null_type] but got google.protobuf.Timestamp",
        ),
        (
            "Object{spec: Object.spec{replicas: 1}}",
            Purpose::ApplyConfiguration,
            "",
        ),
        (
            "Object.spec{}",
            Purpose::ApplyConfiguration,
            "must evaluate to Object but got Object.spec",
        ),
        (
            "[]",
            Purpose::JsonPatch,
            "must evaluate to list(JSONPatch) but got list(dyn)",
        ),
        (
            "[JSONPatch{op: 'remove', path: '/' + jsonpatch.escapeKey('a/b')}]",
            Purpose::JsonPatch,
            "",
        ),
        (
            "true ? [JSONPatch{op: 'add', path: '/x', value: {'a': 'b'}}] : []",
            Purpose::JsonPatch,
            "",
        ),
        (
            "JSONPatch{op: 1}",
            Purpose::JsonPatch,
            "compilation failed: ERROR: <input>:1:13: expected type of field 'op' is 'string' but provided type is 'int'\n \
             | JSONPatch{op: 1}\n | ............^",
        ),
        (
            "Invalid{}",
            Purpose::ApplyConfiguration,
            "compilation failed: ERROR: <input>:1:8: undeclared reference to 'Invalid' (in container '')\n | Invalid{}\n | \
             .......^",
        ),
        (
            "Object{}.spec == 1",
            Purpose::Condition,
            "compilation failed: ERROR: <input>:1:7: undeclared reference to 'Object' (in container '')\n | Object{}.spec == \
             1\n | ......^",
        ),
        (
            "jsonpatch.escapeKey('a') == 'a'",
            Purpose::Condition,
            "compilation failed: ERROR: <input>:1:1: undeclared reference to 'jsonpatch' (in container '')\n | \
             jsonpatch.escapeKey('a') == 'a'\n | ^\nERROR: <input>:1:20: undeclared reference to 'escapeKey' (in container \
             '')\n | jsonpatch.escapeKey('a') == 'a'\n | ...................^",
        ),
        (
            "variables.other",
            Purpose::Condition,
            "compilation failed: ERROR: <input>:1:10: undefined field 'other'\n | variables.other\n | .........^",
        ),
        (
            "authorizer.group('') == null ? '' : ''",
            Purpose::Message,
            "compilation failed: ERROR: <input>:1:1: undeclared reference to 'authorizer' (in container '')\n | \
             authorizer.group('') == null ? '' : ''\n | ^",
        ),
    ];
    for (source, purpose, expected) in cases {
        assert_eq!(problem(source, purpose), expected, "{source}");
    }
}

#[test]
fn a_variable_sees_only_those_before_it() {
    let mut compiler = Compiler::new(Params::Absent);
    let later = compiler.add_variable("first", "variables.second");
    assert!(later.is_err_and(|problem| problem.detail().contains("undefined field 'second'")));
    let own = compiler.add_variable("second", "variables.second");
    assert!(own.is_err_and(|problem| problem.detail().contains("undefined field 'second'")));
    assert_eq!(compiler.add_variable("third", "1"), Ok(()));
}

fn run<T>(
    variables: &[(&str, &str)],
    purpose: Purpose,
    sources: &[&str],
    read: impl for<'a> Fn(&mut Run<'a>, &'a super::Expression) -> T,
) -> (Vec<T>, i64) {
    let mut compiler = Compiler::new(Params::Absent);
    for (name, source) in variables {
        // Some are wrong on purpose.
        let _ = compiler.add_variable(name, source);
    }
    let expressions: Vec<_> = sources
        .iter()
        .map(|source| compiler.compile(source, purpose))
        .collect();
    let variables = compiler.into_variables();
    let object = json!({"spec": {"replicas": 3, "tags": ["a", "b"]}, "metadata": {"name": "x"}});
    let inputs = Inputs {
        object: Some(&object),
        ..Inputs::default()
    };
    let mut run = Run::new(&variables, &inputs, BUDGET);
    let given = expressions
        .iter()
        .map(|expression| read(&mut run, expression))
        .collect();
    (given, run.budget())
}

#[test]
fn variables_are_evaluated_when_mentioned_and_once() {
    let variables = [
        ("replicas", "object.spec.replicas"),
        ("odd", "variables.replicas % 2 == 1"),
        ("broken", "object.nothing"),
        ("outer", "variables.broken + 1"),
    ];
    let sources = [
        "variables.odd",
        "variables.odd && variables.replicas == 3",
        "has(variables.odd)",
        "variables.outer == 1",
    ];
    let (given, _) = run(&variables, Purpose::Condition, &sources, |run, one| {
        run.holds(one)
    });
    let text = "expression 'variables.outer == 1' resulted in error: composited variable \"outer\" fails to evaluate: \
                composited variable \"broken\" fails to evaluate: no such key: nothing";
    assert_eq!(
        given,
        [Ok(Ok(true)), Ok(Ok(true)), Ok(Ok(true)), Ok(Err(text.to_owned()))]
    );
    // 3 for the object's field, and then what the first mention itself costs: a variable that is not mentioned is free.
    let (_, unused) = run(&variables, Purpose::Condition, &["true"], |run, one| {
        run.holds(one)
    });
    assert_eq!(unused, BUDGET);
    let (_, once) = run(
        &variables,
        Purpose::Condition,
        &["variables.replicas == 3"],
        |run, one| run.holds(one),
    );
    let (_, twice) = run(
        &variables,
        Purpose::Condition,
        &["variables.replicas == 3", "variables.replicas == 3"],
        |run, one| run.holds(one),
    );
    assert_eq!((BUDGET - once, BUDGET - twice), (6, 9));
}

#[test]
fn a_variable_is_declared_once() {
    let mut compiler = Compiler::new(Params::Absent);
    assert_eq!(compiler.add_variable("x", "1"), Ok(()));
    let again = compiler.add_variable("x", "variables.x + 1");
    assert!(again.is_err_and(|problem| problem.detail() == "variable \"x\" is declared twice"));
}

#[test]
fn what_never_ends_is_cut_off() {
    let endless = "[1,2,3,4,5,6,7,8,9,10].all(a, [1,2,3,4,5,6,7,8,9,10].all(b, [1,2,3,4,5,6,7,8,9,10].all(c, \
                   [1,2,3,4,5,6,7,8,9,10].all(d, [1,2,3,4,5,6,7,8,9,10].all(e, [1,2,3,4,5,6,7,8,9,10].all(f, true))))))";
    let (given, left) = run(&[], Purpose::Condition, &[endless; 11], |run, one| run.holds(one));
    assert!(
        matches!(&given[0], Ok(Err(why)) if why.ends_with("resulted in error: operation cancelled: actual cost limit exceeded")),
        "{:?}",
        given[0]
    );
    assert_eq!((given.last(), left), (Some(&Err(super::OutOfBudget)), -1));
}

#[test]
fn what_is_too_expensive_is_not_done_before_it_is_counted() {
    let cut_off = "resulted in error: operation cancelled: actual cost limit exceeded";
    for expression in [
        // Compiling is most of the work, and counts by the size of what is compiled.
        "[0,1,2,3,4,5,6,7,8,9].all(a, [0,1,2,3,4,5,6,7,8,9].all(b, 'x'.matches('(\\\\pL{30}){9}|' + string(a) + string(b) + '|x')))",
        // Every item of one list with every item of the other.
        "sets.contains(lists.range(100000), lists.range(100000).map(i, i + 1))",
    ] {
        let (given, _) = run(&[], Purpose::Condition, &[expression], |run, one| run.holds(one));
        assert!(
            matches!(&given[0], Ok(Err(why)) if why.ends_with(cut_off)),
            "{expression}: {:?}",
            given[0]
        );
    }
}

#[test]
fn configurations_and_patches_are_made() {
    let apply = |source: &str| -> Result<Json, String> {
        let (mut given, _) = run(&[], Purpose::ApplyConfiguration, &[source], |run, one| {
            run.configuration(one)
        });
        given.remove(0).unwrap()
    };
    assert_eq!(
        apply(
            "Object{metadata: Object.metadata{annotations: {'a': 'b'}}, spec: Object.spec{replicas: object.spec.replicas + 1, \
               tags: object.spec.tags, ?none: optional.none(), items: [Object.spec.items{name: 'n', data: b'ab'}]}}"
        ),
        Ok(json!({"metadata": {"annotations": {"a": "b"}},
            "spec": {"replicas": 4, "tags": ["a", "b"], "items": [{"name": "n", "data": "YWI="}]}}))
    );
    assert_eq!(
        apply("Object{spec: Object.wrong{}}"),
        Err("type mismatch: unexpected type name \"Object.wrong\", expected \"Object.spec\", which matches field name path \
             from root Object type"
            .to_owned())
    );
    assert_eq!(
        apply("Object{?spec: optional.ofNonZeroValue(Object.spec{?replicas: Object{}.?replicas})}"),
        Ok(json!({}))
    );
    let (given, _) = run(
        &[],
        Purpose::JsonPatch,
        &[
            "[JSONPatch{op: 'add', path: '/metadata/labels/' + jsonpatch.escapeKey('a/b~c'), value: Object.metadata{x: 1}}, \
           JSONPatch{op: 'move', from: '/a', path: '/b'}]",
        ],
        |run, one| run.patch(one),
    );
    let add = PatchOperation {
        op: "add".to_owned(),
        path: "/metadata/labels/a~1b~0c".to_owned(),
        value: Some(json!({"x": 1})),
        ..PatchOperation::default()
    };
    let moved = PatchOperation {
        op: "move".to_owned(),
        path: "/b".to_owned(),
        from: "/a".to_owned(),
        value: None,
    };
    assert_eq!(given, [Ok(Ok(vec![add, moved]))]);
}

#[test]
fn variables_that_refer_to_each_other_for_ever_are_cut_off() {
    let chain = |length: usize, link: &dyn Fn(usize) -> String| {
        let mut compiler = Compiler::new(Params::Absent);
        let problems: Vec<_> = (0..length)
            .filter_map(|index| compiler.add_variable(&format!("v{index}"), &link(index)).err())
            .collect();
        let last = compiler.compile(
            &format!("dyn(variables.v{}) != null", length - 1),
            Purpose::Condition,
        );
        let variables = compiler.into_variables();
        let object = json!({});
        let inputs = Inputs {
            object: Some(&object),
            ..Inputs::default()
        };
        let answer = Run::new(&variables, &inputs, BUDGET).holds(&last);
        (problems.len(), answer)
    };
    let list = |index: usize| match index {
        0 => "[object]".to_owned(),
        _ => format!("[variables.v{}]", index - 1),
    };
    assert_eq!(chain(40, &list), (0, Ok(Ok(true))));
    let (refused, answer) = chain(200, &list);
    assert!(refused > 0);
    assert!(
        matches!(&answer, Ok(Err(why)) if why.contains("variables refer to each other too deeply")),
        "{answer:?}"
    );
    // Many that do not refer to each other are as good as one, and so is one that refers to all.
    let flat = |index: usize| match index {
        0..199 => "object".to_owned(),
        _ => "dyn(variables) == null".to_owned(),
    };
    assert_eq!(chain(200, &flat).0, 0);
    // The deepest that is allowed, in few steps.
    let deep = |index: usize| match index {
        0 => format!("{}object{}", "[".repeat(90), "]".repeat(90)),
        _ => format!("{}variables.v{}{}", "[".repeat(40), index - 1, "]".repeat(40)),
    };
    assert_eq!(chain(3, &deep).1, Ok(Ok(true)));
}
