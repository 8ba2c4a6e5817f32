//! The load of the API server benchmark.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use bytes::Bytes;
use http_body_util::BodyExt as _;
use serde_json::{Value, json};

use crate::target::Target;
use crate::wire::{Address, Connection};

const CLIENTS: usize = 16;
const OBJECTS: usize = 10_000;
/// The index of the object that probes whether a kind is served.
const PROBE: usize = 999_999;
const GROUP: &str = "bench.cambium.dev";
pub(crate) const JSON: &str = "application/json";

/// The figures of one server.
#[derive(Default)]
pub(crate) struct Figures {
    pub(crate) start: Duration,
    pub(crate) idle_memory: u64,
    pub(crate) full_memory: u64,
    pub(crate) crd: Duration,
    pub(crate) create: f64,
    pub(crate) get: f64,
    pub(crate) update: f64,
    pub(crate) apply: f64,
    pub(crate) list: Duration,
    pub(crate) stream: Duration,
    pub(crate) event_p50: Duration,
    pub(crate) event_p99: Duration,
}

/// Runs the whole load on one server.
pub(crate) async fn measure(target: &mut Target) -> Result<Figures> {
    let mut figures = Figures {
        start: target.start,
        ..Figures::default()
    };
    tokio::time::sleep(Duration::from_secs(2)).await;
    figures.idle_memory = target.memory()?;
    let address = target.address.clone();
    let mut connection = address.connect().await?;
    figures.crd = crd(&mut connection).await?;

    figures.create = fill(&address, OBJECTS).await?;
    figures.full_memory = target.memory()?;
    figures.get = rate(
        &address,
        2 * OBJECTS,
        |index| ("GET", path(Some(index % OBJECTS)), "", Bytes::new()),
        200,
    )
    .await?;
    figures.update = updates(&address, OBJECTS / 2).await?;
    let apply = |index: usize| {
        let url = format!("{}?fieldManager=bench&force=true", path(Some(index)));
        (
            "PATCH",
            url,
            "application/apply-patch+yaml",
            Bytes::from(object(index, 3).to_string()),
        )
    };
    figures.apply = rate(&address, OBJECTS / 2, apply, 200).await?;
    figures.list = list(&mut connection).await?;
    figures.stream = stream(&address).await?;
    (figures.event_p50, figures.event_p99) = events(&address).await?;
    Ok(figures)
}

/// Creates this many objects; returns the rate per second.
pub(crate) async fn fill(address: &Address, count: usize) -> Result<f64> {
    let body = |index: usize| Bytes::from(object(index, 1).to_string());
    rate(
        address,
        count,
        move |index| ("POST", path(None), JSON, body(index)),
        201,
    )
    .await
}

/// Start time of an in-process server: the fastest of a few, and the first.
pub(crate) async fn in_process() -> Result<(Duration, Duration)> {
    let mut times = Vec::new();
    for _ in 0..20 {
        let begin = Instant::now();
        let server = cambium_apiserver::ApiServer::builder().build().await?;
        times.push(begin.elapsed());
        server.stop();
    }
    let first = times[0];
    times.sort();
    Ok((first, times[times.len() / 2]))
}

fn path(index: Option<usize>) -> String {
    let collection = format!("/apis/{GROUP}/v1/namespaces/default/loads");
    index.map_or(collection.clone(), |index| {
        format!("{collection}/load-{index:05}")
    })
}

/// A small custom resource, of about half a kilobyte.
fn object(index: usize, round: usize) -> Value {
    json!({
        "apiVersion": format!("{GROUP}/v1"), "kind": "Load",
        "metadata": {"name": format!("load-{index:05}"), "labels": {"app": "load", "part": format!("p{}", index % 10)}},
        "spec": {
            "size": index % 100, "round": round, "image": "example.com/load:1.0",
            "text": "a few words that somebody once wrote into a field of this kind",
            "items": [{"name": "a", "value": "1"}, {"name": "b", "value": "2"}],
        },
    })
}

