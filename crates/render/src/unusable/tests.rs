//! Templates that are refused, and those that are not.

use super::*;
use crate::Definition;
use serde_json::json;

fn template(kind: &str, text: &str) -> Template {
    let definition = Definition::from_manifest(&json!({
        "kind": kind, "metadata": {"name": "web"},
        "spec": {"workload": {"type": "autodetects.core.oam.dev"}, "schematic": {"cue": {"template": text}}},
    }));
    Template::compile(definition.unwrap()).unwrap()
}

#[track_caller]
fn refused(kind: &str, text: &str, words: &str) {
    let problems = template(kind, text).unusable().expect("refused").to_string();
    assert_eq!(problems, words);
}

#[track_caller]
fn fine(kind: &str, text: &str) {
    assert_eq!(template(kind, text).unusable(), None);
}

#[test]
fn a_template_that_makes_nothing_is_refused() {
    let component = "ComponentDefinition";
    refused(
        component,
        "outptu: {kind: \"A\"}\nparameter: {}",
        "the template has no output; did you mean output?\n    web:1:1",
    );
    refused(
        component,
        "parameter: {}",
        "the template has no output\n    web:1:1",
    );
    fine(
        component,
        "if parameter.a {output: {apiVersion: \"v1\", kind: \"A\"}}\nparameter: {a: bool}",
    );
    fine(
        component,
        "#Base: {output: {apiVersion: \"v1\", kind: \"A\"}}\n#Base",
    );
    let trait_ = "TraitDefinition";
    refused(
        trait_,
        "pacth: {spec: {}}",
        "the template has neither outputs nor patch; did you mean patch?\n    web:1:1",
    );
    fine(trait_, "patchOutputs: {a: {}}");
}

#[test]
fn a_parameter_that_is_not_there_is_refused() {
    let component = "ComponentDefinition";
    refused(
        component,
        "output: {apiVersion: \"v1\", kind: \"A\", spec: image: parameter.imag}\nparameter: {image: string}",
        "parameter has no field \"imag\"; did you mean image?\n    web:1:52",
    );
    refused(
        component,
        "output: {apiVersion: \"v1\", kind: \"A\", a: \"x-\\(parameter.port.nmae)\"}\nparameter: {port: {name: string}}",
        "parameter.port has no field \"nmae\"; did you mean name?\n    web:1:47",
    );
    for open in ["...", "[string]: string", "#Other", "if true {imag: string}"] {
        fine(
            component,
            &format!(
                "output: {{apiVersion: \"v1\", kind: \"A\", a: parameter.imag}}\nparameter: {{image: string\n{open}}}\n#Other: {{imag: string}}"
            ),
        );
    }
    fine(
        component,
        "output: {apiVersion: \"v1\", kind: \"A\", if parameter.imag != _|_ {a: parameter.imag}}\nparameter: {image: string}",
    );
    fine(
        component,
        "output: {apiVersion: \"v1\", kind: \"A\", for parameter in [{imag: 1}] {a: parameter.imag}}\nparameter: {image: string}",
    );
    fine(
        component,
        "output: {apiVersion: \"v1\", kind: \"A\", a: parameter.imag}\nparameter: *{image: string} | {imag: string}",
    );
    fine(
        component,
        "output: {apiVersion: \"v1\", kind: \"A\", a: parameter.image.tag}\nparameter: {image: _}",
    );
}

#[test]
fn a_template_that_is_too_expensive_with_its_defaults_is_found() {
    let mut text = "output: {apiVersion: \"v1\", kind: \"A\", a: a30}\na0: \"0123456789abcdef\"\n".to_owned();
    for index in 1..=30 {
        let before = index - 1;
        text.push_str(&format!("a{index}: \"\\(a{before})\\(a{before})\"\n"));
    }
    let problems = template("ComponentDefinition", &text).too_expensive();
    let told = problems.expect("too expensive").to_string();
    assert!(
        told.contains("text longer than 16777216 bytes\n    web:"),
        "{told}"
    );
    let nested = "import \"list\"\n_n: list.Range(0, 100, 1)\noutput: {apiVersion: \"v1\", kind: \"A\", a: [for i in _n for j in _n for k in _n {i}]}";
    let problems = template("ComponentDefinition", nested).too_expensive().unwrap();
    assert!(problems.to_string().contains("web:3:"), "{problems}");
    let fine = template(
        "ComponentDefinition",
        "output: {apiVersion: \"v1\", kind: \"A\", a: parameter.a}\nparameter: {a: string}",
    );
    assert_eq!(fine.too_expensive(), None);
}

