//! Bootstrap objects: the namespaces, roles, flow schemas, Services and priority classes that every cluster has.

use std::sync::Arc;

use futures::future::join_all;
use serde_json::{Value, json};

use crate::loopback::Loopback;
use crate::server::Server;
use crate::{aggregation, auth, fairness};

mod template;

pub(crate) use template::{ObjectTemplate, TIME, UID};

/// The endpoint of the Service `kubernetes`. A server in a process has no address, and Endpoints may not name a loopback
/// one; TEST-NET-1 is reserved for documentation, so no real host has this address.
const PLACEHOLDER_ENDPOINT: (&str, u16) = ("192.0.2.1", 6443);

/// Creates the bootstrap objects that are missing: RBAC roles and bindings, flow schemas and priority levels,
/// APIServices, namespaces, the ServiceCIDR, the Service `kubernetes` with its endpoints, the system priority classes.
/// The many are written to the store in one batch; the few are created through the API like any other object.
pub(crate) async fn run(server: &Arc<Server>) {
    let mut writes = auth::standard(server);
    writes.extend(fairness::bootstrap::missing(server));
    writes.extend(aggregation::missing_local(server));
    for answer in server.store.write_all(writes).await {
        if let Err(error) = answer {
            tracing::error!(%error, "failed to create bootstrap object");
        }
    }
    let client = server.loopback("cambium-bootstrap");
    let namespaces = ["default", "kube-system", "kube-public", "kube-node-lease"].map(|name| Missing {
        bucket: "/namespaces",
        key: name.to_owned(),
        path: "/api/v1/namespaces",
        object: json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}),
    });
    make(server, &client, namespaces.into()).await;

    let range = Missing {
        bucket: "networking.k8s.io/servicecidrs",
        key: "kubernetes".to_owned(),
        path: "/apis/networking.k8s.io/v1/servicecidrs",
        object: json!({
            "apiVersion": "networking.k8s.io/v1", "kind": "ServiceCIDR",
            "metadata": {"name": "kubernetes"}, "spec": {"cidrs": ["10.96.0.0/16"]},
        }),
    };
    let service = Missing {
        bucket: "/services",
        key: "default/kubernetes".to_owned(),
        path: "/api/v1/namespaces/default/services",
        object: json!({
            "apiVersion": "v1", "kind": "Service",
            "metadata": {"name": "kubernetes", "namespace": "default",
                "labels": {"component": "apiserver", "provider": "kubernetes"}},
            "spec": {"type": "ClusterIP", "clusterIP": "10.96.0.1",
                "ports": [{"name": "https", "port": 443, "protocol": "TCP", "targetPort": 443}]},
        }),
    };
    let port = json!([{"name": "https", "port": PLACEHOLDER_ENDPOINT.1, "protocol": "TCP"}]);
    let endpoints = Missing {
        bucket: "/endpoints",
        key: "default/kubernetes".to_owned(),
        path: "/api/v1/namespaces/default/endpoints",
        object: json!({
            "apiVersion": "v1", "kind": "Endpoints",
            "metadata": {"name": "kubernetes", "namespace": "default",
                "labels": {"endpointslice.kubernetes.io/skip-mirror": "true"}},
            "subsets": [{"addresses": [{"ip": PLACEHOLDER_ENDPOINT.0}], "ports": port}],
        }),
    };
    let slice = Missing {
        bucket: "discovery.k8s.io/endpointslices",
        key: "default/kubernetes".to_owned(),
        path: "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices",
        object: json!({
            "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice",
            "metadata": {"name": "kubernetes", "namespace": "default",
                "labels": {"kubernetes.io/service-name": "kubernetes"}},
            "addressType": "IPv4", "ports": port,
            "endpoints": [{"addresses": [PLACEHOLDER_ENDPOINT.0], "conditions": {"ready": true}}],
        }),
    };
    let priorities = [
        (
            "system-node-critical",
            2_000_001_000,
            "For pods that the system needs on the node where they are.",
        ),
        (
            "system-cluster-critical",
            2_000_000_000,
            "For pods that the system needs, on whichever node.",
        ),
    ]
    .map(|(name, value, description)| Missing {
        bucket: "scheduling.k8s.io/priorityclasses",
        key: name.to_owned(),
        path: "/apis/scheduling.k8s.io/v1/priorityclasses",
        object: json!({
            "apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass",
            "metadata": {"name": name}, "value": value, "description": description,
        }),
    });
    let authentication = Missing {
        bucket: "/configmaps",
        key: AUTHENTICATION.to_owned(),
        path: "/api/v1/namespaces/kube-system/configmaps",
        object: json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": "extension-apiserver-authentication", "namespace": "kube-system"},
            "data": server.aggregation.authentication(),
        }),
    };
    refresh_authentication(server, &client).await;
    make(
        server,
        &client,
        [range, service, endpoints, slice, authentication]
            .into_iter()
            .chain(priorities)
            .collect(),
    )
    .await;
}

/// The ConfigMap in which aggregated API servers find the CA of the front proxy.
const AUTHENTICATION: &str = "kube-system/extension-apiserver-authentication";

/// Updates the ConfigMap: the front proxy has a new CA after each start, unless it was given one.
async fn refresh_authentication(server: &Server, client: &Loopback) {
    if server
        .store
        .bucket(&"/configmaps".into())
        .get(AUTHENTICATION)
        .is_none()
    {
        return;
    }
    let path = "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication";
    let patch = json!({"data": server.aggregation.authentication()});
    if let Err(refused) = client.merge_patch(path, &patch).await {
        tracing::error!(
            message = refused.message(),
            "failed to update ConfigMap kube-system/extension-apiserver-authentication"
        );
    }
}

/// A bootstrap object and the collection to create it in.
struct Missing {
    bucket: &'static str,
    key: String,
    path: &'static str,
    object: Value,
}

async fn make(server: &Server, client: &Loopback, objects: Vec<Missing>) {
    let missing = objects
        .into_iter()
        .filter(|one| server.store.bucket(&one.bucket.into()).get(&one.key).is_none());
    join_all(missing.map(async |one| {
        if let Err(refused) = client.create(one.path, &one.object).await {
            let (message, key) = (refused.message(), one.key);
            tracing::error!(
                message,
                key,
                bucket = one.bucket,
                "failed to create bootstrap object"
            );
        }
    }))
    .await;
}
