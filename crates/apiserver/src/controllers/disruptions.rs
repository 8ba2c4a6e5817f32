//! Disruption controller: keeps the status of PodDisruptionBudgets in step with their pods.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use super::work_queue::{self, Controller, Step, WorkQueue};
use crate::disruption::{self, BUDGETS, Observed, counts_scale};
use crate::loopback::Loopback;
use crate::object;
use crate::selector::LabelSelector;
use crate::server::Server;
use crate::store::{Entry, Event, EventKind};

const PODS: &str = "/pods";

/// Starts the controller.
pub(super) fn start(server: &Arc<Server>) {
    let known = server.store.revision();
    let feed = server.store.feed_of(&[BUDGETS, PODS]);
    let client = server
        .loopback("disruption-controller")
        .with_agent(super::MANAGER);
    let mut disruptions = Disruptions {
        server: server.clone(),
        client,
        selectors: BTreeMap::new(),
    };
    let mut queue = WorkQueue::new();
    for entry in server.store.bucket(&BUDGETS.into()).list("").0 {
        disruptions.learn(&entry);
        queue.add(entry.key.clone());
    }
    tokio::spawn(work_queue::run(server.clone(), feed, known, disruptions, queue));
}

struct Disruptions {
    server: Arc<Server>,
    client: Loopback,
    /// The selector of each budget.
    selectors: BTreeMap<Arc<str>, LabelSelector>,
}

impl Controller for Disruptions {
    /// A budget: `namespace/name`.
    type Key = Arc<str>;

    fn handle_event(&mut self, event: &Event, queue: &mut WorkQueue<Arc<str>>) {
        match &*event.bucket {
            BUDGETS if event.kind == EventKind::Put => {
                self.learn(&event.entry);
                queue.add(event.entry.key.clone());
            }
            BUDGETS => {
                self.selectors.remove(&event.entry.key);
            }
            PODS => {
                for pod in event.previous.iter().chain([&event.entry]) {
                    for key in self.budgets_of(pod) {
                        queue.add(key.clone());
                    }
                }
            }
            _ => {}
        }
    }

    fn decide(&mut self, key: &Arc<str>, _: &mut WorkQueue<Arc<str>>) -> Step {
        let Some(entry) = self.server.store.bucket(&BUDGETS.into()).get(key) else {
            return Step::idle();
        };
        let observed = self.observe(&entry);
        let (status, after) = disruption::plan(&observed, self.server.sources.now());
        let mut step = Step::idle();
        if let Some(status) = status {
            let mut budget = observed.budget;
            budget["status"] = status;
            let (client, path) = (self.client.clone(), format!("{}/status", path(&entry)));
            step = Step::act(async move { client.update(&path, &budget).await.map(drop) });
        }
        step.after = after;
        step
    }
}

fn path(entry: &Entry) -> String {
    format!(
        "/apis/policy/v1/namespaces/{}/poddisruptionbudgets/{}",
        entry.namespace(),
        entry.name()
    )
}

impl Disruptions {
    fn learn(&mut self, entry: &Arc<Entry>) {
        let selector = object::at(&entry.value(), "spec.selector").and_then(LabelSelector::from_json);
        match selector {
            Some(selector) => self.selectors.insert(entry.key.clone(), selector),
            None => self.selectors.remove(&entry.key),
        };
    }

    fn budgets_of(&self, pod: &Entry) -> impl Iterator<Item = &Arc<str>> {
        let prefix = format!("{}/", pod.namespace());
        self.selectors
            .range(Arc::from(prefix.as_str())..)
            .take_while(move |(key, _)| key.starts_with(&prefix))
            .filter(|(_, selector)| selector.matches(|label| pod.label(label)))
            .map(|(key, _)| key)
    }

    fn observe(&self, entry: &Arc<Entry>) -> Observed {
        let budget = entry.value();
        let pods: Vec<Value> = match self.selectors.get(&entry.key) {
            Some(selector) => {
                let pods = self.server.store.bucket(&PODS.into());
                let pods = pods.list(&format!("{}/", entry.namespace())).0;
                let selected = pods
                    .iter()
                    .filter(|pod| selector.matches(|label| pod.label(label)));
                selected.map(|pod| pod.value()).collect()
            }
            None => vec![],
        };
        let wanted = match counts_scale(&budget) {
            true => self.wanted(&pods),
            false => Ok(0),
        };
        Observed { budget, pods, wanted }
    }

    /// The sum of the desired replicas of the pods' controllers. Pods without a controller do not count.
    fn wanted(&self, pods: &[Value]) -> Result<i64, String> {
        let mut scales: BTreeMap<String, i64> = BTreeMap::new();
        for pod in pods {
            let Some(reference) = controller(pod) else {
                continue;
            };
            let uid = reference["uid"].as_str().unwrap_or_default();
            if scales.contains_key(uid) {
                continue;
            }
            let missing = || format!("found no controllers for pod {:?}", object::name(pod));
            let (uid, scale) = self
                .scale(&reference, object::namespace(pod))?
                .ok_or_else(missing)?;
            scales.insert(uid, scale);
        }
        Ok(scales.values().sum())
    }

    /// The scale of a controller, or of the Deployment that controls it.
    fn scale(&self, reference: &Value, namespace: &str) -> Result<Option<(String, i64)>, String> {
        let text = |field: &str| reference[field].as_str().unwrap_or_default();
        let (group, version) = text("apiVersion")
            .split_once('/')
            .unwrap_or(("", text("apiVersion")));
        let registry = self.server.registry();
        let Some(served) = registry.find_kind(group, version, text("kind")) else {
            return Err(format!(
                "no matches for kind {:?} in version {:?}",
                text("kind"),
                text("apiVersion")
            ));
        };
        let bucket = self.server.store.bucket(&served.bucket);
        let entry = bucket.get(&object::key(namespace, text("name")));
        let Some(entry) = entry.filter(|entry| *entry.uid == *text("uid")) else {
            return Ok(None);
        };
        let object = entry.value();
        if text("kind") == "ReplicaSet"
            && let Some(above) = controller(&object).filter(|above| above["kind"] == "Deployment")
        {
            return self.scale(&above, namespace);
        }
        let Some(paths) = &served.scale else {
            let name = crate::status::qualified(group, &served.plural);
            return Err(format!("{name} does not implement the scale subresource"));
        };
        let replicas = object::at(&object, &paths.spec_replicas).and_then(Value::as_i64);
        Ok(Some((entry.uid.to_string(), replicas.unwrap_or_default())))
    }
}

/// The controller owner reference of an object.
fn controller(object: &Value) -> Option<Value> {
    let references = object::metadata(object).get("ownerReferences")?.as_array()?;
    references.iter().find(|one| one["controller"] == true).cloned()
}
