//! Endpoints and EndpointSlice controller: publishes the pods of Services.

use std::sync::Arc;

use serde_json::{Value, json};

use super::index::{Phase, Pod};
use super::write::{Plan, Write};
use super::{read, template};
use crate::object;

/// The label that names the Service of a slice.
pub(super) const SERVICE_NAME: &str = "kubernetes.io/service-name";
const SLICE_MANAGER: (&str, &str) = (
    "endpointslice.kubernetes.io/managed-by",
    "endpointslice-controller.k8s.io",
);
const ENDPOINTS_MANAGER: (&str, &str) = ("endpoints.kubernetes.io/managed-by", "endpoint-controller");
/// At most this many endpoints are published, all in one slice.
const MOST: usize = 1000;

/// A Service with its pods, Endpoints and EndpointSlice.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Observed {
    /// `None` when it was deleted.
    pub(super) service: Option<Value>,
    /// The pods that it selects.
    pub(super) pods: Vec<Arc<Pod>>,
    pub(super) endpoints: Option<Value>,
    pub(super) slice: Option<Value>,
}

/// The name of a Service's EndpointSlice.
pub(super) fn slice_name(service: &Value) -> String {
    format!(
        "{}-{}",
        object::name(service),
        template::hash(&json!(object::meta_text(service, "uid")), 0)
            .chars()
            .take(5)
            .collect::<String>()
    )
}

/// Decides the Endpoints and the EndpointSlice of a Service.
pub(super) fn plan(observed: &Observed) -> Plan {
    let mut plan = Plan::default();
    let selects = |service: &&Value| {
        read::text(service, "spec.type") != "ExternalName"
            && object::at(service, "spec.selector")
                .and_then(Value::as_object)
                .is_some_and(|selector| !selector.is_empty())
    };
    let Some(service) = observed.service.as_ref().filter(selects) else {
        // The slice has the Service as its owner; the Endpoints have not.
        let ours = observed.endpoints.as_ref().filter(|one| {
            object::metadata(one)
                .get("labels")
                .and_then(|labels| labels.get(ENDPOINTS_MANAGER.0)?.as_str())
                == Some(ENDPOINTS_MANAGER.1)
        });
        if let Some(endpoints) = ours.filter(|_| observed.service.is_none()) {
            plan.writes.push(Write::Delete(endpoints.clone()));
        }
        return plan;
    };
    let mut pods: Vec<&Arc<Pod>> = observed
        .pods
        .iter()
        .filter(|pod| !pod.is_finished() && !read::text(&pod.value, "status.podIP").is_empty())
        .collect();
    pods.sort_by(|one, other| one.key.cmp(&other.key));
    pods.truncate(MOST);
    write(
        observed.slice.as_ref(),
        slice(service, &pods),
        &["endpoints", "ports", "addressType"],
        &mut plan,
    );
    write(
        observed.endpoints.as_ref(),
        endpoints(service, &pods),
        &["subsets"],
        &mut plan,
    );
    plan
}

/// Creates an object, or updates the fields that differ.
fn write(existing: Option<&Value>, wanted: Value, fields: &[&str], plan: &mut Plan) {
    let Some(existing) = existing else {
        plan.writes.push(Write::Ensure(wanted));
        return;
    };
    let field = |object: &Value, name: &str| {
        object
            .get(name)
            .cloned()
            .filter(|value| value.as_array().is_none_or(|list| !list.is_empty()))
    };
    let labels = |object: &Value| object::metadata(object).get("labels").cloned();
    if labels(existing) == labels(&wanted)
        && fields
            .iter()
            .all(|name| field(existing, name) == field(&wanted, name))
    {
        return;
    }
    let mut changed = existing.clone();
    for name in fields {
        changed[*name] = wanted.get(*name).cloned().unwrap_or_default();
    }
    object::metadata_mut(&mut changed).insert("labels".to_owned(), labels(&wanted).unwrap_or_default());
    plan.writes.push(Write::Replace(changed));
}

