//! Property tests: any expression on any value gives a result or an error, and never panics.

use cambium_cel::policies::{Compiler, Inputs, Params, Purpose, Run};
use cambium_cel::{Declarations, compile};
use proptest::prelude::*;
use serde_json::{Value, json};

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!(null)),
        any::<bool>().prop_map(|value| json!(value)),
        any::<i64>().prop_map(|value| json!(value)),
        any::<f64>().prop_map(|value| json!(value)),
        ".{0,6}".prop_map(|value| json!(value)),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::Array),
            prop::collection::btree_map("[a-c]", inner, 0..4).prop_map(|map| json!(map)),
        ]
    })
}

/// Functions that only policies have.
const OF_POLICIES: [&str; 18] = [
    "Object{",
    "Object.a{",
    "a: x",
    "?a: x.?a",
    "}",
    "JSONPatch{op: 'add', path: '/a', value: x}",
    "[JSONPatch{op: 'test', path: 'b'}]",
    ".a",
    "variables",
    "variables.v",
    ".?v",
    "authorizer",
    ".group('')",
    ".resource('a')",
    ".check('get')",
    ".allowed()",
    "jsonpatch.escapeKey('~/')",
    ", ",
];

/// Strings that are often valid expressions.
fn expression() -> impl Strategy<Value = String> {
    texts(&[])
}

fn texts(more: &[&'static str]) -> impl Strategy<Value = String> + use<> {
    let mut words = vec![
        "x",
        "x.a",
        "x[0]",
        "x['a']",
        "x.?a",
        "x[?0]",
        "1",
        "-1",
        "2u",
        "1.5",
        "'é'",
        "b'a'",
        "true",
        "null",
        "[]",
        "[x, 1]",
        "{'a': x}",
        "+",
        "-",
        "*",
        "/",
        "%",
        "==",
        "!=",
        "<",
        ">=",
        "in",
        "&&",
        "||",
        "?",
        ":",
        "!",
        "(",
        ")",
        ".size()",
        ".all(y, y == 1)",
        ".exists(y, z, true)",
        ".map(y, y + 1)",
        ".filter(y, y)",
        ".exists_one(y, y)",
        ".transformMap(k, v, v)",
        ".transformList(k, v, v)",
        ".optMap(y, y)",
        ".orValue(1)",
        ".value()",
        ".sum()",
        ".max()",
        ".sort()",
        ".sortBy(y, y)",
        ".join(',')",
        ".split('')",
        ".substring(1)",
        ".substring(0, 9)",
        ".replace('', 'ab')",
        ".matches('[')",
        ".matches(x)",
        ".find('a*')",
        ".findAll('')",
        ".charAt(2)",
        ".indexOf('é', 1)",
        ".lastIndexOf('a', 3)",
        ".format([x, 1])",
        ".flatten(3)",
        ".slice(0, 1)",
        ".getHours('Europe/Zurich')",
        "'%s %d %f %e %x'.format([x, x, x, x, x])",
        "has(x.a)",
        "size(x)",
        "type(x)",
        "string(x)",
        "int(x)",
        "uint(x)",
        "double(x)",
        "bytes(x)",
        "duration(x)",
        "timestamp(x)",
        "timestamp('9999-12-31T23:59:59Z')",
        "duration('-1h')",
        "quantity(x)",
        "ip(x)",
        "cidr(x)",
        "url(x)",
        "semver(x, true)",
        "lists.range(3)",
        "sets.contains([1], x)",
        "optional.of(x)",
        "optional.none()",
        "format.dns1123LabelPrefix().validate(x)",
        "dyn(x)",
        "9223372036854775807",
        "strings.quote(x)",
        "isURL(x)",
        ",",
        "[",
        "]",
        "{",
        "}",
        " ",
        "\n",
    ];
    words.extend(more);
    prop::collection::vec(prop::sample::select(words), 1..10).prop_map(|words| words.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn any_expression_on_any_value_gives_an_answer_or_an_error(source in expression(), value in value()) {
        let declarations = Declarations::new().with_dynamic("x");
        if let Ok(program) = compile(&source, &declarations) {
            let (_, cost) = program.run_bool(&[Some(&value)]);
            prop_assert!(cost < 100_000_000);
        }
    }

    #[test]
    fn any_policy_gives_an_answer_or_an_error(
        variable in texts(&OF_POLICIES), source in texts(&OF_POLICIES), value in value()
    ) {
        let in_policies = |source: &str| source.replace('x', "object");
        let mut compiler = Compiler::new(Params::Declared);
        let _ = compiler.add_variable("v", &in_policies(&variable));
        let purposes = [Purpose::Condition, Purpose::Message, Purpose::Annotation, Purpose::Variable, Purpose::ApplyConfiguration, Purpose::JsonPatch];
        let expressions = purposes.map(|purpose| compiler.compile(&in_policies(&source), purpose));
        let variables = compiler.into_variables();
        let inputs = Inputs { object: Some(&value), params: Some(&value), ..Inputs::default() };
        for expression in &expressions {
            let mut run = Run::new(&variables, &inputs, 10_000_000);
            let _ = (run.holds(expression), run.text(expression), run.configuration(expression), run.patch(expression));
        }
    }

    #[test]
    fn any_text_is_an_expression_or_an_error(source in "\\PC{0,40}") {
        let _ = compile(&source, &Declarations::new().with_dynamic("x"));
    }
}

#[test]
fn deep_expressions_do_not_overflow() {
    let declarations = Declarations::new().with_dynamic("x");
    for (open, middle, close) in [
        ("(", "1", ")"),
        ("[", "1", "]"),
        ("1+", "1", ""),
        ("!", "true", ""),
        ("-", "1", ""),
        ("x.", "a", ""),
        ("{1:", "1", "}"),
        ("true?", "1", ":1"),
        ("x ?x:", "1", ""),
        ("x&&", "x", ""),
        ("x==", "x", ""),
        ("[1].map(x,", "x", ")"),
        ("size(", "x", ")"),
        ("x in ", "x", ""),
        ("\"", "", "\""),
    ] {
        for depth in [10, 90, 240, 5000, 40000] {
            let source = format!("{}{middle}{}", open.repeat(depth), close.repeat(depth));
            if let Ok(program) = compile(&source, &declarations) {
                let _ = program.run_bool(&[Some(&json!({"a": [1]}))]);
            }
        }
    }
    let compiler = Compiler::alone(Params::Absent);
    for depth in [10, 90, 240, 5000] {
        let source = format!("{}Object{{}}{}", "Object{a: ".repeat(depth), "}".repeat(depth));
        let expression = compiler.compile(&source, Purpose::ApplyConfiguration);
        let variables = Compiler::alone(Params::Absent).into_variables();
        let _ = Run::new(&variables, &Inputs::default(), 10_000_000).configuration(&expression);
    }
}
