//! Admission webhooks: real HTTPS servers that mutate and deny.

use std::sync::Arc;

use anyhow::Result;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use cambium_testing::{TestCluster, WebhookServer, eventually};
use serde_json::{Value, json};

const HOOKS: &str = "/apis/admissionregistration.k8s.io/v1";

/// A webhook server: `/label` adds a label, `/deny` denies, `/warn` warns, `/broken` returns garbage.
async fn server() -> Result<WebhookServer> {
    WebhookServer::start(Arc::new(|path, review| {
        let uid = review["request"]["uid"].clone();
        let patch = json!([
            {"op": "add", "path": "/metadata/labels", "value": {"stamped": "yes"}},
        ]);
        let response = match path {
            "/label" => json!({"uid": uid, "allowed": true, "patchType": "JSONPatch", "patch": STANDARD.encode(patch.to_string())}),
            "/deny" => json!({"uid": uid, "allowed": false, "status": {"message": "not on a Sunday", "code": 418, "reason": "Teapot"}}),
            "/warn" => json!({"uid": uid, "allowed": true, "warnings": ["have a care"]}),
            _ => return json!({"nonsense": true}),
        };
        json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response})
    }))
    .await
}

/// A configuration for ConfigMaps in one namespace.
fn configuration(kind: &str, name: &str, namespace: &str, hooks: &[Value]) -> Value {
    let complete = |hook: &Value| {
        let mut complete = json!({
            "name": format!("{name}.example.com"), "admissionReviewVersions": ["v1"], "sideEffects": "None",
            "rules": [{"operations": ["CREATE", "UPDATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"]}],
            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}},
        });
        for (key, value) in hook.as_object().into_iter().flatten() {
            complete[key] = value.clone();
        }
        complete
    };
    json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": format!("{kind}WebhookConfiguration"),
        "metadata": {"name": name}, "webhooks": hooks.iter().map(complete).collect::<Vec<_>>(),
    })
}

fn config_map(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"k": "v"}})
}

/// As envtest registers webhooks.
#[tokio::test]
async fn a_webhook_is_trusted_by_its_own_certificate() -> Result<()> {
    let (cluster, hook) = (TestCluster::start().await?, server().await?);
    let raw = cluster.raw();
    let (name, namespace) = (cluster.unique("own"), cluster.namespace("own").await?);
    let client =
        json!({"clientConfig": {"url": hook.url("/label"), "caBundle": STANDARD.encode(hook.certificate())}});
    let collection = format!("{HOOKS}/mutatingwebhookconfigurations");
    let made = raw
        .post(
            &collection,
            &configuration("Mutating", &name, &namespace, &[client]),
        )
        .await?;
    assert_eq!(made.code, 201, "{made:?}");
    let path = format!("/api/v1/namespaces/{namespace}/configmaps?dryRun=All");
    eventually("the webhook is called", || async {
        let made = raw.post(&path, &config_map("probe")).await?;
        Ok(made.body["metadata"]["labels"]["stamped"] == "yes")
    })
    .await
}

#[tokio::test]
async fn a_mutating_webhook_changes_and_sees_the_request() -> Result<()> {
    let (cluster, hook) = (TestCluster::start().await?, server().await?);
    let raw = cluster.raw();
    let (name, namespace) = (cluster.unique("mutate"), cluster.namespace("mutate").await?);
    let client =
        json!({"clientConfig": {"url": hook.url("/label"), "caBundle": STANDARD.encode(hook.authority())}});
    let made = raw
        .post(
            &format!("{HOOKS}/mutatingwebhookconfigurations"),
            &configuration("Mutating", &name, &namespace, &[client]),
        )
        .await?;
    assert_eq!(made.code, 201, "{made:?}");
    assert_eq!(made.body["webhooks"][0]["failurePolicy"], "Fail");
    let path = format!("/api/v1/namespaces/{namespace}/configmaps");
    eventually("the webhook is called", || async {
        let made = raw
            .post(&format!("{path}?dryRun=All"), &config_map("probe"))
            .await?;
        Ok(made.body["metadata"]["labels"]["stamped"] == "yes")
    })
    .await?;
    let made = raw.post(&path, &config_map("a")).await?;
    assert_eq!(
        (made.code, &made.body["metadata"]["labels"]),
        (201, &json!({"stamped": "yes"})),
        "{made:?}"
    );
    let review = hook.seen().pop().unwrap_or_default();
    let request = &review["request"];
    assert_eq!(review["apiVersion"], "admission.k8s.io/v1");
    assert_eq!(
        (&request["operation"], &request["name"], &request["namespace"]),
        (&json!("CREATE"), &json!("a"), &json!(namespace))
    );
    assert_eq!(
        request["kind"],
        json!({"group": "", "version": "v1", "kind": "ConfigMap"})
    );
    assert_eq!(
        request["resource"],
        json!({"group": "", "version": "v1", "resource": "configmaps"})
    );
    assert_eq!(
        (
            &request["object"]["data"],
            &request["oldObject"],
            &request["dryRun"]
        ),
        (&json!({"k": "v"}), &Value::Null, &json!(false))
    );
    raw.patch("merge", &format!("{path}/a"), &json!({"data": {"k": "w"}}))
        .await?;
    let review = hook.seen().pop().unwrap_or_default();
    assert_eq!(
        (
            &review["request"]["operation"],
            &review["request"]["oldObject"]["data"]
        ),
        (&json!("UPDATE"), &json!({"k": "v"}))
    );
    let elsewhere = raw
        .post(
            "/api/v1/namespaces/default/configmaps?dryRun=All",
            &config_map(&name),
        )
        .await?;
    assert!(
        elsewhere.body["metadata"].get("labels").is_none(),
        "other namespaces are not its business"
    );
    raw.delete(
        &format!("{HOOKS}/mutatingwebhookconfigurations/{name}"),
        &json!({}),
    )
    .await?;
    Ok(())
}

