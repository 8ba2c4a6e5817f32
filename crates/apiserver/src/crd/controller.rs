//! Keeps the registry in step with the CRDs: accepts names, establishes, publishes, withdraws.

use std::sync::Arc;

use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::Definition;
use crate::object;
use crate::server::Server;
use crate::store::{Entry, Event};

/// Publishes the CRDs that are there already, before the first request is answered.
pub(crate) async fn load(server: &Arc<Server>) {
    for entry in server.store.bucket(&server.definitions).list("").0 {
        publish(server, &entry).await;
    }
}

/// Follows CRDs until the server stops.
pub(crate) async fn run(server: Arc<Server>, mut feed: mpsc::UnboundedReceiver<Arc<Event>>) {
    let bucket = server.store.bucket(&server.definitions);
    loop {
        tokio::select! {
            event = feed.recv() => match event {
                Some(event) if event.bucket == server.definitions => match bucket.get(&event.entry.key) {
                    Some(entry) => publish(&server, &entry).await,
                    None => withdraw(&server, &event.entry.key),
                },
                Some(_) => {}
                None => return,
            },
            () = server.stopping() => return,
        }
    }
}

async fn publish(server: &Arc<Server>, entry: &Arc<Entry>) {
    let crd = entry.value();
    let Some(definition) = Definition::compile(&crd, entry.revision) else { return };
    let definition = Arc::new(definition);
    server.change_registry(|registry| {
        registry.retain(|served| served.custom().is_none_or(|(other, _)| other.name != definition.name));
        for served in definition.served() {
            registry.add(served);
        }
    });
    if object::at(&crd, "status.conditions").is_none() {
        let now = object::timestamp(server.sources.now());
        let status = json!({
            "conditions": [
                {"type": "NamesAccepted", "status": "True", "lastTransitionTime": now, "reason": "NoConflicts", "message": "no conflicts found"},
                {"type": "Established", "status": "True", "lastTransitionTime": now, "reason": "InitialNamesAccepted", "message": "the initial names have been accepted"},
            ],
            "acceptedNames": crd.pointer("/spec/names").cloned().unwrap_or(Value::Null),
            "storedVersions": [definition.storage_version()],
        });
        let path = format!("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{}/status", definition.name);
        let _ = server.loopback("cambium-crd-controller").merge_patch(&path, &json!({"status": status})).await;
    }
}

fn withdraw(server: &Server, name: &str) {
    server.change_registry(|registry| {
        registry.retain(|served| served.custom().is_none_or(|(other, _)| other.name != name));
    });
}