#[test]
fn values_that_are_too_large_are_too_expensive() {
    let mut doubled = "_a0: \"xxxxxxxxxx\"\n".to_owned();
    for index in 1..=40 {
        doubled.push_str(&format!("_a{index}: _a{0} + _a{0}\n", index - 1));
    }
    let import = "import \"strings\"\nimport \"list\"\n_t: 9000000*\"a\"\n";
    for value in [
        "_a40",
        "1000000000*\"abc\"",
        "1000000000*[1]",
        "strings.Repeat(\"abc\", 1000000000)",
        "list.Repeat([1], 1000000000)",
        "strings.Replace(_t, \"a\", \"bbb\", -1)",
        "strings.Join([_t, _t], \"\")",
        "\"\\(_t)\\(_t)\"",
    ] {
        let text = format!("{import}{doubled}output: {{apiVersion: \"v1\", kind: \"A\", data: a: {value}}}");
        let problems = template("ComponentDefinition", &text).too_expensive();
        let told = problems
            .unwrap_or_else(|| panic!("{value} is accepted"))
            .to_string();
        assert!(
            told.contains("longer than") && told.contains("web:"),
            "{value}: {told}"
        );
    }
}

/// A ConfigMap with one field, and its parameters.
fn with(value: &str, parameter: &str) -> String {
    format!("output: {{apiVersion: \"v1\", kind: \"ConfigMap\", data: a: {value}}}\n{parameter}\n")
}

#[test]
fn a_parameter_that_a_closed_struct_does_not_have_is_refused() {
    let words = "parameter has no field \"imag\"; did you mean image?\n    web:1:56";
    for parameter in [
        "parameter: close({image: string})",
        "parameter: #P\n#P: {image: string}",
        "parameter: #P\n#P: #Q\n#Q: close({image: string})",
    ] {
        refused("ComponentDefinition", &with("parameter.imag", parameter), words);
    }
    fine(
        "ComponentDefinition",
        &with("parameter.imag", "parameter: #P\n#P: {image: string, ...}"),
    );
    fine(
        "ComponentDefinition",
        &with(
            "parameter.imag",
            "parameter: #P & {imag: string}\n#P: {image: string, ...}",
        ),
    );
    let trait_ = "outputs: a: {apiVersion: \"v1\", kind: \"ConfigMap\", data: a: parameter.x}\n";
    fine("TraitDefinition", trait_);
    fine("TraitDefinition", &format!("{trait_}parameter: x: string"));
    fine(
        "TraitDefinition",
        &format!("{trait_}#Base\n#Base: parameter: x: string"),
    );
}

#[test]
fn an_output_that_is_no_object_is_refused() {
    let component = "ComponentDefinition";
    for (text, words) in [
        ("output: 3", "output: must be an object, not 3\n    web:1:9"),
        (
            "output: \"a\"",
            "output: must be an object, not \"a\"\n    web:1:9",
        ),
        (
            "output: [1]",
            "output: must be an object, not a list\n    web:1:9",
        ),
        (
            "output: parameter.a\nparameter: a: string",
            "output: must be an object, not string\n    web:1:9",
        ),
        ("output: {apiVersion: \"v1\"}", "output has no kind\n    web:1:1"),
        (
            "output: {kind: \"ConfigMap\"}",
            "output has no apiVersion\n    web:1:1",
        ),
        ("output: {}", "output has no apiVersion and no kind\n    web:1:1"),
        (
            "output: {apiVersion: \"v1\", kind: \"A\"}\noutputs: b: {kind: \"ConfigMap\"}",
            "outputs.b has no apiVersion\n    web:2:10",
        ),
        (
            "output: {apiVersion: \"v1\", kind: \"A\"}\noutputs: b: 3",
            "outputs.b: must be an object, not 3\n    web:2:13",
        ),
    ] {
        refused(component, text, words);
    }
    for text in [
        "output: {apiVersion: \"v1\", if parameter.a {kind: \"A\"}, if !parameter.a {kind: \"B\"}}\nparameter: a: bool",
        "output: parameter.a\nparameter: a: {...}",
        "output: parameter.a\nparameter: a: _",
        "output: {apiVersion: \"v1\", parameter.a}\nparameter: a: {...}",
        "output: apiVersion: \"v1\"\noutput: kind: \"A\"",
        "output: apiVersion: \"v1\"\nif true {output: kind: \"A\"}",
        "output: {apiVersion: \"v1\"} & _base\n_base: kind: \"A\"",
        "output: {apiVersion: \"v1\", \"\\(parameter.a)\": \"A\"}\nparameter: a: string",
        "output: {apiVersion: \"v1\", kind: \"A\"}\noutputs: {for n in [\"a\"] {\"\\(n)\": parameter.o}}\nparameter: o: {...}",
        "output: {apiVersion: \"v1\", kind: \"A\"}\noutputs: b: apiVersion: \"v1\"\noutputs: parameter.o\nparameter: o: {...}",
        "if parameter.a {output: 3}\nif !parameter.a {output: {apiVersion: \"v1\", kind: \"A\"}}\nparameter: a: bool",
    ] {
        fine(component, text);
    }
}

