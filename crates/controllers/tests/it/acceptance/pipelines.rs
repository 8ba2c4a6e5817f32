//! Composite resources that functions compose: those that are built in, and one that is a program of its own.

use crate::function;

use crate::composing::{Stage, condition, holds, settings};
use anyhow::Result;
use cambium_controllers::Settings;
use cambium_functions::{answered, wire};
use cambium_testing::{Backend, Faults, Filter, eventually, eventually_some};
use function::{FunctionServer, Reply, passing_on};
use prost_types::value::Kind;
use prost_types::{Struct, Value as WireValue};
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tonic::transport::{Certificate, Identity, ServerTlsConfig};

/// A composition with these steps.
fn pipeline(stage: &Stage, steps: Value) -> Value {
    let mut composition = stage.composition("base", "");
    let spec = composition["spec"].as_object_mut().unwrap();
    spec.remove("resources");
    spec.insert("mode".to_owned(), json!("Pipeline"));
    spec.insert("pipeline".to_owned(), steps);
    composition
}

/// Publishes a composition with these steps, and applies a composite resource `thing` that uses it.
async fn use_pipeline(stage: &Stage, steps: Value) -> Result<()> {
    stage.publish(&pipeline(stage, steps)).await?;
    let machinery = json!({"compositionRef": {"name": stage.called("base")}});
    stage.compose("thing", machinery).await?;
    Ok(())
}

/// A step that calls this function of the test's own.
fn step(stage: &Stage, name: &str, function: &str) -> Value {
    json!({"step": name, "functionRef": {"name": stage.called(function)}})
}

fn auto_ready() -> Value {
    json!({"step": "ready", "functionRef": {"name": "function-auto-ready"}})
}

/// Applies a Function that says where a function answers.
async fn install(stage: &Stage, name: &str, spec: Value) -> Result<()> {
    let name = stage.called(name);
    let object = json!({
        "apiVersion": "pkg.crossplane.io/v1", "kind": "Function", "metadata": {"name": name}, "spec": spec,
    });
    stage
        .applied(&format!("/apis/pkg.crossplane.io/v1/functions/{name}"), &object)
        .await?;
    Ok(())
}

/// Waits until the composite resource is as it should be.
async fn until(stage: &Stage, what: &str, holds: impl Fn(&Value) -> bool) -> Result<Value> {
    let found = eventually_some(what, || async {
        let found = stage.get("thing").await?;
        Ok(holds(&found).then_some(found))
    })
    .await;
    if found.is_err() {
        anyhow::bail!("{what}: {:#}", stage.get("thing").await?["status"]);
    }
    found
}

fn ready(composite: &Value) -> bool {
    holds(composite, "Ready") && holds(composite, "Synced")
}

fn wire(value: &Value) -> WireValue {
    let kind = match value {
        Value::Null => Kind::NullValue(0),
        Value::Bool(value) => Kind::BoolValue(*value),
        Value::Number(value) => Kind::NumberValue(value.as_f64().unwrap()),
        Value::String(value) => Kind::StringValue(value.clone()),
        Value::Array(values) => Kind::ListValue(prost_types::ListValue {
            values: values.iter().map(wire).collect(),
        }),
        Value::Object(_) => Kind::StructValue(fields(value)),
    };
    WireValue { kind: Some(kind) }
}

fn fields(value: &Value) -> Struct {
    let fields = value.as_object().unwrap();
    let fields = fields.iter().map(|(name, value)| (name.clone(), wire(value)));
    Struct {
        fields: fields.collect(),
    }
}

/// Adds a ConfigMap that says this to what is desired.
fn desire(response: &mut wire::RunFunctionResponse, name: &str, namespace: &str, says: &str) {
    let object = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": namespace}, "data": {"says": says},
    });
    let desired = response.desired.get_or_insert_default();
    let resource = wire::Resource {
        resource: Some(fields(&object)),
        ready: wire::Ready::True.into(),
        ..wire::Resource::default()
    };
    desired.resources.insert(name.to_owned(), resource);
}

