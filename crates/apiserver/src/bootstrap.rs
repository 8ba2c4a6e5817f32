//! What every cluster has from its first moment.

use std::sync::Arc;

use futures::future::join_all;
use serde_json::{Map, Value, json};

use crate::loopback::Loopback;
use crate::server::Server;
use crate::store::{Draft, Expect, Write};
use crate::{aggregation, auth, fairness, object};

/// Stands for the address of this server where Kubernetes wants one that others can reach: a server in a process
/// has none, and one on loopback may not be named. The range is reserved for examples, so nobody else has it.
const STAND_IN: (&str, u16) = ("192.0.2.1", 6443);

/// Makes what every cluster has, unless it is there: the standard roles and bindings, flow schemas and priority levels,
/// APIServices, namespaces, the range of Services' addresses, the Service that stands for this server and where that
/// leads, the priorities of the system. The many are written at once, the few go the way of every other object.
pub(crate) async fn run(server: &Arc<Server>) {
    let mut writes = auth::standard(server);
    writes.extend(fairness::bootstrap::missing(server));
    writes.extend(aggregation::missing_local(server));
    for answer in server.store.write_all(writes).await {
        if let Err(error) = answer {
            tracing::error!(%error, "an object of every cluster could not be made");
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
    let port = json!([{"name": "https", "port": STAND_IN.1, "protocol": "TCP"}]);
    let endpoints = Missing {
        bucket: "/endpoints",
        key: "default/kubernetes".to_owned(),
        path: "/api/v1/namespaces/default/endpoints",
        object: json!({
            "apiVersion": "v1", "kind": "Endpoints",
            "metadata": {"name": "kubernetes", "namespace": "default",
                "labels": {"endpointslice.kubernetes.io/skip-mirror": "true"}},
            "subsets": [{"addresses": [{"ip": STAND_IN.0}], "ports": port}],
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
            "endpoints": [{"addresses": [STAND_IN.0], "conditions": {"ready": true}}],
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

/// Where backends read whom to believe.
const AUTHENTICATION: &str = "kube-system/extension-apiserver-authentication";

/// The front proxy has another authority after each start, unless it was given one.
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

/// A new object whose defaults are filled in, with what the server says of it: an identity, and who owns its fields.
/// `status_manager` says who wrote the conditions that it begins with.
pub(crate) fn founded(
    server: &Server,
    bucket: &str,
    mut object: Value,
    manager: &str,
    status_manager: Option<&str>,
) -> Write {
    let now = object::timestamp(server.sources.now());
    let mut fields = json!({});
    for part in ["annotations", "labels"] {
        if let Some(value) = object::metadata(&object).get(part) {
            fields["f:metadata"][format!("f:{part}")] = owned(value);
        }
    }
    if let Some(spec) = object.get("spec") {
        fields["f:spec"] = owned(spec);
    }
    let entry = |manager: &str, fields: Value| {
        json!({"apiVersion": object["apiVersion"], "fieldsType": "FieldsV1", "fieldsV1": fields,
            "manager": manager, "operation": "Update", "time": now})
    };
    let mut managers = vec![entry(manager, fields)];
    if let Some(manager) = status_manager {
        let conditions = object::at(&object, "status.conditions").and_then(Value::as_array);
        let mut fields = json!({".": {}});
        for condition in conditions.into_iter().flatten() {
            fields[format!("k:{}", json!({"type": condition["type"]}))] = owned(condition);
        }
        let mut of_status = entry(manager, json!({"f:status": {"f:conditions": fields}}));
        of_status["subresource"] = json!("status");
        managers.insert(0, of_status);
    }
    let key = object::key(object::namespace(&object), object::name(&object)).into();
    let metadata = object::metadata_mut(&mut object);
    metadata.insert("creationTimestamp".to_owned(), json!(now));
    metadata.insert("managedFields".to_owned(), Value::Array(managers));
    metadata.insert("uid".to_owned(), json!(server.sources.uid()));
    Write {
        bucket: bucket.into(),
        key,
        expect: Expect::Absent,
        put: Some(Draft::new(&object)),
    }
}

/// The set of fields that somebody owns who has written all of this; lists belong to their writer as a whole.
fn owned(value: &Value) -> Value {
    let Value::Object(map) = value else {
        return json!({});
    };
    let mut fields = Map::from_iter([(".".to_owned(), json!({}))]);
    fields.extend(
        map.iter()
            .map(|(name, value)| (format!("f:{name}"), owned(value))),
    );
    Value::Object(fields)
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
