//! Soak test: many idle watches, and full load of all kinds. Memory must stay flat, and every error must be one that
//! clients handle.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use bytes::Bytes;
use http_body_util::BodyExt as _;
use serde_json::{Value, json};

use crate::growth::idle_watches;
use crate::target::{self, Target};
use crate::wire::{Address, Connection};

const NOTES: &str = "/api/v1/namespaces/default/configmaps";
const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
/// The number of memory samples.
const SAMPLES: u32 = 20;
/// Clients that write, each with a hundred objects of its own.
const WRITERS: usize = 6;
const OBJECTS: usize = 100;
/// Clients that list and watch everything, over and over.
const READERS: usize = 2;

/// Memory over time, and errors.
pub(crate) struct Soak {
    pub(crate) what: &'static str,
    pub(crate) seconds: u64,
    /// Megabytes at equal intervals, after warm-up.
    pub(crate) memory: Vec<f64>,
    pub(crate) requests: u64,
    /// Error responses by code and reason.
    pub(crate) refusals: BTreeMap<String, u64>,
}

impl Soak {
    /// Growth of the second half's peak over the first half's.
    pub(crate) fn growth(&self) -> f64 {
        let worst = |part: &[f64]| part.iter().copied().fold(0.0, f64::max);
        let (before, after) = self.memory.split_at(self.memory.len() / 2);
        worst(after) / worst(before) - 1.0
    }
}

/// Soak test with a thousand idle watches.
pub(crate) async fn watches(cambium: &Path, time: Duration) -> Result<Soak> {
    let target = target::cambium(cambium).await?;
    let watches = idle_watches(&target.address).await?;
    let memory = sample(&target, time).await?;
    drop(watches);
    Ok(Soak {
        what: "1000 idle watches",
        seconds: time.as_secs(),
        memory,
        requests: 0,
        refusals: BTreeMap::new(),
    })
}

/// Soak test with mixed full load.
pub(crate) async fn mixed(cambium: &Path, time: Duration) -> Result<Soak> {
    let target = target::cambium(cambium).await?;
    let tally = Arc::new(Tally::default());
    let until = Instant::now() + time + warm_up(time);
    let mut clients = tokio::task::JoinSet::new();
    for writer in 0..WRITERS {
        clients.spawn(write(target.address.clone(), writer, until, tally.clone()));
    }
    for _ in 0..READERS {
        clients.spawn(read(target.address.clone(), until, tally.clone()));
    }
    clients.spawn(define(target.address.clone(), until, tally.clone()));
    tokio::time::sleep(warm_up(time)).await;
    let memory = sample(&target, time).await?;
    while let Some(ended) = clients.join_next().await {
        ended?.context("a client could not go on")?;
    }
    let refusals = tally
        .refusals
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .clone();
    Ok(Soak {
        what: "create, apply, patch, delete, list, watch; CRDs come and go",
        seconds: time.as_secs(),
        memory,
        requests: tally.requests.load(Ordering::Relaxed),
        refusals,
    })
}

/// The warm-up time, until watch histories and caches are full.
fn warm_up(time: Duration) -> Duration {
    (time / 4).min(Duration::from_mins(2))
}

async fn sample(target: &Target, time: Duration) -> Result<Vec<f64>> {
    let mut memory = vec![target.memory()? as f64 / 1e6];
    for _ in 0..SAMPLES {
        tokio::time::sleep(time / SAMPLES).await;
        memory.push(target.memory()? as f64 / 1e6);
    }
    Ok(memory)
}

#[derive(Default)]
struct Tally {
    requests: AtomicU64,
    refusals: Mutex<BTreeMap<String, u64>>,
}

impl Tally {
    /// Counts a response; fails on an unexpected one.
    fn count(&self, code: u16, body: &[u8]) -> Result<()> {
        self.requests.fetch_add(1, Ordering::Relaxed);
        if code < 300 {
            return Ok(());
        }
        let status: Value = serde_json::from_slice(body).unwrap_or_default();
        let reason = status["reason"].as_str().unwrap_or_default();
        let understood = matches!(
            (code, reason),
            (404, "NotFound") | (409, "AlreadyExists" | "Conflict") | (410, "Expired" | "Gone") // A group that is just coming or going has no paths.
        ) || code == 404 && body == b"404 page not found\n";
        if !understood {
            bail!("{code} {}", String::from_utf8_lossy(body));
        }
        let mut refusals = self.refusals.lock().unwrap_or_else(PoisonError::into_inner);
        *refusals.entry(format!("{code} {reason}")).or_default() += 1;
        Ok(())
    }
}

