//! The built-in functions.
use cambium_compositions_render::function::{
    ENVIRONMENT_KEY, Ready, Request, Response, Severity, auto_ready, for_input, literal_response,
    patch_and_transform,
};
use serde_json::{Value, json};

fn request(resources: Value, more: Value) -> Request {
    let mut input =
        json!({"apiVersion": "pt.fn.crossplane.io/v1beta1", "kind": "Resources", "resources": resources});
    input
        .as_object_mut()
        .unwrap()
        .extend(more.as_object().unwrap().clone());
    serde_json::from_value(json!({
        "meta": {"tag": "t"},
        "observed": {
            "composite": {"resource": {"apiVersion": "example.org/v1", "kind": "XR", "metadata": {"name": "xr"}, "spec": {"size": 3.0, "l": ["a", "b"]}}},
            "resources": {"old": {"resource": {"apiVersion": "v1", "kind": "Old", "metadata": {"name": "old-1", "namespace": "n"},
                "status": {"arn": "arn:1", "conditions": [{"type": "Ready", "status": "True"}]}}, "connectionDetails": {"user": "cm9vdA=="}}},
        },
        "desired": {"resources": {"before": {"resource": {"apiVersion": "v1", "kind": "Before"}}}},
        "context": {ENVIRONMENT_KEY: {"region": "eu"}},
        "input": input,
    }))
    .unwrap()
}

fn template(name: &str, patches: Value) -> Value {
    json!({"name": name, "base": {"apiVersion": "v1", "kind": "Old", "metadata": {"name": "own"}}, "patches": patches})
}

fn messages(response: &Response) -> Vec<(Severity, &str)> {
    response
        .results
        .iter()
        .map(|result| (result.severity, result.message.as_str()))
        .collect()
}

fn value(response: &Response, resource: &str, field: &str) -> Value {
    let path: cambium_compositions_render::path::FieldPath = field.parse().unwrap();
    let object = Value::Object(response.desired.resources[resource].resource.clone());
    path.get(&object).cloned().unwrap_or_default()
}

#[test]
fn renders_patches_keeps_names_and_what_came_before() {
    let patches = json!([
        {"fromFieldPath": "spec.size", "toFieldPath": "spec.text", "transforms": [{"type": "string", "string": {"type": "Format", "fmt": "n%d"}}]},
        {"type": "ToCompositeFieldPath", "fromFieldPath": "status.arn", "toFieldPath": "status.arn"},
        {"type": "FromEnvironmentFieldPath", "fromFieldPath": "region", "toFieldPath": "spec.region"},
        {"type": "CombineFromEnvironment", "toFieldPath": "spec.both", "combine": {"variables": [{"fromFieldPath": "region"}, {"fromFieldPath": "kind"}], "strategy": "string", "string": {"fmt": "%s-%s"}}},
        {"type": "ToEnvironmentFieldPath", "fromFieldPath": "status.arn", "toFieldPath": "arn"},
    ]);
    let response = patch_and_transform(&request(
        json!([template("old", patches.clone()), template("new", patches)]),
        json!({}),
    ));
    assert_eq!(messages(&response), []);
    assert_eq!(
        value(&response, "old", "metadata"),
        json!({"name": "old-1", "namespace": "n"})
    );
    assert_eq!(value(&response, "new", "metadata.name"), "own");
    assert_eq!(
        value(&response, "new", "spec"),
        json!({"text": "n3", "region": "eu", "both": "eu-Environment"})
    );
    assert_eq!(response.desired.resources["old"].ready, Ready::True);
    assert_eq!(response.desired.resources["new"].ready, Ready::Unspecified);
    assert!(response.desired.resources.contains_key("before"));
    let composite = Value::Object(response.desired.composite.resource.clone());
    assert_eq!(
        composite,
        json!({"apiVersion": "example.org/v1", "kind": "XR", "status": {"arn": "arn:1"}})
    );
    let environment = &response.context.as_ref().unwrap()[ENVIRONMENT_KEY];
    assert_eq!(environment["arn"], "arn:1");
    assert_eq!(
        (response.meta.tag.as_str(), response.meta.ttl.as_deref()),
        ("t", Some("60s"))
    );
}

