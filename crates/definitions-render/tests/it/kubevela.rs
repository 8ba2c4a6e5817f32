//! KubeVela is the judge: our Applications, its built-in definitions, rendered by both and compared as data.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "helpers of tests, too")]
#![expect(clippy::disallowed_methods, reason = "a test reads its settings")]

use crate::support;

use crate::support::{Judge, documents, our_rendering};
use cambium_cue::{Source, syntax};
use cambium_definitions_render::{Definition, InvalidDefinition, Template};
use serde_json::Value;

#[test]
fn renders_every_builtin_definition_as_kubevela_does() {
    let judge = match Judge::find() {
        Ok(judge) => judge,
        Err(reason) => return support::skip("renders_every_builtin_definition_as_kubevela_does", &reason),
    };
    let definitions = judge.builtin_definitions();
    let applications: Vec<Value> = support::applications();
    let only = std::env::var("ONLY").unwrap_or_default();
    let chosen: Vec<&Value> = applications
        .iter()
        .filter(|app| name(app).contains(&only))
        .collect();
    let theirs = judge.render_all(&chosen);
    let mut differing = Vec::new();
    for (application, theirs) in chosen.iter().zip(&theirs) {
        let ours = our_rendering(application, &definitions);
        let agree = match (&ours, theirs) {
            (Ok(ours), Ok(theirs)) => *ours == documents(theirs),
            (ours, theirs) => ours.is_err() && theirs.is_err(),
        };
        if !agree {
            differing.push(format!(
                "{}\n  ours:   {}\n  theirs: {}",
                name(application),
                show(&ours),
                show_text(theirs)
            ));
        }
    }
    let (agreeing, all) = (chosen.len() - differing.len(), chosen.len());
    println!("{agreeing} of {all} applications agree with KubeVela");
    assert!(
        differing.is_empty(),
        "{agreeing} of {all} agree; these differ:\n{}",
        differing.join("\n")
    );
}

#[test]
fn nothing_is_wrong_with_builtin_definitions() {
    let judge = match Judge::find() {
        Ok(judge) => judge,
        Err(reason) => return support::skip("nothing_is_wrong_with_builtin_definitions", &reason),
    };
    for manifest in judge.builtin_manifests() {
        let name = name(&manifest);
        match Definition::from_manifest(&manifest) {
            Ok(definition) => {
                let template = Template::compile(definition).unwrap();
                assert_eq!(template.status_problems(), None, "{name}");
            }
            // Those that are not rendered are CUE all the same.
            Err(InvalidDefinition::Kind(_)) => {
                let text = manifest["spec"]["schematic"]["cue"]["template"].as_str();
                syntax::parse(&Source::new(name, text.unwrap_or_default())).unwrap();
            }
            Err(error) => panic!("{error}"),
        }
    }
}

fn name(application: &Value) -> &str {
    application["metadata"]["name"].as_str().unwrap_or_default()
}

fn show(ours: &Result<Vec<Value>, String>) -> String {
    match ours {
        Ok(objects) => objects.iter().map(|object| format!("\n    {object}")).collect(),
        Err(problem) => problem.clone(),
    }
}

fn show_text(theirs: &Result<String, String>) -> String {
    match theirs {
        Ok(text) => documents(text)
            .iter()
            .map(|object| format!("\n    {object}"))
            .collect(),
        Err(problem) => problem.clone(),
    }
}