async fn send(
    connection: &mut Connection,
    tally: &Tally,
    method: &str,
    path: &str,
    media: &str,
    body: &Value,
) -> Result<()> {
    let body = if body.is_null() {
        Bytes::new()
    } else {
        Bytes::from(body.to_string())
    };
    let (code, answer) = connection.send(method, path, media, &body).await?;
    tally.count(code, &answer)
}

/// Creates, applies, patches and deletes objects.
async fn write(address: Address, writer: usize, until: Instant, tally: Arc<Tally>) -> Result<()> {
    let mut connection = address.connect().await?;
    let json = "application/json";
    for turn in 0.. {
        if Instant::now() >= until {
            break;
        }
        let name = format!("writer-{writer}-{}", turn % OBJECTS);
        let path = format!("{NOTES}/{name}");
        let object = json!({"apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": name, "labels": {"turn": (turn % 10).to_string()}}, "data": {"turn": turn.to_string(), "text": "x".repeat(turn % 500)}});
        send(&mut connection, &tally, "POST", NOTES, json, &object).await?;
        let apply = format!("{path}?fieldManager=soak&force=true");
        send(
            &mut connection,
            &tally,
            "PATCH",
            &apply,
            "application/apply-patch+yaml",
            &object,
        )
        .await?;
        let patch = json!({"data": {"patched": turn.to_string()}});
        send(
            &mut connection,
            &tally,
            "PATCH",
            &path,
            "application/merge-patch+json",
            &patch,
        )
        .await?;
        send(&mut connection, &tally, "GET", &path, "", &Value::Null).await?;
        if turn % 3 == 0 {
            send(&mut connection, &tally, "DELETE", &path, "", &Value::Null).await?;
        }
    }
    Ok(())
}

/// Lists everything, and watches for a while.
async fn read(address: Address, until: Instant, tally: Arc<Tally>) -> Result<()> {
    while Instant::now() < until {
        let mut connection = address.connect().await?;
        let (code, list) = connection.send("GET", NOTES, "", &Bytes::new()).await?;
        tally.count(code, &list)?;
        let list: Value = serde_json::from_slice(&list)?;
        let version = list["metadata"]["resourceVersion"]
            .as_str()
            .context("a version")?;
        let path = format!("{NOTES}?watch=true&timeoutSeconds=2&resourceVersion={version}");
        let (code, mut events) = connection.start("GET", &path, "", &Bytes::new()).await?;
        tally.count(code, b"")?;
        while let Some(frame) = events.frame().await {
            frame?;
        }
    }
    Ok(())
}

/// Creates a CRD and objects of it, and deletes both.
async fn define(address: Address, until: Instant, tally: Arc<Tally>) -> Result<()> {
    let mut connection = address.connect().await?;
    let json = "application/json";
    for turn in 0.. {
        if Instant::now() >= until {
            break;
        }
        let group = format!("soak-{}.example.com", turn % 7);
        let crd = json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": format!("widgets.{group}")},
            "spec": {"group": group, "scope": "Namespaced", "names": {"plural": "widgets", "kind": "Widget"},
                "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {"type": "object",
                    "properties": {"spec": {"type": "object", "properties": {"size": {"type": "integer"}},
                        "x-kubernetes-validations": [{"rule": "!has(self.size) || self.size < 10"}]}}}}}]}});
        send(&mut connection, &tally, "POST", DEFINITIONS, json, &crd).await?;
        let path = format!("/apis/{group}/v1/namespaces/default/widgets");
        for index in 0..5 {
            let widget = json!({"apiVersion": format!("{group}/v1"), "kind": "Widget",
                "metadata": {"name": format!("w-{index}")}, "spec": {"size": index}});
            send(&mut connection, &tally, "POST", &path, json, &widget).await?;
        }
        send(&mut connection, &tally, "GET", "/openapi/v2", "", &Value::Null).await?;
        let crd = format!("{DEFINITIONS}/widgets.{group}");
        send(&mut connection, &tally, "DELETE", &crd, "", &Value::Null).await?;
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    Ok(())
}
