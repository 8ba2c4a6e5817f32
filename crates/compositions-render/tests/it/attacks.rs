//! Input that is meant to hurt: it is refused or it is bounded, and never a panic.
use std::collections::BTreeMap;

use cambium_compositions_render::function::{Request, auto_ready, literal_response, patch_and_transform};
use cambium_compositions_render::{Composition, ObservedResource, desired, gofmt, observe, regexp, validate};
use proptest::prelude::*;
use serde_json::{Value, json};

fn composition(patches: Value) -> Composition {
    let base = json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"list": [1, 2], "text": "x"}});
    Composition::read(&json!({"resources": [{"name": "a", "base": base, "patches": patches}]})).unwrap()
}

fn outcome(patches: Value, spec: Value) -> Result<Value, String> {
    let composite = json!({"apiVersion": "a/v1", "kind": "X", "metadata": {"name": "x"}, "spec": spec});
    let made = desired(&composition(patches), &composite, &BTreeMap::new()).remove(0);
    made.outcome.map_err(|error| error.to_string())
}

#[test]
fn a_format_cannot_ask_for_gigabytes() {
    let one = json!(1);
    for format in [
        "%9999999d",
        "%.9999999d",
        "%9999999s",
        "%.9999999f",
        "%9999999x",
        "%.9999999U",
        "%9999999v",
        "%-9999999v",
    ] {
        assert!(gofmt::sprintf(format, &[&one]).is_err(), "{format}");
    }
    let many = "%99999d".repeat(100_000);
    assert!(gofmt::sprintf(&many, &vec![&one; 100_000]).is_err());
    assert_eq!(
        gofmt::sprintf("%1000000000d", &[&one]).unwrap(),
        "%!(NOVERB)%!(EXTRA int64=1)"
    );
    assert_eq!(
        gofmt::sprintf("%*d", &[&json!(1_000_000_000), &one]).unwrap(),
        "%!(BADWIDTH)1"
    );
    assert_eq!(
        gofmt::sprintf("%.*f", &[&json!(1_000_000_000), &json!(0.5)]).unwrap(),
        "%!(BADPREC)0.500000"
    );
    assert!(
        gofmt::sprintf("%.70000e", &[&json!(0.1)])
            .unwrap()
            .ends_with("000e-01")
    );
}

#[test]
fn an_expression_that_explodes_is_refused() {
    for pattern in [
        "(((((a{1000}){1000}){1000}){1000}){1000})",
        "(\\pL{900}){900}",
        &"(".repeat(100_000),
        &"a".repeat(3_000_000),
    ] {
        assert!(regexp::compile(pattern).is_err(), "{}", &pattern[..20]);
    }
    assert!(
        regexp::compile("(a*)*b")
            .unwrap()
            .find(&"a".repeat(100_000))
            .is_none()
    );
}

#[test]
fn repetitions_multiply_as_in_go() {
    for pattern in [
        "((a{0,50}){0,20})b",
        "a{1000}b{1000}",
        "((a{0,1000})*)+",
        "(a{2}|b){500}",
        "a{0}{",
    ] {
        assert!(regexp::compile(pattern).is_ok(), "{pattern}");
    }
    for (pattern, part) in [
        ("((a{0,50}){0,50}){0,20}b", "{0,50}"),
        ("(x(y{40}z)w){26,}", "{26,}"),
        ("(?i:a{11}){100}", "{100}"),
    ] {
        let error = regexp::compile(pattern).unwrap_err().to_string();
        assert_eq!(
            error,
            format!("error parsing regexp: invalid repeat count: `{part}`")
        );
    }
}

#[test]
fn expressions_that_are_too_large_together_are_refused() {
    let composition = |pattern: &str, count: usize| {
        let transform = |index: usize| json!({"type": "string", "string": {"type": "Regexp", "regexp": {"match": format!("{pattern}{index}")}}});
        let patches: Vec<Value> = (0..count)
            .map(|index| json!({"fromFieldPath": "spec.a", "transforms": [transform(index)]}))
            .collect();
        json!({"resources": [{"name": "a", "base": {"apiVersion": "v1", "kind": "ConfigMap"}, "patches": patches}]})
    };
    assert!(Composition::read(&composition("^[a-z]+-", 500)).is_ok());
    let problems = Composition::read(&composition("\\pL{12}", 80)).unwrap_err();
    assert!(problems.to_string().contains("too large together"), "{problems}");
}

#[test]
fn matching_costs_what_the_automaton_takes() {
    let transform = |pattern: &str| {
        json!([{"fromFieldPath": "spec.text", "toFieldPath": "data.v", "transforms": [
            {"type": "string", "string": {"type": "Regexp", "regexp": {"match": pattern}}}]}])
    };
    let spec = |length: usize| json!({"text": "a".repeat(length)});
    // At worst, each byte meets each of 900 states.
    let refused = outcome(transform("[ab]*a[ab]{900}a"), spec(200_000)).unwrap_err();
    assert!(refused.contains("cost more than"), "{refused}");
    assert!(outcome(transform("[ab]*a[ab]{900}a"), spec(2_000)).is_ok());
    assert!(outcome(transform("^(a+)$"), spec(200_000)).is_ok());
    let pattern = |regexp: &str| json!({"type": "regexp", "regexp": regexp, "result": "found"});
    let patterns = |count: usize| {
        json!([{"fromFieldPath": "spec.text", "toFieldPath": "data.v", "transforms": [
            {"type": "match", "match": {"patterns": vec![pattern("b+c"); count], "fallbackValue": "none"}}]}])
    };
    assert!(outcome(patterns(10), spec(10_000)).is_ok());
    let refused = outcome(patterns(100), spec(10_000)).unwrap_err();
    assert!(refused.contains("cost more than"), "{refused}");
}

