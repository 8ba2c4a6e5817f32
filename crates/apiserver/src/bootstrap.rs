//! What every cluster has from its first moment.

use std::sync::Arc;

use futures::future::join_all;
use serde_json::{Value, json};

use crate::auth;
use crate::fairness;
use crate::loopback::Loopback;
use crate::server::Server;

/// Makes the namespaces, the standard roles and bindings, the range of Services' addresses, the Service that stands for this
/// server, and the flow schemas and priority levels, unless they are there. Each round is written as one group.
pub(crate) async fn run(server: &Arc<Server>) {
    let client = server.loopback("cambium-bootstrap");
    let namespaces = ["default", "kube-system", "kube-public", "kube-node-lease"].map(|name| Missing {
        bucket: "/namespaces",
        key: name.to_owned(),
        path: "/api/v1/namespaces",
        object: json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}),
    });
    make(server, &client, namespaces.into()).await;
    auth::standard(server).await;

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
        [range, service, authentication]
            .into_iter()
            .chain(flows)
            .collect(),
    )
    .await;
}

/// Where backends read whom to believe.
const AUTHENTICATION: &str = "kube-system/extension-apiserver-authentication";

/// The front proxy has another certificate after each start.
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
            "backends cannot be told whom to believe"
        );
    }
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