/// The text in the spec of the composite resource that a function was asked about.
fn text_of(request: &wire::RunFunctionRequest) -> String {
    let desired = request.observed.clone();
    let observed = answered(wire::RunFunctionResponse {
        desired,
        ..wire::RunFunctionResponse::default()
    });
    let composite = observed.unwrap().desired.composite.resource;
    composite["spec"]["text"].as_str().unwrap_or_default().to_owned()
}

/// The text in a ConfigMap that a function was shown.
fn data_of(resource: &wire::Resource) -> String {
    let fields = resource.resource.as_ref().map(|resource| &resource.fields);
    let data = fields
        .and_then(|fields| fields.get("data"))
        .and_then(|data| data.kind.as_ref());
    let Some(Kind::StructValue(data)) = data else {
        return String::new();
    };
    match data.fields.get("text").and_then(|text| text.kind.as_ref()) {
        Some(Kind::StringValue(text)) => text.clone(),
        _ => String::new(),
    }
}

/// A function that composes a ConfigMap with the text of the composite resource.
async fn echo(namespace: &str) -> FunctionServer {
    let namespace = namespace.to_owned();
    FunctionServer::start(move |request| {
        let mut response = passing_on(&request);
        desire(&mut response, "echo", &namespace, &text_of(&request));
        Reply::answer(response)
    })
    .await
}

#[tokio::test]
async fn patch_and_transform_as_a_function_composes_and_follows_edits() -> Result<()> {
    let stage = Stage::start().await?;
    let steps = |says: &str| {
        json!([{
            "step": "patch", "functionRef": {"name": "function-patch-and-transform"},
            "input": {"apiVersion": "pt.fn.crossplane.io/v1beta1", "kind": "Resources", "resources": [{
                "name": "main",
                "base": {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": stage.platform.namespace},
                    "data": {"says": says}},
                "patches": [
                    {"type": "FromCompositeFieldPath", "fromFieldPath": "spec.text", "toFieldPath": "data.text"},
                    {"type": "ToCompositeFieldPath", "fromFieldPath": "data.text", "toFieldPath": "status.seen"},
                ],
                "readinessChecks": [{"type": "None"}],
            }]},
        }])
    };
    use_pipeline(&stage, steps("one")).await?;
    let found = until(&stage, "it is ready and has seen its text", |found| {
        ready(found) && found["status"]["seen"] == "thing"
    })
    .await?;
    let composed = stage.composed("thing").await?;
    assert_eq!(composed[0]["data"], json!({"says": "one", "text": "thing"}));
    let refs = found["spec"]["resourceRefs"].as_array().unwrap();
    assert_eq!(refs[0]["name"], composed[0]["metadata"]["name"]);
    stage.publish(&pipeline(&stage, steps("two"))).await?;
    let again = stage.says("thing", "two").await?;
    assert_eq!(again["metadata"]["uid"], composed[0]["metadata"]["uid"]);
    eventually("both revisions say that their pipelines are valid", || async {
        let revisions = stage.revisions("base").await?;
        Ok(revisions.len() == 2 && revisions.iter().all(|revision| holds(revision, "ValidPipeline")))
    })
    .await?;
    if stage.platform.cluster.backend() != Backend::Embedded {
        // What other tests leave behind, with functions that are gone, keeps the manager of a shared cluster busy.
        return Ok(());
    }
    stage.platform.idle().await?;
    let before = stage.get("thing").await?;
    let composed = stage.composed("thing").await?;
    // Looked at once more, an unchanged world stays as it is.
    let look = json!({"metadata": {"annotations": {"look": "again"}}});
    let edited = stage.edit(&stage.path("thing"), look).await?;
    stage.platform.idle().await?;
    let after = stage.get("thing").await?;
    assert_eq!(before["status"], after["status"]);
    assert_eq!(
        edited["metadata"]["resourceVersion"],
        after["metadata"]["resourceVersion"]
    );
    assert_eq!(stage.composed("thing").await?, composed);
    stage.at_rest().await
}

