//! Root CA publisher: the ConfigMap `kube-root-ca.crt` in every namespace.

use std::sync::Arc;

use serde_json::{Value, json};

use super::work_queue::{self, Controller, Step, WorkQueue};
use crate::loopback::Loopback;
use crate::object;
use crate::server::Server;
use crate::store::Event;

const CONFIG_MAPS: &str = "/configmaps";
const NAME: &str = "kube-root-ca.crt";
const DESCRIPTION: &str = "kubernetes.io/description";

/// Starts the controller, if a CA certificate was configured.
pub(super) fn start(server: &Arc<Server>) {
    let Some(certificate) = server.authority.clone() else {
        return;
    };
    let (known, feed) = (
        server.store.revision(),
        server.store.feed_of(&["/namespaces", CONFIG_MAPS]),
    );
    let mut queue = WorkQueue::new();
    for entry in server.store.bucket(&server.namespaces).list("").0 {
        queue.add(entry.key.clone());
    }
    let client = server
        .loopback("root-ca-cert-publisher")
        .with_agent(super::MANAGER);
    let publisher = Publisher {
        server: server.clone(),
        client,
        certificate,
    };
    tokio::spawn(work_queue::run(server.clone(), feed, known, publisher, queue));
}

struct Publisher {
    server: Arc<Server>,
    client: Loopback,
    certificate: String,
}

impl Controller for Publisher {
    /// A namespace.
    type Key = Arc<str>;

    fn handle_event(&mut self, event: &Event, queue: &mut WorkQueue<Arc<str>>) {
        if event.bucket == self.server.namespaces {
            queue.add(event.entry.key.clone());
        } else if &*event.bucket == CONFIG_MAPS && event.entry.name() == NAME {
            queue.add(event.entry.namespace().into());
        }
    }

    fn decide(&mut self, namespace: &Arc<str>, _: &mut WorkQueue<Arc<str>>) -> Step {
        let Some(entry) = self.server.store.bucket(&self.server.namespaces).get(namespace) else {
            return Step::idle();
        };
        if entry.deleting {
            return Step::idle();
        }
        let existing = self.server.store.bucket(&CONFIG_MAPS.into());
        let existing = existing.get(&format!("{namespace}/{NAME}"));
        let (client, path) = (
            self.client.clone(),
            format!("/api/v1/namespaces/{namespace}/configmaps"),
        );
        match existing {
            None => {
                let wanted = restored(
                    json!({"apiVersion": "v1", "kind": "ConfigMap",
                    "metadata": {"name": NAME, "namespace": &**namespace}}),
                    &self.certificate,
                );
                Step::act(async move { client.create(&path, &wanted).await.map(drop) })
            }
            Some(entry) => {
                let existing = entry.value();
                let wanted = restored(existing.clone(), &self.certificate);
                if wanted == existing {
                    return Step::idle();
                }
                let path = format!("{path}/{NAME}");
                Step::act(async move { client.update(&path, &wanted).await.map(drop) })
            }
        }
    }
}

/// The ConfigMap with its data restored; the metadata of other writers stays.
fn restored(mut config_map: Value, certificate: &str) -> Value {
    config_map["data"] = json!({"ca.crt": certificate});
    if object::annotation(&config_map, DESCRIPTION).is_none_or(str::is_empty) {
        let description = "The certificates that clients of this cluster's API server should trust.";
        let annotations = object::metadata_mut(&mut config_map)
            .entry("annotations")
            .or_insert_with(|| json!({}));
        annotations[DESCRIPTION] = json!(description);
    }
    config_map
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_changed_is_restored_and_what_was_added_stays() {
        let whole = restored(
            json!({"metadata": {"name": NAME, "labels": {"a": "b"}}}),
            "certificate",
        );
        assert_eq!(whole["data"], json!({"ca.crt": "certificate"}));
        assert_eq!(whole["metadata"]["labels"], json!({"a": "b"}));
        assert_eq!(restored(whole.clone(), "certificate"), whole);
        let mut changed = whole.clone();
        changed["data"] = json!({"ca.crt": "other", "more": "x"});
        assert_eq!(restored(changed, "certificate"), whole);
    }
}
