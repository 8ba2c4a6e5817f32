//! Calls to a function that runs: what arrives, what comes back, and everything that can go wrong in between.

use crate::server::{FunctionServer, Reply, passing_on};
use cambium_compositions_render::function::{
    Condition, ConditionStatus, CredentialData, Credentials, Ready, Request, ResourceSelector, Response,
    Severity, Target,
};
use cambium_functions::wire::{self, RUN_FUNCTION};
use cambium_functions::{ANSWER_LIMIT, CallError, Endpoint, Functions, Plain, Tls};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, ExtendedKeyUsagePurpose, IsCa, KeyPair};
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinSet;
use tonic::Status;
use tonic::transport::{Certificate, Identity, ServerTlsConfig};

/// Longer than any answer takes.
const LONG: Duration = Duration::from_secs(20);

fn plain(server: &FunctionServer) -> Endpoint {
    Endpoint::new("f", &server.endpoint(), None, Plain::OnLoopback).unwrap()
}

fn request() -> Request {
    let written = json!({
        "meta": {"tag": "t"},
        "observed": {
            "composite": {"resource": {"kind": "XThing", "spec": {"count": 3, "share": 0.5, "list": [1, null, "x", true]}}},
            "resources": {"a": {"resource": {"kind": "ConfigMap"}, "connectionDetails": {"user": "YWRtaW4="}}},
        },
        "desired": {"composite": {}, "resources": {"b": {"resource": {"kind": "Secret"}, "ready": "READY_TRUE"}}},
        "input": {"kind": "Input", "text": "hello"},
        "context": {"key": {"deep": [1, 2]}},
        "requiredResources": {"all": {"items": [{"resource": {"kind": "Namespace"}}]}},
        "extraResources": {"old": {"items": []}},
    });
    let mut request: Request = serde_json::from_value(written).unwrap();
    let data = [("key".to_owned(), b"\xff secret".to_vec())].into();
    let credential_data = CredentialData { data };
    request
        .credentials
        .insert("cloud".to_owned(), Credentials { credential_data });
    request
}

async fn call(server: &FunctionServer) -> Result<Response, CallError> {
    Functions::default().call(&plain(server), &request(), LONG).await
}

#[tokio::test]
async fn a_request_arrives_whole_and_says_what_we_can_do() {
    let server = FunctionServer::start(|request| Reply::answer(passing_on(&request))).await;
    let response = call(&server).await.unwrap();
    let sent = request();
    assert_eq!(response.desired, sent.desired);
    assert_eq!(response.context, sent.context);
    let asked = server.asked().remove(0);
    assert_eq!(asked, cambium_functions::asked(&sent));
    let meta = asked.meta.unwrap();
    assert_eq!(meta.tag, "t");
    assert_eq!(meta.capabilities, [1, 2, 3, 4]);
    let observed = asked.observed.unwrap();
    assert_eq!(observed.resources["a"].connection_details["user"], b"admin");
    assert_eq!(asked.required_resources["all"].items.len(), 1);
    assert_eq!(asked.extra_resources["old"].items.len(), 0);
    let Some(wire::Source::CredentialData(data)) = &asked.credentials["cloud"].source else {
        panic!("credentials arrive");
    };
    assert_eq!(data.data["key"], b"\xff secret");
    assert_eq!(format!("{data:?}"), "CredentialData(…)");
}

#[tokio::test]
async fn an_answer_arrives_whole() {
    let server = FunctionServer::start(|_| {
        Reply::answer(wire::RunFunctionResponse {
            meta: Some(wire::ResponseMeta {
                tag: "t".to_owned(),
                ttl: Some(prost_types::Duration {
                    seconds: 1,
                    nanos: 500_000_000,
                }),
            }),
            results: vec![wire::RunResult {
                severity: wire::Severity::Warning.into(),
                message: "careful".to_owned(),
                reason: Some("Careful".to_owned()),
                target: Some(wire::Target::CompositeAndClaim.into()),
            }],
            requirements: Some(wire::Requirements {
                resources: [(
                    "maps".to_owned(),
                    wire::ResourceSelector {
                        api_version: "v1".to_owned(),
                        kind: "ConfigMap".to_owned(),
                        match_: Some(wire::Match::MatchName("one".to_owned())),
                        namespace: Some("here".to_owned()),
                    },
                )]
                .into(),
                ..wire::Requirements::default()
            }),
            conditions: vec![wire::Condition {
                type_: "Fine".to_owned(),
                status: wire::Status::False.into(),
                reason: "Not".to_owned(),
                message: None,
                target: None,
            }],
            ..wire::RunFunctionResponse::default()
        })
    })
    .await;
    let response = call(&server).await.unwrap();
    assert_eq!(response.meta.ttl.as_deref(), Some("1.500000000s"));
    assert_eq!(response.results[0].severity, Severity::Warning);
    assert_eq!(response.results[0].target, Some(Target::CompositeAndClaim));
    assert_eq!(
        response.requirements.required_resources["maps"],
        ResourceSelector {
            api_version: "v1".to_owned(),
            kind: "ConfigMap".to_owned(),
            match_name: Some("one".to_owned()),
            match_labels: None,
            namespace: Some("here".to_owned()),
        }
    );
    assert_eq!(
        response.conditions,
        [Condition {
            kind: "Fine".to_owned(),
            status: ConditionStatus::False,
            reason: "Not".to_owned(),
            message: None,
            target: None,
        }]
    );
    assert_eq!(response.desired.composite.ready, Ready::Unspecified);
    assert_eq!(response.desired.resources, [].into());
}

