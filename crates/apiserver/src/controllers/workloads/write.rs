//! Plans of workload controllers: writes, and a time to requeue.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use super::super::work_queue::Step;
use crate::loopback::{Loopback, Refused};
use crate::object;
use crate::server::Server;

/// The plan of one reconcile.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Plan {
    /// In this order; the first failure aborts the rest.
    pub(super) writes: Vec<Write>,
    /// Requeue after this time.
    pub(super) after: Option<Duration>,
}

/// A write through the API.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Write {
    /// Creates an object.
    Create(Value),
    /// Creates an object; AlreadyExists counts as success.
    Ensure(Value),
    /// Updates an object at the observed resource version.
    Replace(Value),
    /// Updates the status (and annotations) at the observed resource version.
    Status(Value),
    /// Patches an object at the observed resource version.
    Patch(Value, Value),
    /// Deletes an object with background propagation.
    Delete(Value),
    /// Deletes a stopped pod with a grace period of zero.
    Remove(Value),
    /// Binds a pod to a node.
    Bind(Value, String),
    /// Records an Event about an object.
    Event {
        about: Value,
        level: Level,
        reason: &'static str,
        message: String,
    },
}

/// The `type` of an Event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Level {
    Normal,
    Warning,
}

impl Plan {
    /// Records an Event about an object.
    pub(super) fn emit(
        &mut self,
        about: &Value,
        level: Level,
        reason: &'static str,
        message: impl Into<String>,
    ) {
        let about = json!({"apiVersion": about["apiVersion"], "kind": about["kind"], "metadata": {
            "name": object::name(about), "namespace": object::namespace(about), "uid": object::meta_text(about, "uid"),
            "resourceVersion": object::meta_text(about, "resourceVersion")}});
        self.writes.push(Write::Event {
            about,
            level,
            reason,
            message: message.into(),
        });
    }

    /// Updates the status if it differs.
    pub(super) fn status(&mut self, object: &Value, status: Value) {
        if object.get("status").unwrap_or(&Value::Null) != &status {
            let mut object = object.clone();
            object["status"] = status;
            self.writes.push(Write::Status(object));
        }
    }

    /// The plan as a step of the control loop.
    pub(super) fn step(self, server: &Arc<Server>, client: &Loopback) -> Step {
        let Self { writes, after } = self;
        if writes.is_empty() {
            return Step { act: None, after };
        }
        let (server, client) = (server.clone(), client.clone());
        let act = async move {
            for write in writes {
                carry_out(&server, &client, write).await?;
            }
            Ok(())
        };
        Step {
            act: Some(Box::pin(act)),
            after,
        }
    }
}

async fn carry_out(server: &Server, client: &Loopback, write: Write) -> Result<(), Refused> {
    let result = match write {
        Write::Create(object) => return client.create(&collection(&object), &object).await.map(drop),
        Write::Ensure(object) => {
            let result = client.create(&collection(&object), &object).await;
            return match result {
                Err(refused) if refused.reason() != "AlreadyExists" => Err(refused),
                _ => Ok(()),
            };
        }
        Write::Replace(object) => client.update(&path(&object), &object).await,
        Write::Status(object) => client.update(&format!("{}/status", path(&object)), &object).await,
        Write::Patch(object, mut patch) => {
            object::set_at(
                &mut patch,
                "metadata.uid",
                json!(object::meta_text(&object, "uid")),
            );
            object::set_at(
                &mut patch,
                "metadata.resourceVersion",
                json!(object::meta_text(&object, "resourceVersion")),
            );
            client.merge_patch(&path(&object), &patch).await
        }
        Write::Delete(object) => {
            let options = json!({"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": "Background",
                "preconditions": {"uid": object::meta_text(&object, "uid")}});
            client.delete(&path(&object), &options).await
        }
        Write::Remove(object) => {
            let options = json!({"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 0,
                "preconditions": {"uid": object::meta_text(&object, "uid")}});
            client.delete(&path(&object), &options).await
        }
        Write::Bind(pod, node) => {
            let binding = json!({"apiVersion": "v1", "kind": "Binding",
                "metadata": {"name": object::name(&pod), "namespace": object::namespace(&pod)},
                "target": {"apiVersion": "v1", "kind": "Node", "name": node}});
            client.create(&format!("{}/binding", path(&pod)), &binding).await
        }
        Write::Event {
            about,
            level,
            reason,
            message,
        } => {
            let event = event(server, client, &about, level, reason, &message);
            // A failure to record an Event does not fail the reconcile.
            let _ = client.create(&collection(&event), &event).await;
            return Ok(());
        }
    };
    match result {
        Err(refused) if refused.code != 404 => Err(refused),
        _ => Ok(()),
    }
}

fn event(
    server: &Server,
    client: &Loopback,
    about: &Value,
    level: Level,
    reason: &str,
    message: &str,
) -> Value {
    let now = object::timestamp(server.sources.now());
    let namespace = match object::namespace(about) {
        "" => "default",
        namespace => namespace,
    };
    let involved = json!({"apiVersion": about["apiVersion"], "kind": about["kind"], "name": object::name(about),
        "namespace": object::namespace(about), "uid": object::meta_text(about, "uid"),
        "resourceVersion": object::meta_text(about, "resourceVersion")});
    let unique: String = server
        .sources
        .uid()
        .chars()
        .filter(char::is_ascii_hexdigit)
        .take(16)
        .collect();
    let level = match level {
        Level::Normal => "Normal",
        Level::Warning => "Warning",
    };
    json!({"apiVersion": "v1", "kind": "Event",
        "metadata": {"name": format!("{}.{unique}", object::name(about)), "namespace": namespace},
        "involvedObject": involved, "reason": reason, "message": message, "type": level, "count": 1,
        "firstTimestamp": now, "lastTimestamp": now,
        "source": {"component": client.name()}, "reportingComponent": client.name(), "reportingInstance": ""})
}

/// The resource name of a kind.
fn plural(kind: &str) -> &'static str {
    match kind {
        "Pod" => "pods",
        "Event" => "events",
        "Node" => "nodes",
        "Service" => "services",
        "Endpoints" => "endpoints",
        "EndpointSlice" => "endpointslices",
        "PersistentVolumeClaim" => "persistentvolumeclaims",
        "ReplicationController" => "replicationcontrollers",
        "ReplicaSet" => "replicasets",
        "Deployment" => "deployments",
        "StatefulSet" => "statefulsets",
        "DaemonSet" => "daemonsets",
        "ControllerRevision" => "controllerrevisions",
        "Job" => "jobs",
        "CronJob" => "cronjobs",
        _ => "",
    }
}

fn collection(object: &Value) -> String {
    let text = |field: &str| object.get(field).and_then(Value::as_str).unwrap_or_default();
    let (api_version, plural) = (text("apiVersion"), plural(text("kind")));
    let root = if api_version.contains('/') { "apis" } else { "api" };
    match object::namespace(object) {
        "" => format!("/{root}/{api_version}/{plural}"),
        namespace => format!("/{root}/{api_version}/namespaces/{namespace}/{plural}"),
    }
}

fn path(object: &Value) -> String {
    format!("{}/{}", collection(object), object::name(object))
}