#[test]
fn a_required_field_keeps_a_new_resource_back_and_an_old_one_not() {
    let patches = json!([{"fromFieldPath": "spec.nope", "policy": {"fromFieldPath": "Required"}}]);
    let response = patch_and_transform(&request(
        json!([template("old", patches.clone()), template("new", patches)]),
        json!({}),
    ));
    assert_eq!(
        messages(&response),
        [
            (
                Severity::Warning,
                "cannot render composed resource \"old\" \"FromCompositeFieldPath\" patch at index 0: ignoring 'policy.fromFieldPath: Required' because 'to' resource already exists: spec.nope: no such field"
            ),
            (
                Severity::Warning,
                "not adding new composed resource \"new\" to desired state because \"FromCompositeFieldPath\" patch at index 0 has 'policy.fromFieldPath: Required': spec.nope: no such field"
            ),
        ]
    );
    assert!(response.desired.resources.contains_key("old"));
    assert!(!response.desired.resources.contains_key("new"));
    assert_eq!(response.desired.composite.ready, Ready::False);
}

#[test]
fn any_other_failure_is_fatal_and_leaves_what_was_desired() {
    let patches = json!([{"fromFieldPath": "spec.size", "toFieldPath": "kind.x"}]);
    let asked = request(json!([template("new", patches)]), json!({}));
    let response = patch_and_transform(&asked);
    assert_eq!(
        messages(&response),
        [(
            Severity::Fatal,
            "cannot render composed resource \"new\" \"FromCompositeFieldPath\" patch at index 0: cannot patch to object: kind is not an object"
        ),]
    );
    assert_eq!(response.desired, asked.desired);
}

#[test]
fn invalid_input_and_a_missing_base_are_fatal() {
    let response = patch_and_transform(&request(
        json!([{"base": {"apiVersion": "v1", "kind": "A"}}]),
        json!({}),
    ));
    assert!(
        response.results[0]
            .message
            .starts_with("invalid Function input: resources[0].name: Required value: name is required")
    );
    let response = patch_and_transform(&request(json!([{"name": "nobody"}]), json!({})));
    assert_eq!(
        response.results[0].message,
        "composed resource \"nobody\" has no base template, and was not produced by a previous Function in the pipeline"
    );
    let patch = json!([{"fromFieldPath": "spec.size", "toFieldPath": "spec.size"}]);
    let response = patch_and_transform(&request(json!([{"name": "before", "patches": patch}]), json!({})));
    assert_eq!(value(&response, "before", "spec.size"), 3);
}

#[test]
fn a_template_patches_what_another_one_of_its_name_made() {
    let patch = json!([{"fromFieldPath": "spec.size", "toFieldPath": "spec.size"}]);
    let response = patch_and_transform(&request(
        json!([template("a", json!([])), {"name": "a", "patches": patch}]),
        json!({}),
    ));
    assert_eq!(messages(&response), []);
    assert_eq!(value(&response, "a", "spec.size"), 3);
}

#[test]
fn environment_patches_run_first() {
    let environment = json!({"environment": {"patches": [
        {"fromFieldPath": "spec.size", "toFieldPath": "size"},
        {"type": "ToCompositeFieldPath", "fromFieldPath": "region", "toFieldPath": "status.region"},
        {"type": "ToCompositeFieldPath", "fromFieldPath": "nope", "toFieldPath": "status.nope"}]}});
    let response = patch_and_transform(&request(json!([]), environment));
    assert_eq!(messages(&response), []);
    assert_eq!(response.context.unwrap()[ENVIRONMENT_KEY]["size"], 3);
    assert_eq!(
        response.desired.composite.resource["status"],
        json!({"region": "eu"})
    );
}

#[test]
fn all_modes_of_writing() {
    let modes = [
        ("Replace", json!({"a": {"x": 2}, "l": [2]})),
        ("MergeObjects", json!({"a": {"x": 1}, "l": [1], "k": "v"})),
        ("MergeObject", json!({"a": {"x": 1}, "l": [1], "k": "v"})),
        (
            "MergeObjectsAppendArrays",
            json!({"a": {"x": 1}, "l": [1, 2], "k": "v"}),
        ),
        ("ForceMergeObjects", json!({"a": {"x": 2}, "l": [2], "k": "v"})),
        (
            "ForceMergeObjectsAppendArrays",
            json!({"a": {"x": 2}, "l": [1, 2], "k": "v"}),
        ),
        ("AppendArray", json!({"a": {"x": 2}, "l": [1, 2], "k": "v"})),
    ];
    for (mode, expected) in modes {
        let resource = json!({"name": "m", "base": {"apiVersion": "v1", "kind": "A", "spec": {"a": {"x": 1}, "l": [1], "k": "v"}},
            "patches": [{"fromFieldPath": "spec.from", "toFieldPath": "spec", "policy": {"toFieldPath": mode}}]});
        let mut asked = request(json!([resource]), json!({}));
        asked
            .observed
            .composite
            .resource
            .insert("spec".to_owned(), json!({"from": {"a": {"x": 2}, "l": [2]}}));
        assert_eq!(
            value(&patch_and_transform(&asked), "m", "spec"),
            expected,
            "{mode}"
        );
    }
}