#[test]
fn a_template_that_contradicts_itself_is_refused() {
    let component = "ComponentDefinition";
    for (text, words) in [
        (
            with("1 & 2", ""),
            "output.data.a: conflicting values 2 and 1\n    web:1:56\n    web:1:60",
        ),
        (
            with("parameter.image + 1", "parameter: {image: string}"),
            "output.data.a: invalid operands string and 1 to '+' (type string and int)\n    web:1:56",
        ),
        (
            with("parameter.image + 1", "parameter: {image: *\"a\" | string}"),
            "output.data.a: invalid operands *\"a\" | string and 1 to '+' (type string and int)\n    web:1:56",
        ),
        (with("parameter.n & \"x\"", "parameter: {n: *1 | int}"), ""),
        (with("parameter.a", "parameter: a: int & string"), ""),
    ] {
        let problems = template(component, &text)
            .unusable()
            .expect("refused")
            .to_string();
        assert!(problems.starts_with(words), "{text}: {problems}");
    }
}

/// What fails with the defaults, without a parameter or with an empty list need not fail with others.
#[test]
fn what_a_parameter_could_mend_is_not_refused() {
    for (import, value, parameter) in [
        (
            "strings",
            "strings.Split(parameter.a, \":\")[1]",
            "parameter: a: *\"nginx\" | string",
        ),
        ("strings", "strings.Split(context.name, \"-\")[1]", ""),
        (
            "strings",
            "strings.Repeat(\"a\", parameter.n - 5)",
            "parameter: n: *1 | int",
        ),
        ("", "parameter.l[0]", "parameter: l: [...string]"),
        ("", "[for x in parameter.l {x}][0]", "parameter: l: [...string]"),
        ("", "[if parameter.b {1}, 2][1]", "parameter: b: *false | bool"),
        ("", "div(10, len(parameter.l))", "parameter: l: [...string]"),
        ("", "div(10, len(parameter.m))", "parameter: m: [string]: string"),
        ("", "parameter.m.x", "parameter: m: {...}"),
        ("", "parameter.l & [1]", "parameter: l: [...int]"),
        (
            "list",
            "parameter.l",
            "parameter: l: [...string] & list.Contains(\"a\")",
        ),
        (
            "struct",
            "parameter.m",
            "parameter: m: struct.MinFields(1) & {[string]: string}",
        ),
        ("", "parameter.x", "parameter: x?: string"),
        ("", "parameter.x + 1", "parameter: x: int | string"),
        ("", "parameter.x + 1", "parameter: x: _"),
        ("", "2 * parameter.x", "parameter: x: string"),
        ("", "parameter.x + [1]", "parameter: x: [...int]"),
        (
            "",
            "_n + \"x\"",
            "_n: string\nif parameter.x == _|_ {_n: \"s\"}\nparameter: x?: string",
        ),
        (
            "",
            "1",
            "parameter: x?: string\nif parameter.x == _|_ {_e: \"x is needed\" & \"to run\"}",
        ),
        (
            "encoding/json",
            "json.Marshal(parameter.m) & \"{}\"",
            "parameter: m: {...}",
        ),
        ("", "context.output.spec.replicas + 1", ""),
        ("", "parameter.o.a", "parameter: o: {a: 1} | {b: 2}"),
        ("", "parameter.o.a", "parameter: o: *{b: 2} | {a: 1}"),
    ] {
        let import = match import {
            "" => String::new(),
            import => format!("import {import:?}\n"),
        };
        fine(
            "ComponentDefinition",
            &format!("{import}{}", with(value, parameter)),
        );
    }
}

#[test]
fn a_misspelt_field_of_the_context_is_refused() {
    let component = "ComponentDefinition";
    refused(
        component,
        &with("context.nmae", ""),
        "context has no field \"nmae\"; did you mean name?\n    web:1:56",
    );
    for value in [
        "context.name",
        "context.output.anything",
        // What another version of KubeVela may have.
        "context.whatever.else",
        "[if context.nmae != _|_ {context.nmae}]",
        "[for context in [{nmae: 1}] {context.nmae}]",
    ] {
        fine(component, &with(value, ""));
    }
    fine(component, &with("context.nmae", "context: nmae: string"));
}
