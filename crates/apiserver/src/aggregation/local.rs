//! An APIService for every group and version that this server answers.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, LazyLock};

use serde_json::{Value, json};

use super::{API_SERVICES, priorities};
use crate::bootstrap::{Stencil, TIME};
use crate::loopback::Loopback;
use crate::registry::Registry;
use crate::server::Server;
use crate::store;

/// Says that an APIService is kept by the server: `onstart` for what it always has, `true` for what comes and goes.
const AUTOMANAGED: &str = "kube-aggregator.kubernetes.io/automanaged";
const MANAGER: &str = "kube-apiserver";
const PATH: &str = "/apis/apiregistration.k8s.io/v1/apiservices";

/// Whose a group and version is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Origin {
    Server,
    Definition,
}

/// What has to be done.
#[derive(Debug, PartialEq)]
enum Change {
    Create(Value),
    Delete(String),
}

/// Makes what is missing, then follows the registry until the server stops.
pub(crate) async fn keep(server: Arc<Server>) {
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

/// What has to be done at this moment.
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
            tracing::warn!(message = refused.message(), "an APIService could not be kept");
        }
    }
}

/// Those that a server has before it knows its CRDs.
static STENCILS: LazyLock<Vec<Stencil>> = LazyLock::new(|| {
    let changes = plan(&served(&Registry::builtin()), &BTreeMap::new()).into_iter();
    changes
        .filter_map(|change| match change {
            Change::Create(mut object) => {
                object["status"] = available(TIME);
                Some(Stencil::founded(API_SERVICES, object, MANAGER, None))
            }
            Change::Delete(_) => None,
        })
        .collect()
});

/// What makes those of them that are missing.
pub(crate) fn missing(server: &Server) -> Vec<store::Write> {
    let missing = STENCILS.iter().filter(|stencil| !stencil.is_there(server));
    missing.map(|stencil| stencil.write(server)).collect()
}

/// What is missing is made; what was made for a CRD goes with it. `stored` says of each APIService whether it was made so.
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

/// What a new APIService says of itself if this server answers it.
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
