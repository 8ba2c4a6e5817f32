//! Everything that is wrong, at once, each with its place and what to do.

use cambium_compositions_render::validate;
use serde_json::{Value, json};

fn problems(spec: &Value) -> Vec<String> {
    validate(spec).iter().map(ToString::to_string).collect()
}

#[test]
fn all_problems_are_reported_with_place_and_suggestion() {
    let base = json!({"apiVersion": "v1", "kind": "ConfigMap"});
    let spec = json!({
        "patchSets": [{"name": "common", "patches": [{"type": "PatchSet", "patchSetName": "common"}]}],
        "resources": [
            {"name": "a", "base": base, "patches": [
                {"fromFieldPath": "spec..x"},
                {"fromFieldPath": "spec.x", "toFieldPath": "spec.y[", "transforms": [
                    {"type": "math", "math": {"type": "Multiplyy", "multiply": 2}},
                    {"type": "string", "string": {"type": "Regexp", "regexp": {"match": "(a"}}}]},
                {"type": "PatchSet", "patchSetName": "comon"},
                {"type": "FromEnvironmentFieldPath", "fromFieldPath": "a"}]},
            {"name": "a", "base": {"kind": "X"}, "readinessChecks": [{"type": "MatchInteger", "fieldPath": "a", "matchInteger": 0}],
             "connectionDetails": [{"name": "x"}]},
        ],
    });
    assert_eq!(
        problems(&spec),
        [
            "spec.patchSets[0].patches[0].type: Invalid value: \"PatchSet\": cannot use patches within patches (write the patches of the other set out)",
            "spec.resources[1].name: Duplicate value: \"a\" (give each resource its own name)",
            "spec.resources[0].patches[0].fromFieldPath: Invalid value: \"spec..x\": invalid field path: unexpected '.' at position 5 (write it as a.b[0].c, and names with dots as ['a.b/c'])",
            "spec.resources[0].patches[1].toFieldPath: Invalid value: \"spec.y[\": invalid field path: unterminated '[' at position 6 (write it as a.b[0].c, and names with dots as ['a.b/c'])",
            "spec.resources[0].patches[1].transforms[0].math.type: Invalid value: \"Multiplyy\": unknown math transform type (did you mean \"Multiply\"?)",
            "spec.resources[0].patches[1].transforms[1].string.regexp.match: Invalid value: \"(a\": invalid regexp (error parsing regexp: missing closing ): `(a`)",
            "spec.resources[0].patches[2].patchSetName: Invalid value: \"comon\": patchSetName must be the name of a declared patchSet (did you mean \"common\"?)",
            "spec.resources[0].patches[3].type: Invalid value: \"FromEnvironmentFieldPath\": unknown patch type (use one of FromCompositeFieldPath, ToCompositeFieldPath, CombineFromComposite, CombineToComposite, PatchSet)",
            "spec.resources[1].base.apiVersion: Required value: must not be empty (say what kind of object the base is)",
            "spec.resources[1].connectionDetails[0].fromConnectionSecretKey: Required value: connection detail of type \"FromConnectionSecretKey\" key is not set (say where the value comes from)",
            "spec.resources[1].readinessChecks[0].matchInteger: Required value: cannot be 0 for type MatchInteger (add the number to wait for; a Composition cannot wait for 0)",
        ]
    );
}

#[test]
fn a_second_base_of_one_name_in_an_input_is_a_duplicate_and_a_patch_is_not() {
    let base = json!({"apiVersion": "v1", "kind": "ConfigMap"});
    let input = |resources: Value| {
        let input =
            json!({"apiVersion": "pt.fn.crossplane.io/v1beta1", "kind": "Resources", "resources": resources});
        json!({"mode": "Pipeline", "pipeline": [{"step": "pt", "functionRef": {"name": "f"}, "input": input}]})
    };
    let patches =
        json!([{"type": "FromCompositeFieldPath", "fromFieldPath": "spec.a", "toFieldPath": "data.a"}]);
    let patched = input(json!([{"name": "a", "base": base}, {"name": "a", "patches": patches}]));
    assert_eq!(problems(&patched), [""; 0]);
    assert_eq!(
        problems(&input(
            json!([{"name": "a", "base": base}, {"name": "a", "base": base}])
        )),
        [
            "spec.pipeline[0].input.resources[1].name: Duplicate value: \"a\" (give each resource its own name)"
        ]
    );
}

#[test]
fn the_input_of_the_built_in_function_is_checked_in_its_place() {
    let input = json!({"apiVersion": "pt.fn.crossplane.io/v1beta1", "kind": "Resources", "resources": [
        {"name": "a", "patches": [{"fromFieldPath": "a", "policy": {"toFieldPath": "Merge"}, "transforms": [{"type": "math", "math": {"multiply": 2}}]}]},
        {"patches": [{"type": "CombineToEnvironment"}], "connectionDetails": [{"name": "x"}]}]});
    let spec = json!({"mode": "Pipeline", "pipeline": [{"step": "pt", "functionRef": {"name": "f"}, "input": input}]});
    let places: Vec<String> = validate(&spec)
        .iter()
        .map(|problem| problem.field.clone())
        .collect();
    assert_eq!(
        places,
        [
            "spec.pipeline[0].input.resources[1].name",
            "spec.pipeline[0].input.resources[0].patches[0].transforms[0].math.type",
            "spec.pipeline[0].input.resources[0].patches[0].policy.toFieldPath",
            "spec.pipeline[0].input.resources[1].patches[0].toFieldPath",
            "spec.pipeline[0].input.resources[1].patches[0].combine",
            "spec.pipeline[0].input.resources[1].connectionDetails[0].type",
        ]
    );
}

#[test]
fn wrong_types_are_named() {
    for (spec, place) in [
        (json!({"resources": "x"}), "spec.resources"),
        (
            json!({"resources": [{"name": 5, "base": {"apiVersion": "v1", "kind": "A"}}]}),
            "spec.resources[0].name",
        ),
        (
            json!({"resources": [{"name": "a", "base": []}]}),
            "spec.resources[0].base",
        ),
        (json!({"mode": "Nope"}), "spec.mode"),
        (json!(5), "spec.resources"),
    ] {
        let problems = validate(&spec);
        assert!(
            problems.iter().any(|problem| problem.field == place),
            "{spec}: {problems}"
        );
    }
}

#[test]
fn one_mistake_is_one_problem() {
    for spec in [
        json!({"resources": "x"}),
        json!({"mode": "Pipeline", "pipeline": {}}),
        json!({"resources": []}),
    ] {
        assert_eq!(validate(&spec).iter().count(), 1, "{spec}: {}", validate(&spec));
    }
}
