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

#[test]
fn a_contradiction_beside_a_long_chain_of_operators_is_refused() {
    let chain = vec!["parameter.a"; 41].join(" + ");
    refused(
        "ComponentDefinition",
        &format!(
            "output: {{apiVersion: \"v1\", kind: \"ConfigMap\", data: {{a: 1 & 2, b: {chain}}}}}\nparameter: a: string\n"
        ),
        "output.data.a: conflicting values 2 and 1\n    web:1:57\n    web:1:61",
    );
}

#[test]
fn helpers_among_the_outputs_are_no_outputs() {
    for kind in ["ComponentDefinition", "TraitDefinition"] {
        for helper in [
            "#Base: {metadata: labels: a: \"b\", ...}, svc: #Base & {apiVersion: \"v1\", kind: \"Service\"}",
            "_labels: {a: \"b\"}, svc: {apiVersion: \"v1\", kind: \"Service\", metadata: labels: _labels}",
            "svc?: {metadata: name: \"a\"}",
            "_#Base: {a: 1}",
        ] {
            fine(
                kind,
                &format!("output: {{apiVersion: \"v1\", kind: \"ConfigMap\"}}\noutputs: {{{helper}}}"),
            );
        }
        refused(
            kind,
            "output: {apiVersion: \"v1\", kind: \"A\"}\noutputs: {\"svc\": {kind: \"Service\"}}",
            "outputs.svc has no apiVersion\n    web:2:11",
        );
    }
}

#[test]
fn the_output_of_a_trait_is_a_helper() {
    fine(
        "TraitDefinition",
        "output: {a: 1}\npatch: metadata: annotations: a: \"\\(output.a)\"",
    );
    fine("TraitDefinition", "output: 3\npatch: {}");
}

#[test]
fn a_trait_that_makes_nothing_is_refused_only_for_a_slip() {
    let trait_ = "TraitDefinition";
    for text in [
        "parameter: {a: string}",
        "parameter: {}\n#Patch: {}",
        "_patch: {}",
        "path: \"a\"\nparameter: {a: path}",
        "output: {}",
    ] {
        fine(trait_, text);
    }
    for (text, meant) in [
        ("outptu: {}", "outputs"),
        ("ouputs: {}", "outputs"),
        ("pach: {}", "patch"),
        ("if parameter.a {pacth: {}}", "patch"),
        ("parameter: {}\npatchOutput: {}", "patchOutputs"),
    ] {
        let problems = template(trait_, text).unusable().expect("refused").to_string();
        let words = format!("the template has neither outputs nor patch; did you mean {meant}?\n");
        assert!(problems.starts_with(&words), "{text}: {problems}");
    }
}

/// A ConfigMap whose fields are these declarations, and its parameters.
fn declaring(declarations: &str, parameter: &str) -> String {
    format!("output: {{apiVersion: \"v1\", kind: \"ConfigMap\", {declarations}}}\n{parameter}\n")
}

#[test]
fn a_parameter_whose_absence_is_provided_for_need_not_be_declared() {
    for declarations in [
        "data: a: *parameter.tga | \"latest\"",
        "data: a: *\"v-\\(parameter.tga)\" | \"latest\"",
        "data: a: \"x-\\(*parameter.tga | \"latest\")\"",
        "if (parameter.tga) != _|_ {data: a: parameter.tga}",
        "if ((parameter).tga) != _|_ {data: a: (parameter).tga}",
        "if _|_ != parameter[\"tga\"] {data: a: parameter.tga}",
        "let t = parameter.tga, if t != _|_ {data: a: t}",
        "let p = parameter, if p.tga != _|_ {data: a: p.tga}",
        "let t = \"v-\\(parameter.tga)\", if t != _|_ {data: a: t}",
        "data: a: *context.nmae | \"x\"",
        "if (context.nmae) != _|_ {data: a: context.nmae}",
        "let n = context.nmae, if n != _|_ {data: a: n}",
    ] {
        for parameter in [
            "parameter: {tag: string}",
            "parameter: {tag: string, ...}",
            "parameter: close({tag: string})",
            "parameter: #P\n#P: {tag: string}",
        ] {
            fine("ComponentDefinition", &declaring(declarations, parameter));
        }
    }
}

#[test]
fn a_parameter_that_a_user_may_give_need_not_be_declared() {
    for (declarations, parameter) in [
        (
            "if parameter.mode == \"old\" {data: a: parameter.legacy}",
            "parameter: {mode: string, legac: string}",
        ),
        (
            "data: {for n in parameter.names {\"\\(n)\": parameter.tga}}",
            "parameter: {names: [...string], tag: string}",
        ),
        (
            "data: {for p in parameter.ports if p.port > 1 {a: p.prot}}",
            "parameter: ports: [...{port: int}]",
        ),
        (
            "let t = parameter.tga, if parameter.tag == \"a\" {data: a: t}",
            "parameter: tag: string",
        ),
        ("data: a: parameter.whatever", "parameter: tag: string"),
        ("data: a: parameter.b", "parameter: a: string"),
        ("data: a: parameter.o.whatever", "parameter: o: {tag: string}"),
        (
            "data: a: parameter.l[0].whatever",
            "parameter: l: [...{tag: string}]",
        ),
        // Something else says more of the parameters.
        (
            "data: a: parameter.tga",
            "parameter: tag: string\n#Base\n#Base: parameter: tga: string",
        ),
        (
            "data: a: parameter.tga",
            "parameter: tag: string\nif parameter.tag == \"a\" {parameter: tga: string}",
        ),
        // Something else has its name.
        (
            "data: {parameter: {tga: \"a\"}, a: parameter.tga}",
            "parameter: tag: string",
        ),
        (
            "let parameter = {tga: \"a\"}, data: a: parameter.tga",
            "parameter: tag: string",
        ),
        (
            "data: {X=parameter: {tga: \"a\"}, a: X.tga}",
            "parameter: tag: string",
        ),
        // Other lists, other items.
        (
            "data: a: parameter.l[0].prot",
            "parameter: l: [{prot: int}, ...{port: int}]",
        ),
        (
            "data: a: parameter.l.port",
            "parameter: l: [...{prot: int}] | {port: int}",
        ),
        (
            "data: a: parameter.o.nmae",
            "parameter: {#O: {nmae: string}, o: #O}\n#O: {name: string}",
        ),
        (
            "data: a: parameter.o.nmae",
            "parameter: {let O = {nmae: string}, o: O}\nO: {name: string}",
        ),
    ] {
        fine("ComponentDefinition", &declaring(declarations, parameter));
    }
}

