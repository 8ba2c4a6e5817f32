//! The server and its clients, good and bad.

use std::sync::Arc;
use std::time::Duration;

use crate::support::{AsAnnotated, signing};
use anyhow::Result;
use bytes::Bytes;
use cambium_apiserver::pki::{self, Identity};
use cambium_convert::Converter;
use cambium_webhooks::admission::{Admission, AdmissionRequest, Validator, Verdict};
use cambium_webhooks::certificates::{Authority, Leaf, Resolver};
use cambium_webhooks::server::{Clients, Hooks, Limits, Server};
use futures::future::{BoxFuture, FutureExt};
use http::Request;
use http_body_util::{BodyExt, Full};
use hyper_util::rt::{TokioExecutor, TokioIo};
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::admissionregistration::v1::RuleWithOperations;
use rustls::RootCertStore;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

/// A server, and what it takes to speak with it.
struct Play {
    server: Server,
    resolver: Arc<Resolver>,
    authority: Authority,
    /// What the client shows.
    shows: Option<Identity>,
}

/// Times that a test can wait for.
fn impatient() -> Limits {
    let soon = Duration::from_millis(100);
    Limits {
        hello: soon,
        head_time: soon,
        body_time: soon,
        validation: soon,
        ..Limits::default()
    }
}

impl Play {
    async fn start(limits: Limits, hooks: Hooks) -> Result<Self> {
        Self::start_for(limits, hooks, Clients::Anybody).await
    }

    async fn start_for(limits: Limits, hooks: Hooks, clients: Clients) -> Result<Self> {
        let now = Timestamp::now();
        let authority = Authority::generate(now, SignedDuration::from_hours(24))?;
        let resolver = Arc::new(Resolver::default());
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let play = Self {
            server: Server::start_for(listener, resolver.clone(), hooks, limits, clients)?,
            resolver,
            authority,
            shows: None,
        };
        play.renew()?;
        Ok(play)
    }

    async fn usual() -> Result<Self> {
        Self::start(Limits::default(), Hooks::new(annotated_only())).await
    }

    fn renew(&self) -> Result<()> {
        let now = Timestamp::now();
        let until = now + SignedDuration::from_hours(1);
        let names = ["127.0.0.1".to_owned()];
        self.resolver
            .swap(Leaf::sign(&self.authority, &names, now, until)?);
        Ok(())
    }

    async fn tls(&self, protocol: &[u8]) -> Result<TlsStream<TcpStream>> {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_slice(
            self.authority.certificate().pem().as_bytes(),
        )?)?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = rustls::ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_root_certificates(roots);
        let mut config = match &self.shows {
            None => config.with_no_client_auth(),
            Some(identity) => config.with_client_auth_cert(
                vec![CertificateDer::from_pem_slice(identity.certificate.as_bytes())?],
                PrivateKeyDer::from_pem_slice(identity.key.as_bytes())?,
            )?,
        };
        config.alpn_protocols = vec![protocol.to_vec()];
        let stream = TcpStream::connect(self.server.address()).await?;
        let name = ServerName::try_from("127.0.0.1")?;
        Ok(TlsConnector::from(Arc::new(config)).connect(name, stream).await?)
    }

    /// A request on a connection of its own.
    async fn send(&self, request: Request<Full<Bytes>>) -> Result<(u16, String)> {
        let stream = TokioIo::new(self.tls(b"http/1.1").await?);
        let (mut sender, connection) = hyper::client::conn::http1::handshake(stream).await?;
        tokio::spawn(connection);
        let response = sender.send_request(request).await?;
        let code = response.status().as_u16();
        let body = response.into_body().collect().await?.to_bytes();
        Ok((code, String::from_utf8(body.to_vec())?))
    }

    async fn post(&self, path: &str, body: impl Into<Bytes>) -> Result<(u16, String)> {
        self.send(post(path, body)).await
    }

    /// What comes back for these bytes, until the server closes.
    async fn bytes(&self, bytes: &[u8]) -> Result<String> {
        let mut stream = self.tls(b"http/1.1").await?;
        stream.write_all(bytes).await?;
        let mut answer = Vec::new();
        // The end may be abrupt: the server does not read to the end of what it has refused.
        let _ = stream.read_to_end(&mut answer).await;
        Ok(String::from_utf8_lossy(&answer).into_owned())
    }

    async fn is_well(&self) -> Result<()> {
        assert_eq!(
            self.post("/convert", review("v1", &["web"]).to_string()).await?.0,
            200
        );
        Ok(())
    }
}

