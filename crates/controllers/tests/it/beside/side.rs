//! One of the two: a cluster, and whoever works on it.

use super::scenario::Scenario;
use super::snapshot::Snapshot;
use anyhow::{Context as _, Result, ensure};
use cambium_api::crds;
use cambium_controllers::{Manager, Settings};
use cambium_testing::{Crossplane, Kubernetes, Raw, RunningCrossplane, eventually};
use kube::Client;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;
use tokio::task::JoinHandle;

/// A cluster, and who works on it.
pub(crate) struct Side {
    pub(crate) raw: Raw,
    /// What each scenario's objects are really called, by what they are called in scenarios.
    pub(crate) names: BTreeMap<String, BTreeMap<String, String>>,
    _worker: Worker,
    _cluster: Kubernetes,
}

enum Worker {
    Crossplane(#[expect(dead_code, reason = "it ends when this is dropped")] RunningCrossplane),
    Cambium(JoinHandle<()>),
}

impl Drop for Worker {
    fn drop(&mut self) {
        if let Self::Cambium(task) = self {
            task.abort();
        }
    }
}

/// The kinds that scenarios compose, in no namespace: one that takes anything, and one that does not.
pub(crate) const COMPOSED: [&str; 2] = ["Widget", "Gadget"];

impl Side {
    /// Crossplane at work.
    pub(crate) async fn crossplane(crossplane: &Crossplane) -> Result<Self> {
        let (cluster, client) = cluster().await?;
        let raw = prepare(&client, json!(crossplane.crds()?)).await?;
        let worker = Worker::Crossplane(crossplane.start(&cluster)?);
        Ok(Self::new(raw, worker, cluster))
    }

    /// Cambium at work.
    pub(crate) async fn cambium() -> Result<Self> {
        let (cluster, client) = cluster().await?;
        let raw = prepare(&client, json!(crds::all())).await?;
        let settings = Settings {
            serves_v2beta1: false,
            ..Settings::default()
        };
        let manager = Arc::new(Manager::new(client, settings).await?);
        let task = tokio::spawn(async move { manager.run().await });
        Ok(Self::new(raw, Worker::Cambium(task), cluster))
    }

    fn new(raw: Raw, worker: Worker, cluster: Kubernetes) -> Self {
        Self {
            raw,
            names: BTreeMap::new(),
            _worker: worker,
            _cluster: cluster,
        }
    }

    /// Defines what a scenario needs.
    pub(crate) async fn define(&self, scenario: &Scenario) -> Result<()> {
        let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": scenario.name}});
        self.apply(&scenario.name, &namespace).await?;
        self.apply(&scenario.name, &scenario.definition()).await
    }

    /// Waits until the kinds of a scenario are served.
    pub(crate) async fn defined(&self, scenario: &Scenario) -> Result<()> {
        for path in self.kinds(scenario) {
            eventually(&path, || async { Ok(self.raw.get(&path).await?.code == 200) }).await?;
        }
        Ok(())
    }

    fn kinds(&self, scenario: &Scenario) -> Vec<String> {
        let group = scenario.group();
        let plurals = match scenario.has_claims() {
            true => vec!["xthings", "things"],
            false => vec!["xthings"],
        };
        plurals
            .iter()
            .map(|plural| format!("/apis/{group}/v1/{plural}"))
            .collect()
    }

    /// Does one step of a scenario; what was refused, and why.
    pub(crate) async fn act(&self, scenario: &Scenario, step: &Value) -> Result<Vec<String>> {
        let step = self.really(scenario, step);
        let list = |field: &str| step[field].as_array().cloned().unwrap_or_default();
        let mut refused = Vec::new();
        for object in list("apply") {
            refused.extend(
                self.apply(&scenario.name, &object)
                    .await
                    .err()
                    .map(|error| error.to_string()),
            );
        }
        for (field, subresource) in [("patch", ""), ("status", "/status")] {
            for patch in list(field) {
                let path = self.path(scenario, patch["at"].as_str().context("at")?)?;
                let answer = self
                    .raw
                    .patch("merge", &format!("{path}{subresource}"), &patch["merge"])
                    .await?;
                if answer.code >= 300 {
                    refused.push(format!("{}: {}", patch["at"], answer.message()));
                }
            }
        }
        for name in list("delete") {
            let path = self.path(scenario, name.as_str().context("delete")?)?;
            let answer = self
                .raw
                .delete(&path, &json!({"propagationPolicy": "Background"}))
                .await?;
            if answer.code >= 300 {
                refused.push(format!("{name}: {}", answer.message()));
            }
        }
        Ok(refused)
    }

    /// A step with the names that objects really have here.
    fn really(&self, scenario: &Scenario, step: &Value) -> Value {
        let mut text = step.to_string();
        let names = self.names.get(&scenario.name).into_iter().flatten();
        for (name, real) in names.rev() {
            text = text.replace(name, real);
        }
        serde_json::from_str(&text).unwrap_or_default()
    }

