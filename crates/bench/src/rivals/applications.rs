//! KubeVela and Cambium with the same applications: time and requests of a publish.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Result;
use k8s_openapi::api::apps::v1::Deployment;
use kube::api::{Api, ApiResource, DynamicObject, Patch, PatchParams, PostParams};
use kube::runtime::watcher;
use kube::{Client, ResourceExt as _};
use serde_json::json;

use super::beside::Beside;
use super::requests::{Audit, Requests};
use super::{IDLE, Rival};
use crate::definitions::{api_of, definition};
use crate::moves::Moves;
use crate::target;

/// The results of one of them.
pub(crate) struct Measured {
    name: &'static str,
    created: Duration,
    creation: Requests,
    first: Duration,
    last: Duration,
    moving: Requests,
    base: u64,
    memory: u64,
    idle_writes: usize,
}

/// Measures one rival on its own Kubernetes.
pub(crate) async fn measure(rival: &Rival, assets: &Path, applications: usize) -> Result<Measured> {
    let target = target::kubernetes_with_audit(assets).await?;
    let client = target.client().await?;
    rival.prepare(&client).await?;
    let process = rival.start(&target)?;
    let definitions = api_of(&client, "ComponentDefinition");
    while definitions.list(&Default::default()).await.is_err() {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    tokio::time::sleep(Duration::from_secs(10)).await;
    let base = process.memory()?;

    let moves = watch(&client);
    let mut audit = Audit::of(&target);
    publish(&client, "1.0.0").await?;
    published(&client).await?;
    audit.take()?;
    let begin = Instant::now();
    create(&client, applications).await?;
    moves.all_at("1.0.0", applications).await;
    running(&client, applications).await?;
    let created = begin.elapsed();
    let creation = audit.take()?;

    let begin = Instant::now();
    publish(&client, "1.0.1").await?;
    moves.first_at("1.0.1").await;
    let first = begin.elapsed();
    moves.all_at("1.0.1", applications).await;
    let last = begin.elapsed();
    tokio::time::sleep(Duration::from_secs(5)).await;
    let moving = audit.take()?;
    let memory = process.memory()?;

    tokio::time::sleep(IDLE).await;
    Ok(Measured {
        name: rival.name(),
        created,
        creation,
        first,
        last,
        moving,
        base,
        memory,
        idle_writes: audit.take()?.writes(),
    })
}

/// Watches the version that rendered each Deployment.
fn watch(client: &Client) -> Moves {
    let resource = ApiResource::erase::<Deployment>(&());
    let api = Api::namespaced_with(client.clone(), "default", &resource);
    Moves::watch(api, watcher::Config::default(), |object| {
        object.annotations().get("example.com/made-by").cloned()
    })
}

async fn publish(client: &Client, version: &str) -> Result<()> {
    let params = PatchParams::apply("bench").force();
    let object = definition(version);
    let api = api_of(client, "ComponentDefinition");
    api.patch("web", &params, &Patch::Apply(object)).await?;
    Ok(())
}

/// Waits for the revision.
async fn published(client: &Client) -> Result<()> {
    let api = api_of(client, "DefinitionRevision");
    while api.list(&Default::default()).await?.items.is_empty() {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    Ok(())
}

async fn create(client: &Client, applications: usize) -> Result<()> {
    let api = api_of(client, "Application");
    for number in 0..applications {
        let name = format!("app-{number:05}");
        let object: DynamicObject = serde_json::from_value(json!({
            "apiVersion": "core.oam.dev/v1beta1", "kind": "Application",
            "metadata": {"name": name, "annotations": {"app.oam.dev/autoUpdate": "true"}},
            "spec": {"components": [{
                "name": name, "type": "web@v1",
                "properties": {"image": "nginx:1.27", "env": {"NAME": name, "MODE": "production"}, "cpu": "100m"},
            }]},
        }))?;
        api.create(&PostParams::default(), &object).await?;
    }
    Ok(())
}

/// Waits until every application is running.
async fn running(client: &Client, applications: usize) -> Result<()> {
    let api = api_of(client, "Application");
    loop {
        let list = api.list(&Default::default()).await?;
        let running = list
            .items
            .iter()
            .filter(|one| one.data["status"]["status"] == "running");
        if running.count() >= applications {
            return Ok(());
        }
        tokio::time::sleep(Duration::from_millis(250)).await;
    }
}

/// Prints both beside each other.
pub(crate) fn print(columns: &[Measured], applications: usize) {
    let each = |count: usize| count as f64 / applications as f64;
    let table = Beside::heading(columns, &format!("{applications} applications"), |one| one.name);
    table.row("all created and running, s", 1, |one| one.created.as_secs_f64());
    table.row("requests for each, created", 1, |one| each(one.creation.all()));
    table.row("first moved after a publish, s", 2, |one| one.first.as_secs_f64());
    table.row("last moved after a publish, s", 2, |one| one.last.as_secs_f64());
    table.row("requests for each, moved", 1, |one| each(one.moving.all()));
    let verbs: std::collections::BTreeSet<&str> = columns
        .iter()
        .flat_map(|one| one.creation.verbs().chain(one.moving.verbs()))
        .collect();
    for verb in verbs {
        table.row(&format!("  {verb}"), 2, |one| each(one.moving.count(verb)));
    }
    table.row("memory before, MB", 1, |one| one.base as f64 / 1e6);
    table.row("memory for each, KB", 1, |one| {
        one.memory.saturating_sub(one.base) as f64 / 1e3 / applications as f64
    });
    table.row("writes in a minute without events", 0, |one| {
        one.idle_writes as f64
    });
}
