//! Rules and objects, with the results of a real API server (1.36).

use cambium_schema::{FieldPath, Schema, parse};
use serde_json::{Value, json};

use super::{CompiledRules, check_schema_rules};

fn schema(raw: &Value) -> Schema {
    parse(raw, &FieldPath::root()).expect("the test's schema is valid")
}

fn spec(rules: Value, properties: Value) -> Value {
    json!({"type": "object", "properties": {
        "spec": {"type": "object", "x-kubernetes-validations": rules, "properties": properties},
    }})
}

fn checked(raw: &Value) -> Vec<String> {
    let errors = check_schema_rules(&schema(raw), &FieldPath::new("schema"));
    errors.iter().map(ToString::to_string).collect()
}

const RULE: &str = "schema.properties[spec].x-kubernetes-validations[0].rule";

#[test]
fn rules_that_do_not_compile_are_refused() {
    let properties = json!({
        "a": {"type": "integer"},
        "l": {"type": "array", "items": {"type": "string"}},
        "namespace": {"type": "boolean"},
    });
    let cases = [
        (
            "self.foo == 1",
            "compilation failed: ERROR: <input>:1:5: undefined field 'foo'\n | self.foo == 1\n | ....^",
        ),
        (
            "self.a == ",
            "compilation failed: ERROR: <input>:1:11: Syntax error: mismatched input '<EOF>' expecting {'[', '{', '(', '.', \
             '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}\n | self.a == \
             \n | ..........^",
        ),
        ("self.a", "cel expression must evaluate to a bool"),
        (
            "int('x') == 1",
            "program instantiation failed: type conversion error from 'string' to 'int'",
        ),
    ];
    for (rule, detail) in cases {
        let shown = format!(
            "{{\"Rule\":\"{rule}\",\"Message\":\"\",\"MessageExpression\":\"\",\"Reason\":null,\"FieldPath\":\"\",\
             \"OptionalOldSelf\":null}}"
        );
        let expected = format!("{RULE}: Invalid value: {shown}: {detail}");
        let raw = spec(json!([{"rule": rule}]), properties.clone());
        assert_eq!(checked(&raw), [expected], "{rule}");
    }
    for rule in [
        "self.a == 1",
        "self.namespace",
        "self.__namespace__ && oldSelf.a == 1",
    ] {
        let raw = spec(json!([{"rule": rule}]), properties.clone());
        assert_eq!(checked(&raw), [""; 0], "{rule}");
    }
}

