//! Aggregation: groups that another API server serves.

use crate::acceptance::backend::{Response, SERVICES, Seen, answer, available, recording, register, until};
use anyhow::{Result, ensure};
use base64::Engine as _;
use cambium_testing::{Backend, HttpsServer, Respond, TestCluster, Watch, eventually, eventually_some};
use futures::StreamExt as _;
use http_body_util::{BodyExt as _, Full, StreamBody};
use hyper::body::{Bytes, Frame};
use serde_json::{Value, json};

/// An API server with one resource that holds one object.
fn backend(group: String, seen: Seen) -> Respond {
    recording(seen, move |request| respond(&group, request.uri()))
}

fn respond(group: &str, uri: &hyper::Uri) -> Response {
    let root = format!("/apis/{group}/v1");
    let object = json!({"apiVersion": format!("{group}/v1"), "kind": "Gadget", "metadata": {"name": "one"}});
    match (uri.path().strip_prefix(&root), uri.query()) {
        (Some(""), _) => answer(
            200,
            &json!({
                "kind": "APIResourceList", "apiVersion": "v1", "groupVersion": format!("{group}/v1"),
                "resources": [{"name": "gadgets", "singularName": "gadget", "namespaced": false, "kind": "Gadget",
                    "verbs": ["get", "list", "watch"], "shortNames": ["gd"]}],
            }),
        ),
        (Some("/gadgets"), Some(query)) if query.contains("watch=true") => {
            let event = format!("{}\n", json!({"type": "ADDED", "object": object}));
            let first = futures::stream::once(async move { Ok(Frame::data(Bytes::from(event))) });
            let frames = first.chain(futures::stream::pending());
            let response = hyper::Response::builder().header("content-type", "application/json");
            response.body(StreamBody::new(frames).boxed_unsync()).unwrap()
        }
        (Some("/gadgets/one"), _) => answer(200, &object),
        (Some("/gadgets/elsewhere"), _) => {
            let response = hyper::Response::builder()
                .status(302)
                .header("location", "https://127.0.0.1/");
            response.body(Full::new(Bytes::new()).boxed_unsync()).unwrap()
        }
        _ => answer(
            404,
            &json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound",
            "code": 404, "message": "no such gadget"}),
        ),
    }
}

