//! ClusterRole aggregation controller: fills in the rules of ClusterRoles with an `aggregationRule`.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};

use super::ObjectKey;
use super::work_queue::{self, Controller, Step, WorkQueue};
use crate::auth::aggregate;
use crate::loopback::Loopback;
use crate::selector::LabelSelector;
use crate::server::Server;
use crate::store::{Entry, Event, EventKind};

const ROLES: &str = "rbac.authorization.k8s.io/clusterroles";
const NAME: &str = "clusterrole-aggregation-controller";

/// Starts the controller.
pub(super) fn start(server: &Arc<Server>) {
    let (known, feed) = (server.store.revision(), server.store.feed_of(&[ROLES]));
    let mut aggregation = Aggregation {
        server: server.clone(),
        client: server.loopback(NAME),
        aggregated: BTreeMap::new(),
    };
    let mut queue = WorkQueue::new();
    for entry in server.store.bucket(&ROLES.into()).list("").0 {
        aggregation.remember(&entry);
    }
    for name in aggregation.aggregated.keys() {
        queue.add(name.clone());
    }
    tokio::spawn(work_queue::run(server.clone(), feed, known, aggregation, queue));
}

struct Aggregation {
    server: Arc<Server>,
    client: Loopback,
    /// Aggregated roles and their selectors.
    aggregated: BTreeMap<Arc<str>, Vec<LabelSelector>>,
}

impl Aggregation {
    fn remember(&mut self, entry: &Entry) {
        // Few are sums, and a cluster has many.
        let may_be_sum = str::from_utf8(&entry.json).is_ok_and(|json| json.contains("\"aggregationRule\""));
        let role = match may_be_sum {
            true => entry.value(),
            false => Value::Null,
        };
        let selectors = role
            .get("aggregationRule")
            .and_then(|rule| rule.get("clusterRoleSelectors"));
        let Some(selectors) = selectors.and_then(Value::as_array) else {
            self.aggregated.remove(&entry.key);
            return;
        };
        let selectors = selectors.iter().filter_map(LabelSelector::from_json);
        self.aggregated.insert(entry.key.clone(), selectors.collect());
    }
}

fn is_chosen(selectors: &[LabelSelector], entry: &Entry) -> bool {
    selectors
        .iter()
        .any(|selector| selector.matches(|key| entry.label(key)))
}

impl Controller for Aggregation {
    /// A ClusterRole.
    type Key = Arc<str>;

    fn handle_event(&mut self, event: &Event, queue: &mut WorkQueue<Arc<str>>) {
        if &*event.bucket != ROLES {
            return;
        }
        match event.kind {
            EventKind::Put => self.remember(&event.entry),
            EventKind::Delete => {
                self.aggregated.remove(&event.entry.key);
            }
        }
        let concerned = |name: &Arc<str>, selectors: &[LabelSelector]| {
            let now = Some(&event.entry);
            *name == event.entry.key
                || now
                    .into_iter()
                    .chain(event.previous.as_ref())
                    .any(|entry| is_chosen(selectors, entry))
        };
        for (name, selectors) in &self.aggregated {
            if concerned(name, selectors) {
                queue.add(name.clone());
            }
        }
    }

    fn decide(&mut self, name: &Arc<str>, _: &mut WorkQueue<Arc<str>>) -> Step {
        let bucket = self.server.store.bucket(&ROLES.into());
        let (Some(entry), Some(selectors)) = (bucket.get(name), self.aggregated.get(name)) else {
            return Step::idle();
        };
        let chosen = bucket.list("").0.into_iter();
        let chosen: Vec<Value> = chosen
            .filter(|entry| is_chosen(selectors, entry))
            .map(|entry| entry.value())
            .collect();
        let role = entry.value();
        let rules = aggregate(&role, &chosen).unwrap_or_default();
        let present = role.get("rules").and_then(Value::as_array);
        if present.map_or(&[][..], Vec::as_slice) == rules.as_slice() {
            return Step::idle();
        }
        let Some(path) = ObjectKey::new(&ROLES.into(), name).path(&self.server) else {
            return Step::idle();
        };
        let client = self.client.clone();
        let sum = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
            "metadata": {"name": &**name}, "rules": rules});
        Step::act(async move { client.apply(&path, NAME, &sum).await.map(drop) })
    }
}
