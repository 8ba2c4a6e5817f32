//! Benchmark of a composition edit that all composite resources follow.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use cambium_apiserver::ApiServer;
use cambium_controllers::{Manager, Settings};
use cambium_testing::faults::Faults;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Client;
use kube::api::{Api, ApiResource, DynamicObject, Patch, PatchParams, PostParams};
use kube::core::GroupVersionKind;
use kube::runtime::watcher;
use serde_json::{Value, json};

use crate::definitions::{IDLE, install, processor_time, serve, settle};
use crate::moves::Moves;

/// Results for a number of composite resources and old revisions.
pub(crate) struct Measured {
    pub(crate) composites: usize,
    pub(crate) revisions: usize,
    /// From the first creation until all were ready.
    pub(crate) created: Duration,
    pub(crate) created_writes: f64,
    /// From the edit until the first composite resource was updated, and the last.
    pub(crate) first: Duration,
    pub(crate) last: Duration,
    /// Requests per updated composite resource.
    pub(crate) writes: f64,
    pub(crate) reads: f64,
    pub(crate) lists: usize,
    /// When idle: writes, and CPU as a share of one core.
    pub(crate) idle_writes: usize,
    pub(crate) idle_share: f64,
    /// Writes of a restarted manager when nothing has changed.
    pub(crate) restart_writes: usize,
}

pub(crate) async fn measure(composites: usize, revisions: usize) -> Result<Measured> {
    let server = ApiServer::builder().build().await?;
    let client = Client::new(server, "default");
    install(&client).await?;
    let faults = Faults::new();
    let manager = start(&faults.client(&client)).await?;
    let running = manager.clone();
    let work = tokio::spawn(async move { running.run().await });

    define(&client).await?;
    for revision in 1..=revisions {
        publish(&client, &format!("old {revision}")).await?;
    }
    let moved = watch(&client);
    publish(&client, "before").await?;
    settle(&manager).await;
    faults.recorder().clear();
    let begin = Instant::now();
    create(&client, composites).await?;
    moved.all_at("before", composites).await;
    let created = begin.elapsed();
    settle(&manager).await;
    let each = |count: usize| count as f64 / composites as f64;
    // Kept: to free so many at once would slow down what comes next.
    let requests = faults.recorder().take();
    let created_writes = each(requests.iter().filter(|call| call.verb.is_write()).count());

    let begin = Instant::now();
    publish(&client, "after").await?;
    moved.first_at("after").await;
    let first = begin.elapsed();
    moved.all_at("after", composites).await;
    let last = begin.elapsed();
    settle(&manager).await;
    let recorder = faults.recorder();
    let (writes, lists) = (recorder.writes().len(), recorder.lists());
    let reads = recorder.calls().len() - writes - lists;

    recorder.clear();
    let busy = processor_time()?;
    tokio::time::sleep(IDLE).await;
    let idle_share = (processor_time()? - busy).as_secs_f64() / IDLE.as_secs_f64();
    let idle_writes = recorder.writes().len();

    work.abort();
    let _ = work.await;
    drop(manager);
    let faults = Faults::new();
    let manager = start(&faults.client(&client)).await?;
    let running = manager.clone();
    let work = tokio::spawn(async move { running.run().await });
    settle(&manager).await;
    work.abort();
    Ok(Measured {
        composites,
        revisions,
        created,
        created_writes,
        first,
        last,
        writes: each(writes),
        reads: each(reads),
        lists,
        idle_writes,
        idle_share,
        restart_writes: faults.recorder().writes().len(),
    })
}

