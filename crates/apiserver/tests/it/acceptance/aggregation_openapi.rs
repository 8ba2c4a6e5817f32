//! Aggregation: the OpenAPI of aggregated API servers.

use std::sync::Arc;

use crate::acceptance::backend::{Asked, Response, SERVICES, Seen, answer, recording, register, until};
use anyhow::Result;
use base64::Engine as _;
use cambium_testing::{Backend, HttpsServer, Raw, Respond, TestCluster, eventually, eventually_some};
use futures::StreamExt as _;
use http_body_util::{BodyExt as _, Empty, StreamBody};
use hyper::body::{Bytes, Frame};
use serde_json::{Value, json};

const META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";
/// The ETag of the backend's documents.
const TAG: &str = "\"A1\"";

/// Starts a backend under the name of its Service, and registers it.
async fn start(raw: &Raw, namespace: &str, group: &str, respond: Respond) -> Result<HttpsServer> {
    let server = HttpsServer::start(&[format!("gadgets.{namespace}.svc")], respond).await?;
    let bundle = base64::engine::general_purpose::STANDARD.encode(server.authority());
    register(raw, namespace, group, server.port(), json!({"caBundle": bundle})).await?;
    until(raw, group, "True", "Passed").await?;
    Ok(server)
}

/// A backend with OpenAPI v2 and v3.
fn described(group: String, seen: Seen) -> Respond {
    recording(seen, move |request| {
        let document = match request.uri().path() {
            "/openapi/v3" => index(&group),
            "/openapi/v2" => swagger(&group),
            path if path == format!("/openapi/v3/apis/{group}/v1") => {
                json!({"openapi": "3.0.0", "info": {"title": "gadgets", "version": "v1"}, "paths": {}})
            }
            path => return resources(&group, path),
        };
        let known = request.headers().get("if-none-match");
        let mut response = match known.is_some_and(|known| known == TAG) {
            true => empty(304),
            false => answer(200, &document),
        };
        response.headers_mut().insert("etag", TAG.parse().unwrap());
        response
    })
}

fn empty(code: u16) -> Response {
    let response = hyper::Response::builder().status(code);
    response.body(Empty::new().boxed_unsync()).unwrap()
}

fn index(group: &str) -> Value {
    let address = format!("/openapi/v3/apis/{group}/v1?hash=A1");
    json!({"paths": {format!("apis/{group}/v1"): {"serverRelativeURL": address}}})
}

/// A document with one path of the group and its references, and unrelated paths.
fn swagger(group: &str) -> Value {
    let get = |definition: &str| {
        let schema = json!({"$ref": format!("#/definitions/{definition}")});
        json!({"get": {"operationId": "readGadget", "responses": {"200": {"description": "OK", "schema": schema}}}})
    };
    let (gadget, stranger) = (format!("{group}.Gadget"), format!("{group}.Stranger"));
    json!({
        "swagger": "2.0", "info": {"title": "gadgets", "version": "v1"},
        "paths": {
            format!("/apis/{group}/v1/gadgets/{{name}}"): get(&gadget),
            format!("/apis/strange.{group}/v1/strangers"): get(&stranger),
        },
        "definitions": {
            gadget: {"type": "object", "properties": {"metadata": {"$ref": format!("#/definitions/{META}")}}},
            META: meta(),
            stranger: {"type": "object"},
        },
    })
}

/// A definition that differs from the standard one of the same name.
fn meta() -> Value {
    json!({"type": "object", "properties": {"colour": {"type": "string"}}})
}

fn resources(group: &str, path: &str) -> Response {
    match path == format!("/apis/{group}/v1") {
        true => answer(
            200,
            &json!({"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": format!("{group}/v1"), "resources": []}),
        ),
        false => answer(404, &json!({"kind": "Status", "apiVersion": "v1", "code": 404})),
    }
}

/// The first recorded request whose path begins with this.
fn asked(seen: &Seen, what: &str) -> Option<Asked> {
    let seen = seen.lock().unwrap();
    seen.iter().find(|asked| asked.what.starts_with(what)).cloned()
}

async fn addresses(raw: &Raw) -> Result<Value> {
    Ok(raw.get("/openapi/v3").await?.body["paths"].clone())
}

