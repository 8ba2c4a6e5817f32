//! Deletion of namespaces, and their default objects, on our server or on Kubernetes.

use crate::controllers::support::{Json, config_map};
use anyhow::Result;
use cambium_testing::TestCluster;
use serde_json::{Value, json};

/// A namespace with an explicit finalizer.
async fn namespace(cluster: &TestCluster, api: &Json) -> Result<(String, String)> {
    let name = cluster.unique("ns");
    let object = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}, "spec": {"finalizers": ["kubernetes"]}});
    api.create("/api/v1/namespaces", &object).await?;
    let path = format!("/api/v1/namespaces/{name}");
    Ok((name, path))
}

fn condition<'a>(object: &'a Value, kind: &str) -> &'a Value {
    let conditions = object["status"]["conditions"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default();
    conditions
        .iter()
        .find(|condition| condition["type"] == kind)
        .unwrap_or(&Value::Null)
}

#[tokio::test]
async fn a_namespace_goes_with_everything_in_it() -> Result<()> {
    let cluster = TestCluster::start().await?;
    let api = Json(cluster.client());
    let (_, path) = namespace(&cluster, &api).await?;
    api.create(&format!("{path}/configmaps"), &config_map("a", &[]))
        .await?;
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}});
    api.create(&format!("{path}/secrets"), &secret).await?;
    api.delete(&path, "Background").await?;
    api.until_gone(&path).await?;
    assert!(api.get(&format!("{path}/configmaps/a")).await?.is_none());
    assert!(api.get(&format!("{path}/secrets/s")).await?.is_none());
    Ok(())
}

#[tokio::test]
async fn a_namespace_waits_for_finalizers_and_says_so() -> Result<()> {
    let cluster = TestCluster::start().await?;
    let api = Json(cluster.client());
    let (_, path) = namespace(&cluster, &api).await?;
    let mut held = config_map("held", &[]);
    held["metadata"]["finalizers"] = json!(["example.com/hold"]);
    api.create(&format!("{path}/configmaps"), &held).await?;
    api.create(&format!("{path}/configmaps"), &config_map("free", &[]))
        .await?;
    api.delete(&path, "Background").await?;
    let remaining = |object: &Value| condition(object, "NamespaceFinalizersRemaining")["status"] == "True";
    let waiting = api.until(&path, remaining).await?;
    assert_eq!(waiting["status"]["phase"], "Terminating");
    let expected = [
        (
            "NamespaceDeletionDiscoveryFailure",
            "False",
            "ResourcesDiscovered",
            "All resources successfully discovered",
        ),
        (
            "NamespaceDeletionGroupVersionParsingFailure",
            "False",
            "ParsedGroupVersions",
            "All legacy kube types successfully parsed",
        ),
        (
            "NamespaceDeletionContentFailure",
            "False",
            "ContentDeleted",
            "All content successfully deleted, may be waiting on finalization",
        ),
        (
            "NamespaceContentRemaining",
            "True",
            "SomeResourcesRemain",
            "Some resources are remaining: configmaps. has 1 resource instances",
        ),
        (
            "NamespaceFinalizersRemaining",
            "True",
            "SomeFinalizersRemain",
            "Some content in the namespace has finalizers remaining: example.com/hold in 1 resource instances",
        ),
    ];
    for (kind, status, reason, message) in expected {
        let found = condition(&waiting, kind);
        assert_eq!(
            (&found["status"], &found["reason"], &found["message"]),
            (&json!(status), &json!(reason), &json!(message))
        );
    }
    assert!(
        api.create(&format!("{path}/configmaps"), &config_map("late", &[]))
            .await
            .is_err()
    );
    assert!(api.get(&format!("{path}/configmaps/free")).await?.is_none());
    api.patch(
        &format!("{path}/configmaps/held"),
        &json!({"metadata": {"finalizers": null}}),
    )
    .await?;
    api.until_gone(&path).await
}

#[tokio::test]
async fn a_namespace_keeps_a_finalizer_that_is_not_ours() -> Result<()> {
    let cluster = TestCluster::start().await?;
    let api = Json(cluster.client());
    let name = cluster.unique("ns");
    let object = json!({"apiVersion": "v1", "kind": "Namespace",
        "metadata": {"name": name, "finalizers": ["example.com/mine"]}, "spec": {"finalizers": ["kubernetes"]}});
    api.create("/api/v1/namespaces", &object).await?;
    let path = format!("/api/v1/namespaces/{name}");
    api.delete(&path, "Background").await?;
    api.until(&path, |namespace| namespace["spec"].get("finalizers").is_none())
        .await?;
    api.patch(&path, &json!({"metadata": {"finalizers": null}}))
        .await?;
    api.until_gone(&path).await
}

#[tokio::test]
async fn every_namespace_has_a_default_service_account() -> Result<()> {
    let cluster = TestCluster::start().await?;
    let api = Json(cluster.client());
    let (_, path) = namespace(&cluster, &api).await?;
    let account = format!("{path}/serviceaccounts/default");
    let first = api.until(&account, |_| true).await?;
    api.delete(&account, "Background").await?;
    api.until(&account, |second| {
        second["metadata"]["uid"] != first["metadata"]["uid"]
    })
    .await?;
    api.until("/api/v1/namespaces/default/serviceaccounts/default", |_| true)
        .await?;
    api.delete(&path, "Background").await?;
    api.until_gone(&path).await
}