#[tokio::test]
async fn a_literal_response_composes_sets_conditions_and_what_is_left_out_is_collected() -> Result<()> {
    let stage = Stage::start().await?;
    let map =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": stage.platform.namespace}});
    let steps = |resources: Value| {
        let response = json!({
            "desired": {"composite": {"resource": {"status": {"seen": "literally"}, "spec": {"copy": "no"}}}, "resources": resources},
            "conditions": [
                {"type": "Fine", "status": "STATUS_CONDITION_TRUE", "reason": "Literally", "message": "it is"},
                {"type": "Ready", "status": "STATUS_CONDITION_FALSE", "reason": "Mine"},
            ],
            "results": [{"severity": "SEVERITY_WARNING", "message": "take care"}],
        });
        let input =
            json!({"apiVersion": "dummy.fn.crossplane.io/v1beta1", "kind": "Response", "response": response});
        json!([{"step": "literal", "functionRef": {"name": "function-dummy"}, "input": input}, auto_ready()])
    };
    use_pipeline(
        &stage,
        steps(json!({"a": {"resource": map}, "b": {"resource": map}})),
    )
    .await?;
    let found = until(&stage, "it is ready", ready).await?;
    assert_eq!(found["status"]["seen"], "literally");
    assert_eq!(found["spec"]["copy"], Value::Null);
    let fine = condition(&found, "Fine").unwrap();
    assert_eq!(
        (&fine["status"], &fine["message"]),
        (&json!("True"), &json!("it is"))
    );
    assert_eq!(stage.composed("thing").await?.len(), 2);
    let told = stage.told("thing", "take care").await?;
    assert_eq!((told.len(), &told[0]["type"]), (1, &json!("Warning")));
    assert_eq!(told[0]["note"], "Pipeline step \"literal\": take care");
    stage
        .publish(&pipeline(&stage, steps(json!({"b": {"resource": map}}))))
        .await?;
    eventually("only one is left", || async {
        Ok(stage.composed("thing").await?.len() == 1)
    })
    .await?;
    let left = stage.composed("thing").await?;
    assert_eq!(
        left[0]["metadata"]["annotations"]["crossplane.io/composition-resource-name"],
        "b"
    );
    // It was said again and again, and told once.
    assert_eq!(stage.told("thing", "take care").await?[0]["series"], Value::Null);
    stage.at_rest().await
}

#[tokio::test]
async fn readiness_that_no_function_vouches_for_is_missing() -> Result<()> {
    let stage = Stage::start().await?;
    let map =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": stage.platform.namespace}});
    let input = json!({"apiVersion": "dummy.fn.crossplane.io/v1beta1", "kind": "Response",
        "response": {"desired": {"resources": {"a": {"resource": map}}}}});
    let literal = json!({"step": "literal", "functionRef": {"name": "any"}, "input": input});
    use_pipeline(&stage, json!([literal])).await?;
    let found = until(&stage, "it is synced and not ready", |found| {
        holds(found, "Synced")
    })
    .await?;
    let ready_condition = condition(&found, "Ready").unwrap();
    assert_eq!(ready_condition["message"], "Unready resources: a");
    stage
        .publish(&pipeline(&stage, json!([literal, auto_ready()])))
        .await?;
    until(&stage, "it is ready", ready).await?;
    stage.at_rest().await
}

#[tokio::test]
async fn a_function_that_is_a_program_is_called_where_its_object_says() -> Result<()> {
    let stage = Stage::start().await?;
    let server = echo(&stage.platform.namespace).await;
    install(&stage, "echo", json!({"endpoint": server.endpoint()})).await?;
    use_pipeline(&stage, json!([step(&stage, "echo", "echo")])).await?;
    until(&stage, "it is ready", ready).await?;
    stage.says("thing", "thing").await?;
    stage
        .edit(&stage.path("thing"), json!({"spec": {"text": "changed"}}))
        .await?;
    stage.says("thing", "changed").await?;
    let asked = server.asked();
    let last = asked.last().unwrap();
    assert!(last.observed.as_ref().unwrap().resources.contains_key("echo"));
    assert_eq!(last.meta.as_ref().unwrap().tag.len(), 64);
    stage.at_rest().await
}

