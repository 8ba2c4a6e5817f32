//! What callers rely on beyond the manifests themselves.
use cambium_definitions_render::{
    Application, ClusterVersion, Definition, DefinitionKind, Definitions, Environment, Reason, Stage,
    Template, render,
};
use serde_json::{Value, json};
use std::sync::Arc;

fn definitions(given: &[(DefinitionKind, &str, Stage, &str)]) -> Definitions {
    let mut definitions = Definitions::default();
    for &(kind, name, stage, template) in given {
        let (name, template) = (name.to_owned(), template.to_owned());
        let definition = Definition {
            kind,
            name: name.clone(),
            template,
            stage,
            ..Definition::default()
        };
        definitions.insert(name, Arc::new(Template::compile(definition).unwrap()));
    }
    definitions
}

fn component(template: &str) -> Definitions {
    definitions(&[(DefinitionKind::Component, "web", Stage::DefaultDispatch, template)])
}

fn application(components: Value) -> Application {
    let manifest = json!({"kind": "Application", "metadata": {"name": "shop", "namespace": "prod"}, "spec": {"components": components}});
    Application::from_manifest(&manifest).unwrap()
}

#[test]
fn templates_are_shared_between_threads() {
    fn shared<T: Send + Sync>() {}
    shared::<Template>();
    shared::<Definitions>();
}

#[test]
fn objects_are_dispatched_by_stage_with_the_workload_first_in_its_own() {
    let output = |kind: &str| format!("outputs: object: {{apiVersion: \"v1\", kind: \"{kind}\"}}");
    let definitions = definitions(&[
        (
            DefinitionKind::Component,
            "web",
            Stage::DefaultDispatch,
            "output: {apiVersion: \"v1\", kind: \"Workload\"}",
        ),
        (
            DefinitionKind::Trait,
            "late",
            Stage::PostDispatch,
            &output("Late"),
        ),
        (
            DefinitionKind::Trait,
            "plain",
            Stage::DefaultDispatch,
            &output("Plain"),
        ),
        (
            DefinitionKind::Trait,
            "early",
            Stage::PreDispatch,
            &output("Early"),
        ),
    ]);
    let traits = json!([{"type": "late"}, {"type": "plain"}, {"type": "early"}]);
    let application = application(json!([{"name": "a", "type": "web", "traits": traits}]));
    let rendered = render(&application, &definitions, &Environment::default()).unwrap();
    let order = rendered.components[0].in_dispatch_order();
    let kinds: Vec<_> = order
        .iter()
        .map(|manifest| manifest.object["kind"].as_str().unwrap())
        .collect();
    assert_eq!(kinds, ["Early", "Workload", "Plain", "Late"]);
}

#[test]
fn the_environment_reaches_the_template_and_the_labels() {
    let definitions = component(
        "output: {apiVersion: \"v1\", kind: \"K\", seen: [context.appRevision, context.appRevisionNum, context.revision, \
         context.cluster, context.replicaKey, context.clusterVersion.minor, context.clusterVersion.gitVersion]}",
    );
    let environment = Environment {
        app_revision: "shop-v12".to_owned(),
        revision: "a-v3".to_owned(),
        cluster: "east".to_owned(),
        replica_key: "blue".to_owned(),
        cluster_version: ClusterVersion {
            minor: "31+".to_owned(),
            git_version: "v1.31.2".to_owned(),
            ..Default::default()
        },
        ..Environment::default()
    };
    let rendered = render(
        &application(json!([{"name": "a", "type": "web"}])),
        &definitions,
        &environment,
    )
    .unwrap();
    let object = rendered.objects().next().unwrap();
    assert_eq!(
        object["seen"],
        json!(["shop-v12", 12, "a-v3", "east", "blue", 31, "v1.31.2"])
    );
    assert_eq!(
        object["metadata"]["labels"]["app.oam.dev/appRevision"],
        "shop-v12"
    );
}

#[test]
fn every_component_that_fails_is_told_with_its_place_in_the_definition() {
    let definitions = component(
        "output: {\n\tapiVersion: \"v1\"\n\tkind: \"K\"\n\timage: parameter.image\n}\nparameter: image: string\n",
    );
    let components = json!([
        {"name": "good", "type": "web", "properties": {"image": "x"}},
        {"name": "wrong", "type": "web", "properties": {"image": 5}},
        {"name": "missing", "type": "web"},
        {"name": "unknown", "type": "nonesuch"},
    ]);
    let failures = render(&application(components), &definitions, &Environment::default()).unwrap_err();
    let names: Vec<_> = failures
        .0
        .iter()
        .map(|failure| failure.component.as_str())
        .collect();
    assert_eq!(names, ["wrong", "missing", "unknown"]);
    let Reason::Invalid(diagnostics) = &failures.0[0].reason else {
        panic!("{failures}")
    };
    let place = &diagnostics.0[0].places[0];
    assert_eq!(
        (
            place.source.name.as_ref(),
            place.source.position(place.span.start).line
        ),
        ("web", 6)
    );
    let missing = failures.0[1].reason.to_string();
    assert_eq!(
        missing,
        "parameter.image: image is required (string)\n    web:6:19"
    );
    assert!(matches!(&failures.0[2].reason, Reason::NotFound { reference, .. } if reference == "nonesuch"));
}

#[test]
fn an_output_that_lacks_something_else_than_a_parameter_is_incomplete() {
    let definitions = component(
        "output: {apiVersion: \"v1\", kind: \"K\", image: string}\nparameter: {image?: string, tag: *\"a\" | string}\n",
    );
    let components = json!([{"name": "a", "type": "web"}]);
    let failures = render(&application(components), &definitions, &Environment::default()).unwrap_err();
    let Reason::Incomplete { output, diagnostics } = &failures.0[0].reason else {
        panic!("{failures}")
    };
    assert_eq!(
        (output.as_str(), diagnostics.0[0].path.as_str()),
        ("output", "output.image")
    );
}

#[test]
fn a_patch_that_conflicts_points_at_the_patch() {
    let definitions = definitions(&[
        (
            DefinitionKind::Component,
            "web",
            Stage::DefaultDispatch,
            "output: {apiVersion: \"v1\", kind: \"K\", spec: size: 1}",
        ),
        (
            DefinitionKind::Trait,
            "grow",
            Stage::DefaultDispatch,
            "patch: spec: {\n\tother: 1\n\tsize: 2\n}",
        ),
    ]);
    let application = application(json!([{"name": "a", "type": "web", "traits": [{"type": "grow"}]}]));
    let failures = render(&application, &definitions, &Environment::default()).unwrap_err();
    assert_eq!(
        failures.to_string(),
        "component \"a\": trait \"grow\": cannot patch output: spec.size: conflicting values 2 and 1\n    grow:3:8"
    );
}

#[test]
fn references_become_labels() {
    let template = Definition {
        name: "web".to_owned(),
        template: "output: {apiVersion: \"v1\", kind: \"K\"}".to_owned(),
        ..Definition::default()
    };
    let mut definitions = Definitions::default();
    definitions.insert("web@v1.2", Arc::new(Template::compile(template).unwrap()));
    let rendered = render(
        &application(json!([{"name": "a", "type": "web@v1.2"}])),
        &definitions,
        &Environment::default(),
    )
    .unwrap();
    assert_eq!(
        rendered.objects().next().unwrap()["metadata"]["labels"]["workload.oam.dev/type"],
        "web-v1.2"
    );
}
