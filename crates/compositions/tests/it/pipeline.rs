//! Pipelines without anybody to call: each rule, one at a time.

use cambium_compositions::Content;
use cambium_compositions::composite::{Note, failed_status};
use cambium_compositions::definition;
use cambium_compositions::pipeline::{self, Done, Failed, Found, Next, Run, Step};
use cambium_compositions_render::function::{
    CredentialData, Credentials, Ready, Request, Requirements, Resource, Resources, Response, State,
};
use cambium_compositions_render::{ConnectionDetails, ObservedResource};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::time::Duration;

/// A composition with these steps.
fn content(steps: Value) -> Content {
    Content::new(json!({"mode": "Pipeline", "pipeline": steps}))
}

/// Steps that call functions which are not built in.
fn steps(names: &[&str]) -> Vec<Step> {
    let steps = names
        .iter()
        .map(|name| json!({"step": name, "functionRef": {"name": format!("f-{name}")}}));
    let steps: Vec<Value> = steps.collect();
    content(json!(steps)).steps().unwrap().to_vec()
}

fn response(written: Value) -> Response {
    serde_json::from_value(written).unwrap()
}

fn result(severity: &str, message: &str) -> Value {
    json!({"severity": format!("SEVERITY_{severity}"), "message": message})
}

/// A run with nothing to see.
fn run(steps: &[Step]) -> Run<'_> {
    Run::new(steps, State::default(), BTreeMap::new())
}

fn called(next: Next<'_>) -> (String, Request) {
    match next {
        Next::Call(step, request) => (step.name.clone(), *request),
        other => panic!("{other:?}"),
    }
}

fn needed(next: Next<'_>) -> Requirements {
    match next {
        Next::Need(_, requirements) => requirements,
        other => panic!("{other:?}"),
    }
}

fn done(next: Next<'_>) -> Done {
    match next {
        Next::Done(done) => *done,
        other => panic!("{other:?}"),
    }
}

fn failed(next: Next<'_>) -> Failed {
    match next {
        Next::Failed(failed) => *failed,
        other => panic!("{other:?}"),
    }
}

#[test]
fn it_begins_with_nothing_and_passes_on_what_is_desired_and_the_context() {
    let steps = steps(&["one", "two"]);
    let composite = json!({"kind": "XThing"});
    let observed = pipeline::observed(&composite, ConnectionDetails::new(), &BTreeMap::new());
    let mut run = Run::new(&steps, observed.clone(), BTreeMap::new());
    let (name, request) = called(run.start());
    assert_eq!(name, "one");
    assert_eq!(request.observed, observed);
    assert_eq!(request.desired, State::default());
    assert_eq!(request.context, Some(serde_json::Map::new()));
    let answer = response(json!({
        "desired": {"resources": {"a": {"resource": {"kind": "ConfigMap"}}}}, "context": {"key": "value"},
    }));
    let (name, request) = called(run.answered(answer.clone()));
    assert_eq!(name, "two");
    assert_eq!(request.observed, observed);
    assert_eq!(request.desired, answer.desired);
    assert_eq!(request.context, answer.context);
    // What a function leaves out is no longer desired.
    let done = done(run.answered(Response::default()));
    assert_eq!(done, Done::default());
}

#[test]
fn the_tag_names_the_request() {
    let steps = steps(&["one", "two"]);
    let (_, first) = called(run(&steps).start());
    let (_, same) = called(run(&steps).start());
    assert_eq!(first.meta.tag.len(), 64);
    assert_eq!(first.meta.tag, same.meta.tag);
    let mut other = run(&steps);
    other.start();
    let (_, second) = called(other.answered(response(json!({"context": {"x": 1}}))));
    assert_ne!(first.meta.tag, second.meta.tag);
}