/// Creates the CRD; returns the time until an object of it can be created.
pub(crate) async fn crd(connection: &mut Connection) -> Result<Duration> {
    let text = |kind: &str| json!({"type": kind});
    let crd = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("loads.{GROUP}")},
        "spec": {"group": GROUP, "scope": "Namespaced", "names": {"plural": "loads", "singular": "load", "kind": "Load"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {
                "type": "object", "properties": {"spec": {"type": "object", "properties": {
                    "size": text("integer"), "round": text("integer"), "image": text("string"), "text": text("string"),
                    "items": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
                        "items": {"type": "object", "required": ["name"], "properties": {
                            "name": text("string"), "value": text("string")}}}}}}}}}]},
    });
    let begin = Instant::now();
    let path_of_crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    let (code, answer) = connection
        .send("POST", path_of_crds, JSON, &Bytes::from(crd.to_string()))
        .await?;
    if code != 201 {
        bail!("the CRD was refused: {}", String::from_utf8_lossy(&answer));
    }
    let probe = Bytes::from(object(PROBE, 0).to_string());
    loop {
        let (code, _) = connection.send("POST", &path(None), JSON, &probe).await?;
        if code == 201 {
            let took = begin.elapsed();
            connection
                .send("DELETE", &path(Some(PROBE)), JSON, &Bytes::new())
                .await?;
            return Ok(took);
        }
        if begin.elapsed() > Duration::from_secs(30) {
            bail!("objects of the CRD cannot be made");
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

type Planned = (&'static str, String, &'static str, Bytes);

/// Requests per second, by all clients together.
pub(crate) async fn rate(
    address: &Address,
    count: usize,
    plan: impl Fn(usize) -> Planned + Send + Sync + 'static,
    expected: u16,
) -> Result<f64> {
    let (next, plan) = (Arc::new(AtomicUsize::new(0)), Arc::new(plan));
    let mut connections = Vec::new();
    for _ in 0..CLIENTS {
        connections.push(address.connect().await?);
    }
    let begin = Instant::now();
    let clients: Vec<_> = connections
        .into_iter()
        .map(|mut connection| {
            let (next, plan) = (next.clone(), plan.clone());
            tokio::spawn(async move {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    if index >= count {
                        return anyhow::Ok(());
                    }
                    let (method, path, media, body) = plan(index);
                    let (code, answer) = connection.send(method, &path, media, &body).await?;
                    if code != expected {
                        bail!("{method} {path}: {code} {}", String::from_utf8_lossy(&answer));
                    }
                }
            })
        })
        .collect();
    for client in clients {
        client.await??;
    }
    Ok(count as f64 / begin.elapsed().as_secs_f64())
}

/// Full updates: each client reads what it changes beforehand, outside the measured time.
async fn updates(address: &Address, count: usize) -> Result<f64> {
    let mut connection = address.connect().await?;
    let mut bodies = Vec::with_capacity(count);
    for index in 0..count {
        let (_, bytes) = connection
            .send("GET", &path(Some(index)), "", &Bytes::new())
            .await?;
        let mut value: Value = serde_json::from_slice(&bytes)?;
        value["spec"]["round"] = json!(2);
        bodies.push(Bytes::from(value.to_string()));
    }
    rate(
        address,
        count,
        move |index| ("PUT", path(Some(index)), JSON, bodies[index].clone()),
        200,
    )
    .await
}

async fn list(connection: &mut Connection) -> Result<Duration> {
    let mut best = Duration::MAX;
    for _ in 0..3 {
        let begin = Instant::now();
        let (code, body) = connection.send("GET", &path(None), "", &Bytes::new()).await?;
        if code != 200 || body.len() < OBJECTS * 100 {
            bail!("the list is too short: {code}, {} bytes", body.len());
        }
        best = best.min(begin.elapsed());
    }
    Ok(best)
}

/// The initial events of a streaming list, up to the bookmark that ends them.
async fn stream(address: &Address) -> Result<Duration> {
    let mut best = Duration::MAX;
    for _ in 0..3 {
        let mut connection = address.connect().await?;
        let query =
            "watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";
        let begin = Instant::now();
        let (_, mut body) = connection
            .start("GET", &format!("{}?{query}", path(None)), "", &Bytes::new())
            .await?;
        let mut tail: Vec<u8> = Vec::new();
        while let Some(frame) = body.frame().await {
            let Ok(data) = frame?.into_data() else { continue };
            tail.extend_from_slice(&data);
            if tail.windows(18).any(|window| window == b"initial-events-end") {
                break;
            }
            let keep = tail.len().saturating_sub(64);
            tail.drain(..keep);
        }
        best = best.min(begin.elapsed());
    }
    Ok(best)
}

/// Latency from sending a write to receiving its event, with one writer and one watcher.
async fn events(address: &Address) -> Result<(Duration, Duration)> {
    let (mut writer, mut watcher) = (address.connect().await?, address.connect().await?);
    let (_, list) = writer
        .send("GET", &format!("{}?limit=1", path(None)), "", &Bytes::new())
        .await?;
    let list: Value = serde_json::from_slice(&list)?;
    let version = list["metadata"]["resourceVersion"]
        .as_str()
        .context("a version")?
        .to_owned();
    let url = format!("{}?watch=true&resourceVersion={version}", path(None));
    let (_, mut events) = watcher.start("GET", &url, "", &Bytes::new()).await?;
    let mut times = Vec::new();
    for round in 0..500_usize {
        let patch = Bytes::from(json!({"spec": {"round": 100 + round}}).to_string());
        let begin = Instant::now();
        let url = path(Some(round));
        let write = writer.send("PATCH", &url, "application/merge-patch+json", &patch);
        let event = async {
            loop {
                let frame = events.frame().await.context("the watch ended")??;
                if frame.data_ref().is_some_and(|data| !data.is_empty()) {
                    return anyhow::Ok(begin.elapsed());
                }
            }
        };
        let (written, seen) = tokio::join!(write, event);
        written?;
        times.push(seen?);
    }
    times.sort();
    Ok((times[times.len() / 2], times[times.len() * 99 / 100]))
}
