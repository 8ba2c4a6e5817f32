//! ServiceAccount controller: a `default` ServiceAccount in every namespace that is not terminating.

use std::sync::Arc;

use serde_json::json;

use super::work_queue::{self, Controller, Step, WorkQueue};
use crate::loopback::Loopback;
use crate::object;
use crate::server::Server;
use crate::store::Event;

const ACCOUNTS: &str = "/serviceaccounts";

/// Starts the controller.
pub(super) fn start(server: &Arc<Server>) {
    let (known, feed) = (
        server.store.revision(),
        server.store.feed_of(&["/namespaces", ACCOUNTS]),
    );
    let mut queue = WorkQueue::new();
    for entry in server.store.bucket(&server.namespaces).list("").0 {
        queue.add(entry.key.clone());
    }
    let client = server
        .loopback("service-account-controller")
        .with_agent(super::MANAGER);
    tokio::spawn(work_queue::run(
        server.clone(),
        feed,
        known,
        Accounts {
            server: server.clone(),
            client,
        },
        queue,
    ));
}

struct Accounts {
    server: Arc<Server>,
    client: Loopback,
}

impl Controller for Accounts {
    /// A namespace.
    type Key = Arc<str>;

    fn handle_event(&mut self, event: &Event, queue: &mut WorkQueue<Arc<str>>) {
        if event.bucket == self.server.namespaces {
            queue.add(event.entry.key.clone());
        } else if &*event.bucket == ACCOUNTS && event.entry.name() == "default" {
            queue.add(event.entry.namespace().into());
        }
    }

    fn decide(&mut self, namespace: &Arc<str>, _: &mut WorkQueue<Arc<str>>) -> Step {
        let Some(entry) = self.server.store.bucket(&self.server.namespaces).get(namespace) else {
            return Step::idle();
        };
        let present = self
            .server
            .store
            .bucket(&ACCOUNTS.into())
            .get(&format!("{namespace}/default"))
            .is_some();
        if present || object::is_deleting(&entry.value()) {
            return Step::idle();
        }
        let (client, path) = (
            self.client.clone(),
            format!("/api/v1/namespaces/{namespace}/serviceaccounts"),
        );
        let account = json!({"apiVersion": "v1", "kind": "ServiceAccount",
            "metadata": {"name": "default", "namespace": &**namespace}});
        Step::act(async move { client.create(&path, &account).await.map(drop) })
    }
}