#[test]
fn a_fatal_result_stops_it_and_keeps_what_was_said_before() {
    let steps = steps(&["one", "two"]);
    let mut run = run(&steps);
    run.start();
    let failed = failed(run.answered(response(json!({
        "results": [result("NORMAL", "so far"), result("FATAL", "no way"), result("NORMAL", "unheard")],
        "conditions": [{"type": "Fine", "status": "STATUS_CONDITION_TRUE", "reason": "Yes"}],
    }))));
    assert_eq!(
        failed.message,
        "pipeline step \"one\" returned a fatal result: no way"
    );
    assert_eq!(failed.notes.len(), 1);
    assert_eq!(failed.conditions.len(), 1);
}

#[test]
fn results_become_notes_for_the_composite_and_its_claim() {
    let steps = steps(&["one"]);
    let mut run = run(&steps);
    run.start();
    let mut warning = result("WARNING", "careful");
    warning["reason"] = json!("Careful");
    warning["target"] = json!("TARGET_COMPOSITE_AND_CLAIM");
    let mut unknown = result("UNSPECIFIED", "what");
    unknown["target"] = json!("TARGET_COMPOSITE_AND_CLAIM");
    let done = done(run.answered(response(
        json!({"results": [warning, result("NORMAL", "made"), unknown]}),
    )));
    let note = |warning, reason: &'static str, text: &str, claim: Option<&str>| Note {
        warning,
        reason: reason.into(),
        text: text.to_owned(),
        claim: claim.map(str::to_owned),
    };
    assert_eq!(
        done.notes,
        [
            note(true, "Careful", "Pipeline step \"one\": careful", Some("careful")),
            note(false, "ComposeResources", "Pipeline step \"one\": made", None),
            note(
                true,
                "ComposeResources",
                "Pipeline step \"one\" returned a result of unknown severity (assuming warning): what",
                None
            ),
        ]
    );
}

fn by_name(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "matchName": name, "namespace": "here"})
}

fn resources(name: &str) -> BTreeMap<String, Resources> {
    let resource = json!({"kind": "ConfigMap", "metadata": {"name": name}});
    let resource = Resource {
        resource: resource.as_object().unwrap().clone(),
        ..Resource::default()
    };
    [(
        name.to_owned(),
        Resources {
            items: vec![resource],
        },
    )]
    .into()
}

#[test]
fn what_a_function_needs_is_looked_for_and_the_same_function_is_asked_again() {
    let steps = steps(&["one", "two"]);
    let mut run = run(&steps);
    run.start();
    let asking = json!({
        "requirements": {"resources": {"a": by_name("a")}, "extraResources": {"b": by_name("b")}},
        "context": {"passed": "on"}, "desired": {"resources": {"x": {}}},
        "results": [result("WARNING", "not yet")],
    });
    let needed = needed(run.answered(response(asking.clone())));
    assert_eq!(needed.required_resources["a"].match_name.as_deref(), Some("a"));
    assert_eq!(needed.extra_resources["b"].kind, "ConfigMap");
    let found = Found {
        extra: resources("b"),
        required: resources("a"),
    };
    let (name, request) = called(run.found(found));
    assert_eq!(name, "one");
    assert_eq!(request.required_resources, resources("a"));
    assert_eq!(request.extra_resources, resources("b"));
    assert_eq!(request.context, response(asking.clone()).context);
    // Its first answer did not count.
    assert_eq!(request.desired, State::default());
    let (name, request) = called(run.answered(response(asking)));
    assert_eq!(name, "two");
    assert_eq!(request.required_resources, BTreeMap::new());
    assert_eq!(request.desired.resources.len(), 1);
    assert_eq!(done(run.answered(Response::default())).notes.len(), 1);
}

#[test]
fn a_function_that_never_has_enough_is_asked_six_times() {
    let steps = steps(&["one"]);
    let mut run = run(&steps);
    let mut next = run.start();
    for call in 1..=5 {
        called(next);
        let asking = json!({"requirements": {"resources": {"a": by_name(&format!("a{call}"))}}});
        needed(run.answered(response(asking)));
        next = run.found(Found::default());
    }
    called(next);
    let asking = json!({"requirements": {"resources": {"a": by_name("another")}}});
    assert_eq!(
        failed(run.answered(response(asking))).message,
        "cannot run Composition pipeline step \"one\": requirements didn't stabilize after the maximum number of iterations (5)"
    );
}