#[tokio::test]
async fn a_function_that_knows_only_the_old_protocol_is_called_with_it() {
    let server = FunctionServer::beta(|request| Reply::answer(passing_on(&request))).await;
    assert_eq!(call(&server).await.unwrap().desired, request().desired);
    assert_eq!(server.asked().len(), 1);
}

#[tokio::test]
async fn somebody_who_is_no_function_is_told_from_one() {
    let server = FunctionServer::serve("127.0.0.1:0", "/something.Else/Call", None, |_| Reply::Never).await;
    let error = call(&server).await.unwrap_err();
    assert!(matches!(error, CallError::NotAFunction { .. }), "{error}");
}

#[tokio::test]
async fn one_connection_serves_many_calls_at_once_and_a_function_that_moves_is_followed() {
    let functions = Arc::new(Functions::default());
    let one = FunctionServer::start(|request| Reply::answer(passing_on(&request))).await;
    let mut calls = JoinSet::new();
    for _ in 0..20 {
        let (functions, endpoint) = (functions.clone(), plain(&one));
        calls.spawn(async move { functions.call(&endpoint, &request(), LONG).await });
    }
    let answers = calls.join_all().await;
    assert!(answers.iter().all(Result::is_ok));
    assert_eq!(one.asked().len(), 20);
    let other = FunctionServer::start(|request| Reply::answer(passing_on(&request))).await;
    functions.call(&plain(&other), &request(), LONG).await.unwrap();
    assert_eq!((one.asked().len(), other.asked().len()), (20, 1));
}

#[tokio::test]
async fn a_function_that_restarts_between_calls_is_found_again() {
    let functions = Functions::default();
    let first = FunctionServer::start(|request| Reply::answer(passing_on(&request))).await;
    let endpoint = plain(&first);
    functions.call(&endpoint, &request(), LONG).await.unwrap();
    let address = first.stop().await.to_string();
    let error = functions.call(&endpoint, &request(), LONG).await.unwrap_err();
    assert!(matches!(error, CallError::Unreachable { .. }), "{error}");
    assert!(
        error
            .to_string()
            .contains(&format!("function \"f\" at {address}")),
        "{error}"
    );
    let second = FunctionServer::serve(&address, RUN_FUNCTION, None, |request| {
        Reply::answer(passing_on(&request))
    })
    .await;
    functions.call(&endpoint, &request(), LONG).await.unwrap();
    assert_eq!(second.asked().len(), 1);
}

#[tokio::test]
async fn a_function_that_is_away_for_a_moment_is_waited_for() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    drop(listener);
    let endpoint = Endpoint::new("f", &address, None, Plain::OnLoopback).unwrap();
    let functions = Functions::default();
    let request = request();
    let (answer, _server) = tokio::join!(functions.call(&endpoint, &request, LONG), async {
        tokio::time::sleep(Duration::from_millis(20)).await;
        FunctionServer::serve(&address, RUN_FUNCTION, None, |request| {
            Reply::answer(passing_on(&request))
        })
        .await
    });
    answer.unwrap();
}

#[tokio::test]
async fn a_function_that_does_not_answer_is_not_waited_for_longer_than_the_deadline() {
    let server = FunctionServer::start(|_| Reply::Never).await;
    let short = Duration::from_millis(50);
    let error = Functions::default()
        .call(&plain(&server), &request(), short)
        .await
        .unwrap_err();
    assert!(
        matches!(error, CallError::Deadline { deadline, .. } if deadline == short),
        "{error}"
    );
    let text = error.to_string();
    assert!(text.contains("did not answer within 0.05s"), "{text}");
}

#[tokio::test]
async fn what_a_function_says_about_its_failure_is_passed_on_but_not_all_of_a_long_story() {
    let server = FunctionServer::start(|_| Reply::Error(Status::internal("é".repeat(2000)))).await;
    let error = call(&server).await.unwrap_err();
    let CallError::Failed { code, message, .. } = error else {
        panic!("{error}");
    };
    assert_eq!((code.as_str(), message.len()), ("Internal", 1024));
}