#[tokio::test]
async fn a_function_that_is_missing_is_named_and_used_as_soon_as_it_is_there() -> Result<()> {
    let stage = Stage::start().await?;
    use_pipeline(&stage, json!([step(&stage, "echo", "late")])).await?;
    let name = stage.called("late");
    let message = stage
        .refused("thing", "not found; apply one with spec.endpoint")
        .await?;
    assert_eq!(
        message,
        format!(
            "cannot compose resources: cannot run Composition pipeline step \"echo\": Function {name:?} not found; apply one with spec.endpoint, or pass its endpoint to the manager"
        )
    );
    let found = stage.get("thing").await?;
    assert_eq!(
        found["spec"]["compositionRevisionRef"]["name"],
        stage.current("base").await?,
        "it says what it uses, though it cannot be composed"
    );
    install(&stage, "late", json!({"package": "example.org/late:v1"})).await?;
    stage.refused("thing", "has no spec.endpoint").await?;
    let server = echo(&stage.platform.namespace).await;
    install(&stage, "late", json!({"endpoint": server.endpoint()})).await?;
    until(&stage, "it is ready", ready).await?;
    let other = echo(&stage.platform.namespace).await;
    server.stop().await;
    stage
        .edit(&stage.path("thing"), json!({"spec": {"text": "moved"}}))
        .await?;
    let message = stage.refused("thing", "cannot reach function").await?;
    assert!(message.contains("is it running"), "{message}");
    assert_eq!(stage.composed("thing").await?.len(), 1, "what is composed stays");
    install(&stage, "late", json!({"endpoint": other.endpoint()})).await?;
    stage.says("thing", "moved").await?;
    until(&stage, "it is ready", ready).await?;
    stage.at_rest().await
}

#[tokio::test]
async fn an_endpoint_that_the_manager_was_given_needs_no_object() -> Result<()> {
    let server = FunctionServer::start(|request| Reply::answer(passing_on(&request))).await;
    let settings = Settings {
        functions: [("function-given".to_owned(), server.endpoint())].into(),
        ..settings()
    };
    let stage = Stage::with(settings, json!({})).await?;
    let given = json!({"step": "given", "functionRef": {"name": "function-given"}});
    use_pipeline(&stage, json!([given])).await?;
    until(&stage, "it is ready", ready).await?;
    assert!(!server.asked().is_empty());
    stage.at_rest().await
}

#[tokio::test]
async fn a_function_elsewhere_without_tls_is_not_called() -> Result<()> {
    let stage = Stage::start().await?;
    install(&stage, "far", json!({"endpoint": "function.example.org:9443"})).await?;
    use_pipeline(&stage, json!([step(&stage, "far", "far")])).await?;
    stage.refused("thing", "its Function has no spec.tls").await?;
    stage.at_rest().await
}

#[tokio::test]
async fn over_tls_with_certificates_from_a_secret() -> Result<()> {
    let stage = Stage::start().await?;
    let authority_key = rcgen::KeyPair::generate()?;
    let mut params = rcgen::CertificateParams::default();
    params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    let authority = rcgen::CertifiedIssuer::self_signed(params, authority_key)?;
    let key = rcgen::KeyPair::generate()?;
    let leaf = rcgen::CertificateParams::new(["function.test".to_owned()])?.signed_by(&key, &authority)?;
    let config = ServerTlsConfig::new()
        .identity(Identity::from_pem(leaf.pem(), key.serialize_pem()))
        .client_ca_root(Certificate::from_pem(authority.pem()));
    let server = FunctionServer::serve("127.0.0.1:0", wire::RUN_FUNCTION, Some(config), |request| {
        Reply::answer(passing_on(&request))
    })
    .await;
    let namespace = &stage.platform.namespace;
    let tls =
        json!({"secretRef": {"name": "certificates", "namespace": namespace}, "serverName": "function.test"});
    install(&stage, "safe", json!({"endpoint": server.endpoint(), "tls": tls})).await?;
    use_pipeline(&stage, json!([step(&stage, "safe", "safe")])).await?;
    stage.refused("thing", "cannot read Secret").await?;
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "certificates"},
        "stringData": {"ca.crt": authority.pem(), "tls.crt": leaf.pem(), "tls.key": key.serialize_pem()},
    });
    let path = format!("/api/v1/namespaces/{namespace}/secrets/certificates");
    stage.applied(&path, &secret).await?;
    until(&stage, "it is ready", ready).await?;
    assert!(!server.asked().is_empty());
    stage.at_rest().await
}

