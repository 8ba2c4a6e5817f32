//! What is written, given what is there.

use std::sync::Arc;

use cambium_api::crds;
use cambium_webhooks::names;
use cambium_webhooks::registration::{Asks, Reach, Registration, Target, Webhook, Write, plan};
use serde_json::{Value, json};

fn registration(webhooks: &[&str]) -> Registration {
    let webhooks: Vec<Webhook> = webhooks
        .iter()
        .map(|path| Webhook::new(path, Some(Vec::new())))
        .collect();
    Registration {
        reach: Reach::Service {
            namespace: "system".to_owned(),
            name: "hooks".to_owned(),
            port: 443,
        },
        configuration: "cambium".to_owned(),
        crds: crds::committed().into_iter().map(Arc::new).collect(),
        mutating: webhooks.clone(),
        validating: webhooks,
        timeout_seconds: 10,
        namespace_selector: None,
    }
}

fn made(registration: &Registration, target: &Target, bundle: &str) -> Value {
    match plan(registration, target, None, bundle) {
        Write::Create(object) => object,
        other => unreachable!("{}: {other:?}", target.name()),
    }
}

fn replaced(registration: &Registration, target: &Target, observed: &Value, bundle: &str) -> Value {
    match plan(registration, target, Some(observed), bundle) {
        Write::Replace(object) => object,
        other => unreachable!("{}: {other:?}", target.name()),
    }
}

