//! client-go informers across server restarts and expired watch history.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use crate::clients::support::{Dice, define, write};
use anyhow::{Context as _, Result};
use cambium_apiserver::store::History;
use cambium_testing::{NetworkCluster, Raw, eventually_some, peer, skip};
use kube::Client;
use serde::Deserialize;
use serde_json::{Value, json};

/// The running program `crates/testing/peers/informer`.
struct Informer {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

/// The state that it reports.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct State {
    watch_list: bool,
    events: u64,
    /// Store, object, resource version.
    stores: BTreeMap<String, BTreeMap<String, String>>,
    listed: BTreeSet<String>,
    deployments: BTreeMap<String, i64>,
    /// Published types and their fields.
    definitions: BTreeMap<String, BTreeSet<String>>,
}

impl Informer {
    fn start(program: &Path, kubeconfig: &Path, watch_list: bool) -> Result<Self> {
        let mut child = Command::new(program)
            .arg(kubeconfig)
            .env("KUBE_FEATURE_WatchListClient", watch_list.to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        Ok(Self {
            input: child.stdin.take().context("its input")?,
            output: BufReader::new(child.stdout.take().context("its output")?),
            child,
        })
    }

    fn ask(&mut self) -> Result<State> {
        writeln!(self.input, "state")?;
        let mut line = String::new();
        self.output.read_line(&mut line)?;
        serde_json::from_str(&line).with_context(|| format!("it said {line:?}"))
    }
}

impl Drop for Informer {
    fn drop(&mut self) {
        // Gone already is as good as gone now.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Changes ConfigMaps and Deployments, and probes as well.
async fn change(client: Client, seed: u64, count: usize) -> Result<()> {
    let raw = Raw::new(client.clone());
    let mut dice = Dice(seed);
    let (maps, deployments) = (
        "/api/v1/namespaces/default/configmaps",
        "/apis/apps/v1/namespaces/default/deployments",
    );
    for round in 0..count {
        let (name, color) = (format!("map-{}", dice.below(20)), ["red", "blue"][round % 2]);
        let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"round": round.to_string()},
            "metadata": {"name": name, "labels": {"color": color}}});
        let answer = match dice.below(5) {
            0 => raw.delete(&format!("{maps}/{name}"), &json!({})).await?,
            1 | 2 => raw.post(maps, &map).await?,
            _ => raw.patch("merge", &format!("{maps}/{name}"), &map).await?,
        };
        anyhow::ensure!(matches!(answer.code, 200 | 201 | 404 | 409), "{answer:?}");
    }
    for number in 0..3 {
        let name = format!("app-{number}");
        let labels = json!({"app": name});
        let deployment = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name},
            "spec": {"replicas": dice.below(3), "selector": {"matchLabels": labels}, "template": {
                "metadata": {"labels": labels},
                "spec": {"containers": [{"name": "app", "image": "example.com/app:1"}]}}}});
        let url = format!("{deployments}/{name}?fieldManager=test&force=true");
        let answer = raw.patch("apply", &url, &deployment).await?;
        anyhow::ensure!(matches!(answer.code, 200 | 201), "{answer:?}");
    }
    write(client, seed, count, Duration::ZERO).await?;
    Ok(())
}

/// Objects and resource versions of a list.
async fn listed(client: &Client, path: &str) -> Result<BTreeMap<String, String>> {
    let list = Raw::new(client.clone()).get(path).await?.body;
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let items = list["items"].as_array().context("items")?;
    Ok(items
        .iter()
        .map(|item| {
            let metadata = &item["metadata"];
            (
                format!("{}/{}", text(&metadata["namespace"]), text(&metadata["name"])),
                text(&metadata["resourceVersion"]),
            )
        })
        .collect())
}

async fn lives(test: &str, watch_list: bool) -> Result<()> {
    let Some(program) = peer("informer") else {
        skip(test, "the informer is not built (cargo xtask peers builds it)");
        return Ok(());
    };
    let history = History {
        events: 128,
        ..History::default()
    };
    let mut cluster = NetworkCluster::start(history).await?;
    define(&cluster.client()?).await?;
    let mut informer = Informer::start(&program, &cluster.write_kubeconfig()?, watch_list)?;
    let mut events = 0;
    for round in 0..2 {
        change(cluster.client()?, round, 200).await?;
        // With few changes while nobody looks, watches resume; with many, they start over.
        let unseen = if round % 2 == 0 { 300 } else { 20 };
        cluster
            .restart(|client| change(client, 100 + round, unseen))
            .await?;
        let client = cluster.client()?;
        let state = eventually_some("every store has what a list has", || {
            let (state, client) = (informer.ask(), client.clone());
            async move {
                let state = state?;
                Ok((state.stores == lists(&client).await?).then_some(state))
            }
        });
        let state = state.await?;
        assert_eq!(state.watch_list, watch_list, "it lists as it was told to");
        assert!(state.events > events, "handlers are told");
        events = state.events;
        let red = &state.stores["configmaps/red"];
        assert_eq!(
            state.listed,
            red.keys().cloned().collect(),
            "a lister selects as the server does"
        );
        let published = Raw::new(client.clone()).get("/openapi/v2").await?.body;
        assert_eq!(
            state.definitions,
            definitions(&published),
            "protobuf says what JSON says"
        );
        assert!(state.definitions["io.k8s.api.core.v1.Pod"].contains("spec"));
        let deployments = Raw::new(client).get("/apis/apps/v1/deployments").await?.body;
        for deployment in deployments["items"].as_array().context("items")? {
            let name = format!(
                "default/{}",
                deployment["metadata"]["name"].as_str().unwrap_or_default()
            );
            assert_eq!(
                deployment["spec"]["replicas"],
                json!(state.deployments[&name]),
                "{name}"
            );
        }
    }
    Ok(())
}

/// The types of an OpenAPI document and their fields.
fn definitions(published: &Value) -> BTreeMap<String, BTreeSet<String>> {
    let fields = |definition: &Value| {
        let properties = definition["properties"].as_object().into_iter().flatten();
        properties.map(|(name, _)| name.clone()).collect()
    };
    let definitions = published["definitions"].as_object().into_iter().flatten();
    definitions
        .map(|(name, definition)| (name.clone(), fields(definition)))
        .collect()
}

/// The expected contents of the stores.
async fn lists(client: &Client) -> Result<BTreeMap<String, BTreeMap<String, String>>> {
    let mut lists = BTreeMap::new();
    for (store, path) in [
        ("configmaps", "/api/v1/configmaps"),
        (
            "configmaps/red",
            "/api/v1/namespaces/default/configmaps?labelSelector=color%3Dred",
        ),
        ("configmaps/metadata", "/api/v1/configmaps"),
        ("deployments", "/apis/apps/v1/deployments"),
        ("probes", "/apis/test.cambium.dev/v1/probes"),
        ("probes/metadata", "/apis/test.cambium.dev/v1/probes"),
    ] {
        lists.insert(store.to_owned(), listed(client, path).await?);
    }
    Ok(lists)
}

// The informer is asked with blocking reads, so the server needs a thread of its own.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn informers_with_streaming_lists_live_through_restarts() -> Result<()> {
    lives("informers_with_streaming_lists_live_through_restarts", true).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn informers_that_list_live_through_restarts() -> Result<()> {
    lives("informers_that_list_live_through_restarts", false).await
}
