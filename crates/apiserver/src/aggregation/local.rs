//! Keeps a local APIService for every group version that this server serves itself.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, LazyLock};

use serde_json::{Value, json};

use super::{API_SERVICES, priorities};
use crate::bootstrap::{ObjectTemplate, TIME};
use crate::loopback::Loopback;
use crate::registry::Registry;
use crate::server::Server;
use crate::store;

/// Marks an APIService as managed by the server: `onstart` for built-in groups, `true` for those of CRDs.
const AUTOMANAGED: &str = "kube-aggregator.kubernetes.io/automanaged";
const MANAGER: &str = "kube-apiserver";
const PATH: &str = "/apis/apiregistration.k8s.io/v1/apiservices";

/// Whether a group version is built in or defined by CRDs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Origin {
    Server,
    Definition,
}

/// An APIService to create or delete.
#[derive(Debug, PartialEq)]
enum Change {
    Create(Value),
    Delete(String),
}

/// Creates missing APIServices, then follows the registry until the server stops.
pub(crate) async fn run(server: Arc<Server>) {
    let client = server.loopback("kube-aggregator").with_agent(MANAGER);
    let mut changes = server.registry_changes();
    loop {
        changes.mark_unchanged();
        reconcile(&server, &client).await;
        tokio::select! {
            changed = changes.changed() => if changed.is_err() { return },
            () = server.stopping() => return,
        }
    }
}

/// The changes that are due now.
fn changes(server: &Server) -> Vec<Change> {
    let stored = server.store.bucket(&API_SERVICES.into()).list("").0;
    let stored: BTreeMap<String, bool> = stored
        .iter()
        .map(|entry| (entry.name().to_owned(), entry.label(AUTOMANAGED) == Some("true")))
        .collect();
    plan(&served(&server.registry()), &stored)
}

/// The groups and versions of a registry.
fn served(registry: &Registry) -> BTreeMap<(String, String), Origin> {
    let mut served = BTreeMap::new();
    for resource in registry.all() {
        let origin = match resource.custom() {
            Some(_) => Origin::Definition,
            None => Origin::Server,
        };
        let entry = served.entry((resource.group.to_string(), resource.version.to_string()));
        let known = entry.or_insert(origin);
        if origin == Origin::Server {
            *known = origin;
        }
    }
    served
}

async fn reconcile(server: &Server, client: &Loopback) {
    for change in changes(server) {
        let outcome = match &change {
            Change::Create(object) => client.create(PATH, object).await,
            Change::Delete(name) => client.delete(&format!("{PATH}/{name}"), &json!({})).await,
        };
        if let Err(refused) = outcome
            && !matches!(refused.reason(), "AlreadyExists" | "NotFound")
        {
            tracing::warn!(
                message = refused.message(),
                "failed to reconcile local APIService"
            );
        }
    }
}

/// The APIServices of built-in groups.
static TEMPLATES: LazyLock<Vec<ObjectTemplate>> = LazyLock::new(|| {
    let changes = plan(&served(&Registry::builtin()), &BTreeMap::new()).into_iter();
    changes
        .filter_map(|change| match change {
            Change::Create(mut object) => {
                object["status"] = available(TIME);
                Some(ObjectTemplate::with_managed_fields(
                    API_SERVICES,
                    object,
                    MANAGER,
                    None,
                ))
            }
            Change::Delete(_) => None,
        })
        .collect()
});

/// The writes that create the missing ones.
pub(crate) fn missing(server: &Server) -> Vec<store::Write> {
    let missing = TEMPLATES.iter().filter(|template| !template.exists(server));
    missing.map(|template| template.write(server)).collect()
}

/// Creates missing APIServices and deletes those of removed CRDs. `stored` tells of each whether it is automanaged.
fn plan(served: &BTreeMap<(String, String), Origin>, stored: &BTreeMap<String, bool>) -> Vec<Change> {
    let name = |(group, version): &(String, String)| format!("{version}.{group}");
    let wanted: BTreeSet<String> = served.keys().map(name).collect();
    let surplus = stored
        .iter()
        .filter(|(name, automatic)| **automatic && !wanted.contains(*name))
        .map(|(name, _)| Change::Delete(name.clone()));
    let missing = served
        .iter()
        // This group has none: it is how all others are known.
        .filter(|(place, _)| place.0 != "apiregistration.k8s.io" && !stored.contains_key(&name(place)))
        .map(|(place, origin)| Change::Create(api_service(&name(place), place, *origin)));
    surplus.chain(missing).collect()
}

fn api_service(name: &str, (group, version): &(String, String), origin: Origin) -> Value {
    let priority = priorities::of(group, version);
    let automanaged = match origin {
        Origin::Server => "onstart",
        Origin::Definition => "true",
    };
    let mut spec = json!({"group": group, "version": version,
        "groupPriorityMinimum": priority.group, "versionPriority": priority.version});
    if let (true, Some(spec)) = (group.is_empty(), spec.as_object_mut()) {
        spec.remove("group");
    }
    json!({
        "apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService",
        "metadata": {"name": name, "labels": {AUTOMANAGED: automanaged}},
        "spec": spec,
    })
}

/// The `Available` condition of a local APIService.
pub(crate) fn available(now: &str) -> Value {
    json!({"conditions": [{"type": "Available", "status": "True", "reason": "Local",
        "message": "Local APIServices are always available", "lastTransitionTime": now}]})
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(group: &str, version: &str) -> (String, String) {
        (group.to_owned(), version.to_owned())
    }

    #[test]
    fn what_is_missing_is_made_and_what_is_no_longer_answered_goes() {
        let served = BTreeMap::from([
            (place("", "v1"), Origin::Server),
            (place("apiregistration.k8s.io", "v1"), Origin::Server),
            (place("shop.example.com", "v1"), Origin::Definition),
            (place("known.example.com", "v1"), Origin::Definition),
        ]);
        let stored = BTreeMap::from([
            ("v1.known.example.com".to_owned(), true),
            ("v1.gone.example.com".to_owned(), true),
            ("v1beta1.metrics.k8s.io".to_owned(), false),
        ]);
        let changes = plan(&served, &stored);
        let [Change::Delete(gone), Change::Create(core), Change::Create(shop)] = &changes[..] else {
            panic!("{changes:?}");
        };
        assert_eq!(gone, "v1.gone.example.com");
        assert_eq!(
            core["metadata"],
            json!({"name": "v1.", "labels": {AUTOMANAGED: "onstart"}})
        );
        assert_eq!(shop["metadata"]["labels"][AUTOMANAGED], "true");
        assert_eq!(
            (
                &shop["spec"]["groupPriorityMinimum"],
                &shop["spec"]["versionPriority"]
            ),
            (&json!(1000), &json!(100))
        );
    }
}
