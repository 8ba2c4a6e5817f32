//! Crossplane and Cambium with the same composite resources: time and requests of a composition edit.
//!
//! Each composes one small cluster-scoped object: Crossplane's native engine composes no others.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Result;
use jiff::Timestamp;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::Client;
use kube::api::{Api, DynamicObject, Patch, PatchParams, PostParams};
use kube::runtime::watcher;
use serde_json::{Value, json};

use super::beside::Beside;
use super::requests::{Audit, Requests};
use super::{IDLE, Rival};
use crate::compositions::{GROUP, api, create, create_one, define, served};
use crate::moves::Moves;
use crate::target;

/// The results of one of them.
pub(crate) struct Measured {
    name: &'static str,
    /// From the first creation until all were ready.
    created: Duration,
    creation: Requests,
    /// From the edit until the first composite resource was updated, the last, and the last write.
    first: Duration,
    last: Duration,
    quiet: Duration,
    moving: Requests,
    /// With one composite resource, and with all of them.
    base: u64,
    memory: u64,
    idle_writes: usize,
    restart_writes: usize,
}

/// Measures one rival on its own Kubernetes.
pub(crate) async fn measure(rival: &Rival, assets: &Path, composites: usize) -> Result<Measured> {
    let target = target::kubernetes_with_audit(assets).await?;
    let client = target.client().await?;
    rival.prepare(&client).await?;
    define_part(&client).await?;
    let process = rival.start(&target)?;
    define(&client).await?;
    edit(&client, "before").await?;
    let (ready, moves) = (watch_ready(&client), watch_parts(&client));
    create_one(&client, "first").await?;
    moves.all_at("before", 1).await;
    let mut audit = Audit::of(&target);
    audit.take_when_quiet().await?;
    let base = process.memory()?;

    let begin = Instant::now();
    create(&client, composites).await?;
    ready.all_at("True", composites + 1).await;
    moves.all_at("before", composites + 1).await;
    let created = begin.elapsed();
    let creation = audit.take_when_quiet().await?;

    let (begin, edited) = (Instant::now(), Timestamp::now());
    edit(&client, "after").await?;
    moves.first_at("after").await;
    let first = begin.elapsed();
    moves.all_at("after", composites + 1).await;
    let last = begin.elapsed();
    let moving = audit.take_when_quiet().await?;
    let memory = process.memory()?;

    tokio::time::sleep(IDLE).await;
    let idle_writes = audit.take()?.writes();

    drop(process);
    audit.take()?;
    let process = rival.start(&target)?;
    let restart_writes = audit.take_when_quiet().await?.writes();
    process.memory()?;
    Ok(Measured {
        name: rival.name(),
        created,
        creation,
        first,
        last,
        quiet: moving.quiet_after(edited),
        moving,
        base,
        memory,
        idle_writes,
        restart_writes,
    })
}

/// Defines the composed kind.
async fn define_part(client: &Client) -> Result<()> {
    let crd: CustomResourceDefinition = serde_json::from_value(json!({
        "metadata": {"name": format!("parts.{GROUP}")},
        "spec": {
            "group": GROUP, "scope": "Cluster", "names": {"kind": "Part", "plural": "parts"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {
                "type": "object", "properties": {"spec": {"type": "object", "properties": {
                    "says": {"type": "string"}, "region": {"type": "string"}, "size": {"type": "string"},
                }}},
            }}}],
        },
    }))?;
    let crds: Api<CustomResourceDefinition> = Api::all(client.clone());
    crds.create(&PostParams::default(), &crd).await?;
    served(client, GROUP, "Part").await;
    Ok(())
}

/// Edits the composition that all follow.
async fn edit(client: &Client, says: &str) -> Result<()> {
    let composition: Value = json!({
        "apiVersion": "apiextensions.crossplane.io/v1", "kind": "Composition", "metadata": {"name": "things"},
        "spec": {
            "compositeTypeRef": {"apiVersion": format!("{GROUP}/v1"), "kind": "XThing"},
            "mode": "Resources",
            "resources": [{
                "name": "part",
                "base": {"apiVersion": format!("{GROUP}/v1"), "kind": "Part", "spec": {"says": says}},
                "patches": [
                    {"type": "FromCompositeFieldPath", "fromFieldPath": "spec.region", "toFieldPath": "spec.region"},
                    {"type": "FromCompositeFieldPath", "fromFieldPath": "spec.size", "toFieldPath": "spec.size",
                        "transforms": [{"type": "string", "string": {"type": "Format", "fmt": "%dGi"}}]},
                ],
                "readinessChecks": [{"type": "None"}],
            }],
        },
    });
    let params = PatchParams::apply("bench").force();
    let compositions = api(client, "apiextensions.crossplane.io", "Composition");
    compositions
        .patch("things", &params, &Patch::Apply(composition))
        .await?;
    Ok(())
}

/// Watches the values of composed resources.
fn watch_parts(client: &Client) -> Moves {
    Moves::watch(api(client, GROUP, "Part"), watcher::Config::default(), |part| {
        part.data["spec"]["says"].as_str().map(str::to_owned)
    })
}

/// Watches the readiness of composite resources.
fn watch_ready(client: &Client) -> Moves {
    let things = api(client, GROUP, "XThing");
    Moves::watch(things, watcher::Config::default(), |thing: &DynamicObject| {
        let conditions = thing.data["status"]["conditions"].as_array()?;
        let ready = conditions.iter().find(|known| known["type"] == "Ready")?;
        ready["status"].as_str().map(str::to_owned)
    })
}

/// Prints both beside each other.
pub(crate) fn print(columns: &[Measured], composites: usize) {
    let each = |count: usize| count as f64 / composites as f64;
    let title = format!("{composites} composite resources");
    let table = Beside::heading(columns, &title, |one| one.name);
    table.row("all created and ready, s", 1, |one| one.created.as_secs_f64());
    table.row("writes for each created", 2, |one| each(one.creation.writes()));
    let reads = |requests: &Requests| requests.count("get");
    table.row("reads for each created", 2, |one| each(reads(&one.creation)));
    table.row("lists while creating", 0, |one| one.creation.count("list") as f64);
    table.row("first moved after an edit, s", 2, |one| one.first.as_secs_f64());
    table.row("last moved after an edit, s", 2, |one| one.last.as_secs_f64());
    table.row("quiet after an edit, s", 2, |one| one.quiet.as_secs_f64());
    table.row("writes for each moved", 2, |one| each(one.moving.writes()));
    table.row("reads for each moved", 2, |one| each(reads(&one.moving)));
    table.row("lists while moving", 0, |one| one.moving.count("list") as f64);
    table.row("memory with one, MB", 1, |one| one.base as f64 / 1e6);
    table.row("memory for each, KB", 1, |one| {
        one.memory.saturating_sub(one.base) as f64 / 1e3 / composites as f64
    });
    table.row("writes in a minute without events", 0, |one| {
        one.idle_writes as f64
    });
    table.row("writes after a restart", 0, |one| one.restart_writes as f64);
}
