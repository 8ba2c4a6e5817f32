//! Protobuf: the same objects as in JSON, for all built-in kinds.

use anyhow::{Context as _, Result};
use cambium_builtin::protobuf::decode;
use cambium_testing::{Raw, TestCluster};
use serde_json::{Value, json};

const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";
const EITHER: &str = "application/vnd.kubernetes.protobuf,application/json";

/// Objects with all types that have special protobuf encodings: maps, bytes, times, quantities, ports, inlined structs.
fn objects(namespace: &str) -> Vec<(String, Value)> {
    let core = format!("/api/v1/namespaces/{namespace}");
    let apps = format!("/apis/apps/v1/namespaces/{namespace}");
    let template = json!({
        "metadata": {"labels": {"app": "web"}, "annotations": {"a/b": ""}},
        "spec": {
            "volumes": [
                {"name": "scratch", "emptyDir": {"sizeLimit": "1Gi"}},
                {"name": "settings", "configMap": {"name": "settings", "optional": true, "defaultMode": 288}},
                {"name": "token", "projected": {"sources": [{"serviceAccountToken": {"path": "token", "expirationSeconds": 3600}}]}},
            ],
            "containers": [{
                "name": "web", "image": "web:1", "args": ["--port", "80"],
                "ports": [{"name": "http", "containerPort": 8080}],
                "env": [{"name": "A", "value": ""}, {"name": "B", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}],
                "resources": {"requests": {"cpu": "100m", "memory": "64Mi"}, "limits": {"memory": "128Mi"}},
                "livenessProbe": {"httpGet": {"path": "/live", "port": "http"}, "initialDelaySeconds": 0},
                "readinessProbe": {"tcpSocket": {"port": 8080}, "failureThreshold": 5},
                "securityContext": {"runAsNonRoot": false, "runAsUser": 0, "capabilities": {"drop": ["ALL"]}},
            }],
            "tolerations": [{"key": "k", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 0}],
        },
    });
    let of = |path: String, mut object: Value, name: &str| {
        object["metadata"]["name"] = json!(name);
        (path, object)
    };
    vec![
        of(
            format!("{core}/configmaps"),
            json!({"data": {"text": "a\nb", "empty": ""}, "binaryData": {"bytes": "AP8="}, "immutable": false}),
            "map",
        ),
        of(
            format!("{core}/secrets"),
            json!({"type": "example.com/any", "stringData": {"key": "value"}, "data": {"nothing": ""}}),
            "secret",
        ),
        of(
            format!("{core}/services"),
            json!({"spec": {"selector": {"app": "web"}, "ports": [
                {"name": "by-name", "port": 80, "targetPort": "http"}, {"name": "by-number", "port": 81, "targetPort": 8080},
            ]}}),
            "service",
        ),
        of(
            format!("{apps}/deployments"),
            json!({"spec": {
                "replicas": 0, "paused": true, "selector": {"matchLabels": {"app": "web"}, "matchExpressions": [{"key": "app", "operator": "In", "values": ["web"]}]},
                "strategy": {"rollingUpdate": {"maxSurge": "25%", "maxUnavailable": 0}}, "template": template,
            }}),
            "deployment",
        ),
        of(
            format!("/apis/batch/v1/namespaces/{namespace}/cronjobs"),
            json!({"spec": {"schedule": "0 0 1 1 *", "suspend": true, "jobTemplate": {"spec": {"template": {"spec": {
                "restartPolicy": "Never", "containers": [{"name": "job", "image": "job:1"}],
            }}}}}}),
            "cron",
        ),
        of(
            format!("/apis/networking.k8s.io/v1/namespaces/{namespace}/ingresses"),
            json!({"spec": {"rules": [{"host": "example.com", "http": {"paths": [{
                "path": "/", "pathType": "Prefix", "backend": {"service": {"name": "service", "port": {"number": 80}}},
            }]}}]}}),
            "ingress",
        ),
        of(
            format!("/apis/rbac.authorization.k8s.io/v1/namespaces/{namespace}/roles"),
            json!({"rules": [{"apiGroups": [""], "resources": ["pods", "pods/log"], "resourceNames": ["a"], "verbs": ["get"]}]}),
            "role",
        ),
        of(
            format!("/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases"),
            json!({"spec": {"holderIdentity": "me", "leaseDurationSeconds": 15, "renewTime": "2026-01-02T03:04:05.678901Z"}}),
            "lease",
        ),
    ]
}

