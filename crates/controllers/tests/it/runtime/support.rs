//! ConfigMaps, and what was told about them.

use std::sync::{Arc, Mutex};

use cambium_controllers::runtime::{Change, Record};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Client;
use kube::api::{Api, ApiResource, DynamicObject};
use kube::client::Body;
use serde_json::json;

pub(crate) fn resource() -> ApiResource {
    ApiResource::erase::<ConfigMap>(&())
}

pub(crate) fn config_maps(client: Client, namespace: &str) -> Api<DynamicObject> {
    Api::namespaced_with(client, namespace, &resource())
}

/// A ConfigMap that says something, labelled with its namespace.
pub(crate) fn config_map(namespace: &str, name: &str, text: &str) -> DynamicObject {
    let mut object = DynamicObject::new(name, &resource()).within(namespace);
    object.metadata.labels = Some([("test".to_owned(), namespace.to_owned())].into());
    object.data(json!({"data": {"text": text}}))
}

/// What was told, as `name: before > after`.
#[derive(Clone, Default)]
pub(crate) struct Told(Arc<Mutex<Vec<Change>>>);

impl Told {
    pub(crate) fn handler(&self) -> impl Fn(Change) + Send + Sync + 'static {
        let told = self.0.clone();
        move |change| told.lock().expect("no panic").push(change)
    }

    pub(crate) fn changes(&self) -> Vec<Change> {
        self.0.lock().expect("no panic").clone()
    }

    pub(crate) fn clear(&self) {
        self.0.lock().expect("no panic").clear();
    }

    pub(crate) fn lines(&self) -> Vec<String> {
        let text = |record: &Option<Arc<Record>>| match record {
            Some(record) => record.value()["data"]["text"].as_str().unwrap_or("?").to_owned(),
            None => "-".to_owned(),
        };
        let line = |change: &Change| {
            format!(
                "{}: {} > {}",
                change.key.name,
                text(&change.before),
                text(&change.after)
            )
        };
        self.changes().iter().map(line).collect()
    }
}

/// A client of a server that refuses streaming lists as Kubernetes does where it does not have them.
pub(crate) fn without_streaming_lists(client: &Client) -> Client {
    let inner = client.clone();
    let service = tower::service_fn(move |request: http::Request<Body>| {
        let inner = inner.clone();
        async move {
            let streams = request
                .uri()
                .query()
                .is_some_and(|query| query.contains("sendInitialEvents"));
            if !streams {
                return inner.send(request).await;
            }
            let status = json!({
                "apiVersion": "v1", "kind": "Status", "metadata": {}, "status": "Failure", "reason": "Invalid", "code": 422,
                "message": "sendInitialEvents: Forbidden: sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled",
            });
            let body = Body::from(status.to_string().into_bytes());
            Ok(http::Response::builder()
                .status(422)
                .body(body)
                .expect("a code and a body"))
        }
    });
    Client::new(service, client.default_namespace())
}
