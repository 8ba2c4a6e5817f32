//! What ten thousand applications and their children take in memory. Prints; asserts only what is not a
//! measurement.

use std::sync::Arc;

use anyhow::Result;
use cambium_controllers::runtime::{Cache, Watch};
use futures::StreamExt as _;
use http_body_util::StreamBody;
use kube::Client;
use kube::api::ApiResource;
use kube::client::Body;
use kube::core::GroupVersionKind;
use serde_json::{Value, json};

const APPLICATIONS: usize = 10_000;

/// A server that streams objects for ever, made as they are sent so that they take no memory here.
fn server(object: fn(usize) -> Value) -> Client {
    let service = tower::service_fn(move |_: http::Request<Body>| async move {
        // The type first, as servers send it: otherwise the object is decoded twice.
        let line = |kind: &str, object: Value| format!("{{\"type\":\"{kind}\",\"object\":{object}}}\n");
        let events = (0..APPLICATIONS).map(move |number| line("ADDED", object(number)));
        let metadata =
            json!({"resourceVersion": "999999", "annotations": {"k8s.io/initial-events-end": "true"}});
        let end = line(
            "BOOKMARK",
            json!({"apiVersion": "v1", "kind": "X", "metadata": metadata}),
        );
        let lines = events.chain([end]).map(|line| {
            let line = line.into_bytes();
            Ok::<_, std::convert::Infallible>(http_body::Frame::data(bytes::Bytes::from(line)))
        });
        let body = StreamBody::new(futures::stream::iter(lines).chain(futures::stream::pending()));
        Ok::<_, std::convert::Infallible>(http::Response::new(body))
    });
    Client::new(service, "default")
}

fn metadata(number: usize, name: &str) -> Value {
    let manager = |name: &str| {
        json!({"manager": name, "operation": "Apply", "apiVersion": "apps/v1", "time": "2026-01-01T00:00:00Z",
            "fieldsType": "FieldsV1", "fieldsV1": {"f:metadata": {"f:labels": {"f:app.oam.dev/name": {}}},
            "f:spec": {"f:replicas": {}, "f:selector": {}, "f:template": {"f:spec": {"f:containers": {}}}}}})
    };
    json!({
        "name": format!("{name}-{number}"), "namespace": format!("team-{}", number % 200),
        "uid": format!("00000000-0000-4000-8000-{number:012}"), "resourceVersion": (number + 1).to_string(),
        "generation": 1, "creationTimestamp": "2026-01-01T00:00:00Z",
        "labels": {"app.oam.dev/name": format!("shop-{number}"), "app.oam.dev/component": "web"},
        "ownerReferences": [{"apiVersion": "core.oam.dev/v1beta1", "kind": "Application", "name": format!("shop-{number}"),
            "uid": format!("00000000-0000-4000-8000-{number:012}"), "controller": true}],
        "managedFields": [manager("cambium"), manager("kube-controller-manager")],
    })
}

fn application(number: usize) -> Value {
    let component = |name: &str| {
        json!({"name": name, "type": "webservice@1.2", "properties": {
            "image": format!("registry.example.com/team/{name}:1.27.{number}"), "cpu": "250m", "memory": "256Mi",
            "ports": [{"port": 8080, "expose": true}], "env": [{"name": "LOG_LEVEL", "value": "info"}]},
            "traits": [{"type": "scaler@1", "properties": {"replicas": 2}}]})
    };
    let condition = |kind: &str| {
        json!({"type": kind, "status": "True", "reason": "AsWanted", "message": "All references are resolved",
            "lastTransitionTime": "2026-01-01T00:00:00Z", "observedGeneration": 1})
    };
    json!({
        "apiVersion": "core.oam.dev/v1beta1", "kind": "Application", "metadata": metadata(number, "shop"),
        "spec": {"components": [component("web"), component("api")]},
        "status": {"phase": "running", "observedGeneration": 1,
            "conditions": (["Resolved", "Rendered", "Applied", "Healthy", "Ready"].map(condition)),
            "resolved": (["webservice", "scaler"].map(|name| json!({"asked": format!("{name}@1.2"), "version": "1.2.4",
                "digest": "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"})))},
    })
}