fn post(path: &str, body: impl Into<Bytes>) -> Request<Full<Bytes>> {
    let request = Request::post(path)
        .header("host", "127.0.0.1")
        .header("content-type", "application/json; charset=utf-8");
    request.body(Full::new(body.into())).unwrap()
}

/// Definitions with these names, to v2beta1.
fn review(version: &str, names: &[&str]) -> Value {
    let object = |name| {
        json!({"apiVersion": "core.oam.dev/v1beta1", "kind": "TraitDefinition",
            "metadata": {"name": name}, "spec": {"version": "1.2.3"}})
    };
    let objects: Vec<Value> = names.iter().map(object).collect();
    json!({"apiVersion": format!("apiextensions.k8s.io/{version}"), "kind": "ConversionReview",
        "request": {"uid": "42", "desiredAPIVersion": "core.oam.dev/v2beta1", "objects": objects}})
}

fn admission(version: &str, object: &Value) -> Value {
    json!({"apiVersion": format!("admission.k8s.io/{version}"), "kind": "AdmissionReview",
        "request": {"uid": "42", "operation": "CREATE", "object": object, "somethingNew": {}}})
}

fn annotated_only() -> Admission {
    Admission::validating(vec![Arc::new(AsAnnotated)])
}

fn annotated(annotation: &str, text: &str) -> Value {
    json!({"metadata": {"annotations": {annotation: text}}})
}

#[tokio::test]
async fn reviews_are_answered_in_their_own_version() -> Result<()> {
    let play = Play::usual().await?;
    for version in ["v1", "v1beta1"] {
        let (code, answer) = play
            .post("/convert?timeout=30s", review(version, &["a", "b"]).to_string())
            .await?;
        let answer: Value = serde_json::from_str(&answer)?;
        assert_eq!(
            (code, &answer["apiVersion"], &answer["response"]["uid"]),
            (
                200,
                &json!(format!("apiextensions.k8s.io/{version}")),
                &json!("42")
            )
        );
        let converted = answer["response"]["convertedObjects"].as_array().unwrap();
        assert_eq!(
            (converted.len(), &converted[1]["metadata"]["name"]),
            (2, &json!("b"))
        );

        let object = annotated("warn", "mind the step");
        let (code, answer) = play
            .post("/admit/as-annotated", admission(version, &object).to_string())
            .await?;
        let expected = json!({"apiVersion": format!("admission.k8s.io/{version}"), "kind": "AdmissionReview",
            "response": {"uid": "42", "allowed": true, "warnings": ["mind the step"]}});
        assert_eq!((code, serde_json::from_str::<Value>(&answer)?), (200, expected));

        let object = annotated("deny", "no, because");
        let (code, answer) = play
            .post("/admit/as-annotated", admission(version, &object).to_string())
            .await?;
        let expected = json!({"apiVersion": format!("admission.k8s.io/{version}"), "kind": "AdmissionReview",
            "response": {"uid": "42", "allowed": false, "status":
                {"status": "Failure", "code": 422, "reason": "Invalid", "message": "no, because",
                    "details": {"causes": [{"reason": "FieldValueInvalid", "field": "spec", "message": "no, because"}]}}}});
        assert_eq!((code, serde_json::from_str::<Value>(&answer)?), (200, expected));
    }
    play.server.stop().await;
    Ok(())
}

