//! Persistent volume controller: binds PersistentVolumeClaims to existing volumes. Nothing is provisioned.

mod plan;

use std::collections::HashSet;
use std::sync::Arc;

use serde_json::Value;

use super::work_queue::{self, Controller, Step, WorkQueue};
use crate::loopback::Loopback;
use crate::object;
use crate::server::Server;
use crate::store::Event;
use plan::Write;

const CLAIMS: &str = "/persistentvolumeclaims";
const VOLUMES: &str = "/persistentvolumes";

/// Starts the controller.
pub(super) fn start(server: &Arc<Server>) {
    let known = server.store.revision();
    let feed = server.store.feed_of(&[CLAIMS, VOLUMES]);
    let client = server
        .loopback("persistent-volume-binder")
        .with_agent(super::MANAGER);
    let mut queue = WorkQueue::new();
    for (bucket, key) in [
        (CLAIMS, Key::Claim as fn(Arc<str>) -> Key),
        (VOLUMES, Key::Volume),
    ] {
        for entry in server.store.bucket(&bucket.into()).list("").0 {
            queue.add(key(entry.key.clone()));
        }
    }
    let volumes = Volumes {
        server: server.clone(),
        client,
        waiting: HashSet::new(),
    };
    tokio::spawn(work_queue::run(server.clone(), feed, known, volumes, queue));
}

/// A claim or a volume.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Key {
    Claim(Arc<str>),
    Volume(Arc<str>),
}

struct Volumes {
    server: Arc<Server>,
    client: Loopback,
    /// Unbound claims.
    waiting: HashSet<Arc<str>>,
}

impl Controller for Volumes {
    type Key = Key;

    fn handle_event(&mut self, event: &Event, queue: &mut WorkQueue<Key>) {
        let key = event.entry.key.clone();
        match &*event.bucket {
            CLAIMS => {
                // Its volume is kept for it, or is free when it goes.
                for entry in event.previous.iter().chain([&event.entry]) {
                    let volume = object::at(&entry.value(), "spec.volumeName").cloned();
                    if let Some(Value::String(name)) = volume {
                        queue.add(Key::Volume(name.into()));
                    }
                }
                queue.add(Key::Claim(key));
            }
            VOLUMES => {
                queue.add(Key::Volume(key));
                for claim in &self.waiting {
                    queue.add(Key::Claim(claim.clone()));
                }
            }
            _ => {}
        }
    }

    fn decide(&mut self, key: &Key, _: &mut WorkQueue<Key>) -> Step {
        let write = match key {
            Key::Claim(key) => self.claim(key),
            Key::Volume(key) => self.volume(key),
        };
        let Some(write) = write else {
            return Step::idle();
        };
        let (object, status) = match write {
            Write::Object(object) => (object, ""),
            Write::Status(object) => (object, "/status"),
        };
        let name = object::name(&object);
        let path = match object::namespace(&object) {
            "" => format!("/api/v1/persistentvolumes/{name}{status}"),
            namespace => format!("/api/v1/namespaces/{namespace}/persistentvolumeclaims/{name}{status}"),
        };
        let client = self.client.clone();
        Step::act(async move { client.update(&path, &object).await.map(drop) })
    }
}

impl Volumes {
    fn claim(&mut self, key: &Arc<str>) -> Option<Write> {
        let entry = self.server.store.bucket(&CLAIMS.into()).get(key);
        let claim = entry.map(|entry| entry.value());
        let is_bound = |claim: &Value| object::at(claim, "status.phase") == Some(&Value::from("Bound"));
        let Some(claim) = claim.filter(|claim| !is_bound(claim)) else {
            self.waiting.remove(key);
            return None;
        };
        self.waiting.insert(key.clone());
        let volumes = self.server.store.bucket(&VOLUMES.into()).list("").0;
        let volumes: Vec<Value> = volumes.iter().map(|entry| entry.value()).collect();
        plan::for_claim(&claim, &volumes, self.waits(&claim))
    }

    fn volume(&self, key: &str) -> Option<Write> {
        let volume = self.server.store.bucket(&VOLUMES.into()).get(key)?.value();
        let reference = |field: &str| {
            let value = volume.pointer(&format!("/spec/claimRef/{field}"));
            value.and_then(Value::as_str).unwrap_or_default()
        };
        let claim = object::key(reference("namespace"), reference("name"));
        let claim = self.server.store.bucket(&CLAIMS.into()).get(&claim);
        plan::for_volume(&volume, claim.map(|entry| entry.value()).as_ref())
    }

    /// Whether the claim's StorageClass has `volumeBindingMode: WaitForFirstConsumer`.
    fn waits(&self, claim: &Value) -> bool {
        let class = object::at(claim, "spec.storageClassName").and_then(Value::as_str);
        let classes = self.server.store.bucket(&"storage.k8s.io/storageclasses".into());
        let class = class.and_then(|name| classes.get(name));
        class.is_some_and(|class| class.value()["volumeBindingMode"] == "WaitForFirstConsumer")
    }
}
