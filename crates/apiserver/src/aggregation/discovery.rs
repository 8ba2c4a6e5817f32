//! Discovery of aggregated API servers, merged into ours.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::proxy::{self, ProbeRequest};
use super::{Aggregation, Remote};
use crate::auth::User;
use crate::server::Server;

/// Size limit of a backend's discovery document.
const LARGEST: usize = 4 << 20;

/// Fetches and caches a backend's discovery; the error becomes the message of its `Available` condition.
pub(crate) async fn learn(server: &Server, remote: &Remote) -> Result<(), String> {
    let question = ProbeRequest {
        path: &remote.root(),
        user: User::master("system:kube-aggregator"),
        known: None,
        limit: LARGEST,
    };
    let told = proxy::probe(server, remote, question).await?;
    if !told.status.is_success() {
        let (url, code) = (proxy::url(remote, &remote.root()), told.status.as_u16());
        return Err(format!(
            "failing or missing response from {url}: bad status from {url}: {code}"
        ));
    }
    // A backend that responds is available, even if its discovery document is malformed.
    let list: Value = serde_json::from_slice(&told.bytes).unwrap_or_default();
    let entry = described(&remote.group, &remote.version, &list);
    server.aggregation.discovered().insert(remote.place(), entry);
    Ok(())
}

impl Aggregation {
    /// A backend's group version for aggregated discovery; `Stale` when the backend is unavailable.
    pub(crate) fn described(&self, remote: &Remote) -> Value {
        let known = self.discovered().get(&remote.place()).cloned();
        let mut entry = known.unwrap_or_else(|| json!({"version": remote.version}));
        entry["freshness"] = json!(if remote.available { "Current" } else { "Stale" });
        entry
    }
}

/// An `APIResourceList` as an entry of aggregated discovery.
fn described(group: &str, version: &str, list: &Value) -> Value {
    let kind = |resource: &Value| {
        let or = |field: &str, own: &str| {
            resource[field]
                .as_str()
                .filter(|text| !text.is_empty())
                .unwrap_or(own)
                .to_owned()
        };
        json!({"group": or("group", group), "version": or("version", version), "kind": resource["kind"]})
    };
    let named = |resource| Some((name(resource)?, resource));
    let all: Vec<(&str, &Value)> = list["resources"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(named)
        .collect();
    let mut subresources: BTreeMap<&str, Vec<Value>> = BTreeMap::new();
    for (name, resource) in &all {
        if let Some((whole, below)) = name.split_once('/') {
            let entry =
                json!({"subresource": below, "responseKind": kind(resource), "verbs": resource["verbs"]});
            subresources.entry(whole).or_default().push(entry);
        }
    }
    let resources: Vec<Value> = all
        .into_iter()
        .filter(|(name, _)| !name.contains('/'))
        .map(|(name, resource)| {
            let mut entry = json!({
                "resource": name, "responseKind": kind(resource),
                "scope": if resource["namespaced"] == true { "Namespaced" } else { "Cluster" },
                "singularResource": resource["singularName"].as_str().unwrap_or_default(),
                "verbs": resource["verbs"],
            });
            for field in ["shortNames", "categories"] {
                if resource[field].is_array() {
                    entry[field] = resource[field].clone();
                }
            }
            if let Some(subresources) = subresources.remove(name) {
                entry["subresources"] = Value::Array(subresources);
            }
            entry
        })
        .collect();
    json!({"version": version, "resources": resources})
}

fn name(resource: &Value) -> Option<&str> {
    resource["name"].as_str().filter(|name| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plain_list_becomes_an_aggregated_entry() {
        let list = json!({"kind": "APIResourceList", "resources": [
            {"name": "flunders", "singularName": "flunder", "namespaced": true, "kind": "Flunder", "verbs": ["get"], "shortNames": ["fl"]},
            {"name": "flunders/scale", "group": "autoscaling", "version": "v1", "kind": "Scale", "verbs": ["update"]},
            {"name": "", "kind": "Nonsense"},
        ]});
        assert_eq!(
            described("wardle.example.com", "v1", &list),
            json!({"version": "v1", "resources": [{
                "resource": "flunders", "singularResource": "flunder", "scope": "Namespaced", "verbs": ["get"], "shortNames": ["fl"],
                "responseKind": {"group": "wardle.example.com", "version": "v1", "kind": "Flunder"},
                "subresources": [{"subresource": "scale", "verbs": ["update"],
                    "responseKind": {"group": "autoscaling", "version": "v1", "kind": "Scale"}}],
            }]})
        );
        assert_eq!(
            described("a", "v1", &json!("nonsense")),
            json!({"version": "v1", "resources": []})
        );
    }
}