#[tokio::test]
async fn a_mutator_answers_with_a_patch_or_a_denial() -> Result<()> {
    let play = Play::start(impatient(), Hooks::new(signing())).await?;
    let ask = async |object: Value| -> Result<Value> {
        let (code, answer) = play
            .post("/mutate/signs", admission("v1", &object).to_string())
            .await?;
        assert_eq!(code, 200, "{answer}");
        Ok(serde_json::from_str::<Value>(&answer)?["response"].clone())
    };
    let answer = ask(annotated("warn", "mind the step")).await?;
    assert_eq!(
        (&answer["allowed"], &answer["patchType"], &answer["warnings"]),
        (&json!(true), &json!("JSONPatch"), &json!(["mind the step"]))
    );
    let patch: k8s_openapi::ByteString = serde_json::from_value(answer["patch"].clone())?;
    // What separates the parts of a JSON pointer is escaped in a key.
    assert_eq!(
        serde_json::from_slice::<Value>(&patch.0)?,
        json!([{"op": "add", "path": "/metadata/annotations/example.dev~1signed", "value": ""}])
    );
    for (told, code, message) in [
        ("deny", 403, "not you"),
        (
            "panic",
            500,
            "the mutator \"signs\" failed; the log of the manager has the reason",
        ),
        (
            "hang",
            500,
            "the mutator \"signs\" timed out after 100ms; try again",
        ),
    ] {
        let answer = ask(annotated(told, "not you")).await?;
        assert_eq!(
            (
                &answer["allowed"],
                &answer["status"]["code"],
                &answer["status"]["message"]
            ),
            (&json!(false), &json!(code), &json!(message))
        );
        assert!(answer["patch"].is_null(), "{answer}");
    }
    // Validators and mutators have paths of their own.
    assert_eq!(play.post("/admit/signs", "{}").await?.0, 404);
    play.server.stop().await;
    Ok(())
}

#[tokio::test]
async fn with_an_authority_for_clients_only_they_are_answered() -> Result<()> {
    let now = Timestamp::now();
    let [ours, other] = [pki::Authority::generate(now)?, pki::Authority::generate(now)?];
    let clients = Clients::signed_by(ours.certificate().as_bytes())?;
    let mut play = Play::start_for(impatient(), Hooks::new(annotated_only()), clients).await?;
    let question = || admission("v1", &annotated("warn", "x")).to_string();
    let (code, text) = play.post("/admit/as-annotated", question()).await?;
    assert_eq!(
        (code, text.trim()),
        (403, "a client certificate is required here")
    );
    assert_eq!(
        play.post("/convert", review("v1", &["a"]).to_string()).await?.0,
        403
    );
    // Probes have no certificate.
    let probe = Request::get("/healthz").header("host", "127.0.0.1");
    assert_eq!(play.send(probe.body(Full::default())?).await?.0, 200);
    // One of somebody else is worse than none.
    play.shows = Some(other.client("kube-apiserver", &[], now)?);
    assert!(play.post("/admit/as-annotated", question()).await.is_err());
    play.shows = Some(ours.client("kube-apiserver", &[], now)?);
    assert_eq!(play.post("/admit/as-annotated", question()).await?.0, 200);
    play.is_well().await?;
    assert!(Clients::signed_by(b"nothing").is_err());
    play.server.stop().await;
    Ok(())
}

#[tokio::test]
async fn many_reviews_on_one_connection_of_http_2() -> Result<()> {
    let play = Play::usual().await?;
    let stream = TokioIo::new(play.tls(b"h2").await?);
    let (sender, connection) = hyper::client::conn::http2::handshake(TokioExecutor::new(), stream).await?;
    tokio::spawn(connection);
    let url = format!("https://{}/convert", play.server.address());
    let all = (0..200).map(|number| {
        let (mut sender, mut request) = (sender.clone(), post(&url, review("v1", &["web"]).to_string()));
        *request.version_mut() = http::Version::HTTP_2;
        async move {
            let response = sender.send_request(request).await?;
            anyhow::ensure!(response.status() == 200, "{number}: {}", response.status());
            Ok(())
        }
    });
    futures::future::try_join_all(all).await?;
    Ok(())
}