/// JSON and protobuf of one path as trees; read again if a controller wrote in between.
async fn both(raw: &Raw, path: &str) -> Result<(Value, Value)> {
    let mut before = raw.get(path).await?.body;
    for _ in 0..50 {
        let (code, media, bytes) = raw.fetch(path, PROTOBUF).await?;
        anyhow::ensure!(code == 200 && media == PROTOBUF, "{path}: {code} {media}");
        let after = raw.get(path).await?.body;
        // A list's own version moves with every write to the server.
        let content = |tree: &Value| tree.get("items").unwrap_or(tree).clone();
        if content(&before) == content(&after) {
            return Ok((after, decode(&bytes)?));
        }
        before = after;
    }
    anyhow::bail!("{path} never stands still")
}

/// A tree without null fields and empty lists and maps, which protobuf does not encode.
fn meaning(value: &Value) -> Value {
    let says = |value: &Value| match value {
        Value::Null => false,
        Value::Array(items) => !items.is_empty(),
        Value::Object(fields) => !fields.is_empty(),
        _ => true,
    };
    match value {
        Value::Object(fields) => fields
            .iter()
            .map(|(name, value)| (name.clone(), meaning(value)))
            .filter(|(name, value)| says(value) && name != "creationTimestamp")
            .collect(),
        Value::Array(items) => items.iter().map(meaning).collect(),
        other => other.clone(),
    }
}

#[tokio::test]
async fn an_object_and_its_list_are_the_same_in_protobuf() -> Result<()> {
    let cluster = TestCluster::start().await?;
    let namespace = cluster.namespace("protobuf").await?;
    let raw = cluster.raw();
    for (path, object) in objects(&namespace) {
        let made = raw.post(&path, &object).await?;
        assert_eq!(made.code, 201, "{path}: {}", made.message());
        let name = object["metadata"]["name"].as_str().context("a name")?;
        let (json, protobuf) = both(&raw, &format!("{path}/{name}")).await?;
        assert_eq!(meaning(&protobuf), meaning(&json), "{path}");
        let (json, protobuf) = both(&raw, &path).await?;
        assert_eq!(protobuf["kind"], json["kind"]);
        assert_eq!(meaning(&protobuf["items"]), meaning(&json["items"]), "{path}");
        // A list's kind says it for its items.
        assert_eq!(
            (&json["items"][0]["kind"], &json["items"][0]["apiVersion"]),
            (&Value::Null, &Value::Null)
        );
        assert_eq!(
            protobuf["metadata"]["resourceVersion"].as_str().is_some(),
            json["metadata"]["resourceVersion"].as_str().is_some()
        );
    }
    Ok(())
}

/// Length-delimited watch frames, as client-go reads them.
fn frames(mut bytes: &[u8]) -> Result<Vec<(String, Value)>> {
    let mut events = Vec::new();
    while let Some((length, rest)) = bytes.split_first_chunk::<4>() {
        let length = usize::try_from(u32::from_be_bytes(*length))?;
        let (event, rest) = rest.split_at_checked(length).context("a whole frame")?;
        bytes = rest;
        // Field 1 is the type, field 2 holds the object in its field 1.
        let (kind, event) = field(event, 0x0a)?;
        let (object, _) = field(event, 0x12)?;
        let (object, _) = field(object, 0x0a)?;
        events.push((String::from_utf8(kind.to_vec())?, decode(object)?));
    }
    Ok(events)
}

/// The bytes of the next field, which must have this key, and the rest.
fn field(bytes: &[u8], key: u8) -> Result<(&[u8], &[u8])> {
    anyhow::ensure!(bytes.first() == Some(&key), "{bytes:?} does not begin with {key}");
    let (mut length, mut at) = (0_usize, 1);
    for shift in (0..35).step_by(7) {
        let byte = *bytes.get(at).context("a length")?;
        at += 1;
        length |= usize::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            break;
        }
    }
    bytes[at..].split_at_checked(length).context("a whole field")
}

