//! What every cluster has from its first moment.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::object;
use crate::server::Server;

/// Stands for the address of this server where Kubernetes wants one that others can reach: a server in a process
/// has none, and one on loopback may not be named. The range is reserved for examples, so nobody else has it.
const STAND_IN: (&str, u16) = ("192.0.2.1", 6443);

/// Makes what every cluster has, unless it is there: namespaces, the range of Services' addresses, the Service that
/// stands for this server and where that leads, and the priorities of the system.
pub(crate) async fn run(server: &Arc<Server>) {
    let client = server.loopback("cambium-bootstrap");
    for (bucket, path, object) in all() {
        let key = object::key(object::namespace(&object), object::name(&object));
        if server.store.bucket(&bucket.into()).get(&key).is_some() {
            continue;
        }
        if let Err(refused) = client.create(path, &object).await {
            tracing::error!(bucket, key, message = refused.message(), "could not be made");
        }
    }
}

fn all() -> Vec<(&'static str, &'static str, Value)> {
    let mut all: Vec<_> = ["default", "kube-system", "kube-public", "kube-node-lease"]
        .into_iter()
        .map(|name| {
            let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
            ("/namespaces", "/api/v1/namespaces", namespace)
        })
        .collect();
    all.push((
        "networking.k8s.io/servicecidrs",
        "/apis/networking.k8s.io/v1/servicecidrs",
        json!({
            "apiVersion": "networking.k8s.io/v1", "kind": "ServiceCIDR",
            "metadata": {"name": "kubernetes"}, "spec": {"cidrs": ["10.96.0.0/16"]},
        }),
    ));
    all.push((
        "/services",
        "/api/v1/namespaces/default/services",
        json!({
            "apiVersion": "v1", "kind": "Service",
            "metadata": {"name": "kubernetes", "namespace": "default",
                "labels": {"component": "apiserver", "provider": "kubernetes"}},
            "spec": {"type": "ClusterIP", "clusterIP": "10.96.0.1",
                "ports": [{"name": "https", "port": 443, "protocol": "TCP", "targetPort": 443}]},
        }),
    ));
    let port = json!([{"name": "https", "port": STAND_IN.1, "protocol": "TCP"}]);
    all.push((
        "/endpoints",
        "/api/v1/namespaces/default/endpoints",
        json!({
            "apiVersion": "v1", "kind": "Endpoints",
            "metadata": {"name": "kubernetes", "namespace": "default",
                "labels": {"endpointslice.kubernetes.io/skip-mirror": "true"}},
            "subsets": [{"addresses": [{"ip": STAND_IN.0}], "ports": port}],
        }),
    ));
    all.push((
        "discovery.k8s.io/endpointslices",
        "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices",
        json!({
            "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice",
            "metadata": {"name": "kubernetes", "namespace": "default",
                "labels": {"kubernetes.io/service-name": "kubernetes"}},
            "addressType": "IPv4", "ports": port,
            "endpoints": [{"addresses": [STAND_IN.0], "conditions": {"ready": true}}],
        }),
    ));
    let priorities = [
        (
            "system-node-critical",
            2_000_001_000,
            "Used for system critical pods that must not be moved from their current node.",
        ),
        (
            "system-cluster-critical",
            2_000_000_000,
            "Used for system critical pods that must run in the cluster, but can be moved to another node if necessary.",
        ),
    ];
    all.extend(priorities.map(|(name, value, description)| {
        let class = json!({
            "apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass",
            "metadata": {"name": name}, "value": value, "description": description,
        });
        (
            "scheduling.k8s.io/priorityclasses",
            "/apis/scheduling.k8s.io/v1/priorityclasses",
            class,
        )
    }));
    all
}
