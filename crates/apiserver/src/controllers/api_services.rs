//! Availability controller of APIServices: checks whether backends are reachable, and fetches their discovery and OpenAPI.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use super::work_queue::{self, Controller, Step, WorkQueue};
use crate::aggregation::{API_SERVICES, Remote, learn, learn_documents};
use crate::loopback::Loopback;
use crate::object;
use crate::server::Server;
use crate::store::Event;

const SERVICES: &str = "/services";
const SLICES: &str = "discovery.k8s.io/endpointslices";
/// Recheck interval: a backend is not an object, so no event announces that it failed.
const RECHECK_INTERVAL: Duration = Duration::from_secs(30);

/// Starts the controller.
pub(super) fn start(server: &Arc<Server>) {
    let (known, feed) = (
        server.store.revision(),
        server.store.feed_of(&[API_SERVICES, SERVICES, SLICES]),
    );
    let mut queue = WorkQueue::new();
    for entry in server.store.bucket(&API_SERVICES.into()).list("").0 {
        queue.add(entry.key.clone());
    }
    let client = server.loopback("kube-aggregator").with_agent("kube-apiserver");
    let availability = Availability {
        server: server.clone(),
        client,
    };
    tokio::spawn(work_queue::run(server.clone(), feed, known, availability, queue));
}

struct Availability {
    server: Arc<Server>,
    client: Loopback,
}

impl Controller for Availability {
    /// An APIService.
    type Key = Arc<str>;

    fn handle_event(&mut self, event: &Event, queue: &mut WorkQueue<Arc<str>>) {
        let service = match &*event.bucket {
            API_SERVICES => return queue.add(event.entry.key.clone()),
            SERVICES => event.entry.name(),
            SLICES => event
                .entry
                .label("kubernetes.io/service-name")
                .unwrap_or_default(),
            _ => return,
        };
        for remote in self.server.aggregation.remotes().iter() {
            if remote.service.name == service && remote.service.namespace == event.entry.namespace() {
                queue.add(remote.name().into());
            }
        }
    }

    fn decide(&mut self, name: &Arc<str>, _: &mut WorkQueue<Arc<str>>) -> Step {
        let entry = self.server.store.bucket(&API_SERVICES.into()).get(name);
        let stored = entry.map(|entry| entry.value()).unwrap_or_default();
        let Some(remote) = Remote::read(&stored) else {
            self.server.aggregation.forget(name);
            return Step::idle();
        };
        let place = object::key(&remote.service.namespace, &remote.service.name);
        let service = self.server.store.bucket(&SERVICES.into()).get(&place);
        let service = service.map(|entry| entry.value());
        let prefix = format!("{}/", remote.service.namespace);
        let slices = self.server.store.bucket(&SLICES.into()).list(&prefix).0;
        let slices: Vec<Value> = slices
            .iter()
            .filter(|entry| entry.label("kubernetes.io/service-name") == Some(&remote.service.name))
            .map(|entry| entry.value())
            .collect();
        let unreachable = unreachable(&remote, service.as_ref(), &slices);
        let (server, client) = (self.server.clone(), self.client.clone());
        let path = format!("/apis/apiregistration.k8s.io/v1/apiservices/{name}/status");
        let act = async move {
            let verdict = match unreachable {
                Some(verdict) => verdict,
                None => match learn(&server, &remote).await {
                    Ok(()) => Verdict::new("True", "Passed", "all checks passed".to_owned()),
                    Err(why) => Verdict::new("False", "FailedDiscoveryCheck", why),
                },
            };
            if let Some(condition) = verdict.condition(&stored, server.sources.now()) {
                let patch = json!({"status": {"conditions": [condition]}});
                client.merge_patch(&path, &patch).await?;
            }
            if verdict.status == "True" {
                learn_documents(&server, &remote).await;
            }
            Ok(())
        };
        Step {
            after: Some(RECHECK_INTERVAL),
            ..Step::act(act)
        }
    }
}

/// The outcome of an availability check.
#[derive(Debug, PartialEq)]
struct Verdict {
    status: &'static str,
    reason: &'static str,
    message: String,
}

impl Verdict {
    fn new(status: &'static str, reason: &'static str, message: String) -> Self {
        Self {
            status,
            reason,
            message,
        }
    }