#[test]
fn what_was_written_is_not_written_again() {
    let registration = registration(&["one", "two"]);
    for target in registration.targets() {
        let mut object = made(&registration, &target, "bundle");
        assert_eq!(
            plan(&registration, &target, Some(&object), "bundle"),
            Write::Nothing
        );
        // What a server adds is nobody's business.
        object["metadata"]["resourceVersion"] = json!("7");
        object["metadata"]["labels"]["others"] = json!("label");
        object["status"] = json!({"conditions": []});
        for webhook in object["webhooks"].as_array_mut().into_iter().flatten() {
            webhook["objectSelector"] = json!({});
        }
        assert_eq!(
            plan(&registration, &target, Some(&object), "bundle"),
            Write::Nothing
        );
        if registration.carried(&target, None).is_some() {
            let new = replaced(&registration, &target, &object, "another bundle");
            assert_eq!(
                new["metadata"], object["metadata"],
                "the version that was read is the one that is replaced"
            );
            assert_eq!(
                plan(&registration, &target, Some(&new), "another bundle"),
                Write::Nothing
            );
        } else {
            assert_eq!(
                plan(&registration, &target, Some(&object), "another bundle"),
                Write::Nothing
            );
        }
        object["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
        assert_eq!(
            plan(&registration, &target, Some(&object), "other"),
            Write::Nothing,
            "what goes may go"
        );
    }
}

#[test]
fn a_service_is_named_in_full() {
    let registration = registration(&["one"]);
    let targets = registration.targets();
    let crd = made(&registration, &targets[0], "bundle");
    let expected = json!({"caBundle": "YnVuZGxl", "service":
        {"name": "hooks", "namespace": "system", "path": "/convert", "port": 443}});
    assert_eq!(crd["spec"]["conversion"]["webhook"]["clientConfig"], expected);
    let names = registration.reach.names().unwrap_or_default();
    assert_eq!(names, ["hooks.system.svc", "hooks.system.svc.cluster.local"]);
}

#[test]
fn versions_that_we_do_not_know_stay_and_ours_are_served() {
    let registration = registration(&[]);
    let target = &registration.targets()[0];
    let wanted = made(&registration, target, "bundle");
    let mut observed = wanted.clone();
    observed["spec"]["versions"][1]["served"] = json!(false);
    observed["spec"]["conversion"] = json!({"strategy": "None"});
    let unknown = json!({"name": "v3", "served": true, "storage": false});
    observed["spec"]["versions"]
        .as_array_mut()
        .into_iter()
        .for_each(|all| all.insert(0, unknown.clone()));
    let result = replaced(&registration, target, &observed, "bundle");
    assert_eq!(result["spec"]["versions"][0], unknown);
    assert_eq!(result["spec"]["versions"][2], wanted["spec"]["versions"][1]);
    assert_eq!(result["spec"]["conversion"], wanted["spec"]["conversion"]);
}

#[test]
fn webhooks_that_we_no_longer_have_go_and_an_empty_configuration_is_not_made() {
    let both = registration(&["one", "two"]);
    for asks in [Asks::Validators, Asks::Mutators] {
        let configuration = |of: &Registration| Target::Configuration(asks, of.configuration.clone());
        let observed = made(&both, &configuration(&both), "bundle");
        let one = registration(&["two"]);
        let result = replaced(&one, &configuration(&one), &observed, "bundle");
        let left: Vec<&Value> = result["webhooks"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|one| &one["name"])
            .collect();
        assert_eq!(left, [&json!(format!("two{}", names::WEBHOOK_SUFFIX))]);
        let none = registration(&[]);
        assert_eq!(plan(&none, &configuration(&none), None, "bundle"), Write::Nothing);
        assert_eq!(
            replaced(&none, &configuration(&none), &observed, "bundle")["webhooks"],
            json!([])
        );
    }
}

#[test]
fn deletions_go_on_while_nobody_answers_where_that_is_wished() {
    let mut registration = registration(&[]);
    let rule = json!({"apiGroups": ["a"], "apiVersions": ["*"], "operations": ["CREATE", "DELETE"], "resources": ["bs"]});
    let rules = serde_json::from_value(json!([rule])).ok();
    registration.validating = Webhook::new("one", rules).letting_go().into();
    let target = Target::Configuration(Asks::Validators, "cambium".to_owned());
    let object = made(&registration, &target, "bundle");
    let told: Vec<[&Value; 3]> = object["webhooks"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|one| {
            [
                &one["name"],
                &one["failurePolicy"],
                &one["rules"][0]["operations"][0],
            ]
        })
        .collect();
    assert_eq!(
        told,
        [
            ["one.webhooks.cambium.dev", "Fail", "CREATE"],
            ["one-deletion.webhooks.cambium.dev", "Ignore", "DELETE"]
        ]
    );
    let paths = |index: usize| &object["webhooks"][index]["clientConfig"]["service"]["path"];
    assert_eq!(paths(0), paths(1), "the same validator decides");
    assert_eq!(
        plan(&registration, &target, Some(&object), "bundle"),
        Write::Nothing
    );
}

#[test]
fn mutators_have_a_configuration_of_their_own() {
    let registration = registration(&["author"]);
    let target = Target::Configuration(Asks::Mutators, "cambium".to_owned());
    let object = made(&registration, &target, "bundle");
    assert_eq!(
        (target.collection(), &object["kind"]),
        (
            "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations",
            &json!("MutatingWebhookConfiguration")
        )
    );
    let webhook = &object["webhooks"][0];
    assert_eq!(webhook["clientConfig"]["service"]["path"], "/mutate/author");
    assert_eq!(
        [
            &webhook["failurePolicy"],
            &webhook["sideEffects"],
            &webhook["reinvocationPolicy"]
        ],
        ["Fail", "None", "Never"]
    );
    // A validating webhook has no such field, and an API server that is strict would say so.
    let validating = Target::Configuration(Asks::Validators, "cambium".to_owned());
    let validating = made(&registration, &validating, "bundle");
    assert!(validating["webhooks"][0]["reinvocationPolicy"].is_null());
}

#[test]
fn rules_that_are_not_known_yet_stay_as_they_are_registered() {
    let mut known = registration(&["one", "two"]);
    let rule = json!({"apiGroups": ["a"], "apiVersions": ["*"], "operations": ["CREATE"], "resources": ["bs"], "scope": "*"});
    known.validating[1].rules = serde_json::from_value(json!([rule])).ok();
    let mut unknown = known.clone();
    unknown.validating[1].rules = None;
    let target = Target::Configuration(Asks::Validators, "cambium".to_owned());
    let names = |object: &Value| -> Vec<String> {
        let webhooks = object["webhooks"].as_array().into_iter().flatten();
        webhooks.map(|webhook| webhook["name"].to_string()).collect()
    };
    // There is nothing to ask about: it is not made, and nobody waits for its bundle.
    let fresh = made(&unknown, &target, "bundle");
    assert_eq!(names(&fresh).len(), 1);
    assert_eq!(plan(&unknown, &target, Some(&fresh), "bundle"), Write::Nothing);
    assert_eq!(
        unknown.carried(&target, Some(&fresh)),
        registration(&["one"]).carried(&target, Some(&fresh))
    );
    // Somebody else knows: it is added, and left alone but for its bundle.
    let both = replaced(&known, &target, &fresh, "bundle");
    assert_eq!(names(&both).len(), 2);
    assert_eq!(plan(&unknown, &target, Some(&both), "bundle"), Write::Nothing);
    let renewed = replaced(&unknown, &target, &both, "another");
    assert_eq!(renewed["webhooks"][1]["rules"], json!([rule]));
    assert_eq!(
        renewed["webhooks"][1]["clientConfig"]["caBundle"],
        renewed["webhooks"][0]["clientConfig"]["caBundle"]
    );
}