#[test]
fn join_and_replace_are_those_of_the_function() {
    let transform = |transform: Value| json!([{"fromFieldPath": "spec.l", "toFieldPath": "spec.t", "transforms": [{"type": "string", "string": transform}]}]);
    for (settings, expected) in [
        (json!({"type": "Join", "join": {"separator": ","}}), "a,b"),
        (json!({"type": "Join", "join": {"separator": ", "}}), "a, b,"),
        (json!({"type": "Join", "join": {"separator": ""}}), "ab"),
        (json!({"type": "Join", "join": {"separator": "ä"}}), "aäb\u{fffd}"),
        (
            json!({"type": "Replace", "replace": {"search": "a", "replace": "z"}}),
            "[z b]",
        ),
    ] {
        let response = patch_and_transform(&request(
            json!([template("j", transform(settings.clone()))]),
            json!({}),
        ));
        assert_eq!(value(&response, "j", "spec.t"), expected, "{settings}");
    }
}

#[test]
fn connection_details_go_to_the_composite_or_into_a_secret_of_their_own() {
    let mut resource = template("old", json!([]));
    resource["connectionDetails"] =
        json!([{"name": "u", "type": "FromConnectionSecretKey", "fromConnectionSecretKey": "user"}]);
    let response = patch_and_transform(&request(json!([resource]), json!({})));
    assert_eq!(response.desired.composite.connection_details["u"], b"root");
    assert_eq!(response.desired.resources.len(), 2);

    let place = json!({"writeConnectionSecretToRef": {"name": "n", "patches": [{"fromFieldPath": "metadata.name", "toFieldPath": "namespace"}]}});
    let mut modern = request(json!([resource]), place);
    modern
        .observed
        .composite
        .resource
        .insert("spec".to_owned(), json!({"crossplane": {}}));
    let response = patch_and_transform(&modern);
    let secret = &response.desired.resources["xr-connection-secret"];
    assert_eq!(
        Value::Object(secret.resource.clone()),
        json!({"apiVersion": "v1", "kind": "Secret", "type": "connection.crossplane.io/v1alpha1",
        "metadata": {"name": "n", "namespace": "xr"}, "data": {"u": "cm9vdA=="}})
    );
    assert_eq!(secret.ready, Ready::True);
}

#[test]
fn auto_ready_has_an_opinion_only_where_nobody_has() {
    let mut asked = request(json!([]), json!({}));
    for (name, ready) in [("old", Ready::Unspecified), ("no", Ready::Unspecified)] {
        asked.desired.resources.insert(
            name.to_owned(),
            cambium_compositions_render::function::Resource {
                ready,
                ..Default::default()
            },
        );
    }
    assert_eq!(auto_ready(&asked).desired.resources["old"].ready, Ready::True);
    assert_eq!(
        auto_ready(&asked).desired.resources["no"].ready,
        Ready::Unspecified
    );
    asked.desired.resources.get_mut("old").unwrap().ready = Ready::False;
    assert_eq!(auto_ready(&asked).desired.resources["old"].ready, Ready::False);
}

#[test]
fn a_literal_response_is_laid_over_what_is_desired() {
    let input = json!({"apiVersion": "dummy.fn.crossplane.io/v1beta1", "kind": "Response", "response": {
        "desired": {"composite": {"resource": {"status": {"a": 1}}, "ready": "READY_TRUE"}, "resources": {"x": {"resource": {"kind": "X"}}}},
        "results": [{"severity": "SEVERITY_NORMAL", "message": "hello"}],
        "conditions": [{"type": "Custom", "status": "STATUS_CONDITION_TRUE", "reason": "R", "target": "TARGET_COMPOSITE_AND_CLAIM"}],
        "context": {"k": "v"},
        "requirements": {"extra_resources": {"r": {"api_version": "v1", "kind": "A", "match_name": "n"}}}}});
    let mut asked = request(json!([]), json!({}));
    asked.input = Some(input);
    assert!(for_input(asked.input.as_ref().unwrap()).is_some());
    let response = literal_response(&asked);
    assert_eq!(messages(&response), [(Severity::Normal, "hello")]);
    assert_eq!(response.desired.composite.ready, Ready::True);
    assert!(
        response.desired.resources.contains_key("x") && response.desired.resources.contains_key("before")
    );
    assert_eq!(response.conditions[0].kind, "Custom");
    assert_eq!(
        response.requirements.extra_resources["r"].match_name.as_deref(),
        Some("n")
    );
    let context = response.context.unwrap();
    assert!(context.contains_key("k") && context.contains_key(ENVIRONMENT_KEY));
    for wrong in [
        json!({"results": "no"}),
        json!({"dessired": {}}),
        json!({"desired": {"resources": {"x": {"reddy": "READY_TRUE"}}}}),
    ] {
        asked.input = Some(json!({ "response": wrong }));
        assert_eq!(literal_response(&asked).results[0].severity, Severity::Fatal);
    }
}