#[tokio::test]
async fn what_is_no_review_is_refused_in_words() -> Result<()> {
    let play = Play::usual().await?;
    let request = |method: &str, path: &str, media: &str, body: &str| {
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header("host", "x")
            .header("content-type", media);
        request.body(Full::new(Bytes::from(body.to_owned()))).unwrap()
    };
    let json = "application/json";
    let good = review("v1", &["web"]).to_string();
    let no_uid = json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
        "request": {"uid": "", "operation": "CREATE"}});
    let odd = json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
        "request": {"uid": "1", "operation": "DANCE"}});
    let no_request = json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview"});
    let old = json!({"apiVersion": "admission.k8s.io/v1alpha1", "kind": "AdmissionReview"});
    let deep = format!("{}1{}", "[".repeat(100_000), "]".repeat(100_000));
    let admit = "/admit/as-annotated";
    let cases = [
        (request("GET", "/healthz", json, ""), 200, "ok"),
        (request("POST", "/healthz", json, ""), 405, "GET, HEAD"),
        (request("GET", "/", json, ""), 404, "served at /"),
        (
            request("POST", "/convert/", json, &good),
            404,
            "served at /convert/",
        ),
        (
            request("POST", "/admit/nobody", json, &good),
            404,
            "served at /admit/nobody",
        ),
        (request("GET", "/convert", json, ""), 405, "POST"),
        (request("GET", admit, json, ""), 405, "POST"),
        (
            request("POST", "/convert", "text/plain", &good),
            415,
            "expected application/json",
        ),
        (
            request("POST", admit, "application/yaml", &good),
            415,
            "expected application/json",
        ),
        (
            request("POST", "/convert", json, ""),
            400,
            "not a ConversionReview: EOF",
        ),
        (
            request("POST", "/convert", json, "garbage"),
            400,
            "not a ConversionReview: expected value",
        ),
        (request("POST", "/convert", json, "[]"), 400, "its kind is null"),
        (request("POST", "/convert", json, &deep), 400, "recursion limit"),
        (
            request("POST", "/convert", json, &no_uid.to_string()),
            400,
            "its kind is \"AdmissionReview\"",
        ),
        (
            request("POST", admit, json, ""),
            400,
            "not an AdmissionReview: EOF",
        ),
        (
            request("POST", admit, json, "{\"a\": "),
            400,
            "not an AdmissionReview: EOF",
        ),
        (
            request("POST", admit, json, &good),
            400,
            "are not those of v1 or v1beta1",
        ),
        (
            request("POST", admit, json, &old.to_string()),
            400,
            "are not those of v1 or v1beta1",
        ),
        (
            request("POST", admit, json, &no_request.to_string()),
            400,
            "it has no request",
        ),
        (
            request("POST", admit, json, &no_uid.to_string()),
            400,
            "uid is empty",
        ),
        (
            request("POST", admit, json, &odd.to_string()),
            400,
            "unknown variant `DANCE`",
        ),
    ];
    for (request, code, text) in cases {
        let what = format!("{} {}", request.method(), request.uri());
        let answer = play.send(request).await?;
        assert!(answer.0 == code && answer.1.contains(text), "{what}: {answer:?}");
    }
    // A review that is wrong inside is answered: the API server shows the message of an answer, and hides an HTTP error.
    let mut wrong = review("v1", &["web"]);
    wrong["request"]
        .as_object_mut()
        .unwrap()
        .remove("desiredAPIVersion");
    let (code, answer) = play.post("/convert", wrong.to_string()).await?;
    assert!(
        code == 200 && answer.contains("request.desiredAPIVersion is missing"),
        "{answer}"
    );
    Ok(())
}