#[tokio::test]
async fn a_backend_answers_for_its_group() -> Result<()> {
    let cluster = TestCluster::alone().await?;
    let namespace = cluster.namespace("aggregated").await?;
    let (raw, group) = (cluster.raw(), format!("{namespace}.example.com"));
    let seen = Seen::default();
    let names = [format!("gadgets.{namespace}.svc")];
    let server = HttpsServer::start(&names, backend(group.clone(), seen.clone())).await?;
    let bundle = base64::engine::general_purpose::STANDARD.encode(server.authority());
    register(
        &raw,
        &namespace,
        &group,
        server.port(),
        json!({"caBundle": bundle}),
    )
    .await?;
    until(&raw, &group, "True", "Passed").await?;

    let path = format!("/apis/{group}/v1/gadgets");
    let one = eventually_some("the gadget", || async {
        let answer = raw.get(&format!("{path}/one?pretty=true")).await?;
        Ok((answer.code == 200).then_some(answer.body))
    })
    .await?;
    assert_eq!(one["kind"], "Gadget");
    let asked = seen
        .lock()
        .unwrap()
        .iter()
        .find(|asked| asked.what.contains("/one?pretty=true"))
        .cloned()
        .unwrap();
    assert_eq!(asked.user.len(), 1, "{asked:?}");
    assert!(asked.groups.contains(&"system:masters".to_owned()), "{asked:?}");
    let missing = raw.get(&format!("{path}/two")).await?;
    assert_eq!((missing.code, missing.message()), (404, "no such gadget"));
    let (code, _, text) = raw.fetch(&format!("{path}/elsewhere"), "*/*").await?;
    let why = "the backend attempted to redirect this request, which is not permitted";
    assert_eq!((code, String::from_utf8_lossy(&text).as_ref()), (502, why));

    let mut watch = Watch::open(
        &cluster.client(),
        &format!("{path}?watch=true"),
        "application/json",
    )
    .await?;
    let (kind, object) = watch.next().await?.unwrap();
    assert_eq!(
        (kind.as_str(), &object["metadata"]["name"]),
        ("ADDED", &json!("one"))
    );
    drop(watch);

    // Discovery tells of it, plain and aggregated.
    let groups = raw.get("/apis").await?.body;
    let found = groups["groups"]
        .as_array()
        .unwrap()
        .iter()
        .any(|one| one["name"] == group);
    assert!(found, "{groups}");
    assert_eq!(
        raw.get(&format!("/apis/{group}")).await?.body["preferredVersion"]["version"],
        "v1"
    );
    assert_eq!(
        raw.get(&format!("/apis/{group}/v1")).await?.body["resources"][0]["kind"],
        "Gadget"
    );
    eventually("aggregated discovery", || async {
        let accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
        let (_, _, bytes) = raw.fetch("/apis", accept).await?;
        let list: Value = serde_json::from_slice(&bytes)?;
        let items = list["items"].as_array().unwrap();
        let entry = items.iter().find(|one| one["metadata"]["name"] == group);
        Ok(entry.is_some_and(|entry| entry["versions"][0]["resources"][0]["resource"] == "gadgets"))
    })
    .await?;

    // What is down is not available, and nothing else suffers.
    drop(server);
    let touched = json!({"metadata": {"labels": {"touched": "yes"}}});
    raw.patch(
        "application/merge-patch+json",
        &format!("{SERVICES}/v1.{group}"),
        &touched,
    )
    .await?;
    until(&raw, &group, "False", "FailedDiscoveryCheck").await?;
    // Over the network, kube's client tries again for minutes when it is told so.
    if cluster.backend() == Backend::Embedded {
        let (code, _, text) = raw.fetch(&format!("{path}/one"), "*/*").await?;
        assert_eq!((code, text.as_ref()), (503, &b"service unavailable\n"[..]));
    }
    assert_eq!(raw.get("/api/v1/namespaces/default").await?.code, 200);
    raw.delete(&format!("{SERVICES}/v1.{group}"), &json!({})).await?;
    eventually("the group is gone", || async {
        Ok(raw.get(&format!("/apis/{group}/v1")).await?.code == 404)
    })
    .await
}

#[tokio::test]
async fn a_backend_that_cannot_be_trusted_or_found_is_not_asked() -> Result<()> {
    let cluster = TestCluster::alone().await?;
    let namespace = cluster.namespace("untrusted").await?;
    let raw = cluster.raw();
    let group = format!("{namespace}.example.com");
    // Its certificate is for another name.
    let server =
        HttpsServer::start(&["elsewhere".to_owned()], backend(group.clone(), Seen::default())).await?;
    let bundle = base64::engine::general_purpose::STANDARD.encode(server.authority());
    register(
        &raw,
        &namespace,
        &group,
        server.port(),
        json!({"caBundle": bundle}),
    )
    .await?;
    until(&raw, &group, "False", "FailedDiscoveryCheck").await?;
    raw.delete(&format!("{SERVICES}/v1.{group}"), &json!({})).await?;
    // Whoever wants no proof gets none.
    let loose = format!("loose.{group}");
    let server =
        HttpsServer::start(&["elsewhere".to_owned()], backend(loose.clone(), Seen::default())).await?;
    register(
        &raw,
        &namespace,
        &loose,
        server.port(),
        json!({"insecureSkipTLSVerify": true}),
    )
    .await?;
    until(&raw, &loose, "True", "Passed").await?;
    let service = format!("/api/v1/namespaces/{namespace}/services/gadgets");
    raw.delete(&service, &json!({})).await?;
    until(&raw, &loose, "False", "ServiceNotFound").await?;
    let (_, _, message) = available(&raw, &loose).await?.unwrap();
    assert_eq!(
        message,
        format!("service/gadgets in \"{namespace}\" is not present")
    );
    raw.delete(&format!("{SERVICES}/v1.{loose}"), &json!({})).await?;
    Ok(())
}

