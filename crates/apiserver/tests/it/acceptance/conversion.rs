//! Conversion webhooks.

use std::sync::Arc;

use anyhow::Result;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use cambium_testing::{Backend, Raw, TestCluster, WebhookServer, eventually};
use serde_json::{Value, json};

const CRDS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

/// v1 has `spec.host` as `name:port`, v2 two fields. `/fail` fails, `/rename` changes immutable metadata.
async fn converter() -> Result<WebhookServer> {
    WebhookServer::start(Arc::new(|path, review| {
        let request = &review["request"];
        let wanted = request["desiredAPIVersion"]
            .as_str()
            .unwrap_or_default()
            .to_owned();
        let converted: Vec<Value> = request["objects"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|object| convert(object, &wanted, path))
            .collect();
        let result = if path == "/fail" {
            json!({"status": "Failure", "message": "no such luck"})
        } else {
            json!({"status": "Success"})
        };
        json!({"apiVersion": review["apiVersion"], "kind": "ConversionReview",
            "response": {"uid": request["uid"], "result": result, "convertedObjects": converted}})
    }))
    .await
}

fn convert(object: &Value, wanted: &str, path: &str) -> Value {
    let mut new = object.clone();
    new["apiVersion"] = json!(wanted);
    if path == "/rename" {
        new["metadata"]["name"] = json!("somebody-else");
    }
    let spec = &object["spec"];
    match (
        wanted.ends_with("/v2"),
        spec["host"].as_str().and_then(|host| host.split_once(':')),
    ) {
        (true, Some((name, port))) => new["spec"] = json!({"name": name, "port": port}),
        (true, None) => {}
        (false, _) => {
            let text = |field: &str| spec[field].as_str().unwrap_or_default();
            new["spec"] = json!({"host": format!("{}:{}", text("name"), text("port"))});
        }
    }
    new
}

fn crd(group: &str, hook: &WebhookServer, path: &str) -> Value {
    let version = |name: &str, storage: bool, fields: &[&str]| {
        let properties: Value = fields
            .iter()
            .map(|field| ((*field).to_owned(), json!({"type": "string"})))
            .collect();
        json!({"name": name, "served": true, "storage": storage, "schema": {"openAPIV3Schema": {
            "type": "object", "properties": {"spec": {"type": "object", "properties": properties}}}}})
    };
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("hosts.{group}")},
        "spec": {
            "group": group, "scope": "Namespaced", "names": {"plural": "hosts", "singular": "host", "kind": "Host"},
            "versions": [version("v1", true, &["host"]), version("v2", false, &["name", "port"])],
            "conversion": {"strategy": "Webhook", "webhook": {
                "conversionReviewVersions": ["v1"],
                "clientConfig": {"url": hook.url(path), "caBundle": STANDARD.encode(hook.authority())}}},
        },
    })
}

async fn served(raw: &Raw, crd: &Value) -> Result<()> {
    let made = raw.post(CRDS, crd).await?;
    assert_eq!(made.code, 201, "{made:?}");
    let group = crd["spec"]["group"].as_str().unwrap_or_default();
    eventually("the resource is served", || async {
        Ok(raw.get(&format!("/apis/{group}/v1/hosts")).await?.code == 200)
    })
    .await
}

#[tokio::test]
async fn objects_are_seen_in_every_version() -> Result<()> {
    let (cluster, hook) = (TestCluster::alone().await?, converter().await?);
    let raw = cluster.raw();
    let group = format!("{}.example.com", cluster.unique("convert"));
    served(&raw, &crd(&group, &hook, "/convert")).await?;
    let namespace = cluster.namespace("convert").await?;
    let at = |version: &str| format!("/apis/{group}/{version}/namespaces/{namespace}/hosts");
    let one = json!({"apiVersion": format!("{group}/v1"), "kind": "Host", "metadata": {"name": "a"}, "spec": {"host": "h:80"}});
    assert_eq!(raw.post(&at("v1"), &one).await?.code, 201);
    // The controllers of Kubernetes have everything converted to the version that they prefer.
    if cluster.backend() == Backend::Embedded {
        assert!(hook.seen().is_empty(), "nothing to convert, nobody asked");
    }
    let two = json!({"apiVersion": format!("{group}/v2"), "kind": "Host", "metadata": {"name": "b"}, "spec": {"name": "i", "port": "81"}});
    let made = raw.post(&at("v2"), &two).await?;
    assert_eq!(
        (made.code, &made.body["spec"]),
        (201, &json!({"name": "i", "port": "81"})),
        "{made:?}"
    );
    assert_eq!(
        raw.get(&format!("{}/b", at("v1"))).await?.body["spec"],
        json!({"host": "i:81"})
    );
    let list = raw.get(&at("v2")).await?.body;
    let specs: Vec<&Value> = list["items"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|item| &item["spec"])
        .collect();
    assert_eq!(
        specs,
        [
            &json!({"name": "h", "port": "80"}),
            &json!({"name": "i", "port": "81"})
        ]
    );
    let patched = raw
        .patch(
            "merge",
            &format!("{}/a", at("v2")),
            &json!({"spec": {"port": "8080"}}),
        )
        .await?;
    assert_eq!(
        patched.body["spec"],
        json!({"name": "h", "port": "8080"}),
        "{patched:?}"
    );
    assert_eq!(
        raw.get(&format!("{}/a", at("v1"))).await?.body["spec"],
        json!({"host": "h:8080"})
    );
    let apply = json!({"apiVersion": format!("{group}/v2"), "kind": "Host", "metadata": {"name": "a"}, "spec": {"port": "8443"}});
    let applied = raw
        .patch(
            "apply",
            &format!("{}/a?fieldManager=x&force=true", at("v2")),
            &apply,
        )
        .await?;
    assert_eq!(
        applied.body["spec"],
        json!({"name": "h", "port": "8443"}),
        "{applied:?}"
    );
    Ok(())
}

#[tokio::test]
async fn a_converter_that_fails_fails_the_request() -> Result<()> {
    for (path, expected) in [
        ("/fail", "failed: no such luck"),
        ("/rename", "must have the same name: a != somebody-else"),
    ] {
        let (cluster, hook) = (TestCluster::alone().await?, converter().await?);
        let raw = cluster.raw();
        let group = format!("{}.example.com", cluster.unique("fail"));
        served(&raw, &crd(&group, &hook, path)).await?;
        let namespace = cluster.namespace("fail").await?;
        let one = json!({"apiVersion": format!("{group}/v1"), "kind": "Host", "metadata": {"name": "a"}, "spec": {"host": "h:80"}});
        raw.post(&format!("/apis/{group}/v1/namespaces/{namespace}/hosts"), &one)
            .await?;
        let failed = raw
            .get(&format!("/apis/{group}/v2/namespaces/{namespace}/hosts/a"))
            .await?;
        assert_eq!(failed.code, 500, "{failed:?}");
        assert!(failed.message().contains(expected), "{}", failed.message());
        let fine = raw
            .get(&format!("/apis/{group}/v1/namespaces/{namespace}/hosts/a"))
            .await?;
        assert_eq!(fine.code, 200, "the stored version needs nobody");
    }
    Ok(())
}
