//! What every cluster has from its first moment.

use std::sync::Arc;

use futures::future::join_all;
use serde_json::{Value, json};

use crate::fairness;
use crate::loopback::Loopback;
use crate::server::Server;

/// Makes the namespaces, the range of Services' addresses, the Service that stands for this server, and the flow schemas
/// and priority levels, unless they are there. Each round is written as one group.
pub(crate) async fn run(server: &Arc<Server>) {
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
    let flows = fairness::bootstrap::objects().into_iter().map(|suggestion| {
        let (bucket, path) = match suggestion.is_level() {
            true => (
                fairness::PRIORITY_LEVELS,
                "/apis/flowcontrol.apiserver.k8s.io/v1/prioritylevelconfigurations",
            ),
            false => (
                fairness::FLOW_SCHEMAS,
                "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas",
            ),
        };
        Missing {
            bucket,
            key: suggestion.name().to_owned(),
            path,
            object: suggestion.object,
        }
    });
    make(
        server,
        &client,
        [range, service].into_iter().chain(flows).collect(),
    )
    .await;
}

/// An object that should be there.
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
                "an object of every cluster could not be made"
            );
        }
    }))
    .await;
}
