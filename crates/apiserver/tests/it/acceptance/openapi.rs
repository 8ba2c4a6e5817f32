//! OpenAPI v2 and v3 of CRDs.

use anyhow::{Context as _, Result};
use cambium_testing::{Raw, TestCluster, eventually_some};
use http_body_util::BodyExt as _;
use serde_json::{Value, json};

/// A schema with everything that v2 cannot express.
fn schema() -> Value {
    json!({
        "type": "object", "description": "A widget.", "required": ["spec"],
        "properties": {
            "spec": {
                "type": "object", "required": ["size", "maybe"],
                "properties": {
                    "size": {"type": "integer", "format": "int32", "minimum": 1, "maximum": 9, "default": 3},
                    "maybe": {"type": "string", "nullable": true},
                    "either": {"x-kubernetes-int-or-string": true, "anyOf": [{"type": "integer"}, {"type": "string"}]},
                    "open": {"type": "object", "x-kubernetes-preserve-unknown-fields": true, "properties": {"known": {"type": "string"}}},
                    "names": {"type": "array", "x-kubernetes-list-type": "set", "maxItems": 3, "items": {"type": "string", "maxLength": 5}},
                    "labels": {"type": "object", "additionalProperties": {"type": "string", "enum": ["a", "b"]}},
                    "inner": {"type": "object", "x-kubernetes-embedded-resource": true, "properties": {"data": {"type": "string"}}},
                },
                "oneOf": [{"required": ["size"]}, {"required": ["names"]}],
            },
        },
    })
}

async fn define(raw: &Raw, group: &str, schema: &Value) -> Result<()> {
    let crd = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("widgets.{group}")},
        "spec": {
            "group": group, "scope": "Namespaced", "names": {"plural": "widgets", "kind": "Widget"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}}],
        },
    });
    let made = raw
        .post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", &crd)
        .await?;
    anyhow::ensure!(made.code == 201, "{}", made.message());
    Ok(())
}

fn type_name(group: &str) -> String {
    let words: Vec<&str> = group.split('.').rev().collect();
    format!("{}.v1.Widget", words.join("."))
}

/// A tree without descriptions, which differ.
fn bare(value: &Value) -> Value {
    match value {
        Value::Object(fields) => fields
            .iter()
            .filter(|(name, value)| *name != "description" || !value.is_string())
            .map(|(name, value)| (name.clone(), bare(value)))
            .collect(),
        Value::Array(items) => items.iter().map(bare).collect(),
        other => other.clone(),
    }
}

async fn published(raw: &Raw, path: &str, pointer: &str) -> Result<Value> {
    eventually_some(pointer, || async {
        let document = raw.get(path).await?.body;
        Ok(document.pointer(pointer).cloned())
    })
    .await
}

