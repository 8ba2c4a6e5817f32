//! CRD controller: accepts names, establishes and publishes CRDs, and finalizes deleted ones.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::{CLEANUP, Definition, names};
use crate::loopback::Loopback;
use crate::object;
use crate::server::Server;
use crate::store::{Bucket, Entry, Event};

/// How long watchers of a removed kind have to receive the deletion events.
const WATCHER_GRACE: Duration = Duration::from_mins(1);
const PATH: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

/// Publishes the stored CRDs, before the first request is answered.
pub(crate) async fn load(server: &Arc<Server>) {
    for entry in server.store.bucket(&server.definitions).list("").0 {
        follow(server, &entry).await;
    }
}

/// Follows CRDs, and the objects of terminating ones, until the server stops.
pub(crate) async fn run(server: Arc<Server>, mut feed: mpsc::UnboundedReceiver<Arc<Event>>) {
    loop {
        tokio::select! {
            event = feed.recv() => match event {
                Some(event) => react(&server, &event).await,
                None => return,
            },
            () = server.stopping() => return,
        }
    }
}

async fn react(server: &Arc<Server>, event: &Event) {
    let definitions = server.store.bucket(&server.definitions);
    if event.bucket == server.definitions {
        match definitions.get(&event.entry.key) {
            Some(entry) => follow(server, &entry).await,
            None => {
                withdraw(server, &event.entry.key);
                server.announce();
                tokio::spawn(forget(server.clone(), event.entry.clone()));
                // A CRD with a name conflict may get the names that are free now.
                for entry in definitions.list("").0 {
                    follow(server, &entry).await;
                }
            }
        }
        return;
    }
    // A custom resource of a terminating CRD was deleted: if it was the last, the CRD can be finalized.
    let Some((group, plural)) = event.bucket.split_once('/') else {
        return;
    };
    if event.kind == crate::store::EventKind::Delete
        && let Some(entry) = definitions.get(&format!("{plural}.{group}"))
        && object::is_deleting(&entry.value())
    {
        follow(server, &entry).await;
    }
}

/// Drops the watch history of a removed kind, once watchers have received the deletion events.
async fn forget(server: Arc<Server>, definition: Arc<Entry>) {
    tokio::select! {
        () = tokio::time::sleep(WATCHER_GRACE) => {}
        () = server.stopping() => return,
    }
    if server
        .store
        .bucket(&server.definitions)
        .get(&definition.key)
        .is_none()
    {
        bucket(&server, &definition.value()).forget(server.store.revision());
    }
}

/// The group and resource name of a CRD.
fn resource(crd: &Value) -> (&str, &str) {
    let text = |pointer: &str| crd.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    (text("/spec/group"), text("/spec/names/plural"))
}

/// The bucket of a CRD's objects.
fn bucket(server: &Server, crd: &Value) -> Arc<Bucket> {
    let (group, plural) = resource(crd);
    server.store.bucket(&format!("{group}/{plural}").into())
}

async fn follow(server: &Arc<Server>, entry: &Arc<Entry>) {
    let crd = entry.value();
    let client = server.loopback("cambium-crd-controller");
    let now = object::timestamp(server.sources.now());
    let group = crd
        .pointer("/spec/group")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let others: Vec<Value> = server
        .store
        .bucket(&server.definitions)
        .list("")
        .0
        .iter()
        .filter(|other| other.key != entry.key && other.key.ends_with(group))
        .map(|other| other.value())
        .filter(|other| other.pointer("/spec/group").and_then(Value::as_str) == Some(group))
        .collect();
    if let Some(status) = names::status(&crd, &others, &now) {
        let is_new = !names::is_true(&crd, "Established");
        let mut next = crd;
        next["status"] = status;
        // Serve the resources before the status is written, so that a client that reads `Established` can use them
        // at once. If the write fails, the next event of the CRD leads to the same decision.
        if names::is_true(&next, "Established") {
            if is_new {
                // A watch must not see the history of an earlier CRD of the same name.
                bucket(server, &next).forget(entry.revision);
            }
            publish(server, entry, &next);
        }
        // The event of this write continues with publishing and clean-up.
        if write_status(&client, &next).await {
            server.announce();
        }
        return;
    }
    match names::is_true(&crd, "Established") {
        true => publish(server, entry, &crd),
        false => withdraw(server, object::name(&crd)),
    }
    server.announce();
    if object::is_deleting(&crd) && object::finalizers(&crd).contains(&CLEANUP) {
        clean_up(server, &client, &crd, &now).await;
    }
}