#[tokio::test]
async fn watches_are_framed() -> Result<()> {
    let cluster = TestCluster::start().await?;
    let namespace = cluster.namespace("frames").await?;
    let raw = cluster.raw();
    let path = format!("/api/v1/namespaces/{namespace}/secrets");
    let made = raw
        .post(
            &path,
            &json!({"metadata": {"name": "a"}, "data": {"key": "dmFsdWU="}}),
        )
        .await?
        .body;
    let version = made["metadata"]["resourceVersion"]
        .as_str()
        .context("a version")?;
    raw.patch(
        "merge",
        &format!("{path}/a"),
        &json!({"metadata": {"labels": {"x": "y"}}}),
    )
    .await?;
    raw.delete(&format!("{path}/a"), &json!({})).await?;
    let url = format!("{path}?watch=true&timeoutSeconds=1&resourceVersion={version}");
    let (code, media, bytes) = raw.fetch(&url, EITHER).await?;
    assert_eq!(
        (code, media.as_str()),
        (200, "application/vnd.kubernetes.protobuf;stream=watch")
    );
    let events = frames(&bytes)?;
    let told: Vec<_> = events
        .iter()
        .map(|(kind, object)| (kind.as_str(), &object["metadata"]["name"], &object["data"]["key"]))
        .collect();
    let (name, key) = (json!("a"), json!("dmFsdWU="));
    assert_eq!(told, [("MODIFIED", &name, &key), ("DELETED", &name, &key)]);

    // A failure in a watch is a Status in a frame.
    let url = format!("{path}?watch=true&timeoutSeconds=1&resourceVersion=1");
    let (_, _, bytes) = raw.fetch(&url, PROTOBUF).await?;
    for (kind, object) in frames(&bytes)? {
        assert!(kind != "ERROR" || object["code"] == 410, "{object}");
    }
    Ok(())
}

#[tokio::test]
async fn failures_are_told_in_the_same_form() -> Result<()> {
    let cluster = TestCluster::start().await?;
    let namespace = cluster.namespace("failures").await?;
    let raw = cluster.raw();
    let path = format!("/api/v1/namespaces/{namespace}/configmaps/none");
    let (code, media, bytes) = raw.fetch(&path, EITHER).await?;
    assert_eq!((code, media.as_str()), (404, PROTOBUF));
    let status = decode(&bytes)?;
    assert_eq!(
        (
            &status["kind"],
            &status["reason"],
            &status["message"],
            &status["details"]["kind"]
        ),
        (
            &json!("Status"),
            &json!("NotFound"),
            &json!("configmaps \"none\" not found"),
            &json!("configmaps")
        )
    );
    Ok(())
}

#[tokio::test]
async fn custom_kinds_have_only_their_metadata_in_protobuf() -> Result<()> {
    let cluster = TestCluster::start().await?;
    let namespace = cluster.namespace("custom").await?;
    let raw = cluster.raw();
    let group = format!("{namespace}.example.com");
    let crd = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("widgets.{group}")},
        "spec": {
            "group": group, "scope": "Namespaced", "names": {"plural": "widgets", "kind": "Widget"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {
                "type": "object", "properties": {"spec": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
            }}}],
        },
    });
    let crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    let made = raw.post(crds, &crd).await?;
    assert_eq!(made.code, 201, "{}", made.message());
    let (json, protobuf) = both(&raw, &format!("{crds}/widgets.{group}")).await?;
    assert_eq!(meaning(&protobuf["spec"]), meaning(&json["spec"]));

    let path = format!("/apis/{group}/v1/namespaces/{namespace}/widgets");
    let widget = json!({"apiVersion": format!("{group}/v1"), "kind": "Widget", "metadata": {"name": "a", "labels": {"x": "y"}}, "spec": {"n": 1}});
    cambium_testing::eventually_some("the kind", || async {
        let answer = raw.post(&path, &widget).await?;
        Ok((answer.code == 201).then_some(()))
    })
    .await?;
    let one = format!("{path}/a");
    let (code, media, _) = raw.fetch(&one, EITHER).await?;
    assert_eq!((code, media.as_str()), (200, "application/json"));
    let (code, _, _) = raw.fetch(&one, PROTOBUF).await?;
    assert_eq!(code, 406);

    let metadata = |list: &str| format!("{PROTOBUF};as=PartialObjectMetadata{list};v=v1;g=meta.k8s.io");
    let (code, media, bytes) = raw.fetch(&one, &metadata("")).await?;
    assert_eq!((code, media.as_str()), (200, PROTOBUF));
    let partial = decode(&bytes)?;
    assert_eq!(
        (
            &partial["kind"],
            &partial["metadata"]["labels"],
            partial.get("spec")
        ),
        (&json!("PartialObjectMetadata"), &json!({"x": "y"}), None)
    );
    let (code, _, bytes) = raw.fetch(&path, &metadata("List")).await?;
    assert_eq!(code, 200);
    let list = decode(&bytes)?;
    assert_eq!(
        (&list["kind"], &list["items"][0]["metadata"]["name"]),
        (&json!("PartialObjectMetadataList"), &json!("a"))
    );
    Ok(())
}