#[tokio::test]
async fn a_function_sees_what_it_asks_for_and_the_credentials_of_its_step() -> Result<()> {
    let stage = Stage::start().await?;
    let namespace = stage.platform.namespace.clone();
    let place = namespace.clone();
    let server = FunctionServer::start(move |request| {
        let mut response = passing_on(&request);
        let selector = |match_| wire::ResourceSelector {
            api_version: "v1".to_owned(),
            kind: "ConfigMap".to_owned(),
            match_: Some(match_),
            namespace: Some(place.clone()),
        };
        let labels = [("for".to_owned(), "functions".to_owned())].into();
        response.requirements = Some(wire::Requirements {
            extra_resources: [(
                "one".to_owned(),
                selector(wire::Match::MatchName("one".to_owned())),
            )]
            .into(),
            resources: [
                (
                    "none".to_owned(),
                    selector(wire::Match::MatchName("none".to_owned())),
                ),
                (
                    "all".to_owned(),
                    selector(wire::Match::MatchLabels(wire::MatchLabels { labels })),
                ),
            ]
            .into(),
            ..wire::Requirements::default()
        });
        let count = |resources: Option<&wire::Resources>| resources.map_or(0, |found| found.items.len());
        let seen = format!(
            "{} {} {}",
            count(request.extra_resources.get("one")),
            count(request.required_resources.get("none")),
            count(request.required_resources.get("all")),
        );
        desire(&mut response, "seen", &place, &seen);
        Reply::answer(response)
    })
    .await;
    for name in ["one", "two"] {
        let object = json!({"apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": name, "labels": {"for": "functions"}}});
        let path = format!("/api/v1/namespaces/{namespace}/configmaps/{name}");
        stage.applied(&path, &object).await?;
    }
    install(&stage, "curious", json!({"endpoint": server.endpoint()})).await?;
    let mut curious = step(&stage, "curious", "curious");
    curious["credentials"] = json!([{"name": "cloud", "source": "Secret",
        "secretRef": {"name": "cloud", "namespace": namespace}}]);
    use_pipeline(&stage, json!([curious])).await?;
    stage
        .refused(
            "thing",
            "cannot get Composition pipeline step \"curious\" credential \"cloud\" from Secret",
        )
        .await?;
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "cloud"}, "stringData": {"key": "word"}});
    stage
        .applied(&format!("/api/v1/namespaces/{namespace}/secrets/cloud"), &secret)
        .await?;
    stage.says("thing", "1 0 2").await?;
    let asked = server.asked();
    let Some(wire::Source::CredentialData(data)) = &asked.last().unwrap().credentials["cloud"].source else {
        anyhow::bail!("no credentials");
    };
    assert_eq!(data.data["key"], b"word");
    stage.at_rest().await
}