/// Resident memory of a manager process: with one composite resource, with all of them after an update, and with all old
/// revisions.
pub(crate) async fn memory(
    cambium: &std::path::Path,
    composites: usize,
    revisions: usize,
) -> Result<(u64, u64, u64)> {
    let directory = tempfile::tempdir()?;
    let server = ApiServer::builder().build().await?;
    let client = Client::new(server.clone(), "default");
    install(&client).await?;
    let kubeconfig = directory.path().join("kubeconfig");
    serve(server, &kubeconfig).await?;
    let mut manager = std::process::Command::new(cambium)
        .args([
            "manager",
            "--no-webhooks",
            "--no-leader-election",
            "--composition-revision-limit=100000",
        ])
        .arg("--kubeconfig")
        .arg(&kubeconfig)
        .stderr(std::process::Stdio::null())
        .spawn()?;
    let measured = async {
        define(&client).await?;
        let moved = watch(&client);
        publish(&client, "before").await?;
        create_one(&client, "first").await?;
        moved.all_at("before", 1).await;
        let base = crate::target::resident(manager.id())?;
        create(&client, composites).await?;
        moved.all_at("before", composites + 1).await;
        publish(&client, "after").await?;
        moved.all_at("after", composites + 1).await;
        tokio::time::sleep(Duration::from_secs(3)).await;
        let full = crate::target::resident(manager.id())?;
        pin_all(&client, composites).await?;
        for revision in 1..=revisions {
            publish(&client, &format!("old {revision}")).await?;
        }
        tokio::time::sleep(Duration::from_secs(3)).await;
        Ok((base, full, crate::target::resident(manager.id())?))
    }
    .await;
    // Gone already is as good as gone now.
    let _ = manager.kill();
    let _ = manager.wait();
    measured
}

async fn start(client: &Client) -> Result<Arc<Manager>> {
    let settings = Settings {
        serves_v2beta1: false,
        composition_revision_limit: 100_000,
        ..Settings::default()
    };
    let manager = Arc::new(Manager::new(client.clone(), settings).await?);
    manager.synced().await;
    Ok(manager)
}

pub(crate) fn api(client: &Client, group: &str, kind: &str) -> Api<DynamicObject> {
    let gvk = GroupVersionKind::gvk(group, "v1", kind);
    Api::all_with(client.clone(), &ApiResource::from_gvk(&gvk))
}

pub(crate) const GROUP: &str = "bench.example.org";

pub(crate) async fn define(client: &Client) -> Result<()> {
    let params = PatchParams::apply("bench").force();
    let definitions = api(
        client,
        "apiextensions.crossplane.io",
        "CompositeResourceDefinition",
    );
    let definition = json!({
        "apiVersion": "apiextensions.crossplane.io/v1", "kind": "CompositeResourceDefinition",
        "metadata": {"name": format!("xthings.{GROUP}")},
        "spec": {
            "group": GROUP, "names": {"kind": "XThing", "plural": "xthings"},
            "versions": [{"name": "v1", "served": true, "referenceable": true, "schema": {"openAPIV3Schema": {
                "type": "object", "properties": {"spec": {"type": "object", "properties": {
                    "size": {"type": "integer"}, "region": {"type": "string"},
                }}},
            }}}],
        },
    });
    served(client, "apiextensions.crossplane.io", "Composition").await;
    served(
        client,
        "apiextensions.crossplane.io",
        "CompositeResourceDefinition",
    )
    .await;
    definitions
        .patch(&format!("xthings.{GROUP}"), &params, &Patch::Apply(definition))
        .await?;
    served(client, GROUP, "XThing").await;
    Ok(())
}