/// Updates the status; returns whether it succeeded.
async fn write_status(client: &Loopback, crd: &Value) -> bool {
    let path = format!("{PATH}/{}/status", object::name(crd));
    let Err(refused) = client.update(&path, crd).await else {
        return true;
    };
    // A conflict means a concurrent write, whose event triggers another attempt.
    if !matches!(refused.reason(), "Conflict" | "NotFound") {
        tracing::warn!(
            crd = object::name(crd),
            message = refused.message(),
            "failed to update the status of a CustomResourceDefinition"
        );
    }
    false
}

/// Adds the resources of a CRD to the registry, if they have changed.
fn publish(server: &Arc<Server>, entry: &Arc<Entry>, crd: &Value) {
    let name = object::name(crd);
    let registry = server.registry();
    let known = registry
        .all()
        .find_map(|served| served.custom().filter(|(definition, _)| definition.name == name));
    // Only the condition Terminating matters to the verbs; other status changes must not replace the registry.
    let terminating = names::is_true(crd, "Terminating");
    let same = |definition: &Definition| {
        definition.raw.get("spec") == crd.get("spec") && definition.terminating == terminating
    };
    if known.is_some_and(|(definition, _)| same(definition)) {
        return;
    }
    // A changed spec may have changed the schema: objects written before it must be pruned and defaulted when read.
    let since = match known {
        Some((definition, _)) if definition.raw.get("spec") == crd.get("spec") => definition.since,
        _ => entry.revision,
    };
    let Some(definition) = Definition::compile(crd, since) else {
        tracing::error!(
            crd = name,
            "schema is not structural; resources of the CustomResourceDefinition are not served"
        );
        return;
    };
    let definition = Arc::new(Definition {
        terminating,
        ..definition
    });
    server.change_registry(|registry| {
        registry.retain(|served| {
            served
                .custom()
                .is_none_or(|(other, _)| other.name != definition.name)
        });
        for served in definition.served() {
            // A CRD must not replace a built-in resource.
            if registry
                .find(&served.group, &served.version, &served.plural)
                .is_none()
            {
                registry.add(served);
            }
        }
    });
}

fn withdraw(server: &Server, name: &str) {
    if server
        .registry()
        .all()
        .any(|served| served.custom().is_some_and(|(other, _)| other.name == name))
    {
        server.change_registry(|registry| {
            registry.retain(|served| served.custom().is_none_or(|(other, _)| other.name != name));
        });
    }
}

/// Deletes the objects of a terminating CRD; removes the finalizer when none is left.
async fn clean_up(server: &Arc<Server>, client: &Loopback, crd: &Value, now: &str) {
    let (group, plural) = resource(crd);
    let entries = bucket(server, crd).list("").0;
    if entries.is_empty() {
        let finalizers: Vec<&str> = object::finalizers(crd)
            .into_iter()
            .filter(|one| *one != CLEANUP)
            .collect();
        let mut next = crd.clone();
        object::metadata_mut(&mut next).insert("finalizers".to_owned(), json!(finalizers));
        // A conflict means a concurrent write, whose event triggers another attempt.
        let _ = client
            .update(&format!("{PATH}/{}", object::name(crd)), &next)
            .await;
        return;
    }
    let pending = crd
        .pointer("/status/conditions")
        .and_then(Value::as_array)
        .is_some_and(|list| {
            list.iter()
                .any(|one| one["type"] == "Terminating" && one["reason"] == "InstanceDeletionPending")
        });
    if pending {
        let mut next = crd.clone();
        let mut status = next["status"].take();
        let message = "CustomResource deletion is in progress";
        names::set_condition(
            &mut status,
            "Terminating",
            "True",
            "InstanceDeletionInProgress",
            message,
            now,
        );
        next["status"] = status;
        write_status(client, &next).await;
    }
    let Some(version) = served_version(server, group, plural) else {
        return;
    };
    for entry in entries {
        let place = match entry.namespace() {
            "" => String::new(),
            namespace => format!("/namespaces/{namespace}"),
        };
        let path = format!("/apis/{group}/{version}{place}/{plural}/{}", entry.name());
        // Errors are ignored: the object is gone already, or waits for its finalizers.
        let _ = client
            .delete(&path, &json!({"preconditions": {"uid": &*entry.uid}}))
            .await;
    }
}

fn served_version(server: &Server, group: &str, plural: &str) -> Option<String> {
    let registry = server.registry();
    let found = registry
        .all()
        .find(|served| &*served.group == group && &*served.plural == plural)?;
    Some(found.version.to_string())
}