#[tokio::test]
async fn a_body_or_head_that_is_too_large_is_not_read() -> Result<()> {
    let play = Play::usual().await?;
    let head = "POST /convert HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n";
    let announced = format!("{head}content-length: 9000000\r\n\r\n");
    let answer = play.bytes(announced.as_bytes()).await?;
    assert!(
        answer.starts_with("HTTP/1.1 413") && answer.contains("more than 8388608 bytes"),
        "{answer}"
    );
    let limits = Limits {
        body: 1000,
        ..Limits::default()
    };
    let small = Play::start(limits, Hooks::new(Admission::default())).await?;
    let chunk = format!("400\r\n{}\r\n", "x".repeat(0x400));
    let chunked = format!("{head}transfer-encoding: chunked\r\n\r\n{chunk}");
    let answer = small.bytes(chunked.as_bytes()).await?;
    assert!(answer.starts_with("HTTP/1.1 413"), "{answer}");
    let long = format!(
        "GET /healthz HTTP/1.1\r\nhost: x\r\nlong: {}\r\n\r\n",
        "x".repeat(300_000)
    );
    let answer = play.bytes(long.as_bytes()).await?;
    assert!(answer.starts_with("HTTP/1.1 431"), "{answer}");
    let answer = play.bytes(b"\x00\x01garbage\r\n\r\n").await?;
    assert!(
        answer.is_empty() || answer.starts_with("HTTP/1.1 400"),
        "{answer}"
    );
    play.is_well().await
}

#[tokio::test]
async fn who_is_slow_or_silent_holds_up_nobody() -> Result<()> {
    let play = Play::start(impatient(), Hooks::new(Admission::default())).await?;
    let mut silent = TcpStream::connect(play.server.address()).await?;
    let mut no_tls = TcpStream::connect(play.server.address()).await?;
    no_tls.write_all(b"GET / HTTP/1.1\r\n\r\n").await?;
    let mut half_head = play.tls(b"http/1.1").await?;
    half_head.write_all(b"POST /convert HTTP/1.1\r\nhos").await?;
    let head =
        "POST /convert HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{";
    let late = play.bytes(head.as_bytes());
    play.is_well().await?;
    assert!(late.await?.starts_with("HTTP/1.1 408"));
    // Each is closed by the server; that it happens at all is what counts.
    let mut buffer = Vec::new();
    let _ = silent.read_to_end(&mut buffer).await;
    let _ = no_tls.read_to_end(&mut buffer).await;
    let _ = half_head.read_to_end(&mut buffer).await;
    play.is_well().await
}

#[tokio::test]
async fn idle_connections_are_closed_and_make_room() -> Result<()> {
    let limits = Limits {
        connections: 1,
        idle: Duration::from_millis(100),
        farewell: Duration::from_millis(100),
        ..Limits::default()
    };
    let play = Play::start(limits, Hooks::new(Admission::default())).await?;
    for protocol in [b"h2".as_slice(), b"http/1.1"] {
        let _idle = play.tls(protocol).await?;
        // Waits in the queue until the first is closed.
        play.is_well().await?;
    }
    Ok(())
}

#[tokio::test]
async fn a_panic_is_an_answer_about_one_object() -> Result<()> {
    let mut hooks = Hooks::new(annotated_only());
    let converters = hooks.converters.clone();
    let fragile = Converter::new(
        ["core.oam.dev/v1beta1", "core.oam.dev/v2beta1"],
        move |object, desired| {
            if object["metadata"]["name"] == "bad" {
                panic!("cannot bear it");
            }
            converters.convert(object, desired)
        },
    );
    hooks
        .converters
        .register("core.oam.dev", "TraitDefinition", fragile);
    let play = Play::start(impatient(), hooks).await?;
    let (code, answer) = play
        .post("/convert", review("v1", &["good", "bad", "other"]).to_string())
        .await?;
    let answer: Value = serde_json::from_str(&answer)?;
    assert_eq!(
        (code, &answer["response"]["result"]["status"]),
        (200, &json!("Failure"))
    );
    let message = answer["response"]["result"]["message"].as_str().unwrap();
    assert!(
        message.contains("objects[1], TraitDefinition bad") && message.contains("cannot bear it"),
        "{message}"
    );

    for (annotation, code, text) in [
        ("panic", 500, "the log of the manager has the reason"),
        ("hang", 500, "timed out after 100ms"),
    ] {
        let object = annotated(annotation, "");
        let answer = play
            .post("/admit/as-annotated", admission("v1", &object).to_string())
            .await?;
        let answer: Value = serde_json::from_str(&answer.1)?;
        let response = &answer["response"];
        assert_eq!(
            (&response["uid"], &response["allowed"]),
            (&json!("42"), &json!(false))
        );
        assert_eq!(response["status"]["code"], code);
        assert!(
            response["status"]["message"].as_str().unwrap().contains(text),
            "{response}"
        );
    }
    play.is_well().await
}