fn deployment(number: usize) -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata(number, "web"),
        "spec": {"replicas": 2, "selector": {"matchLabels": {"app.oam.dev/component": "web"}},
            "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": "25%"}},
            "revisionHistoryLimit": 10, "progressDeadlineSeconds": 600,
            "template": {"metadata": {"labels": {"app.oam.dev/component": "web"}}, "spec": {
                "restartPolicy": "Always", "dnsPolicy": "ClusterFirst", "schedulerName": "default-scheduler", "securityContext": {},
                "terminationGracePeriodSeconds": 30, "containers": [{"name": "web", "image": format!("nginx:1.27.{number}"),
                    "ports": [{"containerPort": 8080, "protocol": "TCP"}], "imagePullPolicy": "IfNotPresent",
                    "resources": {"limits": {"cpu": "250m", "memory": "256Mi"}},
                    "terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File"}]}}},
        "status": {"observedGeneration": 1, "replicas": 2, "updatedReplicas": 2, "readyReplicas": 2, "availableReplicas": 2,
            "conditions": (["Available", "Progressing"].map(|kind| json!({"type": kind, "status": "True", "reason": "MinimumReplicasAvailable",
                "lastUpdateTime": "2026-01-01T00:00:00Z", "lastTransitionTime": "2026-01-01T00:00:00Z",
                "message": "Deployment has minimum availability."})))},
    })
}

fn service(number: usize) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Service", "metadata": metadata(number, "web"),
        "spec": {"type": "ClusterIP", "clusterIP": "10.96.0.1", "clusterIPs": ["10.96.0.1"], "ipFamilies": ["IPv4"],
            "ipFamilyPolicy": "SingleStack", "internalTrafficPolicy": "Cluster", "sessionAffinity": "None",
            "selector": {"app.oam.dev/component": "web"}, "ports": [{"port": 8080, "protocol": "TCP", "targetPort": 8080}]},
        "status": {"loadBalancer": {}},
    })
}

/// The memory that this process has, in bytes; `None` where the system does not say.
fn resident() -> Option<usize> {
    let text = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = text.lines().find(|line| line.starts_with("VmRSS:"))?;
    Some(line.split_whitespace().nth(1)?.parse::<usize>().ok()? * 1024)
}

#[tokio::test]
async fn ten_thousand_applications_and_their_children_in_memory() -> Result<()> {
    type Kind = (&'static str, &'static str, &'static str, fn(usize) -> Value);
    let kinds: [Kind; 3] = [
        ("core.oam.dev", "v1beta1", "Application", application),
        ("apps", "v1", "Deployment", deployment),
        ("", "v1", "Service", service),
    ];
    let base = resident();
    let mut kept: Vec<(Arc<Cache>, _)> = Vec::new();
    for (group, version, kind, object) in kinds {
        let before = resident();
        let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind));
        let cache = Cache::new(resource, |_| {});
        let watching = Watch::new(server(object)).spawn(cache.clone());
        cache.synced().await;
        assert_eq!(cache.len(), APPLICATIONS);
        let text: usize = cache.all().iter().map(|(_, record)| record.size()).sum();
        let sent = object(1).to_string().len();
        println!(
            "{kind}: {sent} bytes as sent, {} kept as text, {:?} resident, each",
            text / APPLICATIONS,
            resident()
                .zip(before)
                .map(|(after, before)| after.saturating_sub(before) / APPLICATIONS)
        );
        kept.push((cache, watching));
    }
    let each = resident()
        .zip(base)
        .map(|(after, before)| after.saturating_sub(before) / APPLICATIONS);
    println!("in all: {each:?} bytes for each application with a Deployment and a Service");
    assert_eq!(kept[0].0.all()[0].1.value()["kind"], "Application");
    Ok(())
}