    async fn apply(&self, namespace: &str, object: &Value) -> Result<()> {
        let (version, kind) = (
            object["apiVersion"].as_str().context("apiVersion")?,
            object["kind"].as_str().context("kind")?,
        );
        let name = object["metadata"]["name"].as_str().context("a name")?;
        let root = root(version, kind, namespace);
        let path = format!("{root}/{name}?fieldManager=person&force=true");
        let answer = self.raw.patch("apply", &path, object).await?;
        ensure!(answer.code < 300, "{kind}/{name}: {}", answer.message());
        Ok(())
    }

    fn path(&self, scenario: &Scenario, at: &str) -> Result<String> {
        let (kind, name) = at.split_once('/').with_context(|| format!("{at}: KIND/NAME"))?;
        let version = match kind {
            "XThing" | "Thing" => format!("{}/v1", scenario.group()),
            "Secret" => "v1".to_owned(),
            kind if COMPOSED.contains(&kind) => "parts.example.org/v1".to_owned(),
            _ => "apiextensions.crossplane.io/v1".to_owned(),
        };
        Ok(format!("{}/{name}", root(&version, kind, &scenario.name)))
    }

    /// Everything there is of a scenario, in words that both sides share.
    pub(crate) async fn snapshot(&mut self, scenario: &Scenario, shared: &[Value]) -> Result<Snapshot> {
        let mut objects: Vec<Value> = shared.to_vec();
        for path in self.kinds(scenario) {
            objects.extend(self.list(&path).await?);
        }
        let names = self.names.entry(scenario.name.clone()).or_default();
        Ok(Snapshot::of(scenario, objects, names))
    }

    /// The objects of all scenarios that are of the same kinds.
    pub(crate) async fn shared(&self) -> Result<Vec<Value>> {
        let mut objects = Vec::new();
        for path in [
            "/apis/apiextensions.crossplane.io/v1/compositeresourcedefinitions",
            "/apis/apiextensions.crossplane.io/v1/compositions",
            "/apis/apiextensions.crossplane.io/v1/compositionrevisions",
            "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
            "/apis/parts.example.org/v1/widgets",
            "/apis/parts.example.org/v1/gadgets",
            "/api/v1/secrets",
        ] {
            objects.extend(self.list(path).await?);
        }
        Ok(objects)
    }

    async fn list(&self, path: &str) -> Result<Vec<Value>> {
        let list = self.raw.get(path).await?.body;
        let kind = list["kind"].as_str().unwrap_or_default();
        let kind = kind.strip_suffix("List").unwrap_or_default().to_owned();
        let version = list["apiVersion"].clone();
        let items = list["items"].as_array().cloned().unwrap_or_default();
        let named = items.into_iter().map(|mut item| {
            item["kind"] = json!(kind);
            item["apiVersion"] = version.clone();
            item
        });
        Ok(named.collect())
    }
}

/// Where objects of a kind are.
fn root(version: &str, kind: &str, namespace: &str) -> String {
    let plural = format!("{}s", kind.to_lowercase());
    let api = match version {
        "v1" => "/api/v1".to_owned(),
        version => format!("/apis/{version}"),
    };
    match kind {
        "Thing" | "Secret" => format!("{api}/namespaces/{namespace}/{plural}"),
        _ => format!("{api}/{plural}"),
    }
}

async fn cluster() -> Result<(Kubernetes, Client)> {
    let cluster = Kubernetes::start().await?;
    let client = cluster.client().await?;
    Ok((cluster, client))
}

/// Installs kinds, and what scenarios compose.
async fn prepare(client: &Client, kinds: Value) -> Result<Raw> {
    let raw = Raw::new(client.clone());
    for namespace in ["vela-system", "crossplane-system"] {
        let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}});
        raw.post("/api/v1/namespaces", &namespace).await?;
    }
    let mut kinds = kinds.as_array().cloned().unwrap_or_default();
    kinds.extend(COMPOSED.map(composed));
    for kind in &kinds {
        let answer = raw
            .post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", kind)
            .await?;
        ensure!(answer.code < 300, "{}", answer.body);
    }
    for kind in &kinds {
        let versions = kind["spec"]["versions"].as_array().cloned().unwrap_or_default();
        let stored = versions.iter().find(|version| version["storage"] == true);
        let path = format!(
            "/apis/{}/{}/{}",
            kind["spec"]["group"].as_str().unwrap_or_default(),
            stored.context("a stored version")?["name"]
                .as_str()
                .unwrap_or_default(),
            kind["spec"]["names"]["plural"].as_str().unwrap_or_default()
        );
        eventually(&path, || async { Ok(raw.get(&path).await?.code == 200) }).await?;
    }
    Ok(raw)
}

/// A kind that scenarios compose.
fn composed(kind: &str) -> Value {
    let plural = format!("{}s", kind.to_lowercase());
    let open = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let spec = match kind {
        "Gadget" => json!({"type": "object", "required": ["region"], "properties": {
            "region": {"type": "string", "enum": ["north", "south"]}, "size": {"type": "integer", "default": 1},
        }}),
        _ => open.clone(),
    };
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.parts.example.org")},
        "spec": {
            "group": "parts.example.org", "scope": "Cluster", "names": {"kind": kind, "plural": plural},
            "versions": [{"name": "v1", "served": true, "storage": true, "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec, "status": open}}}}],
        },
    })
}