#[tokio::test]
async fn v2_leaves_out_what_it_cannot_say() -> Result<()> {
    let cluster = TestCluster::start().await?;
    let namespace = cluster.namespace("swagger").await?;
    let raw = cluster.raw();
    let group = format!("{namespace}.example.com");
    define(&raw, &group, &schema()).await?;
    let name = type_name(&group);
    let widget = published(&raw, "/openapi/v2", &format!("/definitions/{name}")).await?;
    assert_eq!(widget["description"], "A widget.");
    let metadata = json!({"$ref": "#/definitions/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"});
    let text = json!({"type": "string"});
    let expected = json!({
        "type": "object", "required": ["spec"],
        "properties": {
            "apiVersion": text, "kind": text, "metadata": metadata,
            "spec": {
                "type": "object", "required": ["size"],
                "properties": {
                    "size": {"type": "integer", "format": "int32", "minimum": 1, "maximum": 9},
                    "maybe": {},
                    "either": {"x-kubernetes-int-or-string": true},
                    "open": {"x-kubernetes-preserve-unknown-fields": true},
                    "names": {"type": "array", "x-kubernetes-list-type": "set", "maxItems": 3, "items": {"type": "string", "maxLength": 5}},
                    "labels": {"type": "object", "additionalProperties": {"type": "string", "enum": ["a", "b"]}},
                    "inner": {
                        "type": "object", "x-kubernetes-embedded-resource": true, "required": ["kind", "apiVersion"],
                        "properties": {"data": text, "apiVersion": text, "kind": text, "metadata": metadata},
                    },
                },
            },
        },
        "x-kubernetes-group-version-kind": [{"group": group, "version": "v1", "kind": "Widget"}],
    });
    assert_eq!(bare(&widget), expected);
    let list = published(&raw, "/openapi/v2", &format!("/definitions/{name}List")).await?;
    let items = json!({"type": "array", "items": {"$ref": format!("#/definitions/{name}")}});
    assert_eq!(bare(&list)["properties"]["items"], items);
    let path = format!("/paths/~1apis~1{group}~1v1~1namespaces~1{{namespace}}~1widgets~1{{name}}/patch");
    let patch = published(&raw, "/openapi/v2", &path).await?;
    let names: Vec<&str> = patch["parameters"]
        .as_array()
        .context("parameters")?
        .iter()
        .filter_map(|parameter| parameter["name"].as_str())
        .collect();
    assert!(
        names.contains(&"dryRun") && names.contains(&"fieldValidation"),
        "{names:?}"
    );
    Ok(())
}

#[tokio::test]
async fn v2_lists_no_fields_where_any_are_allowed() -> Result<()> {
    let cluster = TestCluster::start().await?;
    let namespace = cluster.namespace("open").await?;
    let raw = cluster.raw();
    let group = format!("{namespace}.example.com");
    let open = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true, "properties": {"spec": {"type": "string"}}});
    define(&raw, &group, &open).await?;
    let pointer = format!("/definitions/{}", type_name(&group));
    let widget = published(&raw, "/openapi/v2", &pointer).await?;
    let kind = json!([{"group": group, "version": "v1", "kind": "Widget"}]);
    assert_eq!(
        widget,
        json!({"type": "object", "x-kubernetes-group-version-kind": kind})
    );
    Ok(())
}

#[tokio::test]
async fn v3_completes_objects_inside_objects() -> Result<()> {
    let cluster = TestCluster::start().await?;
    let namespace = cluster.namespace("inner").await?;
    let raw = cluster.raw();
    let group = format!("{namespace}.example.com");
    define(&raw, &group, &schema()).await?;
    let pointer = format!("/components/schemas/{}/properties/spec", type_name(&group));
    let spec = published(&raw, &format!("/openapi/v3/apis/{group}/v1"), &pointer).await?;
    let inner = &spec["properties"]["inner"];
    let fields: Vec<&String> = inner["properties"]
        .as_object()
        .context("fields")?
        .keys()
        .collect();
    assert_eq!(fields, ["apiVersion", "data", "kind", "metadata"]);
    assert_eq!(inner["required"], json!(["kind", "apiVersion"]));
    assert_eq!(spec["required"], json!(["size", "maybe"]));
    assert_eq!(spec["properties"]["maybe"]["nullable"], true);
    assert_eq!(spec["oneOf"].as_array().map(Vec::len), Some(2));
    Ok(())
}

#[tokio::test]
async fn v2_is_served_in_protobuf_to_those_who_ask() -> Result<()> {
    let cluster = TestCluster::start().await?;
    let raw = cluster.raw();
    let answered = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";
    for asked in [
        answered,
        "application/com.github.proto-openapi.spec.v2@v1.0+protobuf",
    ] {
        let (code, media, bytes) = raw.fetch("/openapi/v2", asked).await?;
        assert_eq!((code, media.as_str()), (200, answered));
        // Field 1, a string: the version.
        assert!(bytes.starts_with(b"\x0a\x032.0"), "{:?}", &bytes[..16]);
    }
    let (code, media, _) = raw.fetch("/openapi/v2", "*/*").await?;
    assert_eq!((code, media.as_str()), (200, "application/json"));
    let (code, _, _) = raw.fetch("/openapi/v2", "text/html").await?;
    assert_eq!(code, 406);
    Ok(())
}