#[tokio::test]
async fn a_function_hears_of_changes_of_what_it_asked_to_see() -> Result<()> {
    let stage = Stage::start().await?;
    let namespace = stage.platform.namespace.clone();
    let place = namespace.clone();
    let server = FunctionServer::start(move |request| {
        let mut response = passing_on(&request);
        let labels = [("for".to_owned(), "functions".to_owned())].into();
        let selector = wire::ResourceSelector {
            api_version: "v1".to_owned(),
            kind: "ConfigMap".to_owned(),
            match_: Some(wire::Match::MatchLabels(wire::MatchLabels { labels })),
            namespace: Some(place.clone()),
        };
        response.requirements = Some(wire::Requirements {
            resources: [("all".to_owned(), selector)].into(),
            ..wire::Requirements::default()
        });
        let all = request.required_resources.get("all");
        let seen: Vec<String> = all.iter().flat_map(|found| &found.items).map(data_of).collect();
        desire(&mut response, "seen", &place, &format!("sees {}", seen.join(" ")));
        Reply::answer(response)
    })
    .await;
    let write = async |name: &str, text: &str, audience: &str| {
        let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"text": text},
            "metadata": {"name": name, "labels": {"for": audience}}});
        let path = format!("/api/v1/namespaces/{namespace}/configmaps/{name}");
        stage.applied(&path, &object).await
    };
    write("one", "a", "functions").await?;
    install(&stage, "curious", json!({"endpoint": server.endpoint()})).await?;
    use_pipeline(&stage, json!([step(&stage, "curious", "curious")])).await?;
    // Nothing else happens to the composite resource. Crossplane 1.20 and 2.2 would not look again.
    stage.says("thing", "sees a").await?;
    write("one", "b", "functions").await?;
    stage.says("thing", "sees b").await?;
    write("two", "c", "functions").await?;
    stage.says("thing", "sees b c").await?;
    write("one", "b", "others").await?;
    stage.says("thing", "sees c").await?;
    stage
        .delete(&format!("/api/v1/namespaces/{namespace}/configmaps/two"))
        .await?;
    stage.says("thing", "sees ").await?;
    if stage.platform.cluster.backend() != Backend::Embedded {
        return Ok(());
    }
    stage.platform.idle().await?;
    let asked = server.asked().len();
    write("three", "d", "others").await?;
    stage.platform.idle().await?;
    assert_eq!(
        server.asked().len(),
        asked,
        "it looks at nothing that has changed"
    );
    stage.at_rest().await
}

#[tokio::test]
async fn after_a_fatal_result_everything_stays_and_conditions_are_in_doubt() -> Result<()> {
    let stage = Stage::start().await?;
    let place = stage.platform.namespace.clone();
    let server = FunctionServer::start(move |request| {
        let mut response = passing_on(&request);
        match text_of(&request).as_str() {
            "fatal" => response.results.push(wire::RunResult {
                severity: wire::Severity::Fatal.into(),
                message: "not like this".to_owned(),
                ..wire::RunResult::default()
            }),
            text => {
                desire(&mut response, "echo", &place, text);
                response.conditions.push(wire::Condition {
                    type_: "Fine".to_owned(),
                    status: wire::Status::True.into(),
                    reason: "Yes".to_owned(),
                    ..wire::Condition::default()
                });
            }
        }
        Reply::answer(response)
    })
    .await;
    install(&stage, "moody", json!({"endpoint": server.endpoint()})).await?;
    use_pipeline(&stage, json!([step(&stage, "moody", "moody")])).await?;
    until(&stage, "it is fine", |found| ready(found) && holds(found, "Fine")).await?;
    stage
        .edit(&stage.path("thing"), json!({"spec": {"text": "fatal"}}))
        .await?;
    let message = stage.refused("thing", "fatal").await?;
    assert_eq!(
        message,
        "cannot compose resources: pipeline step \"moody\" returned a fatal result: not like this"
    );
    let found = stage.get("thing").await?;
    let fine = condition(&found, "Fine").unwrap();
    assert_eq!(
        (&fine["status"], &fine["reason"]),
        (&json!("Unknown"), &json!("FatalError"))
    );
    assert_eq!(stage.composed("thing").await?.len(), 1);
    stage
        .edit(&stage.path("thing"), json!({"spec": {"text": "better"}}))
        .await?;
    until(&stage, "it is fine again", |found| {
        ready(found) && holds(found, "Fine")
    })
    .await?;
    stage.at_rest().await
}