#[test]
fn a_quantity_with_an_endless_exponent_is_answered_at_once() {
    let converted = |text: &str| {
        let convert = json!({"type": "convert", "convert": {"toType": "float64", "format": "quantity"}});
        outcome(
            json!([{"fromFieldPath": "spec.v", "toFieldPath": "data.v", "transforms": [convert]}]),
            json!({"v": text}),
        )
    };
    // Crossplane v1.20 is still at work on each of these after seconds, and on the first after minutes.
    assert!(
        converted("1e2147483648")
            .unwrap_err()
            .contains("json: unsupported value: +Inf")
    );
    assert!(converted("1234567890123456789012e2147483647").is_err());
    assert_eq!(converted("1e-2147483648").unwrap()["data"]["v"], json!(1e-9));
}

#[test]
fn a_patch_onto_a_scalar_fails_and_says_where() {
    let patch = json!([{"fromFieldPath": "spec.v", "toFieldPath": "data.text.deeper"}]);
    let error = outcome(patch, json!({"v": 1})).unwrap_err();
    assert_eq!(
        error,
        "cannot apply the \"FromCompositeFieldPath\" patch at index 0: data.text is not an object"
    );
}

#[test]
fn nulls_pass_through() {
    let patch = json!([{"fromFieldPath": "spec.v", "toFieldPath": "data.v"}]);
    assert_eq!(
        outcome(patch, json!({"v": null})).unwrap()["data"]["v"],
        Value::Null
    );
    let patch = json!([{"fromFieldPath": "spec.v", "toFieldPath": "data.v", "transforms": [
        {"type": "string", "string": {"type": "Format", "fmt": "%s/%v"}}]}]);
    assert_eq!(
        outcome(patch, json!({"v": null})).unwrap()["data"]["v"],
        "%!s(<nil>)/%!v(MISSING)"
    );
}

#[test]
fn a_path_is_no_way_to_dig_without_end() {
    let deep = |steps| format!("data{}", ".a".repeat(steps));
    let patch = json!([{"fromFieldPath": "spec.v", "toFieldPath": deep(99)}]);
    let object = outcome(patch, json!({"v": 1})).unwrap();
    let path: cambium_compositions_render::path::FieldPath = deep(99).parse().unwrap();
    assert_eq!(path.get(&object).unwrap(), &json!(1));
    for steps in [100, 1_000_000] {
        let refused = deep(steps).parse::<cambium_compositions_render::path::FieldPath>();
        assert_eq!(
            refused,
            Err(cambium_compositions_render::path::PathSyntaxError::TooDeep)
        );
    }
}

#[test]
fn unicode_is_text_like_any_other() {
    let patch = json!([{"fromFieldPath": "spec['größe.ß/日']", "toFieldPath": "data['名前']", "transforms": [
        {"type": "string", "string": {"type": "Format", "fmt": "%-4s|%.1s"}}]}]);
    let object = outcome(patch, json!({"größe.ß/日": "äß"})).unwrap();
    assert_eq!(object["data"]["名前"], "äß  |%!s(MISSING)");
}

fn any_json() -> impl Strategy<Value = Value> {
    let words = prop::sample::select(vec![
        "resources",
        "patches",
        "patchSets",
        "name",
        "base",
        "type",
        "fromFieldPath",
        "toFieldPath",
        "transforms",
        "string",
        "fmt",
        "math",
        "multiply",
        "match",
        "patterns",
        "regexp",
        "combine",
        "variables",
        "strategy",
        "policy",
        "readinessChecks",
        "convert",
        "connectionDetails",
        "spec.a[*]",
        "PatchSet",
        "Format",
        "CombineFromComposite",
        "metadata",
        "apiVersion",
        "kind",
        "%s",
        "(",
        "labels",
        "status",
        "conditions",
        "environment",
        "response",
        "input",
        "desired",
        "observed",
        "composite",
        "resource",
        "toType",
        "object",
    ]);
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        words.clone().prop_map(Value::from),
        "\\PC{0,6}".prop_map(Value::from),
    ];
    leaf.prop_recursive(6, 64, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(words.clone(), inner, 0..6).prop_map(|map| json!(map)),
        ]
    })
}