    /// The `Available` condition to write; `None` when it is unchanged.
    fn condition(&self, stored: &Value, now: jiff::Timestamp) -> Option<Value> {
        let conditions = object::at(stored, "status.conditions").and_then(Value::as_array);
        let known = conditions
            .into_iter()
            .flatten()
            .find(|one| one["type"] == "Available");
        let same = |field: &str, value: &str| known.is_some_and(|known| known[field] == value);
        if same("status", self.status) && same("reason", self.reason) && same("message", &self.message) {
            return None;
        }
        let since = match known.filter(|_| same("status", self.status)) {
            Some(known) => known["lastTransitionTime"].clone(),
            None => json!(object::timestamp(now)),
        };
        Some(
            json!({"type": "Available", "status": self.status, "reason": self.reason, "message": self.message,
            "lastTransitionTime": since}),
        )
    }
}

/// Why a backend is unavailable without asking it: its Service or endpoints are missing.
fn unreachable(remote: &Remote, service: Option<&Value>, slices: &[Value]) -> Option<Verdict> {
    let (name, namespace, port) = (
        &remote.service.name,
        &remote.service.namespace,
        remote.service.port,
    );
    let no = |reason: &'static str, message: String| Some(Verdict::new("False", reason, message));
    let Some(service) = service else {
        return no(
            "ServiceNotFound",
            format!("service/{name} in {namespace:?} is not present"),
        );
    };
    if service["spec"]["type"] != "ClusterIP" {
        return None;
    }
    let ports = service["spec"]["ports"].as_array();
    let Some(found) = ports.into_iter().flatten().find(|one| one["port"] == port) else {
        return no(
            "ServicePortError",
            format!("service/{name} in {namespace:?} is not listening on port {port}"),
        );
    };
    if slices.is_empty() {
        return no(
            "EndpointsNotFound",
            format!("cannot find endpointslices for service/{name} in {namespace:?}"),
        );
    }
    let port_name = found["name"].as_str().unwrap_or_default();
    let items = |slice: &Value, field: &str| slice[field].as_array().cloned().unwrap_or_default();
    let has_port = |slice: &&Value| {
        let named =
            |port: &Value| port["name"].as_str().unwrap_or_default() == port_name && port["port"].is_number();
        items(slice, "ports").iter().any(named)
    };
    let ready = |endpoint: &Value| endpoint["conditions"]["ready"] != false;
    match slices
        .iter()
        .filter(has_port)
        .any(|slice| items(slice, "endpoints").iter().any(ready))
    {
        true => None,
        false => no(
            "MissingEndpoints",
            format!(
                "endpointslices for service/{name} in {namespace:?} have no addresses with port name {port_name:?}"
            ),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn remote() -> Remote {
        let api_service = json!({"spec": {"group": "g", "version": "v1",
            "service": {"namespace": "shop", "name": "api", "port": 443}}});
        Remote::read(&api_service).unwrap()
    }

    #[test]
    fn a_backend_that_cannot_be_reached_is_not_asked() {
        let service =
            |port: u16| json!({"spec": {"type": "ClusterIP", "ports": [{"name": "https", "port": port}]}});
        let slice = |name: &str, ready: bool| json!({"ports": [{"name": name, "port": 8443}], "endpoints": [{"conditions": {"ready": ready}}]});
        for (service, slices, expected) in [
            (None, vec![], Some("ServiceNotFound")),
            (Some(service(80)), vec![], Some("ServicePortError")),
            (Some(service(443)), vec![], Some("EndpointsNotFound")),
            (
                Some(service(443)),
                vec![slice("http", true)],
                Some("MissingEndpoints"),
            ),
            (
                Some(service(443)),
                vec![slice("https", false)],
                Some("MissingEndpoints"),
            ),
            (Some(service(443)), vec![slice("https", true)], None),
            (Some(json!({"spec": {"type": "ExternalName"}})), vec![], None),
        ] {
            let verdict = unreachable(&remote(), service.as_ref(), &slices);
            assert_eq!(
                verdict.map(|verdict| verdict.reason),
                expected,
                "{service:?} {slices:?}"
            );
        }
    }

    #[test]
    fn a_condition_is_written_when_it_says_something_new() {
        let now = jiff::Timestamp::UNIX_EPOCH;
        let verdict = Verdict::new("True", "Passed", "all checks passed".to_owned());
        let condition = verdict.condition(&json!({}), now).unwrap();
        let stored = json!({"status": {"conditions": [condition]}});
        assert_eq!(verdict.condition(&stored, now), None);
        let failing = Verdict::new("False", "FailedDiscoveryCheck", "no".to_owned());
        assert_eq!(failing.condition(&stored, now).unwrap()["status"], "False");
    }
}