#[test]
fn messages_and_old_values_are_checked_too() {
    let raw = spec(
        json!([
            {"rule": "self.a == 1", "messageExpression": "1"},
            {"rule": "self.a == 1", "messageExpression": "'a' +"},
            {"rule": "self.a == 1", "optionalOldSelf": true},
            {"rule": "oldSelf.hasValue()", "optionalOldSelf": true},
        ]),
        json!({
            "a": {"type": "integer"},
            "l": {"type": "array", "maxItems": 2, "items": {
                "type": "integer", "x-kubernetes-validations": [{"rule": "self == oldSelf"}],
            }},
        }),
    );
    let errors = checked(&raw);
    let expected = [
        "schema.properties[spec].properties[l].items.x-kubernetes-validations[0].rule: Invalid value: \"self == oldSelf\": \
         oldSelf cannot be used on the uncorrelatable portion of the schema within schema.properties[spec].properties[l]",
        "messageExpression must evaluate to a string",
        "messageExpression compilation failed: ERROR: <input>:1:6",
        "x-kubernetes-validations[2].optionalOldSelf: Invalid value: true: may not be set if oldSelf is not used in rule",
    ];
    assert_eq!(errors.len(), expected.len(), "{errors:#?}");
    for (error, expected) in errors.iter().zip(expected) {
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn rules_that_cost_too_much_are_refused() {
    let list = |limits: Value| {
        let mut list = json!({"type": "array", "items": {"type": "string"}});
        list.as_object_mut()
            .expect("it is one")
            .extend(limits.as_object().expect("it is one").clone());
        json!({"l": list})
    };
    let rules = json!([{"rule": "self.l.all(x, self.l.all(y, y == x))"}]);
    let advice = "(try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings \
                  are declared)";
    assert_eq!(
        checked(&spec(rules.clone(), list(json!({})))),
        [
            format!(
                "{RULE}: Forbidden: estimated rule cost exceeds budget by factor of more than 100x {advice}"
            ),
            format!(
                "{RULE}: Forbidden: contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema"
            ),
            format!(
                "schema: Forbidden: x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema exceeds \
             budget by factor of more than 100x {advice}"
            ),
        ]
    );
    let limits = json!({"maxItems": 40, "items": {"type": "string", "maxLength": 10}});
    assert_eq!(checked(&spec(rules, list(limits))), [""; 0]);
}

fn judged(raw: &Value, new: &Value, old: Option<&Value>) -> Vec<String> {
    let rules = CompiledRules::compile(&schema(raw));
    let errors = rules.validate(new, old);
    errors.iter().map(ToString::to_string).collect()
}

#[test]
fn objects_are_judged() {
    let properties = json!({
        "a": {"type": "integer"},
        "m": {"type": "object", "additionalProperties": {"type": "string"}},
        "ios": {"x-kubernetes-int-or-string": true},
        "s": {"type": "string", "x-kubernetes-validations": [{"rule": "self == 'x'"}]},
    });
    let cases = [
        (
            json!({"rule": "self.a > 1"}),
            "spec: Invalid value: failed rule: self.a > 1",
        ),
        (
            json!({"rule": "self.a > 1", "message": " no "}),
            "spec: Invalid value: no",
        ),
        (
            json!({"rule": "self.a > 1", "messageExpression": "'is ' + string(self.a)"}),
            "spec: Invalid value: is 1",
        ),
        (
            json!({"rule": "self.a > 1", "messageExpression": "self.m['zz']", "message": "no"}),
            "spec: Invalid value: no",
        ),
        (
            json!({"rule": "self.a > 1", "message": "no", "reason": "FieldValueForbidden", "fieldPath": ".a"}),
            "spec.a: Forbidden: no",
        ),
        (
            json!({"rule": "self.a > 1", "message": "no", "reason": "FieldValueRequired", "fieldPath": ".m['k']"}),
            "spec.m[k]: Required value: no",
        ),
        (
            json!({"rule": "self.a > 1", "reason": "FieldValueDuplicate"}),
            "spec: Duplicate value",
        ),
        (
            json!({"rule": "self.m['zz'] == 'a'"}),
            "spec: Invalid value: \"object\": no such key: zz evaluating rule: self.m['zz'] == 'a'",
        ),
        (
            json!({"rule": "self.ios < 5", "message": "small"}),
            "spec: Invalid value: \"object\": 'no such overload': call arguments did not match a supported operator, function \
             or macro signature for rule: small",
        ),
        (json!({"rule": "oldSelf.a == self.a"}), ""),
        (
            json!({"rule": "oldSelf.hasValue()", "optionalOldSelf": true}),
            "spec: Invalid value: failed rule: oldSelf.hasValue()",
        ),
        (
            json!({"rule": "lists.range(self.a * 2000).all(x, lists.range(2000).all(y, true))"}),
            "spec: Invalid value: \"object\": 'operation cancelled: actual cost limit exceeded': no further validation rules \
             will be run due to call cost exceeds limit for rule: lists.range(self.a * 2000).all(x, \
             lists.range(2000).all(y, true))",
        ),
    ];
    let object = json!({"spec": {"a": 1, "m": {"k": "v"}, "ios": "5"}});
    for (rule, expected) in cases {
        let expected: Vec<&str> = [expected].into_iter().filter(|text| !text.is_empty()).collect();
        let raw = spec(json!([rule]), properties.clone());
        assert_eq!(judged(&raw, &object, None), expected, "{rule}");
    }
    let raw = spec(json!([]), properties);
    let object = json!({"spec": {"s": "y"}});
    assert_eq!(
        judged(&raw, &object, None),
        ["spec.s: Invalid value: \"y\": failed rule: self == 'x'"]
    );
}

#[test]
fn what_did_not_change_is_forgiven() {
    let raw = spec(
        json!([{"rule": "self.a >= oldSelf.a"}, {"rule": "self.a < 5"}]),
        json!({"a": {"type": "integer"}, "b": {"type": "integer"}}),
    );
    let rules = CompiledRules::compile(&schema(&raw));
    let old = json!({"spec": {"a": 7}});
    let judgement = rules.judge(&old, Some(&old), &FieldPath::root());
    assert!(judgement.errors.is_empty());
    assert_eq!(judgement.warnings.len(), 1);
    let new = json!({"spec": {"a": 6}});
    let errors = judged(&raw, &new, Some(&old));
    assert_eq!(
        errors,
        [
            "spec: Invalid value: failed rule: self.a >= oldSelf.a",
            "spec: Invalid value: failed rule: self.a < 5",
        ]
    );
}

#[test]
fn the_budget_is_for_the_whole_object() {
    let raw = json!({"type": "object", "properties": {"l": {"type": "array", "items": {
        "type": "integer", "x-kubernetes-validations": [{"rule": "lists.range(400).all(x, lists.range(400).all(y, true))"}],
    }}}});
    let object = json!({"l": (0..100).collect::<Vec<i32>>()});
    let errors = judged(&raw, &object, None);
    assert_eq!(errors.len(), 1);
    assert!(
        errors[0].ends_with(
            "Invalid value: \"integer\": validation failed due to running out of cost budget, no further validation rules \
             will be run"
        ),
        "{errors:?}"
    );
}

/// The result of a rule on an object, with its cost.
fn judged_spec(rule: &str, object: &Value) -> String {
    let properties = json!({
        "s": {"type": "string"},
        "p": {"type": "string"},
        "l": {"type": "array", "items": {"type": "integer"}},
    });
    let raw = spec(json!([{"rule": rule, "message": "as it was"}]), properties);
    judged(&raw, &json!({"spec": object}), None).join("\n")
}

fn numbers(count: i32) -> Vec<i32> {
    (0..count).collect()
}

#[test]
fn what_expressions_make_is_bounded_altogether() {
    let cut_off = "operation cancelled: actual cost limit exceeded";
    let thousand = "a".repeat(1000);
    let million = "a".repeat(1_000_000);
    let formats = format!(
        "'{}'.format([{}]).size() > 0",
        "%s".repeat(80),
        vec!["self.s"; 80].join(", ")
    );
    let nested = format!(
        "'{}'.format([{}]).size() > 0",
        "%s".repeat(8),
        ["[[self.s, self.s, self.s], [self.s, self.s, self.s, self.s, self.s, self.s, self.s]]"; 8]
            .join(", ")
    );
    let flattened = format!("[{}].flatten().size() > 0", vec!["self.l"; 100].join(", "));
    for (rule, object) in [
        // Each of them is no longer than a request may be.
        (
            "self.l.map(i, self.s.replace('a', self.p)).size() > 0",
            json!({"s": thousand, "p": thousand, "l": numbers(100)}),
        ),
        (
            "self.l.map(i, self.l.map(j, self.s).join(self.p)).size() > 0",
            json!({"s": thousand, "p": thousand, "l": numbers(300)}),
        ),
        (&formats, json!({"s": million})),
        (&nested, json!({"s": million})),
        (&flattened, json!({"l": numbers(20_000)})),
        (
            "lists.range(100).all(i, (self.l + self.l).size() > 0)",
            json!({"l": numbers(20_000)}),
        ),
        (
            "lists.range(100).all(i, self.s.split('').size() > 0)",
            json!({"s": "a".repeat(50_000)}),
        ),
    ] {
        let found = judged_spec(rule, &object);
        assert!(found.contains(cut_off), "{}: {found}", &rule[..50]);
    }
    for rule in [
        "self.s.replace('a', 'bb').size() == 2000",
        "'%s, %s'.format([self.s, [self.s]]).size() == 2006",
        "self.l.map(i, self.s).join(',').size() == 10009",
        "self.l.transformMap(i, v, v).size() == 10",
    ] {
        let object = json!({"s": thousand, "l": numbers(10)});
        assert_eq!(judged_spec(rule, &object), "", "{rule}");
    }
}

#[test]
fn values_in_values_are_counted_as_often_as_they_are_looked_at() {
    // A few lists in memory, 2^25 numbers to whoever walks them.
    let doubled = |walk: &str| {
        let mut rule = walk.replace('@', "v25");
        for level in (1..=25).rev() {
            let before = format!("v{}", level - 1);
            rule = format!("[[{before}, {before}]].all(v{level}, {rule})");
        }
        format!("[self.l].all(v0, {rule})")
    };
    for walk in [
        "@ == @",
        "'%s'.format([@]) == ''",
        "[@].indexOf(@) == 0",
        "@ in [@]",
    ] {
        let found = judged_spec(&doubled(walk), &json!({"l": [1]}));
        let ended = ["cost limit exceeded", "out of cost budget"];
        assert!(ended.iter().any(|end| found.contains(end)), "{walk}: {found}");
    }
}

#[test]
fn patterns_cost_what_they_take() {
    let repeated = judged_spec(
        "self.s.matches(self.p)",
        &json!({"s": "a", "p": "((a{0,50}){0,50}){0,50}b"}),
    );
    assert!(
        repeated.contains("error parsing regexp: invalid repeat count: `{0,50}`"),
        "{repeated}"
    );
    let literal = judged_spec("self.s.matches('((a{0,50}){0,50}){0,50}b')", &json!({"s": "a"}));
    assert!(literal.contains("invalid matches argument"), "{literal}");
    for (rule, length) in [
        // 900 states for each byte, at worst.
        ("self.s.matches('[ab]*a[ab]{900}c')", 200_000),
        ("self.s.matches(self.p)", 200_000),
        // A match of one byte, and each time a look at all that follows.
        ("self.s.findAll('[^b]*b|a').size() > 0", 100_000),
    ] {
        let object = json!({"s": "a".repeat(length), "p": "[ab]*a[ab]{900}c"});
        let found = judged_spec(rule, &object);
        assert!(found.contains("cost limit exceeded"), "{rule}: {found}");
    }
}

#[test]
fn ordinary_patterns_cost_what_kubernetes_counts() {
    let declarations = crate::Declarations::new().with_dynamic("x");
    for (pattern, length, cost) in [
        ("^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$", 63, 64),
        ("^[a-z]+$", 5_000, 1_003),
        (r"^\\d+(\\.\\d+)*$", 20, 13),
    ] {
        let source = format!("x.matches('{pattern}')");
        let program = crate::compile(&source, &declarations).expect("it is sound");
        let text = json!("1".repeat(length));
        let (result, counted) = program.run_bool(&[Some(&text)]);
        assert!(result.is_ok(), "{pattern}");
        assert_eq!(counted, cost, "{pattern}");
    }
}