#[tokio::test]
async fn v3_is_served_in_protobuf_to_those_who_ask() -> Result<()> {
    let cluster = TestCluster::start().await?;
    let answered = "application/com.github.proto-openapi.spec.v3.v1.0+protobuf";
    let older = "application/com.github.proto-openapi.spec.v3@v1.0+protobuf";
    let ask = async |url: &str, accept: &str| -> Result<(u16, String, String, Vec<u8>)> {
        let request = http::Request::get(url).header("accept", accept);
        let response = cluster.client().send(request.body(Vec::new().into())?).await?;
        let field = |name: &str| {
            let value = response.headers().get(name).and_then(|value| value.to_str().ok());
            value.unwrap_or_default().to_owned()
        };
        let (code, media, tag) = (response.status().as_u16(), field("content-type"), field("etag"));
        let bytes = response.into_body().collect().await?.to_bytes();
        Ok((code, media, tag, bytes.to_vec()))
    };
    let path = "/openapi/v3/apis/batch/v1";
    let (_, _, tag, json) = ask(path, "application/json").await?;
    assert!(json.starts_with(b"{"));
    for (accept, media) in [
        (answered.to_owned(), answered),
        (older.to_owned(), answered),
        (format!("{older}, application/json"), answered),
        (format!("*/*, {answered}"), answered),
        (format!("application/json;q=0.1, {answered};q=0.9"), answered),
        (format!("{answered};q=0.1, application/json"), "application/json"),
        ("application/*".to_owned(), "application/json"),
        ("*/*".to_owned(), "application/json"),
    ] {
        let (code, given, same, bytes) = ask(path, &accept).await?;
        assert_eq!((code, given.as_str(), &same), (200, media, &tag), "{accept}");
        // Field 1, a string: the version.
        assert_eq!(bytes.starts_with(b"\x0a\x053.0.0"), media == answered, "{accept}");
    }
    let (code, _, _, bytes) = ask(path, "text/html").await?;
    assert_eq!((code, bytes.len()), (406, 0));
    let (code, media, same, _) = ask(&format!("{path}?hash=ABC"), answered).await?;
    assert_eq!((code, media.as_str(), same), (301, answered, tag));
    Ok(())
}

#[tokio::test]
async fn documents_are_kept_by_their_hash() -> Result<()> {
    let cluster = TestCluster::start().await?;
    let index = cluster.raw().get("/openapi/v3").await?.body;
    let newest = index["paths"]["apis/batch/v1"]["serverRelativeURL"]
        .as_str()
        .context("a document")?;
    let (path, hash) = newest.split_once("?hash=").context("a hash")?;
    let ask = async |url: &str, known: &str| -> Result<(u16, String, String)> {
        let request = http::Request::get(url).header("if-none-match", known);
        let response = cluster.client().send(request.body(Vec::new().into())?).await?;
        let field = |name: &str| {
            let value = response.headers().get(name).and_then(|value| value.to_str().ok());
            value.unwrap_or_default().to_owned()
        };
        Ok((
            response.status().as_u16(),
            field("cache-control"),
            field("location"),
        ))
    };
    let answer = |code: u16, cache: &str, location: &str| (code, cache.to_owned(), location.to_owned());
    let private = "no-cache, private";
    assert_eq!(ask(newest, "\"x\"").await?, answer(200, "public, immutable", ""));
    assert_eq!(ask(path, "\"x\"").await?, answer(200, private, ""));
    let outdated = format!("{path}?hash=ABC");
    assert_eq!(ask(&outdated, "\"x\"").await?, answer(301, private, newest));
    for known in [
        format!("\"{hash}\""),
        format!("W/\"{hash}\""),
        "*".to_owned(),
        format!("\"x\", \"{hash}\""),
    ] {
        assert_eq!(ask(path, &known).await?, answer(304, private, ""), "{known}");
    }
    Ok(())
}