#[test]
fn auto_ready_knows_the_kinds_of_kubernetes() {
    let replicas = |ready: i64| {
        json!({"apiVersion": "apps/v1", "kind": "Deployment", "spec": {"replicas": 2}, "status": {
        "updatedReplicas": 2, "availableReplicas": ready, "conditions": [{"type": "Available", "status": "True"}]}})
    };
    let job = |condition: &str| {
        json!({"apiVersion": "batch/v1", "kind": "Job", "status": {"conditions": [
        {"type": "Other", "status": "True"}, {"type": condition, "status": "True"}]}})
    };
    let cases = [
        (json!({"apiVersion": "v1", "kind": "ConfigMap"}), true),
        (json!({"apiVersion": "v1", "kind": "Service"}), true),
        (
            json!({"apiVersion": "v1", "kind": "Service", "spec": {"type": "LoadBalancer"}}),
            false,
        ),
        (
            json!({"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "status": {"loadBalancer": {"ingress": [{}]}}}),
            true,
        ),
        (
            json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "status": {"phase": "Pending"}}),
            false,
        ),
        (
            json!({"apiVersion": "v1", "kind": "Pod", "status": {"phase": "Succeeded"}}),
            true,
        ),
        (
            json!({"apiVersion": "v1", "kind": "Pod", "status": {"phase": "Running"}}),
            false,
        ),
        (replicas(2), true),
        (replicas(1), false),
        (
            json!({"apiVersion": "apps/v1", "kind": "StatefulSet", "status": {"readyReplicas": 1, "currentReplicas": 1, "currentRevision": "a", "updateRevision": "a"}}),
            true,
        ),
        (
            json!({"apiVersion": "apps/v1", "kind": "StatefulSet", "status": {"readyReplicas": 1, "currentReplicas": 1, "currentRevision": "a", "updateRevision": "b"}}),
            false,
        ),
        (
            json!({"apiVersion": "apps/v1", "kind": "DaemonSet", "status": {"desiredNumberScheduled": 1, "numberReady": 1, "updatedNumberScheduled": 1, "numberAvailable": 1}}),
            true,
        ),
        (json!({"apiVersion": "apps/v1", "kind": "DaemonSet"}), false),
        (
            json!({"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"generation": 2}, "status": {"observedGeneration": 1, "availableReplicas": 1}}),
            false,
        ),
        (job("Complete"), true),
        (job("Failed"), false),
        (
            json!({"apiVersion": "batch/v1", "kind": "CronJob", "status": {"lastScheduleTime": "2026-01-02T00:00:00Z", "lastSuccessfulTime": "2026-01-02T00:01:00Z"}}),
            true,
        ),
        (
            json!({"apiVersion": "batch/v1", "kind": "CronJob", "status": {"lastScheduleTime": "2026-01-02T00:00:00Z"}}),
            false,
        ),
        (
            json!({"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "status": {"conditions": [{"type": "ScalingActive", "status": "True"}]}}),
            true,
        ),
        (json!({"apiVersion": "example.org/v1", "kind": "Other"}), false),
    ];
    for (object, expected) in cases {
        let mut asked = Request::default();
        let resource = cambium_compositions_render::function::Resource {
            resource: object.as_object().unwrap().clone(),
            ..Default::default()
        };
        asked.observed.resources.insert("r".to_owned(), resource.clone());
        asked.desired.resources.insert("r".to_owned(), resource);
        let ready = auto_ready(&asked).desired.resources["r"].ready;
        assert_eq!(ready == Ready::True, expected, "{object}");
    }
}
