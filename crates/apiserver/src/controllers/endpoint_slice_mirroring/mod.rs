//! EndpointSlice mirroring controller: mirrors custom Endpoints as EndpointSlices, which are all that proxies read.

mod plan;

use std::sync::Arc;

use super::work_queue::{self, Controller, Step, WorkQueue};
use crate::loopback::Loopback;
use crate::object;
use crate::server::Server;
use crate::store::{Entry, Event};
use plan::{Observed, Write, plan};

const ENDPOINTS: &str = "/endpoints";
const SERVICES: &str = "/services";
const SLICES: &str = "discovery.k8s.io/endpointslices";
const SERVICE_NAME: &str = "kubernetes.io/service-name";
const MANAGED_BY: &str = "endpointslice.kubernetes.io/managed-by";
/// The `managed-by` label of mirrored slices.
const MANAGER: &str = "endpointslicemirroring-controller.k8s.io";

/// Starts the controller.
pub(super) fn start(server: &Arc<Server>) {
    let known = server.store.revision();
    let feed = server.store.feed_of(&[ENDPOINTS, SERVICES, SLICES]);
    let client = server
        .loopback("endpointslicemirroring-controller")
        .with_agent(super::MANAGER);
    let mut queue = WorkQueue::new();
    for entry in server.store.bucket(&ENDPOINTS.into()).list("").0 {
        queue.add(entry.key.clone());
    }
    let mirrors = Mirrors {
        server: server.clone(),
        client,
    };
    tokio::spawn(work_queue::run(server.clone(), feed, known, mirrors, queue));
}

struct Mirrors {
    server: Arc<Server>,
    client: Loopback,
}

impl Controller for Mirrors {
    /// Endpoints: `namespace/name`, which is also the key of their Service.
    type Key = Arc<str>;

    fn handle_event(&mut self, event: &Event, queue: &mut WorkQueue<Arc<str>>) {
        match &*event.bucket {
            ENDPOINTS | SERVICES => queue.add(event.entry.key.clone()),
            SLICES if is_mirror(&event.entry) => {
                let name = event.entry.label(SERVICE_NAME).unwrap_or_default();
                queue.add(object::key(event.entry.namespace(), name).into());
            }
            _ => {}
        }
    }

    fn decide(&mut self, key: &Arc<str>, _: &mut WorkQueue<Arc<str>>) -> Step {
        let (namespace, name) = key.split_once('/').unwrap_or_default();
        let one = |bucket: &str| {
            let entry = self.server.store.bucket(&bucket.into()).get(key);
            entry.map(|entry| entry.value())
        };
        let slices = self
            .server
            .store
            .bucket(&SLICES.into())
            .list(&format!("{namespace}/"))
            .0;
        let observed = Observed {
            endpoints: one(ENDPOINTS),
            service: one(SERVICES),
            slices: slices
                .iter()
                .filter(|slice| is_mirror(slice) && slice.label(SERVICE_NAME) == Some(name))
                .map(|slice| slice.value())
                .collect(),
        };
        let writes = plan(&observed);
        if writes.is_empty() {
            return Step::idle();
        }
        let client = self.client.clone();
        let path = format!("/apis/discovery.k8s.io/v1/namespaces/{namespace}/endpointslices");
        Step::act(async move {
            for write in writes {
                match write {
                    Write::Create(slice) => client.create(&path, &slice).await?,
                    Write::Update(slice) => {
                        let path = format!("{path}/{}", object::name(&slice));
                        client.update(&path, &slice).await?
                    }
                    Write::Delete(slice) => {
                        let path = format!("{path}/{}", object::name(&slice));
                        client.delete(&path, &serde_json::json!({})).await?
                    }
                };
            }
            Ok(())
        })
    }
}

fn is_mirror(slice: &Entry) -> bool {
    slice.label(MANAGED_BY) == Some(MANAGER)
}
