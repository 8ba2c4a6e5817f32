//! ServiceAccounts: every namespace has `default`, and every pod runs as one.

use anyhow::Result;
use cambium_testing::{Raw, TestCluster, eventually, eventually_some};
use serde_json::{Value, json};

async fn place() -> Result<(TestCluster, Raw, String)> {
    let cluster = TestCluster::start().await?;
    let namespace = cluster.namespace("accounts").await?;
    let (raw, core) = (cluster.raw(), format!("/api/v1/namespaces/{namespace}"));
    Ok((cluster, raw, core))
}

fn pod(name: &str, account: Option<&str>) -> Value {
    let container = |name: &str| json!({"name": name, "image": "i"});
    json!({"metadata": {"name": name}, "spec": {"serviceAccountName": account,
        "containers": [container("a"), container("b")], "initContainers": [container("i")]}})
}

fn mounts(pod: &Value, containers: &str, index: usize) -> Value {
    pod["spec"][containers][index]["volumeMounts"].clone()
}

#[tokio::test]
async fn a_pod_gets_the_default_account_and_its_token() -> Result<()> {
    let (_cluster, raw, core) = place().await?;
    let made = raw.post(&format!("{core}/pods"), &pod("p", None)).await?;
    assert_eq!(made.code, 201, "{made:?}");
    let spec = &made.body["spec"];
    assert_eq!(
        (&spec["serviceAccountName"], &spec["serviceAccount"]),
        (&json!("default"), &json!("default"))
    );
    let volume = spec["volumes"][0]["name"].as_str().unwrap_or_default();
    assert!(
        volume.starts_with("kube-api-access-") && volume.len() == 21,
        "{volume}"
    );
    assert_eq!(
        spec["volumes"],
        json!([{"name": volume, "projected": {"defaultMode": 420, "sources": [
            {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
            {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
            {"downwardAPI": {"items": [{"path": "namespace", "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"}}]}},
        ]}}])
    );
    let mount = json!([{"mountPath": "/var/run/secrets/kubernetes.io/serviceaccount", "name": volume, "readOnly": true}]);
    for (containers, index) in [("containers", 0), ("containers", 1), ("initContainers", 0)] {
        assert_eq!(mounts(&made.body, containers, index), mount);
    }
    Ok(())
}

#[tokio::test]
async fn a_pods_account_must_be_there() -> Result<()> {
    let (_cluster, raw, core) = place().await?;
    let refused = raw
        .post(&format!("{core}/pods"), &pod("p", Some("nobody")))
        .await?;
    let namespace = core.rsplit('/').next().unwrap_or_default();
    assert_eq!(
        (refused.code, refused.message().to_owned()),
        (
            403,
            format!(
                "pods \"p\" is forbidden: error looking up service account {namespace}/nobody: serviceaccount \"nobody\" not found"
            )
        )
    );
    Ok(())
}

#[tokio::test]
async fn an_account_brings_pull_secrets_and_may_bring_no_token() -> Result<()> {
    let (_cluster, raw, core) = place().await?;
    let account = json!({"metadata": {"name": "quiet"}, "automountServiceAccountToken": false, "imagePullSecrets": [{"name": "registry"}]});
    raw.post(&format!("{core}/serviceaccounts"), &account).await?;
    let pods = format!("{core}/pods");
    let quiet = raw.post(&pods, &pod("quiet", Some("quiet"))).await?.body;
    assert_eq!(quiet["spec"]["imagePullSecrets"], json!([{"name": "registry"}]));
    assert_eq!(
        (&quiet["spec"]["volumes"], mounts(&quiet, "containers", 0)),
        (&Value::Null, Value::Null)
    );

    let mut insists = pod("insists", Some("quiet"));
    insists["spec"]["automountServiceAccountToken"] = json!(true);
    insists["spec"]["imagePullSecrets"] = json!([{"name": "own"}]);
    let insists = raw.post(&pods, &insists).await?.body;
    assert_eq!(insists["spec"]["imagePullSecrets"], json!([{"name": "own"}]));
    assert!(
        insists["spec"]["volumes"].is_array(),
        "the pod's wish counts more than the account's"
    );

    let mut declines = pod("declines", None);
    declines["spec"]["automountServiceAccountToken"] = json!(false);
    assert_eq!(
        raw.post(&pods, &declines).await?.body["spec"]["volumes"],
        Value::Null
    );
    let mut own = pod("own", None);
    own["spec"]["volumes"] = json!([{"name": "mine", "emptyDir": {}}]);
    own["spec"]["containers"][0]["volumeMounts"] =
        json!([{"name": "mine", "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount"}]);
    let own = raw.post(&pods, &own).await?.body;
    assert_eq!(mounts(&own, "containers", 0).as_array().map(Vec::len), Some(1));
    assert_eq!(own["spec"]["volumes"].as_array().map(Vec::len), Some(2));
    Ok(())
}

#[tokio::test]
async fn every_namespace_has_what_its_pods_need() -> Result<()> {
    let (_cluster, raw, core) = place().await?;
    let config_map = format!("{core}/configmaps/kube-root-ca.crt");
    let first = eventually_some("the certificate is there", || async {
        let found = raw.get(&config_map).await?;
        Ok((found.code == 200).then_some(found.body))
    })
    .await?;
    let certificate = first["data"]["ca.crt"].as_str().unwrap_or_default();
    assert!(certificate.starts_with("-----BEGIN CERTIFICATE-----"));
    let spoiled = json!({"data": {"ca.crt": "nonsense", "more": "x"}});
    raw.patch("merge", &config_map, &spoiled).await?;
    eventually("the certificate is restored", || async {
        Ok(raw.get(&config_map).await?.body["data"] == first["data"])
    })
    .await?;
    for path in [config_map, format!("{core}/serviceaccounts/default")] {
        let before = raw.get(&path).await?.body;
        raw.delete(&path, &Value::Null).await?;
        eventually("it is back", || async {
            let now = raw.get(&path).await?.body;
            Ok(now["metadata"]["uid"].is_string() && now["metadata"]["uid"] != before["metadata"]["uid"])
        })
        .await?;
    }
    Ok(())
}
