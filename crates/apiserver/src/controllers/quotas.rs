//! ResourceQuota controller: keeps `status.hard` and `status.used`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use cambium_builtin::Amounts;
use serde_json::{Value, json};

use super::work_queue::{self, Controller, Step, WorkQueue};
use crate::loopback::Loopback;
use crate::object;
use crate::quota::{QUOTAS, bucket_of};
use crate::server::Server;
use crate::store::{Entry, Event, EventKind};

/// Starts the controller.
pub(super) fn start(server: &Arc<Server>) {
    let (known, feed) = (server.store.revision(), server.store.feed());
    let client = server
        .loopback("resourcequota-controller")
        .with_agent(super::MANAGER);
    let mut quotas = Quotas {
        server: server.clone(),
        client,
        counted: BTreeMap::new(),
    };
    let mut queue = WorkQueue::new();
    for entry in server.store.bucket(&QUOTAS.into()).list("").0 {
        quotas.learn(&entry);
        queue.add(entry.key.clone());
    }
    tokio::spawn(work_queue::run(server.clone(), feed, known, quotas, queue));
}

struct Quotas {
    server: Arc<Server>,
    client: Loopback,
    /// The buckets whose objects each quota counts.
    counted: BTreeMap<Arc<str>, BTreeSet<Box<str>>>,
}

impl Controller for Quotas {
    /// A quota: `namespace/name`.
    type Key = Arc<str>;

    fn handle_event(&mut self, event: &Event, queue: &mut WorkQueue<Arc<str>>) {
        let (key, namespace) = (&event.entry.key, event.entry.namespace());
        if &*event.bucket == QUOTAS {
            match event.kind {
                EventKind::Put => {
                    self.learn(&event.entry);
                    queue.add(key.clone());
                }
                EventKind::Delete => {
                    self.counted.remove(key);
                    if self.in_namespace(namespace).next().is_none() {
                        self.server.quotas.forget(namespace);
                    }
                }
            }
        }
        // A new kind of object is one that a quota may have waited to count.
        if event.bucket == self.server.definitions {
            for key in self.counted.keys() {
                queue.add(key.clone());
            }
        }
        if namespace.is_empty() || event.kind == EventKind::Put && !may_count(event) {
            return;
        }
        for (key, buckets) in self.in_namespace(namespace) {
            if buckets.contains(&*event.bucket) {
                queue.add(key.clone());
            }
        }
    }

    fn decide(&mut self, key: &Arc<str>, _: &mut WorkQueue<Arc<str>>) -> Step {
        let Some(entry) = self.server.store.bucket(&QUOTAS.into()).get(key) else {
            return Step::idle();
        };
        let used = self.server.quotas.used(&self.server, &entry);
        let mut quota = entry.value();
        let Some(status) = status(&quota, &used) else {
            return Step::idle();
        };
        quota["status"] = status;
        let (client, path) = (
            self.client.clone(),
            format!(
                "/api/v1/namespaces/{}/resourcequotas/{}/status",
                entry.namespace(),
                entry.name()
            ),
        );
        Step::act(async move { client.update(&path, &quota).await.map(drop) })
    }
}

impl Quotas {
    fn learn(&mut self, entry: &Arc<Entry>) {
        let hard = Amounts::of(object::at(&entry.value(), "spec.hard"));
        let buckets = hard.names().filter_map(bucket_of).map(Box::from).collect();
        self.counted.insert(entry.key.clone(), buckets);
    }

    fn in_namespace(&self, namespace: &str) -> impl Iterator<Item = (&Arc<str>, &BTreeSet<Box<str>>)> {
        let prefix = format!("{namespace}/");
        self.counted
            .range(Arc::from(prefix.as_str())..)
            .take_while(move |(key, _)| key.starts_with(&prefix))
    }
}

/// Whether an event can change the usage of a quota. Objects that are only counted do so when created or deleted.
fn may_count(event: &Event) -> bool {
    let has_amounts = matches!(
        &*event.bucket,
        "/pods" | "/services" | "/persistentvolumeclaims" | "resource.k8s.io/resourceclaims"
    );
    has_amounts || event.previous.is_none()
}

/// The new status of a quota; `None` if it is unchanged.
fn status(quota: &Value, used: &Amounts) -> Option<Value> {
    let hard = Amounts::of(object::at(quota, "spec.hard"));
    let is = |field: &str| Amounts::of(object::at(quota, field));
    if is("status.hard") == hard && is("status.used") == *used {
        return None;
    }
    Some(json!({"hard": hard.to_json(), "used": used.to_json()}))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_is_written_when_it_says_something_else() {
        let used = Amounts::of(Some(&json!({"cpu": "1"})));
        let mut quota = json!({"spec": {"hard": {"cpu": "2"}}});
        let expected = json!({"hard": {"cpu": "2"}, "used": {"cpu": "1"}});
        assert_eq!(status(&quota, &used), Some(expected));
        quota["status"] = json!({"hard": {"cpu": "2000m"}, "used": {"cpu": "1000m"}});
        assert_eq!(status(&quota, &used), None, "the same amounts in other words");
        quota["status"]["hard"]["cpu"] = json!("3");
        assert!(status(&quota, &used).is_some());
        assert_eq!(
            status(&json!({}), &Amounts::default()),
            None,
            "a quota of nothing"
        );
    }
}