#[test]
fn a_function_that_needs_nothing_any_more_is_asked_without() {
    let steps = steps(&["one"]);
    let mut run = run(&steps);
    run.start();
    needed(run.answered(response(
        json!({"requirements": {"resources": {"a": by_name("a")}}}),
    )));
    called(run.found(Found {
        required: resources("a"),
        ..Found::default()
    }));
    let (_, request) = called(run.answered(Response::default()));
    assert_eq!(request.required_resources, BTreeMap::new());
    done(run.answered(Response::default()));
}

#[test]
fn what_the_composition_requires_is_there_from_the_start_and_stays() {
    let required = json!([
        {"requirementName": "a", "apiVersion": "v1", "kind": "ConfigMap", "name": "a", "namespace": "here"},
        {"requirementName": "all", "apiVersion": "v1", "kind": "Secret", "matchLabels": {"x": "y"}},
    ]);
    let content = content(json!([{
        "step": "one", "functionRef": {"name": "f"}, "requirements": {"requiredResources": required},
    }]));
    let mut run = run(content.steps().unwrap());
    let wanted = needed(run.start());
    assert_eq!(wanted.required_resources["a"].match_name.as_deref(), Some("a"));
    let labels = wanted.required_resources["all"].match_labels.as_ref();
    assert_eq!(labels.unwrap().labels["x"], "y");
    let found = |name: &str| Found {
        required: resources(name),
        ..Found::default()
    };
    let (_, request) = called(run.found(found("a")));
    assert_eq!(request.required_resources, resources("a"));
    needed(run.answered(response(
        json!({"requirements": {"resources": {"b": by_name("b")}}}),
    )));
    let (_, request) = called(run.found(found("b")));
    let names: Vec<_> = request.required_resources.keys().collect();
    assert_eq!(names, ["a", "b"]);
}

#[test]
fn credentials_go_to_their_step_alone() {
    let steps = steps(&["one", "two"]);
    let data = [("key".to_owned(), b"value".to_vec())].into();
    let credential_data = CredentialData { data };
    let of_two = BTreeMap::from([("cloud".to_owned(), Credentials { credential_data })]);
    let credentials = BTreeMap::from([("two".to_owned(), of_two.clone())]);
    let mut run = Run::new(&steps, State::default(), credentials);
    assert_eq!(called(run.start()).1.credentials, BTreeMap::new());
    assert_eq!(called(run.answered(Response::default())).1.credentials, of_two);
}

#[test]
fn a_step_that_cannot_be_carried_out_fails_by_its_name() {
    let steps = steps(&["one"]);
    let mut run = run(&steps);
    run.start();
    assert_eq!(
        failed(run.failed("nobody answers")).message,
        "cannot run Composition pipeline step \"one\": nobody answers"
    );
}

#[test]
fn an_answer_with_too_much_in_it_is_refused_as_a_whole() {
    let steps = steps(&["one"]);
    let many = |count: usize, one: Value| json!(vec![one; count]);
    let named = |count: usize, one: Value| -> Value {
        (0..count)
            .map(|number| (number.to_string(), one.clone()))
            .collect()
    };
    let condition = json!({"type": "A", "status": "STATUS_CONDITION_TRUE", "reason": "B"});
    let selector = json!({"apiVersion": "v1", "kind": "Pod", "matchName": "a"});
    let answers = |extra: usize| {
        [
            (
                "desired resources",
                1000 + extra,
                json!({"desired": {"resources": named(1000 + extra, json!({"resource": {}}))}}),
            ),
            (
                "results",
                100 + extra,
                json!({"results": many(100 + extra, result("NORMAL", "well"))}),
            ),
            (
                "conditions",
                100 + extra,
                json!({"conditions": many(100 + extra, condition.clone())}),
            ),
            (
                "required resources",
                100 + extra,
                json!({"requirements": {"extraResources": named(60, selector.clone()), "resources": named(40 + extra, selector.clone())}}),
            ),
        ]
    };
    for (what, _, fits) in answers(0) {
        let mut run = run(&steps);
        run.start();
        let next = run.answered(response(fits));
        assert!(!matches!(next, Next::Failed(_)), "{what}");
    }
    let advice = [
        "divide the composite resource into several",
        "change the function to return one result for several findings",
        "change the function to set one condition for several resources",
        "change the function to select several objects at once, with matchLabels",
    ];
    for ((what, count, written), advice) in answers(1).into_iter().zip(advice) {
        let mut run = run(&steps);
        run.start();
        let most = count - 1;
        assert_eq!(
            failed(run.answered(response(written))).message,
            format!(
                "cannot run Composition pipeline step \"one\": the answer has {count} {what}, and at most {most} are taken; {advice}"
            )
        );
    }
}