/// Waits until the API server serves a kind.
pub(crate) async fn served(client: &Client, group: &str, kind: &str) {
    while api(client, group, kind).list(&Default::default()).await.is_err() {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// Edits the composition, and waits for the new revision.
async fn publish(client: &Client, says: &str) -> Result<()> {
    let composition: Value = json!({
        "apiVersion": "apiextensions.crossplane.io/v1", "kind": "Composition", "metadata": {"name": "things"},
        "spec": {
            "compositeTypeRef": {"apiVersion": format!("{GROUP}/v1"), "kind": "XThing"},
            "mode": "Resources",
            "resources": [{
                "name": "settings",
                "base": {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": "default"}, "data": {"says": says}},
                "patches": [
                    {"fromFieldPath": "spec.region", "toFieldPath": "data.region"},
                    {"fromFieldPath": "spec.size", "toFieldPath": "data.size",
                        "transforms": [{"type": "string", "string": {"type": "Format", "fmt": "%dGi"}}]},
                ],
                "readinessChecks": [{"type": "None"}],
            }],
        },
    });
    let params = PatchParams::apply("bench").force();
    let compositions = api(client, "apiextensions.crossplane.io", "Composition");
    let stored = compositions
        .patch("things", &params, &Patch::Apply(composition))
        .await?;
    let generation = json!(stored.metadata.generation);
    loop {
        let found = compositions.get("things").await?;
        let status = &found.data["status"];
        if status["observedGeneration"] == generation {
            return Ok(());
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

pub(crate) async fn create(client: &Client, composites: usize) -> Result<()> {
    for number in 0..composites {
        create_one(client, &format!("thing-{number:05}")).await?;
    }
    Ok(())
}

pub(crate) async fn create_one(client: &Client, name: &str) -> Result<()> {
    let object: DynamicObject = serde_json::from_value(json!({
        "apiVersion": format!("{GROUP}/v1"), "kind": "XThing", "metadata": {"name": name},
        "spec": {"size": 10, "region": "north", "compositionRef": {"name": "things"}},
    }))?;
    api(client, GROUP, "XThing")
        .create(&PostParams::default(), &object)
        .await
        .context("a composite resource")?;
    Ok(())
}

/// Pins all composite resources to their revisions.
async fn pin_all(client: &Client, composites: usize) -> Result<()> {
    let manual = json!({"spec": {"compositionUpdatePolicy": "Manual"}});
    let things = api(client, GROUP, "XThing");
    let names = (0..composites).map(|number| format!("thing-{number:05}"));
    for name in names.chain(["first".to_owned()]) {
        things
            .patch(&name, &PatchParams::default(), &Patch::Merge(&manual))
            .await?;
    }
    Ok(())
}

/// Watches the values in the composed ConfigMaps.
fn watch(client: &Client) -> Moves {
    let resource = ApiResource::erase::<ConfigMap>(&());
    let api = Api::namespaced_with(client.clone(), "default", &resource);
    let composed = watcher::Config::default().labels("crossplane.io/composite");
    Moves::watch(api, composed, |object| {
        object.data["data"]["says"].as_str().map(str::to_owned)
    })
}

/// Prints the results, one column per case.
#[expect(clippy::print_stdout, reason = "the table is the program's answer")]
pub(crate) fn print(columns: &[Measured]) {
    let row = |name: &str, cell: &dyn Fn(&Measured) -> String| {
        let cells: Vec<String> = columns
            .iter()
            .map(|column| format!("{:>10}", cell(column)))
            .collect();
        println!("{name:<44}{}", cells.join(""));
    };
    row("composite resources", &|one| one.composites.to_string());
    row("old revisions", &|one| one.revisions.to_string());
    row("all created, s", &|one| {
        format!("{:.1}", one.created.as_secs_f64())
    });
    row("writes for each created", &|one| {
        format!("{:.2}", one.created_writes)
    });
    row("first moved after an edit, ms", &|one| {
        format!("{:.0}", one.first.as_secs_f64() * 1e3)
    });
    row("last moved after an edit, s", &|one| {
        format!("{:.2}", one.last.as_secs_f64())
    });
    row("writes for each that moved", &|one| format!("{:.2}", one.writes));
    row("reads for each that moved", &|one| format!("{:.2}", one.reads));
    row("lists", &|one| one.lists.to_string());
    row("writes while idle for 10 s", &|one| one.idle_writes.to_string());
    row("processor while idle, % of a core", &|one| {
        format!("{:.2}", one.idle_share * 100.0)
    });
    row("writes after a restart", &|one| one.restart_writes.to_string());
}