#[tokio::test]
async fn every_request_has_a_name_of_its_own() -> Result<()> {
    let cluster = TestCluster::start().await?;
    let namespace = cluster.namespace("names").await?;
    let raw = cluster.raw();
    let group = format!("{namespace}.example.com");
    define(&raw, &group, &schema()).await?;
    let custom = format!("/paths/~1apis~1{group}~1v1~1widgets");
    published(&raw, "/openapi/v2", &custom).await?;
    let whole = raw.get("/openapi/v2").await?.body;
    let deployments = raw.get("/openapi/v3/apis/apps/v1").await?.body;
    let pod = "/api/v1/namespaces/{namespace}/pods/{name}";
    let deployment = "/apis/apps/v1/namespaces/{namespace}/deployments";
    for (document, path, method, id, action, kind) in [
        (
            &whole,
            "/api/v1/pods".to_owned(),
            "get",
            "listCoreV1PodForAllNamespaces",
            "list",
            "Pod",
        ),
        (
            &whole,
            pod.to_owned(),
            "patch",
            "patchCoreV1NamespacedPod",
            "patch",
            "Pod",
        ),
        (
            &whole,
            format!("{pod}/status"),
            "put",
            "replaceCoreV1NamespacedPodStatus",
            "put",
            "Pod",
        ),
        (
            &whole,
            format!("{pod}/eviction"),
            "post",
            "createCoreV1NamespacedPodEviction",
            "post",
            "Eviction",
        ),
        (
            &whole,
            format!("{pod}/log"),
            "get",
            "readCoreV1NamespacedPodLog",
            "get",
            "Pod",
        ),
        (
            &whole,
            format!("{pod}/exec"),
            "get",
            "connectCoreV1GetNamespacedPodExec",
            "connect",
            "PodExecOptions",
        ),
        (
            &whole,
            "/api/v1/nodes".to_owned(),
            "delete",
            "deleteCoreV1CollectionNode",
            "deletecollection",
            "Node",
        ),
        (
            &whole,
            "/apis/rbac.authorization.k8s.io/v1/clusterroles/{name}".to_owned(),
            "get",
            "readRbacAuthorizationV1ClusterRole",
            "get",
            "ClusterRole",
        ),
        (
            &whole,
            "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews".to_owned(),
            "post",
            "createAuthorizationV1SelfSubjectAccessReview",
            "post",
            "SelfSubjectAccessReview",
        ),
        (
            &deployments,
            format!("{deployment}/{{name}}/scale"),
            "get",
            "readAppsV1NamespacedDeploymentScale",
            "get",
            "Scale",
        ),
        (
            &deployments,
            "/apis/apps/v1/deployments".to_owned(),
            "get",
            "listAppsV1DeploymentForAllNamespaces",
            "list",
            "Deployment",
        ),
    ] {
        let operation = &document["paths"][&path][method];
        assert_eq!(operation["operationId"], id, "{path} {operation}");
        assert_eq!(operation["x-kubernetes-action"], action, "{path}");
        assert_eq!(
            operation["x-kubernetes-group-version-kind"]["kind"], kind,
            "{path}"
        );
    }
    // `my-group` is written `MyGroup`, wherever it stands.
    let everywhere = &whole["paths"][format!("/apis/{group}/v1/widgets")]["get"];
    let id = everywhere["operationId"].as_str().context("a name")?;
    let id = id.to_ascii_lowercase();
    let word = group.replace(|c: char| !c.is_ascii_alphanumeric(), "");
    assert_eq!(id, format!("list{word}v1widgetforallnamespaces"));
    // Whatever is referred to is there.
    let text = whole.to_string();
    for part in text.split("#/definitions/").skip(1) {
        let name = part.split('"').next().unwrap_or_default();
        assert!(whole["definitions"].get(name).is_some(), "{name}");
    }
    Ok(())
}
