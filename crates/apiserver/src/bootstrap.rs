//! What every cluster has from its first moment.

use std::sync::Arc;

use serde_json::json;

use crate::auth;
use crate::server::Server;

/// Makes the namespaces, the standard roles and bindings, the range of Services' addresses, and the Service that stands for this server, unless they are there.
pub(crate) async fn run(server: &Arc<Server>) {
    let client = server.loopback("cambium-bootstrap");
    for name in ["default", "kube-system", "kube-public", "kube-node-lease"] {
        if server.store.bucket(&server.namespaces).get(name).is_none() {
            let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
            if let Err(refused) = client.create("/api/v1/namespaces", &namespace).await {
                tracing::error!(name, message = refused.message(), "a namespace could not be made");
            }
        }
    }
    auth::standard(server).await;
    if server
        .store
        .bucket(&"networking.k8s.io/servicecidrs".into())
        .get("kubernetes")
        .is_none()
    {
        let range = json!({
            "apiVersion": "networking.k8s.io/v1", "kind": "ServiceCIDR",
            "metadata": {"name": "kubernetes"}, "spec": {"cidrs": ["10.96.0.0/16"]},
        });
        if let Err(refused) = client
            .create("/apis/networking.k8s.io/v1/servicecidrs", &range)
            .await
        {
            tracing::error!(
                message = refused.message(),
                "the range of services' addresses could not be made"
            );
        }
    }
    if server
        .store
        .bucket(&"/services".into())
        .get("default/kubernetes")
        .is_none()
    {
        let service = json!({
            "apiVersion": "v1", "kind": "Service",
            "metadata": {"name": "kubernetes", "namespace": "default",
                "labels": {"component": "apiserver", "provider": "kubernetes"}},
            "spec": {"type": "ClusterIP", "clusterIP": "10.96.0.1",
                "ports": [{"name": "https", "port": 443, "protocol": "TCP", "targetPort": 443}]},
        });
        if let Err(refused) = client
            .create("/api/v1/namespaces/default/services", &service)
            .await
        {
            tracing::error!(
                message = refused.message(),
                "the service for this server could not be made"
            );
        }
    }
}