#[test]
fn the_shortest_time_that_a_function_gives_counts_unless_it_is_built_in() {
    let content = content(json!([
        {"step": "one", "functionRef": {"name": "f"}},
        {"step": "two", "functionRef": {"name": "f"}},
        {"step": "ready", "functionRef": {"name": "function-auto-ready"}},
        {"step": "never", "functionRef": {"name": "f"}},
    ]));
    let mut run = run(content.steps().unwrap());
    run.start();
    for ttl in ["60s", "1.5s", "1s"] {
        called(run.answered(response(json!({"meta": {"ttl": ttl}}))));
    }
    let done = done(run.answered(response(json!({"meta": {"ttl": "0s"}}))));
    assert_eq!(done.ttl, Some(Duration::from_millis(1500)));
}

#[test]
fn functions_are_built_in_by_the_kind_of_their_input_or_by_their_name() {
    let input = |api_version: &str, kind: &str| {
        json!({"apiVersion": api_version, "kind": kind, "resources": [
            {"name": "a", "base": {"apiVersion": "v1", "kind": "ConfigMap"}},
        ]})
    };
    for (function, input, built_in) in [
        (
            "any",
            Some(input("pt.fn.crossplane.io/v1beta1", "Resources")),
            true,
        ),
        (
            "any",
            Some(input("dummy.fn.crossplane.io/v1beta1", "Response")),
            true,
        ),
        (
            "any",
            Some(input("autoready.fn.crossplane.io/v1beta1", "Input")),
            true,
        ),
        ("function-auto-ready", None, true),
        ("crossplane-contrib-function-auto-ready", None, true),
        ("function-patch-and-transform", None, false),
        (
            "function-auto-ready",
            Some(input("example.org/v1", "Input")),
            false,
        ),
    ] {
        let mut step = json!({"step": "one", "functionRef": {"name": function}});
        if let Some(input) = input {
            step["input"] = input;
        }
        let content = content(json!([step]));
        assert_eq!(
            content.steps().unwrap()[0].built_in().is_some(),
            built_in,
            "{step}"
        );
    }
}

#[test]
fn a_function_that_is_built_in_says_which_input_it_takes() {
    let wanted = |function: &str, input: Value| {
        let step = json!({"step": "one", "functionRef": {"name": function}, "input": input});
        content(json!([step])).steps().unwrap()[0].wanted_input()
    };
    let other = json!({"apiVersion": "pt.fn.crossplane.io/v1", "kind": "Resources"});
    assert_eq!(
        wanted("crossplane-contrib-function-patch-and-transform", other.clone()),
        Some("Resources of pt.fn.crossplane.io/v1beta1")
    );
    assert_eq!(
        wanted("function-auto-ready", other.clone()),
        Some("none, or one of autoready.fn.crossplane.io/v1beta1")
    );
    assert_eq!(wanted("function-of-mine", other), None);
    let right = json!({"apiVersion": "autoready.fn.crossplane.io/v1beta1", "kind": "Input"});
    assert_eq!(wanted("function-auto-ready", right), None);
}