#[tokio::test]
async fn every_group_and_version_has_an_api_service() -> Result<()> {
    let cluster = TestCluster::alone().await?;
    let raw = cluster.raw();
    let group = format!("{}.example.com", cluster.unique("registered"));
    for (name, service, priority) in [
        ("v1.", "v1", 18_000),
        ("v1.apps", "v1", 17_800),
        ("v2.autoscaling", "v2", 17_500),
    ] {
        let stored = eventually_some(name, || async {
            let answer = raw.get(&format!("{SERVICES}/{name}")).await?;
            Ok((answer.code == 200).then_some(answer.body))
        })
        .await?;
        assert_eq!(
            (
                &stored["spec"]["version"],
                &stored["spec"]["groupPriorityMinimum"]
            ),
            (&json!(service), &json!(priority))
        );
        assert_eq!(
            stored["metadata"]["labels"]["kube-aggregator.kubernetes.io/automanaged"],
            "onstart"
        );
        assert_eq!(stored["status"]["conditions"][0]["reason"], "Local");
    }
    let crd = json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("widgets.{group}")},
        "spec": {"group": group, "scope": "Namespaced", "names": {"plural": "widgets", "kind": "Widget"},
            "versions": [{"name": "v3", "served": true, "storage": true, "schema": {"openAPIV3Schema": {"type": "object"}}}]}});
    let definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    let made = raw.post(definitions, &crd).await?;
    ensure!(made.code == 201, "{}", made.message());
    let path = format!("{SERVICES}/v3.{group}");
    eventually("the CRD's APIService", || async {
        Ok(raw.get(&path).await?.code == 200)
    })
    .await?;
    raw.delete(&format!("{definitions}/widgets.{group}"), &json!({}))
        .await?;
    eventually("the APIService goes with its CRD", || async {
        Ok(raw.get(&path).await?.code == 404)
    })
    .await
}

#[tokio::test]
async fn an_api_service_that_makes_no_sense_is_refused() -> Result<()> {
    let cluster = TestCluster::alone().await?;
    let raw = cluster.raw();
    for (name, spec, problems) in [
        (
            "v1.other.example.com",
            json!({"group": "one.example.com", "version": "v1", "groupPriorityMinimum": 0, "versionPriority": 1001}),
            vec![
                "metadata.name: Invalid value: \"v1.other.example.com\": must be `spec.version+\".\"+spec.group`: \"v1.one.example.com\"",
                "spec.groupPriorityMinimum: Invalid value: 0: must be positive and less than 20000",
                "spec.versionPriority: Invalid value: 1001: must be positive and less than 1000",
            ],
        ),
        (
            "v1.one.example.com",
            json!({"group": "one.example.com", "version": "v1", "groupPriorityMinimum": 1, "versionPriority": 1, "caBundle": "aGVsbG8="}),
            vec!["spec.caBundle: Invalid value: \"5 bytes\": local APIServices may not have a caBundle"],
        ),
        (
            "v1.one.example.com",
            json!({"group": "one.example.com", "version": "v1", "groupPriorityMinimum": 1, "versionPriority": 1, "insecureSkipTLSVerify": true, "caBundle": "aGVsbG8=", "service": {"name": "", "namespace": "x", "port": 70_000}}),
            vec![
                "spec.service.name: Required value",
                "spec.service.port: Invalid value: 70000: port is not valid: must be between 1 and 65535, inclusive",
                "spec.insecureSkipTLSVerify: Invalid value: true: may not be true if caBundle is present",
            ],
        ),
    ] {
        let object = json!({"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService", "metadata": {"name": name}, "spec": spec});
        let answer = raw.post(SERVICES, &object).await?;
        assert_eq!(answer.code, 422, "{}", answer.message());
        for problem in problems {
            assert!(
                answer.message().contains(problem),
                "{problem}\n{}",
                answer.message()
            );
        }
    }
    Ok(())
}