#[test]
fn a_parameter_is_known_through_names_and_loops() {
    for (declarations, parameter, message, at) in [
        (
            "let p = parameter, data: a: p.imag",
            "parameter: {image: string}",
            "parameter has no field \"imag\"; did you mean image?",
            "p.imag",
        ),
        (
            "let p = parameter, data: a: p.imag",
            "parameter: close({image: string})",
            "parameter has no field \"imag\"; did you mean image?",
            "p.imag",
        ),
        (
            "let i = parameter.imag, data: a: i",
            "parameter: {image: string}",
            "parameter has no field \"imag\"; did you mean image?",
            "parameter.imag",
        ),
        (
            "let i = \"x-\\(parameter.imag)\", data: a: i",
            "parameter: {image: string}",
            "parameter has no field \"imag\"; did you mean image?",
            "parameter.imag",
        ),
        (
            "data: {for p in parameter.ports {\"\\(p.prot)\": 1}}",
            "parameter: ports: [...{port: int}]",
            "parameter.ports[] has no field \"prot\"; did you mean port?",
            "p.prot",
        ),
        (
            "data: a: [for i, p in parameter.ports {let q = p, n: q.prot}]",
            "parameter: ports: [...#Port]\n#Port: {port: int}",
            "parameter.ports[] has no field \"prot\"; did you mean port?",
            "q.prot",
        ),
        (
            "data: a: parameter.ports[0].prot",
            "parameter: {ports?: [...{port: int}]}",
            "parameter.ports[] has no field \"prot\"; did you mean port?",
            "parameter.ports[0].prot",
        ),
        (
            "data: a: (parameter.image).nmae",
            "parameter: image: #Image\n#Image: {name: string}",
            "parameter.image has no field \"nmae\"; did you mean name?",
            "(parameter.image).nmae",
        ),
        (
            "if parameter.image != \"\" {data: a: parameter.whatever}",
            "parameter: close({image: string})",
            "parameter has no field \"whatever\"",
            "parameter.whatever",
        ),
        (
            "let c = context, data: a: c.nmae",
            "parameter: {}",
            "context has no field \"nmae\"; did you mean name?",
            "c.nmae",
        ),
    ] {
        let text = declaring(declarations, parameter);
        let column = text.find(at).unwrap() + 1;
        refused(
            "ComponentDefinition",
            &text,
            &format!("{message}\n    web:1:{column}"),
        );
    }
}

/// Definitions that name one another can stand for any number of parameters.
#[test]
fn parameters_that_unfold_without_end_are_read_only_so_far() {
    let mut text = with("parameter.a.b", "parameter: #P0");
    for depth in 0..8 {
        let fields: Vec<String> = (0..30)
            .map(|field| format!("f{field}?: #P{}", depth + 1))
            .collect();
        text.push_str(&format!("#P{depth}: {{a: _, {}}}\n", fields.join(", ")));
    }
    text.push_str("#P8: {a: string}\n");
    let file = syntax::parse(&Source::new("web", text.as_str())).map(|file| {
        let source = Source::new("web", text.as_str());
        parameters::unknown_parameters(&file, &source)
    });
    assert_eq!(file.ok(), Some(Vec::new()));
}

#[track_caller]
fn slips(kind: &str, text: &str, words: &[&str]) {
    let slips = template(kind, text).slips();
    let slips: Vec<String> = slips.iter().map(ToString::to_string).collect();
    assert_eq!(slips, words, "{text}");
    assert_eq!(template(kind, text).unusable(), None, "{text}");
}

#[test]
fn a_field_that_nobody_reads_and_that_is_almost_one_that_is_read_is_a_slip() {
    let component = "ComponentDefinition";
    let output = "output: {apiVersion: \"v1\", kind: \"A\", a: parameter.image}\n";
    slips(
        component,
        &format!("{output}outpust: {{}}\nparamter: {{image: string}}"),
        &[
            "nothing reads the field \"outpust\"; did you mean outputs?\n    web:2:1",
            "nothing reads the field \"paramter\"; did you mean parameter?\n    web:3:1",
        ],
    );
    for text in [
        "parameter: {image: string}\noutputs: {}",
        "_outputs: {}\n#Parameter: {}\noutput2?: {}",
        "parameters: {image: string}\nparameter: parameters",
        "outpust: {a: 1}\noutputs: {if outpust.a == 1 {b: {apiVersion: \"v1\", kind: \"B\"}}}",
        "X=outpust: {a: 1}\noutputs: {if X.a == 1 {b: {apiVersion: \"v1\", kind: \"B\"}}}",
        // What means something to other definitions is no slip here.
        "patch: {}",
        "labels: {}",
    ] {
        slips(component, &format!("{output}{text}"), &[]);
    }
    slips(
        "TraitDefinition",
        "patch: {}\npatchOuputs: {}",
        &["nothing reads the field \"patchOuputs\"; did you mean patchOutputs?\n    web:2:1"],
    );
}