#[test]
fn everything_that_is_wrong_with_the_steps_is_told() {
    let content = content(json!([
        {"step": "one", "functionRef": {"name": "f"}},
        {"step": "one", "functionRef": {"name": "f"}, "credentials": [{"name": "a", "source": "Secret"}]},
        {"step": "", "functionRef": {}, "requirements": {"requiredSchemas": [{"requirementName": "a"}]}},
    ]));
    let problems = content.steps().unwrap_err();
    for told in [
        "spec.pipeline[1].step: Duplicate value: \"one\"",
        "spec.pipeline[1].credentials[0].secretRef",
        "spec.pipeline[2].step: Required value",
        "spec.pipeline[2].functionRef.name: Required value",
        "spec.pipeline[2].requirements.requiredSchemas: Invalid value",
    ] {
        assert!(problems.contains(told), "{told} is not in {problems}");
    }
    assert!(Content::new(json!({"mode": "Pipeline"})).steps().is_err());
    let unsaid = Content::new(json!({"pipeline": [{"step": "one", "functionRef": {"name": "f"}}]}));
    assert_eq!(unsaid.steps().unwrap().len(), 1);
}

fn composite() -> Value {
    json!({
        "apiVersion": "example.org/v1", "kind": "XThing", "metadata": {"name": "thing", "uid": "1"},
        "spec": {"text": "hello"},
        "status": {"old": 1, "conditions": [{"type": "Ready"}], "claimConditionTypes": ["Fine"]},
    })
}

#[test]
fn resources_keep_their_names_or_get_one_that_is_always_the_same() {
    let desired = response(json!({"desired": {"resources": {
        "new": {"resource": {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": "here"}}},
        "named": {"resource": {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "mine"}}},
        "known": {"resource": {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "other", "namespace": "there"}}},
        "broken": {"resource": {"kind": "ConfigMap", "metadata": "what"}},
    }}}))
    .desired;
    let object = json!({"metadata": {"name": "first", "namespace": "here"}});
    let known = ObservedResource {
        object,
        ..ObservedResource::default()
    };
    let known = BTreeMap::from([("known".to_owned(), known)]);
    let wanted = pipeline::wanted(&desired, &composite(), &known);
    assert_eq!(wanted, pipeline::wanted(&desired, &composite(), &known));
    let find = |name: &str| wanted.iter().find(|wanted| wanted.name == name).unwrap();
    let new = find("new").outcome.as_ref().unwrap();
    assert!(
        new["metadata"]["name"].as_str().unwrap().starts_with("thing-"),
        "{new}"
    );
    assert!(!find("new").named);
    assert_eq!(
        new["metadata"]["annotations"]["crossplane.io/composition-resource-name"],
        "new"
    );
    assert_eq!(new["metadata"]["labels"]["crossplane.io/composite"], "thing");
    assert_eq!(new["metadata"]["ownerReferences"][0]["uid"], "1");
    assert_eq!(
        find("named").outcome.as_ref().unwrap()["metadata"]["name"],
        "mine"
    );
    let known = find("known").outcome.as_ref().unwrap();
    assert_eq!(known["metadata"]["name"], "first");
    assert_eq!(known["metadata"]["namespace"], "here");
    let why = find("broken").outcome.as_ref().unwrap_err();
    assert_eq!(
        why,
        "cannot apply composed resource \"broken\": no function set its \"apiVersion\""
    );
}

#[test]
fn of_the_composite_itself_only_status_and_connection_details_change() {
    let answer = response(json!({"desired": {"composite": {
        "resource": {
            "metadata": {"labels": {"a": "b"}}, "spec": {"text": "changed"},
            "status": {"seen": "yes", "conditions": [{"type": "Synced"}]},
        },
        "connectionDetails": {"user": "YWRtaW4="},
    }}}));
    let done = Done {
        desired: answer.desired,
        ..Done::default()
    };
    let report = pipeline::report(&composite(), &done);
    let mut expected = composite();
    expected["status"] =
        json!({"seen": "yes", "conditions": [{"type": "Ready"}], "claimConditionTypes": ["Fine"]});
    assert_eq!(report.composite, expected);
    assert_eq!(report.details["user"], b"admin");
}

