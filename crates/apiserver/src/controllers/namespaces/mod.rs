//! Namespace controller: deletes the content of a terminating namespace, then removes its finalizer.
//!
//! Pods are deleted first, everything else once they are gone. The namespace's conditions list the remaining content.

mod plan;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};

use plan::{Content, Observed, Plan, plan};
use serde_json::{Value, json};

use super::work_queue::{self, Controller, Step, WorkQueue};
use super::{ObjectKey, object_key};
use crate::loopback::{Loopback, Refused};
use crate::object;
use crate::server::Server;
use crate::store::{Event, EventKind};

/// Starts the controller.
pub(super) fn start(server: &Arc<Server>) {
    let (known, feed) = (server.store.revision(), server.store.feed());
    let client = server.loopback("namespace-controller").with_agent(super::MANAGER);
    let mut controller = Namespaces {
        server: server.clone(),
        client,
        terminating: HashSet::new(),
        refusals: Refusals::default(),
    };
    let mut queue = WorkQueue::new();
    for entry in server.store.bucket(&server.namespaces).list("").0 {
        controller.enqueue_namespace(&entry.key, &entry.value(), &mut queue);
    }
    tokio::spawn(work_queue::run(server.clone(), feed, known, controller, queue));
}

/// Errors of failed deletions, by namespace.
type Refusals = Arc<Mutex<HashMap<Arc<str>, BTreeMap<ObjectKey, String>>>>;

struct Namespaces {
    server: Arc<Server>,
    client: Loopback,
    terminating: HashSet<Arc<str>>,
    refusals: Refusals,
}

impl Controller for Namespaces {
    type Key = Arc<str>;

    fn handle_event(&mut self, event: &Event, queue: &mut WorkQueue<Arc<str>>) {
        if event.bucket == self.server.namespaces {
            match event.kind {
                EventKind::Put => self.enqueue_namespace(&event.entry.key, &event.entry.value(), queue),
                EventKind::Delete => {
                    self.terminating.remove(&event.entry.key);
                    self.refusals
                        .lock()
                        .unwrap_or_else(PoisonError::into_inner)
                        .remove(&event.entry.key);
                }
            }
        } else if let Some(namespace) = self.terminating.get(event.entry.namespace()) {
            queue.add(namespace.clone());
        }
    }

    fn decide(&mut self, name: &Arc<str>, _: &mut WorkQueue<Arc<str>>) -> Step {
        let Some((namespace, observed)) = self.observe(name) else {
            return Step::idle();
        };
        let plan = plan(&observed, self.server.sources.now());
        if plan.delete.is_empty() && plan.conditions.is_none() && plan.finalizers.is_none() {
            return Step::idle();
        }
        Step::act(act(
            self.server.clone(),
            self.client.clone(),
            self.refusals.clone(),
            name.clone(),
            namespace,
            plan,
        ))
    }
}

impl Namespaces {
    fn enqueue_namespace(&mut self, name: &Arc<str>, namespace: &Value, queue: &mut WorkQueue<Arc<str>>) {
        if object::is_deleting(namespace) {
            self.terminating.insert(name.clone());
            queue.add(name.clone());
        } else {
            self.terminating.remove(name);
        }
    }

    fn observe(&self, name: &Arc<str>) -> Option<(Value, Observed)> {
        let namespace = self
            .server
            .store
            .bucket(&self.server.namespaces)
            .get(name)?
            .value();
        if !object::is_deleting(&namespace) {
            return None;
        }
        let list = |path: &str| {
            object::at(&namespace, path)
                .and_then(Value::as_array)
                .cloned()
                .unwrap_or_default()
        };
        let texts = |list: Vec<Value>| list.iter().filter_map(Value::as_str).map(str::to_owned).collect();
        let (finalizers, conditions) = (texts(list("spec.finalizers")), list("status.conditions"));
        let refusals = self
            .refusals
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .get(name)
            .cloned()
            .unwrap_or_default();
        Some((
            namespace,
            Observed {
                finalizers,
                conditions,
                content: self.content(name),
                refusals,
            },
        ))
    }

    /// All objects in the namespace whose kinds are served.
    fn content(&self, namespace: &str) -> Vec<Content> {
        let registry = self.server.registry();
        let mut seen = HashSet::new();
        let mut content = Vec::new();
        let deletable = registry
            .all()
            .filter(|served| served.namespaced && served.verbs().contains(&"delete"));
        for served in deletable.filter(|served| seen.insert(served.bucket.clone())) {
            for entry in self
                .server
                .store
                .bucket(&served.bucket)
                .list(&format!("{namespace}/"))
                .0
            {
                let value = entry.value();
                content.push(Content {
                    object_key: ObjectKey::new(&served.bucket, &entry.key),
                    resource: format!("{}.{}", served.plural, served.group),
                    uid: entry.uid.to_string(),
                    deleting: object::is_deleting(&value),
                    finalizers: object::finalizers(&value)
                        .into_iter()
                        .map(str::to_owned)
                        .collect(),
                });
            }
        }
        content
    }
}

async fn act(
    server: Arc<Server>,
    client: Loopback,
    refusals: Refusals,
    name: Arc<str>,
    namespace: Value,
    plan: Plan,
) -> Result<(), Refused> {
    let mut problem = None;
    let mut refused_now = BTreeMap::new();
    for (object_key, uid) in plan.delete {
        let Some(served) = object_key::serving(&server, &object_key.bucket) else {
            continue;
        };
        let options = json!({"kind": "DeleteOptions", "apiVersion": "v1", "preconditions": {"uid": uid}, "propagationPolicy": "Background"});
        match client
            .delete(&object_key::path(&served, &object_key.key), &options)
            .await
        {
            Err(refused) if refused.code != 404 => {
                refused_now.insert(object_key, refused.message().to_owned());
                problem = Some(refused);
            }
            _ => {}
        }
    }
    refusals
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .insert(name.clone(), refused_now);
    if let Some(conditions) = plan.conditions {
        let patch = json!({"metadata": {"uid": object::meta_text(&namespace, "uid")}, "status": {"conditions": conditions}});
        client
            .merge_patch(&format!("/api/v1/namespaces/{name}/status"), &patch)
            .await?;
    }
    if let Some(problem) = problem {
        return Err(problem);
    }
    if let Some(finalizers) = plan.finalizers {
        let mut finalized = namespace;
        // Unconditional, as writing the conditions has changed the resource version.
        object::metadata_mut(&mut finalized).remove("resourceVersion");
        finalized["spec"] = if finalizers.is_empty() {
            json!({})
        } else {
            json!({"finalizers": finalizers})
        };
        client
            .update(&format!("/api/v1/namespaces/{name}/finalize"), &finalized)
            .await?;
    }
    Ok(())
}