#[tokio::test]
async fn garbage_is_no_answer() {
    let server = FunctionServer::start(|_| Reply::Bytes(b"\x12\xff\xff\xff\xffgarbage".to_vec())).await;
    let error = call(&server).await.unwrap_err();
    assert!(matches!(error, CallError::Garbled { .. }), "{error}");
    let number = prost_types::Value {
        kind: Some(prost_types::value::Kind::NumberValue(f64::NAN)),
    };
    let server = FunctionServer::start(move |_| {
        let fields = [("number".to_owned(), number.clone())].into();
        let context = Some(prost_types::Struct { fields });
        Reply::answer(wire::RunFunctionResponse {
            context,
            ..wire::RunFunctionResponse::default()
        })
    })
    .await;
    let error = call(&server).await.unwrap_err().to_string();
    assert!(error.contains("NaN, which is no number"), "{error}");
}

#[tokio::test]
async fn a_function_that_wants_schemas_is_told_that_there_are_none() {
    let server = FunctionServer::start(|_| {
        let schemas = [("pods".to_owned(), wire::SchemaSelector::default())].into();
        Reply::answer(wire::RunFunctionResponse {
            requirements: Some(wire::Requirements {
                schemas,
                ..wire::Requirements::default()
            }),
            ..wire::RunFunctionResponse::default()
        })
    })
    .await;
    let error = call(&server).await.unwrap_err().to_string();
    assert!(error.contains("schemas of kinds (pods)"), "{error}");
}

#[tokio::test]
async fn an_answer_that_is_too_large_is_refused() {
    let server = FunctionServer::start(|_| Reply::Bytes(vec![0; ANSWER_LIMIT + 1])).await;
    let error = call(&server).await.unwrap_err();
    assert!(
        matches!(
            error,
            CallError::AnswerTooLarge {
                limit: ANSWER_LIMIT,
                ..
            }
        ),
        "{error}"
    );
}

#[tokio::test]
async fn no_error_tells_what_was_sent() {
    let replies: [fn() -> Reply; 3] = [
        || Reply::Error(Status::internal("no")),
        || Reply::Bytes(vec![0xff; 9]),
        || Reply::Never,
    ];
    for reply in replies {
        let server = FunctionServer::start(move |_| reply()).await;
        let functions = Functions::default();
        let short = Duration::from_millis(200);
        let error = functions
            .call(&plain(&server), &request(), short)
            .await
            .unwrap_err();
        for told in [error.to_string(), format!("{error:?}")] {
            assert!(!told.contains("secret") && !told.contains("hello"), "{told}");
        }
    }
}

/// An authority, and a certificate and key that it signed for this name.
fn certificates(name: &str) -> (String, String, String) {
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::new([name.to_owned()]).unwrap();
    params.extended_key_usages = vec![
        ExtendedKeyUsagePurpose::ServerAuth,
        ExtendedKeyUsagePurpose::ClientAuth,
    ];
    let leaf = params.signed_by(&key, &authority).unwrap();
    (authority.pem(), leaf.pem(), key.serialize_pem())
}

#[tokio::test]
async fn over_tls_both_sides_show_who_they_are() {
    let (authority, certificate, key) = certificates("function.system");
    let config = ServerTlsConfig::new()
        .identity(Identity::from_pem(&certificate, &key))
        .client_ca_root(Certificate::from_pem(&authority));
    let answer = |request: wire::RunFunctionRequest| Reply::answer(passing_on(&request));
    let server = FunctionServer::serve("127.0.0.1:0", RUN_FUNCTION, Some(config), answer).await;
    let tls = Tls {
        authority: authority.clone().into(),
        identity: Some((certificate.into(), key.clone().into())),
        server_name: Some("function.system".to_owned()),
    };
    let endpoint = |tls: Tls| Endpoint::new("f", &server.endpoint(), Some(tls), Plain::OnLoopback).unwrap();
    let functions = Functions::default();
    functions
        .call(&endpoint(tls.clone()), &request(), LONG)
        .await
        .unwrap();

    let (stranger, ..) = certificates("function.system");
    let wrong = [
        Tls {
            authority: stranger.into(),
            ..tls.clone()
        },
        Tls {
            server_name: None,
            ..tls.clone()
        },
        Tls {
            identity: None,
            ..tls.clone()
        },
    ];
    for tls in wrong {
        let error = functions
            .call(&endpoint(tls), &request(), LONG)
            .await
            .unwrap_err();
        assert!(!error.to_string().contains("PRIVATE"), "{error}");
    }
    assert_eq!(server.asked().len(), 1);

    let unusable = Tls {
        identity: Some((b"nothing".to_vec(), key.clone().into())),
        ..tls
    };
    let error = functions
        .call(&endpoint(unusable), &request(), LONG)
        .await
        .unwrap_err();
    assert!(matches!(error, CallError::Certificates { .. }), "{error}");
    assert!(
        !format!("{error:?}").contains(key.lines().nth(1).unwrap()),
        "{error:?}"
    );
}