/// Says what it was told, when it is let.
struct Told(Arc<Semaphore>);

impl Validator for Told {
    fn path(&self) -> &'static str {
        "told"
    }

    fn rules(&self) -> Vec<RuleWithOperations> {
        Vec::new()
    }

    fn validate<'a>(&'a self, request: &'a AdmissionRequest) -> BoxFuture<'a, Verdict> {
        async move {
            self.0.acquire().await.unwrap().forget();
            Verdict::forbidden(serde_json::to_string(&[&request.object, &request.old_object]).unwrap())
        }
        .boxed()
    }
}

#[tokio::test]
async fn validators_see_objects_whole() -> Result<()> {
    let play = Play::start(
        Limits::default(),
        Hooks::new(Admission::validating(vec![Arc::new(Told(Arc::new(
            Semaphore::new(1),
        )))])),
    )
    .await?;
    let object =
        json!({"metadata": {"name": "a", "newInMetadata": [1, null]}, "unknown": {"b": 1.5}, "status": null});
    let review = json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
        "request": {"uid": "1", "operation": "DELETE", "object": null, "oldObject": object}});
    let (_, answer) = play.post("/admit/told", review.to_string()).await?;
    let answer: Value = serde_json::from_str(&answer)?;
    let told: Value = serde_json::from_str(answer["response"]["status"]["message"].as_str().unwrap())?;
    assert_eq!(told, json!([null, object]));
    Ok(())
}

#[tokio::test]
async fn a_server_that_stops_answers_what_it_was_asked() -> Result<()> {
    let gate = Arc::new(Semaphore::new(0));
    let play = Play::start(
        Limits::default(),
        Hooks::new(Admission::validating(vec![Arc::new(Told(gate.clone()))])),
    )
    .await?;
    let address = play.server.address();
    let stream = TokioIo::new(play.tls(b"http/1.1").await?);
    let (mut sender, connection) = hyper::client::conn::http1::handshake(stream).await?;
    tokio::spawn(connection);
    let asked = sender.send_request(post("/admit/told", admission("v1", &json!({})).to_string()));
    let asked = tokio::spawn(asked);
    let _idle = play.tls(b"h2").await?;
    let stopping = tokio::spawn(play.server.stop());
    while TcpStream::connect(address).await.is_ok() {
        tokio::task::yield_now().await;
    }
    gate.add_permits(1);
    let answer = asked.await??;
    assert_eq!(answer.status(), 200);
    stopping.await?;
    Ok(())
}

#[tokio::test]
async fn a_new_certificate_disturbs_nobody() -> Result<()> {
    let play = Play::usual().await?;
    let shown = |stream: &TlsStream<TcpStream>| stream.get_ref().1.peer_certificates().unwrap()[0].clone();
    let before = play.tls(b"http/1.1").await?;
    let old = shown(&before);
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(before)).await?;
    tokio::spawn(connection);
    let ask = || post("/convert", review("v1", &["web"]).to_string());
    sender.send_request(ask()).await?.into_body().collect().await?;
    play.renew()?;
    assert_ne!(shown(&play.tls(b"http/1.1").await?), old);
    sender.ready().await?;
    assert_eq!(
        sender.send_request(ask()).await?.status(),
        200,
        "the connection from before"
    );
    Ok(())
}