#[tokio::test]
async fn documents_of_a_backend_are_found_among_the_servers_own() -> Result<()> {
    let cluster = TestCluster::alone().await?;
    let namespace = cluster.namespace("described").await?;
    let (raw, group) = (cluster.raw(), format!("{namespace}.example.com"));
    let seen = Seen::default();
    let server = start(&raw, &namespace, &group, described(group.clone(), seen.clone())).await?;

    // The index tells where the document of v3 is, and the backend answers there.
    let name = format!("apis/{group}/v1");
    let address = eventually_some("the address", || async {
        let address = &addresses(&raw).await?[&name]["serverRelativeURL"];
        Ok(address.as_str().map(str::to_owned))
    })
    .await?;
    assert_eq!(address, format!("/openapi/v3/{name}?hash=A1"));
    assert!(addresses(&raw).await?["apis/apps/v1"].is_object());
    let learned = asked(&seen, "GET /openapi/v3").unwrap();
    assert_eq!(learned.what, "GET /openapi/v3");
    assert_eq!(learned.user, ["system:aggregator"]);
    let document = raw.get(&address).await?.body;
    assert_eq!(document["info"]["title"], "gadgets");
    let passed_on = asked(&seen, &format!("GET {address}")).unwrap();
    assert!(
        passed_on.groups.contains(&"system:masters".to_owned()),
        "{passed_on:?}"
    );

    // The document of v2 has the paths of the group, and what they need.
    let path = format!("/apis/{group}/v1/gadgets/{{name}}");
    let whole = eventually_some("the path", || async {
        let whole = raw.get("/openapi/v2").await?.body;
        Ok(whole["paths"][&path].is_object().then_some(whole))
    })
    .await?;
    assert_eq!(
        asked(&seen, "GET /openapi/v2").unwrap().user,
        ["system:aggregator"]
    );
    assert!(whole["paths"]["/apis/apps/v1/deployments"].is_object());
    let text = whole.to_string();
    assert!(!text.contains("/strangers") && !text.contains(".Stranger"));
    let gadget = &whole["definitions"][format!("{group}.Gadget")];
    let reference = gadget["properties"]["metadata"]["$ref"].as_str().unwrap();
    let renamed = reference.strip_prefix("#/definitions/").unwrap();
    assert!(renamed.starts_with(&format!("{META}_v")), "{renamed}");
    assert_eq!(whole["definitions"][renamed], meta());
    assert_ne!(whole["definitions"][META], meta());
    let accept = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf";
    let (_, _, bytes) = raw.fetch("/openapi/v2", accept).await?;
    let is_told = bytes.windows(path.len()).any(|text| text == path.as_bytes());
    assert!(is_told, "the protobuf form has the path, too");

    // What is known is not read again. Upstream looks after a minute.
    if cluster.backend() == Backend::Embedded {
        touch(&raw, &group, "once").await?;
        eventually("the same state", || async {
            let seen = seen.lock().unwrap();
            let mut again = seen.iter().filter(|asked| asked.known == [TAG]);
            Ok(again.any(|asked| asked.what == "GET /openapi/v2"))
        })
        .await?;
        assert!(raw.get("/openapi/v2").await?.body["paths"][&path].is_object());
    }

    // What was said stays known while the backend is down, and goes with its APIService.
    drop(server);
    touch(&raw, &group, "again").await?;
    until(&raw, &group, "False", "FailedDiscoveryCheck").await?;
    assert!(addresses(&raw).await?[&name].is_object());
    assert!(raw.get("/openapi/v2").await?.body["paths"][&path].is_object());
    if cluster.backend() == Backend::Embedded {
        assert_eq!(raw.fetch(&address, "*/*").await?.0, 503);
    }
    raw.delete(&format!("{SERVICES}/v1.{group}"), &json!({})).await?;
    eventually("the documents are gone", || async {
        let is_told = raw.get("/openapi/v2").await?.body["paths"][&path].is_object();
        Ok(!is_told && addresses(&raw).await?[&name].is_null())
    })
    .await
}

#[tokio::test]
async fn a_backend_without_v3_is_found_in_v2_only() -> Result<()> {
    let cluster = TestCluster::alone().await?;
    let namespace = cluster.namespace("older").await?;
    let (raw, group) = (cluster.raw(), format!("{namespace}.example.com"));
    let own = group.clone();
    let respond = recording(Seen::default(), move |request| match request.uri().path() {
        "/openapi/v2" => answer(200, &swagger(&own)),
        path => resources(&own, path),
    });
    let _server = start(&raw, &namespace, &group, respond).await?;
    let path = format!("/apis/{group}/v1/gadgets/{{name}}");
    eventually("the path", || async {
        Ok(raw.get("/openapi/v2").await?.body["paths"][&path].is_object())
    })
    .await?;
    // Upstream makes v3 out of it.
    if cluster.backend() == Backend::Embedded {
        let name = format!("apis/{group}/v1");
        assert!(addresses(&raw).await?[&name].is_null());
        assert_eq!(raw.get(&format!("/openapi/v3/{name}")).await?.code, 404);
    }
    raw.delete(&format!("{SERVICES}/v1.{group}"), &json!({})).await?;
    Ok(())
}