fn labels(service: &Value, manager: (&str, &str)) -> Value {
    let mut labels = object::metadata(service)
        .get("labels")
        .cloned()
        .unwrap_or_else(|| json!({}));
    labels[manager.0] = json!(manager.1);
    if read::text(service, "spec.clusterIP") == "None" {
        labels["service.kubernetes.io/headless"] = json!("");
    }
    labels
}

fn is_ready(service: &Value, pod: &Pod) -> bool {
    read::is_true(service, "spec.publishNotReadyAddresses")
        || pod.ready && !pod.deleting && pod.phase == Phase::Running
}

fn target(pod: &Pod) -> Value {
    json!({"kind": "Pod", "namespace": object::namespace(&pod.value), "name": object::name(&pod.value), "uid": &*pod.uid})
}

fn slice(service: &Value, pods: &[&Arc<Pod>]) -> Value {
    let mut labels = labels(service, SLICE_MANAGER);
    labels[SERVICE_NAME] = json!(object::name(service));
    let endpoint = |pod: &&Arc<Pod>| {
        json!({"addresses": [read::text(&pod.value, "status.podIP")],
            "conditions": {"ready": is_ready(service, pod), "serving": pod.ready, "terminating": pod.deleting},
            "nodeName": pod.node(), "targetRef": target(pod)})
    };
    json!({"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice",
        "metadata": {"name": slice_name(service), "namespace": object::namespace(service), "labels": labels,
            "generateName": template::generate_name(object::name(service)),
            "ownerReferences": [template::controller_reference(service)]},
        "addressType": "IPv4", "endpoints": pods.iter().map(endpoint).collect::<Vec<_>>(), "ports": ports(service, pods)})
}

fn endpoints(service: &Value, pods: &[&Arc<Pod>]) -> Value {
    let address = |pod: &&Arc<Pod>| json!({"ip": read::text(&pod.value, "status.podIP"), "nodeName": pod.node(), "targetRef": target(pod)});
    let living = || pods.iter().filter(|pod| !pod.deleting);
    let ready: Vec<Value> = living()
        .filter(|pod| is_ready(service, pod))
        .map(address)
        .collect();
    let unready: Vec<Value> = living()
        .filter(|pod| !is_ready(service, pod))
        .map(address)
        .collect();
    let mut endpoints = json!({"apiVersion": "v1", "kind": "Endpoints",
        "metadata": {"name": object::name(service), "namespace": object::namespace(service), "labels": labels(service, ENDPOINTS_MANAGER)}});
    if !ready.is_empty() || !unready.is_empty() {
        let fields = [
            ("addresses", json!(ready)),
            ("notReadyAddresses", json!(unready)),
            ("ports", json!(ports(service, pods))),
        ];
        endpoints["subsets"] = json!([read::status(&fields, &[])]);
    }
    endpoints
}

/// The target ports of a Service; a named port is looked up in the first pod.
fn ports(service: &Value, pods: &[&Arc<Pod>]) -> Vec<Value> {
    let named = |name: &str| {
        let containers = pods
            .first()
            .map(|pod| read::list(&pod.value, "spec.containers"))
            .unwrap_or_default();
        let mut ports = containers
            .iter()
            .flat_map(|container| read::list(container, "ports"));
        ports
            .find(|port| read::text(port, "name") == name)
            .and_then(|port| port.get("containerPort").cloned())
    };
    let resolve = |port: &Value| {
        let number = match port.get("targetPort") {
            Some(Value::String(name)) => named(name)?,
            Some(Value::Number(number)) => json!(number),
            _ => port.get("port")?.clone(),
        };
        let protocol = match read::text(port, "protocol") {
            "" => "TCP",
            protocol => protocol,
        };
        let mut resolved = json!({"port": number, "protocol": protocol});
        // A slice names every port, if only with nothing; Endpoints leave that out.
        if let Some(name) = port.get("name") {
            resolved["name"] = name.clone();
        }
        Some(resolved)
    };
    read::list(service, "spec.ports")
        .iter()
        .filter_map(resolve)
        .collect()
}