#[tokio::test]
async fn answers_hold_for_as_long_as_functions_say_and_no_longer_than_the_deadline_is_waited() -> Result<()> {
    let settings = Settings {
        function_deadline: Duration::from_millis(300),
        ..settings()
    };
    let stage = Stage::with(settings, json!({})).await?;
    let calls = Arc::new(AtomicUsize::new(0));
    let place = stage.platform.namespace.clone();
    let count = calls.clone();
    let server = FunctionServer::start(move |request| {
        let call = count.fetch_add(1, Ordering::SeqCst);
        if call == 0 {
            return Reply::Never;
        }
        let mut response = passing_on(&request);
        response.meta = Some(wire::ResponseMeta {
            ttl: Some(prost_types::Duration {
                seconds: 0,
                nanos: 50_000_000,
            }),
            ..wire::ResponseMeta::default()
        });
        desire(&mut response, "count", &place, &call.min(4).to_string());
        Reply::answer(response)
    })
    .await;
    install(&stage, "counting", json!({"endpoint": server.endpoint()})).await?;
    use_pipeline(&stage, json!([step(&stage, "counting", "counting")])).await?;
    // Nobody touches anything, and the fourth answer arrives.
    stage.says("thing", "4").await?;
    until(&stage, "it is ready", ready).await?;
    let told = stage.told("thing", "did not answer within 0.3s").await?;
    assert_eq!(told.len(), 1);
    stage.at_rest().await
}

#[tokio::test]
async fn garbage_is_told_and_another_mode_keeps_what_has_the_same_name() -> Result<()> {
    let stage = Stage::start().await?;
    let garbage = FunctionServer::start(|_| Reply::Bytes(vec![0xff; 16])).await;
    install(&stage, "garbage", json!({"endpoint": garbage.endpoint()})).await?;
    // First by a template, which names it "main".
    stage.publish(&stage.composition("base", "one")).await?;
    let machinery = json!({"compositionRef": {"name": stage.called("base")}});
    stage.compose("thing", machinery).await?;
    let first = stage.says("thing", "one").await?;
    stage
        .publish(&pipeline(&stage, json!([step(&stage, "garbage", "garbage")])))
        .await?;
    stage
        .refused("thing", "the answer is not a RunFunctionResponse")
        .await?;
    let map = json!({"apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"namespace": stage.platform.namespace}, "data": {"says": "two"}});
    let input = json!({"apiVersion": "dummy.fn.crossplane.io/v1beta1", "kind": "Response",
        "response": {"desired": {"resources": {"main": {"resource": map}}}}});
    let literal = json!({"step": "literal", "functionRef": {"name": "any"}, "input": input});
    stage
        .publish(&pipeline(&stage, json!([literal, auto_ready()])))
        .await?;
    let second = stage.says("thing", "two").await?;
    assert_eq!(first["metadata"]["uid"], second["metadata"]["uid"]);
    until(&stage, "it is ready", ready).await?;
    assert_eq!(stage.composed("thing").await?.len(), 1);
    stage.at_rest().await
}

#[tokio::test]
async fn in_a_namespace_functions_compose_into_that_namespace_alone() -> Result<()> {
    let stage = Stage::scoped(settings(), "Namespaced", json!({})).await?;
    let server = echo("elsewhere").await;
    install(&stage, "echo", json!({"endpoint": server.endpoint()})).await?;
    use_pipeline(&stage, json!([step(&stage, "echo", "echo")])).await?;
    let found = until(&stage, "it is ready", ready).await?;
    stage.says("thing", "thing").await?;
    let refs = &stage.machinery(&found)["resourceRefs"];
    assert_eq!(refs[0]["namespace"], Value::Null);
    stage.at_rest().await
}

#[tokio::test]
async fn fields_that_a_kind_does_not_know_are_left_out_of_what_functions_compose() -> Result<()> {
    let stage = Stage::start().await?;
    let map = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": stage.platform.namespace},
        "data": {"says": "one"}, "nonsense": {"a": 1},
    });
    let response = json!({"desired": {"resources": {"a": {"resource": map}}}});
    let input =
        json!({"apiVersion": "dummy.fn.crossplane.io/v1beta1", "kind": "Response", "response": response});
    let steps =
        json!([{"step": "literal", "functionRef": {"name": "function-dummy"}, "input": input}, auto_ready()]);
    use_pipeline(&stage, steps).await?;
    let found = until(&stage, "it is ready", ready).await?;
    let synced = condition(&found, "Synced").unwrap();
    assert_eq!(synced["reason"], "FieldsIgnored");
    let expected = "Unknown fields were left out: a: .nonsense";
    assert_eq!(synced["message"], expected);
    stage.says("thing", "one").await?;
    assert_eq!(stage.told("thing", expected).await?.len(), 1);
    stage.at_rest().await
}

