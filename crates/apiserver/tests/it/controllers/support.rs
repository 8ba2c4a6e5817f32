//! Test support for the built-in controllers: a JSON client and fixtures.

use anyhow::Result;
use cambium_testing::eventually;
use kube::Client;
use serde_json::{Value, json};

/// A JSON client.
#[derive(Clone)]
pub(crate) struct Json(pub(crate) Client);

impl Json {
    pub(crate) async fn create(&self, path: &str, object: &Value) -> Result<Value> {
        let request = http::Request::post(path).header("content-type", "application/json");
        Ok(self.0.request(request.body(serde_json::to_vec(object)?)?).await?)
    }

    pub(crate) async fn get(&self, path: &str) -> Result<Option<Value>> {
        match self.0.request(http::Request::get(path).body(vec![])?).await {
            Ok(value) => Ok(Some(value)),
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Gets an object that must exist.
    pub(crate) async fn read(&self, path: &str) -> Result<Value> {
        self.get(path)
            .await?
            .ok_or_else(|| anyhow::anyhow!("{path} is not there"))
    }

    pub(crate) async fn list(&self, path: &str) -> Result<Vec<Value>> {
        Ok(self.read(path).await?["items"]
            .as_array()
            .cloned()
            .unwrap_or_default())
    }

    pub(crate) async fn patch(&self, path: &str, patch: &Value) -> Result<Value> {
        let request = http::Request::patch(path).header("content-type", "application/merge-patch+json");
        Ok(self.0.request(request.body(serde_json::to_vec(patch)?)?).await?)
    }

    pub(crate) async fn delete(&self, path: &str, propagation: &str) -> Result<Value> {
        let request = http::Request::delete(path).header("content-type", "application/json");
        let options = json!({"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": propagation});
        Ok(self
            .0
            .request(request.body(serde_json::to_vec(&options)?)?)
            .await?)
    }

    pub(crate) async fn until_gone(&self, path: &str) -> Result<()> {
        eventually(&format!("{path} is gone"), || async {
            Ok(self.get(path).await?.is_none())
        })
        .await
    }

    /// Waits until the object satisfies a predicate, and returns it.
    pub(crate) async fn until(&self, path: &str, wanted: impl Fn(&Value) -> bool) -> Result<Value> {
        let found = cambium_testing::eventually_some(path, || async {
            Ok(self.get(path).await?.filter(|object| wanted(object)))
        });
        match found.await {
            Ok(found) => Ok(found),
            Err(error) => anyhow::bail!("{error}: {:#}", self.get(path).await?.unwrap_or_default()),
        }
    }
}

/// A ConfigMap with owners.
pub(crate) fn config_map(name: &str, owners: &[Value]) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "ownerReferences": owners}})
}

/// An owner reference to an existing object.
pub(crate) fn owner(object: &Value) -> Value {
    json!({"apiVersion": object["apiVersion"], "kind": object["kind"], "name": object["metadata"]["name"],
        "uid": object["metadata"]["uid"], "blockOwnerDeletion": true})
}

/// An embedded cluster in virtual time, a client for it, and a namespace.
pub(crate) async fn virtual_cluster() -> Result<(cambium_testing::TestCluster, Json, String)> {
    let builder = cambium_apiserver::ApiServer::builder().clock(cambium_testing::virtual_clock());
    let cluster = cambium_testing::TestCluster::embedded(builder).await?;
    let namespace = cluster.namespace("work").await?;
    let api = Json(cluster.client());
    Ok((cluster, api, namespace))
}

/// A pod template with the label `app`.
pub(crate) fn template(app: &str, image: &str, annotations: &Value) -> Value {
    json!({"metadata": {"labels": {"app": app}, "annotations": annotations},
        "spec": {"containers": [{"name": "main", "image": image}]}})
}

/// The condition of a type.
pub(crate) fn condition<'a>(object: &'a Value, kind: &str) -> &'a Value {
    let conditions = object["status"]["conditions"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default();
    conditions
        .iter()
        .find(|condition| condition["type"] == kind)
        .unwrap_or(&Value::Null)
}

/// Lets some time pass, and checks that nothing was written.
pub(crate) async fn stays_quiet(cluster: &cambium_testing::TestCluster) {
    let server = cluster.server().expect("an embedded cluster");
    tokio::time::sleep(std::time::Duration::from_secs(5)).await;
    let before = server.revision();
    tokio::time::sleep(std::time::Duration::from_secs(3600)).await;
    assert_eq!(server.revision(), before, "an unchanged world is left alone");
}