#[test]
fn after_a_failure_only_conditions_that_were_heard_are_certain_and_ours_stay_ours() {
    let definition = json!({
        "apiVersion": "apiextensions.crossplane.io/v1", "kind": "CompositeResourceDefinition",
        "metadata": {"name": "xthings.example.org"},
        "spec": {
            "group": "example.org", "names": {"kind": "XThing", "plural": "xthings"}, "scope": "LegacyCluster",
            "versions": [{"name": "v1", "served": true, "referenceable": true,
                "schema": {"openAPIV3Schema": {"type": "object"}}}],
        },
    });
    let definition = definition::read(&serde_json::from_value(definition).unwrap()).unwrap();
    let since = "2026-01-01T00:00:00Z";
    let before = |type_: &str| json!({"type": type_, "status": "True", "reason": "Before", "lastTransitionTime": since});
    let mut composite = composite();
    composite["status"] =
        json!({"conditions": [before("Ready"), before("Synced"), before("Heard"), before("Unheard")]});
    let condition = |kind: &str, status: &str, target: &str| json!({"type": kind, "status": format!("STATUS_CONDITION_{status}"), "reason": "Now", "target": target});
    let conditions = response(json!({"conditions": [
        condition("Heard", "TRUE", "TARGET_COMPOSITE"),
        condition("Heard", "FALSE", "TARGET_COMPOSITE_AND_CLAIM"),
        condition("Ready", "FALSE", "TARGET_COMPOSITE_AND_CLAIM"),
        condition("Synced", "TRUE", "TARGET_COMPOSITE"),
    ]}));
    let failed = Failed {
        message: "pipeline step \"one\" returned a fatal result: no".to_owned(),
        conditions: conditions.conditions,
        ..Failed::default()
    };
    let now = "2026-02-02T00:00:00Z".parse().unwrap();
    let (status, note) = failed_status(&definition, &composite, &failed, now);
    let said = |type_: &str| {
        let conditions = status["conditions"].as_array().unwrap().iter();
        let found: Vec<&Value> = conditions.filter(|known| known["type"] == type_).collect();
        assert_eq!(found.len(), 1, "{type_}");
        (found[0]["status"].clone(), found[0]["reason"].clone())
    };
    assert_eq!(said("Ready"), (json!("True"), json!("Before")));
    assert_eq!(said("Synced"), (json!("False"), json!("ReconcileError")));
    assert_eq!(said("Heard"), (json!("False"), json!("Now")));
    assert_eq!(said("Unheard"), (json!("Unknown"), json!("FatalError")));
    assert_eq!(status["claimConditionTypes"], json!(["Heard"]));
    let message = "cannot compose resources: pipeline step \"one\" returned a fatal result: no";
    assert_eq!(note.unwrap().text, message);
    // What the condition says already is not told again.
    composite["status"] = status.clone();
    let (again, note) = failed_status(&definition, &composite, &failed, now);
    assert_eq!((again, note), (status, None));
}

#[test]
fn readiness_is_what_functions_say() {
    let resource = |ready| Resource {
        ready,
        ..Resource::default()
    };
    let resources = [
        ("no", Ready::False),
        ("unsaid", Ready::Unspecified),
        ("yes", Ready::True),
    ];
    let mut done = Done::default();
    for (name, ready) in resources {
        done.desired.resources.insert(name.to_owned(), resource(ready));
    }
    let report = pipeline::report(&composite(), &done);
    assert_eq!(
        (report.unready, report.ready),
        (vec!["no".to_owned(), "unsaid".to_owned()], None)
    );
    done.desired.composite.ready = Ready::True;
    assert_eq!(pipeline::report(&composite(), &done).ready, Some(true));
    done.desired.composite.ready = Ready::False;
    assert_eq!(pipeline::report(&composite(), &done).ready, Some(false));
}