proptest! {
    #[test]
    fn no_document_makes_us_panic(spec in any_json(), composite in any_json(), object in any_json()) {
        let problems = validate(&spec);
        prop_assert!(problems.iter().all(|problem| !problem.suggestion.is_empty()));
        if let Ok(composition) = Composition::read(&spec) {
            let _ = desired(&composition, &composite, &BTreeMap::new());
        }
        let composition = composition(json!([
            {"fromFieldPath": "spec", "toFieldPath": "data.list[*].x"},
            {"type": "ToCompositeFieldPath", "fromFieldPath": "status", "toFieldPath": "metadata.labels"}
        ]));
        let _ = desired(&composition, &composite, &BTreeMap::from([("a".to_owned(), object.clone())]));
        let resource = ObservedResource { object, ..Default::default() };
        let _ = observe(&composition, &composite, &BTreeMap::from([("a".to_owned(), resource)]));
    }

    #[test]
    fn no_request_makes_a_function_panic(input in any_json(), fields in prop::collection::btree_map("[a-z]{1,8}", any_json(), 0..4)) {
        let mut request = Request { input: Some(input), ..Request::default() };
        request.observed.composite.resource = fields.into_iter().collect();
        let _ = patch_and_transform(&request);
        let _ = auto_ready(&request);
        let _ = literal_response(&request);
    }

    #[test]
    fn no_format_and_no_pattern_is_too_strange(format in "[%a-zA-Z0-9\\[\\]\\*\\.\\-\\+# äß]{0,12}", pattern in "[a-z\\\\\\(\\)\\[\\]\\{\\}\\*\\+\\?\\|\\^\\$0-9:<>PQEé,-]{0,14}", value in any_json()) {
        let _ = gofmt::sprintf(&format, &[&value, &json!(3)]);
        let _ = regexp::compile(&pattern);
    }
}

/// A patch of the text `spec.a`, transformed by these, to `data.b`.
fn transformed(transforms: Value) -> Value {
    json!([{"fromFieldPath": "spec.a", "toFieldPath": "data.b", "transforms": transforms}])
}

#[test]
fn a_chain_of_transforms_cannot_grow_a_text_without_end() {
    let million = "%1000000s";
    let format = json!({"type": "string", "string": {"type": "Format", "fmt": million}});
    for (convert, times) in [("ToBase64", 60), ("ToJson", 60)] {
        let mut transforms = vec![format.clone()];
        let grow = json!({"type": "string", "string": {"type": "Convert", "convert": convert}});
        transforms.extend(std::iter::repeat_n(grow, times));
        let refused = outcome(transformed(json!(transforms)), json!({"a": "\""})).unwrap_err();
        assert!(refused.contains("fit into no object"), "{convert}: {refused}");
    }
    let join =
        json!([{"type": "string", "string": {"type": "Join", "join": {"separator": "x".repeat(100_000)}}}]);
    let refused = outcome(transformed(join), json!({"a": vec![0; 100_000]})).unwrap_err();
    assert!(refused.contains("fit into no object"), "{refused}");
}

#[test]
fn a_wildcard_cannot_copy_gigabytes() {
    let places: Vec<Value> = vec![json!({"b": ""}); 50_000];
    let composition = Composition::read(&json!({
        "compositeTypeRef": {"apiVersion": "example.org/v1", "kind": "XThing"},
        "resources": [{"name": "main", "base": {"apiVersion": "v1", "kind": "Thing", "list": places},
            "patches": [{"fromFieldPath": "spec.a", "toFieldPath": "list[*].b"}]}],
    }))
    .unwrap();
    let composite = json!({"metadata": {"name": "thing"}, "spec": {"a": "x".repeat(500_000)}});
    let made = cambium_compositions_render::desired(&composition, &composite, &BTreeMap::new());
    let refused = made[0].outcome.as_ref().unwrap_err().to_string();
    assert!(refused.contains("256 MiB of work"), "{refused}");
}

#[test]
fn many_patches_cost_one_budget() {
    let patch = |at: usize| json!({"fromFieldPath": "spec.a", "toFieldPath": format!("data.b{at}")});
    let patches: Vec<Value> = (0..2_000).map(patch).collect();
    let refused = outcome(json!(patches), json!({"a": "x".repeat(500_000)})).unwrap_err();
    assert!(refused.contains("256 MiB of work"), "{refused}");
    // What people write is far from it.
    let patches: Vec<Value> = (0..200).map(patch).collect();
    assert!(outcome(json!(patches), json!({"a": "x".repeat(10_000)})).is_ok());
}

#[test]
fn appending_long_lists_compares_nothing_twice() {
    let patch = json!([{"fromFieldPath": "spec.a", "toFieldPath": "data.b", "policy": {"mergeOptions": {"appendSlice": true}}}]);
    let list: Vec<usize> = (0..100_000).collect();
    let composition = composition(patch);
    let composite = json!({"metadata": {"name": "thing"}, "spec": {"a": list}});
    let observed =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}, "data": {"b": list}});
    let name = composition.templates()[0].label.clone();
    let made =
        cambium_compositions_render::desired(&composition, &composite, &BTreeMap::from([(name, observed)]));
    assert_eq!(
        made[0].outcome.as_ref().unwrap()["data"]["b"]
            .as_array()
            .unwrap()
            .len(),
        100_000
    );
}
