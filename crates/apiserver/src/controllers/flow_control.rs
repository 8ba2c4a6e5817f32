//! API priority and fairness controller: maintains the bootstrap flow schemas and priority levels, and sets the condition
//! `Dangling` of flow schemas whose priority level does not exist.

use std::sync::Arc;

use serde_json::{Value, json};

use super::work_queue::{self, Controller, Step, WorkQueue};
use crate::fairness::bootstrap::{CONSUMER, SUGGESTIONS, Suggestion, Upkeep, dangling};
use crate::fairness::{FLOW_SCHEMAS, PRIORITY_LEVELS};
use crate::loopback::Loopback;
use crate::object;
use crate::server::Server;
use crate::store::Event;

const ROOT: &str = "/apis/flowcontrol.apiserver.k8s.io/v1";

/// Starts the controller.
pub(super) fn start(server: &Arc<Server>) {
    let (known, feed) = (
        server.store.revision(),
        server.store.feed_of(&[FLOW_SCHEMAS, PRIORITY_LEVELS]),
    );
    let flows = Flows {
        server: server.clone(),
        client: server.loopback("api-priority-and-fairness").with_agent(CONSUMER),
    };
    let mut queue = WorkQueue::new();
    for suggestion in &*SUGGESTIONS {
        queue.add(Key::of(suggestion));
    }
    for entry in server.store.bucket(&FLOW_SCHEMAS.into()).list("").0 {
        queue.add(Key::FlowSchema(entry.key.clone()));
    }
    tokio::spawn(work_queue::run(server.clone(), feed, known, flows, queue));
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Key {
    FlowSchema(Arc<str>),
    Level(Arc<str>),
}

impl Key {
    fn of(suggestion: &Suggestion) -> Self {
        match suggestion.is_level() {
            true => Self::Level(suggestion.name().into()),
            false => Self::FlowSchema(suggestion.name().into()),
        }
    }
}

struct Flows {
    server: Arc<Server>,
    client: Loopback,
}

impl Controller for Flows {
    type Key = Key;

    fn handle_event(&mut self, event: &Event, queue: &mut WorkQueue<Key>) {
        match &*event.bucket {
            FLOW_SCHEMAS => queue.add(Key::FlowSchema(event.entry.key.clone())),
            PRIORITY_LEVELS => {
                queue.add(Key::Level(event.entry.key.clone()));
                // Those that name it may lead somewhere now, or nowhere.
                for entry in self.server.store.bucket(&FLOW_SCHEMAS.into()).list("").0 {
                    queue.add(Key::FlowSchema(entry.key.clone()));
                }
            }
            _ => {}
        }
    }

    fn decide(&mut self, key: &Key, _: &mut WorkQueue<Key>) -> Step {
        let (bucket, plural, name) = match key {
            Key::FlowSchema(name) => (FLOW_SCHEMAS, "flowschemas", name),
            Key::Level(name) => (PRIORITY_LEVELS, "prioritylevelconfigurations", name),
        };
        let stored = self.get(bucket, name);
        let client = self.client.clone();
        let path = format!("{ROOT}/{plural}");
        let suggestion = SUGGESTIONS.iter().find(|suggestion| Key::of(suggestion) == *key);
        match suggestion.and_then(|suggestion| suggestion.upkeep(stored.as_ref())) {
            Some(Upkeep::Create(object)) => {
                return Step::act(async move { client.create(&path, &object).await.map(drop) });
            }
            Some(Upkeep::Update(object)) => {
                let path = format!("{path}/{name}");
                return Step::act(async move { client.update(&path, &object).await.map(drop) });
            }
            None => {}
        }
        let (Key::FlowSchema(_), Some(schema)) = (key, stored) else {
            return Step::idle();
        };
        let level = object::at(&schema, "spec.priorityLevelConfiguration.name");
        let level = level.and_then(Value::as_str).unwrap_or_default();
        let exists = self.get(PRIORITY_LEVELS, level).is_some();
        let now = object::timestamp(self.server.sources.now());
        let Some(condition) = dangling(&schema, level, exists, &now) else {
            return Step::idle();
        };
        let path = format!("{path}/{name}/status");
        let patch = json!({"status": {"conditions": [condition]}});
        Step::act(async move { client.merge_patch(&path, &patch).await.map(drop) })
    }
}

impl Flows {
    fn get(&self, bucket: &str, name: &str) -> Option<Value> {
        let entry = self.server.store.bucket(&bucket.into()).get(name);
        entry.map(|entry| entry.value())
    }
}