#[tokio::test]
async fn functions_observe_what_no_watch_shows() -> Result<()> {
    let stage = Stage::start().await?;
    let namespace = stage.platform.namespace.clone();
    let server = FunctionServer::start(move |request| {
        let mut response = passing_on(&request);
        let observed = request.observed.unwrap_or_default().resources;
        let says = observed.into_keys().collect::<Vec<_>>().join(" ");
        desire(&mut response, "main", &namespace, &format!("sees {says}"));
        Reply::answer(response)
    })
    .await;
    install(&stage, "sees", json!({"endpoint": server.endpoint()})).await?;
    stage
        .publish(&pipeline(&stage, json!([step(&stage, "sees", "sees")])))
        .await?;
    let machinery = json!({"compositionRef": {"name": stage.called("base")}});
    let before = stage.compose_unseen("thing", machinery).await?;
    let composed = stage.says("thing", "sees main").await?;
    assert_eq!(composed["metadata"]["uid"], before["metadata"]["uid"]);
    assert_eq!(stage.composed("thing").await?.len(), 1);
    let first = server.asked().swap_remove(0).observed.unwrap().resources;
    assert_eq!(first.keys().collect::<Vec<_>>(), ["main"]);
    Ok(())
}

/// What a function makes of what it is not shown would be less than there is.
#[tokio::test]
async fn functions_are_not_asked_while_a_kind_of_what_is_composed_cannot_be_read() -> Result<()> {
    let mut stage = Stage::start().await?;
    let namespace = stage.platform.namespace.clone();
    let server = FunctionServer::start(move |request| {
        let mut response = passing_on(&request);
        let observed = request.observed.clone().unwrap_or_default().resources;
        let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"namespace": namespace}});
        let resource = wire::Resource {
            resource: Some(fields(&secret)),
            ready: wire::Ready::True.into(),
            ..wire::Resource::default()
        };
        let desired = response.desired.get_or_insert_default();
        desired.resources.insert("first".to_owned(), resource);
        if observed.contains_key("first") {
            desire(&mut response, "second", &namespace, &text_of(&request));
        }
        Reply::answer(response)
    })
    .await;
    install(&stage, "chain", json!({"endpoint": server.endpoint()})).await?;
    use_pipeline(&stage, json!([step(&stage, "chain", "chain")])).await?;
    let before = stage.says("thing", "thing").await?;
    stage.platform.stop_manager().await;
    let faults = Faults::new();
    let lists = Filter::only(|call| call.name.is_empty()).of("secrets");
    faults.refuse(&lists, 403);
    let client = faults.client(&stage.platform.cluster.client());
    stage.platform.start_manager(client).await?;
    stage
        .edit(&stage.path("thing"), json!({"spec": {"text": "other"}}))
        .await?;
    until(&stage, "it says what cannot be read", |found| {
        condition(found, "Synced").is_some_and(|synced| {
            let message = synced["message"].as_str().unwrap_or_default();
            synced["status"] == "False" && message.contains("Secret")
        })
    })
    .await?;
    let after = stage.composed("thing").await?;
    assert_eq!(after.len(), 1, "what is composed stays");
    assert_eq!(after[0]["metadata"]["uid"], before["metadata"]["uid"]);
    faults.allow();
    stage.says("thing", "other").await?;
    Ok(())
}