#[tokio::test]
async fn what_a_backend_said_is_not_said_of_its_successor() -> Result<()> {
    let cluster = TestCluster::alone().await?;
    if cluster.backend() != Backend::Embedded {
        // Upstream forgets it when the successor has said something.
        return Ok(());
    }
    let namespace = cluster.namespace("successor").await?;
    let (raw, group) = (cluster.raw(), format!("{namespace}.example.com"));
    let respond = described(group.clone(), Seen::default());
    let _server = start(&raw, &namespace, &group, respond).await?;
    let (name, path) = (
        format!("apis/{group}/v1"),
        format!("/apis/{group}/v1/gadgets/{{name}}"),
    );
    let is_told = async || -> Result<[bool; 2]> {
        let whole = raw.get("/openapi/v2").await?.body;
        Ok([
            addresses(&raw).await?[&name].is_object(),
            whole["paths"][&path].is_object(),
        ])
    };
    eventually("both documents", || async {
        Ok(is_told().await? == [true, true])
    })
    .await?;
    let service = json!({"spec": {"service": {"name": "nobody"}}});
    let api_service = format!("{SERVICES}/v1.{group}");
    raw.patch("application/merge-patch+json", &api_service, &service)
        .await?;
    assert_eq!(is_told().await?, [false, false]);
    assert_eq!(raw.get(&format!("/openapi/v3/{name}")).await?.code, 404);
    Ok(())
}

/// Updates an APIService, so that its backend is checked again.
async fn touch(raw: &Raw, group: &str, word: &str) -> Result<()> {
    let touched = json!({"metadata": {"labels": {"touched": word}}});
    let path = format!("{SERVICES}/v1.{group}");
    raw.patch("application/merge-patch+json", &path, &touched).await?;
    Ok(())
}

#[tokio::test]
async fn a_backend_that_talks_nonsense_costs_nobody_anything() -> Result<()> {
    let cluster = TestCluster::alone().await?;
    let namespace = cluster.namespace("nonsense").await?;
    let (raw, group) = (cluster.raw(), format!("{namespace}.example.com"));
    let seen = Seen::default();
    let own = group.clone();
    let respond = recording(seen.clone(), move |request| match request.uri().path() {
        "/openapi/v3" => answer(200, &json!("nonsense")),
        "/openapi/v2" => answer(200, &json!({"paths": {format!("/apis/{own}/v1/gadgets"): 5}})),
        path => resources(&own, path),
    });
    let _server = start(&raw, &namespace, &group, respond).await?;
    everything_else_is_there(&cluster, &group, &seen).await
}

#[tokio::test]
async fn a_backend_that_never_ends_costs_nobody_anything() -> Result<()> {
    let cluster = TestCluster::alone().await?;
    if cluster.backend() != Backend::Embedded {
        // Upstream waits for it, and reads as much as it says.
        return Ok(());
    }
    let namespace = cluster.namespace("endless").await?;
    let (raw, group) = (cluster.raw(), format!("{namespace}.example.com"));
    let (seen, own, held) = (Seen::default(), group.clone(), Arc::new(()));
    let watched = held.clone();
    let respond = recording(seen.clone(), move |request| match request.uri().path() {
        "/openapi/v3" => endless(futures::stream::pending()),
        "/openapi/v2" => {
            let held = held.clone();
            endless(futures::stream::repeat_with(move || {
                let _ = &held;
                Bytes::from_static(&[b' '; 1 << 16])
            }))
        }
        path => resources(&own, path),
    });
    let _server = start(&raw, &namespace, &group, respond).await?;
    everything_else_is_there(&cluster, &group, &seen).await?;
    // The backend and this test hold it; a stream that is still read would, too.
    eventually("nobody reads any more", || async {
        Ok(Arc::strong_count(&watched) == 2)
    })
    .await
}

fn endless(pieces: impl futures::Stream<Item = Bytes> + Send + 'static) -> Response {
    let frames = pieces.map(|piece| Ok(Frame::data(piece)));
    hyper::Response::new(StreamBody::new(frames).boxed_unsync())
}

/// After the backend was fetched, documents are served as before, without anything of it.
async fn everything_else_is_there(cluster: &TestCluster, group: &str, seen: &Seen) -> Result<()> {
    let raw = &cluster.raw();
    let were_asked = |times: usize| async move {
        let seen = seen.lock().unwrap();
        let count = |what: &str| seen.iter().filter(|asked| asked.what == what).count();
        Ok(count("GET /openapi/v3") >= times && count("GET /openapi/v2") >= times)
    };
    eventually("the questions", || were_asked(1)).await?;
    // Whoever asks again is done with the answers. Upstream asks after a minute.
    if cluster.backend() == Backend::Embedded {
        touch(raw, group, "once").await?;
        eventually("the questions again", || were_asked(2)).await?;
    }
    let addresses = addresses(raw).await?;
    assert!(addresses["apis/apps/v1"].is_object());
    assert!(addresses[format!("apis/{group}/v1")].is_null());
    let whole = raw.get("/openapi/v2").await?.body;
    assert!(whole["paths"]["/apis/apps/v1/deployments"].is_object());
    assert!(!whole.to_string().contains(group));
    assert_eq!(raw.get(&format!("/openapi/v3/apis/{group}/v1")).await?.code, 404);
    Ok(())
}
