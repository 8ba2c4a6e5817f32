//! Our own definitions, one construction each. What is expected was recorded from KubeVela, which is asked again
//! where it is there. `BLESS=1` records anew.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "helpers of tests, too")]
#![expect(clippy::disallowed_methods, reason = "a test reads its settings")]

use crate::support;

use crate::support::{Judge, compile, documents, our_rendering};
use cambium_definitions_render::{Application, Definition, Environment, Limits, Reason, Template, render};
use serde_json::{Map, Value, json};
use std::fs;
use std::path::{Path, PathBuf};

#[test]
fn our_definitions_render_as_recorded_from_kubevela() {
    let mut wrong = Vec::new();
    let mut count = 0;
    for path in groups() {
        let cases = cases(&path);
        let expected = expected(&path);
        assert!(
            cases.len() == expected.len(),
            "{} and what is expected do not match",
            path.display()
        );
        for case in cases {
            count += 1;
            let expected = &expected[&case.name];
            let ours = our_rendering(&case.application, &compile(&case.definitions));
            let agrees = match &ours {
                Ok(objects) => *expected == json!(objects),
                Err(_) => expected == "error",
            };
            if !agrees {
                let ours = ours.map_or_else(|problem| problem, |objects| json!(objects).to_string());
                wrong.push(format!(
                    "{}\n  ours:     {ours}\n  expected: {expected}",
                    case.name
                ));
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "{} of {count} cases differ:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

#[test]
fn kubevela_renders_our_definitions_as_recorded() {
    let judge = match Judge::find() {
        Ok(judge) => judge,
        Err(reason) => return support::skip("kubevela_renders_our_definitions_as_recorded", &reason),
    };
    for path in groups() {
        let cases = cases(&path);
        let definitions: Vec<Value> = cases.iter().flat_map(|case| case.definitions.clone()).collect();
        judge.use_definitions(&definitions);
        let applications: Vec<&Value> = cases.iter().map(|case| &case.application).collect();
        let mut recorded = Map::new();
        for (case, answer) in cases.iter().zip(judge.render_all(&applications)) {
            let answer = answer.map_or_else(|_| json!("error"), |text| json!(documents(&text)));
            recorded.insert(case.name.clone(), answer);
        }
        if std::env::var_os("BLESS").is_some() {
            fs::write(
                recording(&path),
                serde_json::to_string_pretty(&recorded).unwrap() + "\n",
            )
            .unwrap();
        }
        let expected = expected(&path);
        for (name, answer) in &recorded {
            assert_eq!(answer, &expected[name], "{name}");
        }
    }
}

/// One construction: definitions, and an application that uses them.
struct Case {
    name: String,
    definitions: Vec<Value>,
    application: Value,
}

fn groups() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases");
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut paths: Vec<_> = entries
        .filter(|path| path.extension().is_some_and(|end| end == "yaml"))
        .collect();
    paths.sort();
    paths
}

fn recording(path: &Path) -> PathBuf {
    path.with_extension("expected.json")
}

fn expected(path: &Path) -> Map<String, Value> {
    let text = fs::read_to_string(recording(path)).unwrap_or_else(|_| "{}".to_owned());
    serde_json::from_str(&text).unwrap()
}

/// A file of cases: under each name a component's template and properties, and traits likewise. A template may be
/// a file's name.
fn cases(path: &Path) -> Vec<Case> {
    let group = path.file_stem().unwrap().to_str().unwrap();
    documents(&fs::read_to_string(path).unwrap())
        .iter()
        .map(|document| case(group, document))
        .collect()
}

fn case(group: &str, document: &Value) -> Case {
    let name = document["case"].as_str().expect("a case has a name").to_owned();
    let mut definitions = Vec::new();
    let mut define = |kind: &str, part: &str, given: &Value| {
        let defined = format!("{group}-{name}-{part}");
        let spec = match given {
            Value::String(file) if file.ends_with(".cue") => {
                let path = Path::new(env!("CARGO_MANIFEST_DIR"))
                    .join("tests/cases")
                    .join(file);
                json!({"schematic": {"cue": {"template": fs::read_to_string(path).unwrap()}}})
            }
            Value::String(template) => json!({"schematic": {"cue": {"template": template}}}),
            other => {
                let mut spec = other["spec"].clone();
                spec["schematic"] = json!({"cue": {"template": other["template"]}});
                spec
            }
        };
        let api = "core.oam.dev/v1beta1";
        definitions
            .push(json!({"apiVersion": api, "kind": kind, "metadata": {"name": defined}, "spec": spec}));
        defined
    };
    let template = if document["component"].is_null() {
        &json!(WORKLOAD)
    } else {
        &document["component"]
    };
    let mut component = json!({"name": "web", "type": define("ComponentDefinition", "component", template)});
    if !document["properties"].is_null() {
        component["properties"] = document["properties"].clone();
    }
    let mut traits = Vec::new();
    for (index, given) in document["traits"].as_array().into_iter().flatten().enumerate() {
        let template = if given.is_string() { given } else { &given["trait"] };
        let mut used = json!({"type": define("TraitDefinition", &format!("trait-{index}"), template)});
        if !given["properties"].is_null() {
            used["properties"] = given["properties"].clone();
        }
        traits.push(used);
    }
    component["traits"] = json!(traits);
    let mut metadata = json!({"name": "shop", "namespace": "prod"});
    for field in ["labels", "annotations"] {
        if !document[field].is_null() {
            metadata[field] = document[field].clone();
        }
    }
    let api = "core.oam.dev/v1beta1";
    let spec = json!({"components": [component]});
    let application = json!({"apiVersion": api, "kind": "Application", "metadata": metadata, "spec": spec});
    Case {
        name,
        definitions,
        application,
    }
}

/// The component of cases that are about traits.
const WORKLOAD: &str = "
output: {
	apiVersion: \"apps/v1\"
	kind:       \"Deployment\"
	spec: {
		replicas: *1 | int
		paused:   parameter.paused
		template: spec: containers: [
			{name: context.name, image: \"one\", env: [{name: \"A\", value: \"1\"}, {name: \"B\", value: \"2\"}]},
			{name: \"log\", image: \"two\", args: [\"x\", \"y\"]},
		]
	}
}
outputs: service: {
	apiVersion: \"v1\"
	kind:       \"Service\"
	spec: ports: [{port: 80, name: \"http\"}]
}
parameter: paused: *false | bool
";

/// KubeVela's own definitions, where its sources are at hand, and ours.
#[test]
fn ordinary_definitions_use_less_than_a_hundredth_of_the_budget() {
    let environment = Environment {
        limits: Limits::default().divided_by(100),
        ..Environment::default()
    };
    let Some(manifests) = support::builtin_manifests() else {
        return support::skip(
            "ordinary_definitions_use_less_than_a_hundredth_of_the_budget",
            "KubeVela's sources are not there; cargo xtask peers gets them",
        );
    };
    let definitions = support::compile(&support::rendered(manifests));
    let (mut rendered, mut expensive) = (0, Vec::new());
    for application in support::applications() {
        let application = Application::from_manifest(&application).unwrap();
        match render(&application, &definitions, &environment) {
            Ok(_) => rendered += 1,
            Err(failures) => {
                expensive.extend(failures.0.into_iter().filter_map(|failure| match failure.reason {
                    Reason::TooExpensive(_) => Some(failure.to_string()),
                    _ => None,
                }))
            }
        }
    }
    assert!(expensive.is_empty(), "{}", expensive.join("\n"));
    assert!(rendered > 50, "{rendered} applications were rendered");
}

#[test]
fn kubevelas_own_definitions_can_all_be_published() {
    let Some(manifests) = support::builtin_manifests() else {
        return support::skip(
            "kubevelas_own_definitions_can_all_be_published",
            "KubeVela's sources are not there; cargo xtask peers gets them",
        );
    };
    let mut refused = Vec::new();
    let mut count = 0;
    for manifest in support::rendered(manifests) {
        let definition = Definition::from_manifest(&manifest).unwrap();
        let template = Template::compile(definition).unwrap();
        count += 1;
        for problems in [template.unusable(), template.too_expensive()]
            .into_iter()
            .flatten()
        {
            refused.push(format!("{}: {problems}", template.definition().name));
        }
    }
    assert!(refused.is_empty(), "{}", refused.join("\n"));
    assert!(count > 40, "{count} definitions");
}