#[tokio::test]
async fn a_validating_webhook_refuses_and_warns() -> Result<()> {
    let (cluster, hook) = (TestCluster::start().await?, server().await?);
    let raw = cluster.raw();
    let (name, namespace) = (cluster.unique("validate"), cluster.namespace("validate").await?);
    let bundle = STANDARD.encode(hook.authority());
    let client = |path: &str| json!({"url": hook.url(path), "caBundle": bundle});
    let hooks = [
        json!({"name": "deny.example.com", "clientConfig": client("/deny"), "objectSelector": {"matchLabels": {"deny": "me"}}}),
        json!({"name": "warn.example.com", "clientConfig": client("/warn")}),
        json!({"name": "broken.example.com", "clientConfig": client("/broken"), "failurePolicy": "Ignore"}),
        json!({"name": "strict.example.com", "clientConfig": client("/broken"), "objectSelector": {"matchLabels": {"break": "me"}}}),
        json!({"name": "picky.example.com", "clientConfig": client("/deny"), "matchConditions": [
            {"name": "only-updates", "expression": "request.operation == 'UPDATE'"},
            {"name": "only-picked", "expression": "object.data.k == 'pick me'"}]}),
    ];
    let made = raw
        .post(
            &format!("{HOOKS}/validatingwebhookconfigurations"),
            &configuration("Validating", &name, &namespace, &hooks),
        )
        .await?;
    assert_eq!(made.code, 201, "{made:?}");
    let path = format!("/api/v1/namespaces/{namespace}/configmaps");
    eventually("the webhooks are called", || async {
        Ok(raw
            .post(&format!("{path}?dryRun=All"), &config_map("probe"))
            .await?
            .warnings
            == ["have a care"])
    })
    .await?;
    let made = raw.post(&path, &config_map("a")).await?;
    assert_eq!(
        (made.code, made.warnings.as_slice()),
        (201, &["have a care".to_owned()][..]),
        "a broken one is passed over"
    );
    let denied = raw
        .patch(
            "merge",
            &format!("{path}/a"),
            &json!({"metadata": {"labels": {"deny": "me"}}}),
        )
        .await?;
    assert_eq!((denied.code, denied.reason()), (418, "Teapot"));
    assert_eq!(
        denied.message(),
        "admission webhook \"deny.example.com\" denied the request: not on a Sunday"
    );
    let failed = raw
        .patch(
            "merge",
            &format!("{path}/a"),
            &json!({"metadata": {"labels": {"break": "me"}}}),
        )
        .await?;
    assert_eq!((failed.code, failed.reason()), (500, "InternalError"));
    assert!(
        failed
            .message()
            .contains("failed calling webhook \"strict.example.com\""),
        "{}",
        failed.message()
    );
    assert!(
        raw.get(&format!("{path}/a")).await?.body["metadata"]
            .get("labels")
            .is_none()
    );
    raw.delete(
        &format!("{HOOKS}/validatingwebhookconfigurations/{name}"),
        &json!({}),
    )
    .await?;
    Ok(())
}

#[tokio::test]
async fn configurations_that_cannot_work_are_refused() -> Result<()> {
    let cluster = TestCluster::start().await?;
    let raw = cluster.raw();
    let path = format!("{HOOKS}/validatingwebhookconfigurations");
    let refused = async |hook: Value, expected: &str| -> Result<()> {
        let answer = raw
            .post(&path, &configuration("Validating", "wrong", "x", &[hook]))
            .await?;
        assert_eq!(answer.code, 422, "{answer:?}");
        assert!(answer.message().contains(expected), "{}", answer.message());
        Ok(())
    };
    let url = json!({"url": "https://127.0.0.1:1/x"});
    refused(
        json!({"clientConfig": {}}),
        "webhooks[0].clientConfig: Required value: exactly one of url or service is required",
    )
    .await?;
    refused(
        json!({"clientConfig": {"url": "http://127.0.0.1"}}),
        "'https' is the only allowed URL scheme",
    )
    .await?;
    refused(
        json!({"clientConfig": url, "sideEffects": "Some"}),
        "webhooks[0].sideEffects: Unsupported value: \"Some\"",
    )
    .await?;
    refused(
        json!({"clientConfig": url, "timeoutSeconds": 31}),
        "webhooks[0].timeoutSeconds: Invalid value: 31: the timeout value must be between 1 and 30 seconds",
    )
    .await?;
    refused(
        json!({"clientConfig": url, "admissionReviewVersions": ["v9"]}),
        "must include at least one of v1, v1beta1",
    )
    .await?;
    Ok(())
}
