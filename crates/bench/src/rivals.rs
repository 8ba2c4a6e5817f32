//! KubeVela and Cambium with the same applications on the same Kubernetes: what a publish takes, and what it costs.
//!
//! Requests are counted by the API server itself, in its audit log; each rival is a user of its own.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use futures::StreamExt as _;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Api, DynamicObject, Patch, PatchParams, PostParams};
use kube::runtime::watcher::{self, Event};
use kube::{Client, ResourceExt as _};
use serde_json::{Value, json};
use tokio::sync::watch;

use crate::definitions::{api_of, definition};
use crate::target::{self, PEER, Target};

/// Who is measured.
pub(crate) enum Rival {
    /// `cambium manager`.
    Cambium {
        /// The program.
        binary: PathBuf,
    },
    /// `vela-core`, as its chart runs it, without webhooks.
    KubeVela {
        /// The program.
        binary: PathBuf,
        /// The directory of its CRDs.
        crds: PathBuf,
    },
}

/// What was measured of one of them.
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

/// How long nothing happens.
const IDLE: Duration = Duration::from_secs(60);

/// The feature gates that KubeVela's chart opens.
const GATES: [&str; 7] = [
    "ZstdResourceTracker",
    "MultiStageComponentApply",
    "ZstdApplicationRevision",
    "PreDispatchDryRun",
    "InformerCacheFilterUnnecessaryFields",
    "SharedDefinitionStorageForApplicationRevision",
    "DisableWorkflowContextConfigMapCache",
];

type Requests = BTreeMap<String, usize>;

/// Runs one rival on a Kubernetes of its own.
pub(crate) async fn measure(rival: &Rival, assets: &Path, applications: usize) -> Result<Measured> {
    let target = target::kubernetes_with_audit(assets).await?;
    let client = target.client().await?;
    rival.prepare(&client).await?;
    let process = Running(rival.start(&target)?);
    let base = rival
        .wait_until_up(&client, &process, &target.file("peer.log"))
        .await?;

    let versions = Versions::watch(&client);
    publish(&client, "1.0.0").await?;
    versions.published(&client).await?;
    let log = target.audit()?;
    let begin = Instant::now();
    create(&client, applications).await?;
    versions.all_at("1.0.0", applications).await;
    running(&client, applications).await?;
    let created = begin.elapsed();
    let creation = requests(&target, log)?;

    let log = target.audit()?;
    let begin = Instant::now();
    publish(&client, "1.0.1").await?;
    versions.all_at("1.0.1", 1).await;
    let first = begin.elapsed();
    versions.all_at("1.0.1", applications).await;
    let last = begin.elapsed();
    tokio::time::sleep(Duration::from_secs(5)).await;
    let moving = requests(&target, log)?;
    let memory = process.memory()?;

    let log = target.audit()?;
    tokio::time::sleep(IDLE).await;
    let is_write = |verb: &str| matches!(verb, "create" | "update" | "patch" | "delete");
    let idle_writes = requests(&target, log)?
        .iter()
        .filter(|(verb, _)| is_write(verb))
        .map(|(_, count)| count)
        .sum();
    Ok(Measured {
        name: rival.name(),
        created,
        creation,
        first,
        last,
        moving,
        base,
        memory,
        idle_writes,
    })
}

impl Rival {
    fn name(&self) -> &'static str {
        match self {
            Self::Cambium { .. } => "cambium",
            Self::KubeVela { .. } => "vela-core",
        }
    }

    async fn prepare(&self, client: &Client) -> Result<()> {
        let namespaces: Api<Namespace> = Api::all(client.clone());
        let namespace = serde_json::from_value(json!({"metadata": {"name": "vela-system"}}))?;
        namespaces.create(&PostParams::default(), &namespace).await?;
        let Self::KubeVela { crds, .. } = self else {
            return Ok(());
        };
        let api: Api<CustomResourceDefinition> = Api::all(client.clone());
        for entry in std::fs::read_dir(crds)? {
            let text = std::fs::read_to_string(entry?.path())?;
            for crd in serde_saphyr::from_multiple::<CustomResourceDefinition>(&text)? {
                api.create(&PostParams::default(), &crd).await?;
            }
        }
        // It does not wait for its own kinds.
        let established = |crd: &CustomResourceDefinition| {
            let conditions = crd
                .status
                .iter()
                .flat_map(|status| status.conditions.iter().flatten());
            conditions
                .into_iter()
                .any(|known| known.type_ == "Established" && known.status == "True")
        };
        while !api.list(&Default::default()).await?.iter().all(established) {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        Ok(())
    }

    fn start(&self, target: &Target) -> Result<Child> {
        let kubeconfig = target.kubeconfig(PEER)?;
        let [metrics, health] = target::free_ports()?;
        let mut command = match self {
            Self::Cambium { binary } => {
                let mut command = Command::new(binary);
                command.args(["manager", "--no-webhooks", "--no-leader-election", "--kubeconfig"]);
                command.arg(&kubeconfig);
                command
            }
            Self::KubeVela { binary, .. } => {
                let mut command = Command::new(binary);
                command.env("KUBECONFIG", &kubeconfig).args([
                    format!("--metrics-addr=127.0.0.1:{metrics}"),
                    format!("--health-addr=127.0.0.1:{health}"),
                    "--enable-leader-election=false".to_owned(),
                    "--optimize-disable-component-revision".to_owned(),
                    "--application-revision-limit=2".to_owned(),
                    "--definition-revision-limit=2".to_owned(),
                    "--application-re-sync-period=5m".to_owned(),
                    "--concurrent-reconciles=4".to_owned(),
                    "--kube-api-qps=400".to_owned(),
                    "--kube-api-burst=600".to_owned(),
                    "--optimize-mark-with-prob=0.1".to_owned(),
                ]);
                // As its chart has them.
                command.args(GATES.map(|gate| format!("--feature-gates={gate}=true")));
                command
            }
        };
        let log = std::fs::File::create(target.file("peer.log"))?;
        command
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .with_context(|| format!("{} did not start", self.name()))
    }

    /// Waits until it does its work; its memory then.
    async fn wait_until_up(&self, client: &Client, process: &Running, log: &Path) -> Result<u64> {
        let api = api_of(client, "ComponentDefinition");
        while api.list(&Default::default()).await.is_err() {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        tokio::time::sleep(Duration::from_secs(10)).await;
        process
            .memory()
            .with_context(|| format!("{} has ended; its log ends with {}", self.name(), end_of(log)))
    }
}

/// The last of what a program said.
fn end_of(log: &Path) -> String {
    let text = std::fs::read_to_string(log).unwrap_or_default();
    let lines: Vec<&str> = text.lines().rev().take(5).collect();
    lines.into_iter().rev().collect::<Vec<_>>().join("\n")
}

struct Running(Child);

impl Running {
    fn memory(&self) -> Result<u64> {
        target::resident(self.0.id())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Gone already is as good as gone now.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

async fn publish(client: &Client, version: &str) -> Result<()> {
    let params = PatchParams::apply("bench").force();
    let object = definition(version);
    let api = api_of(client, "ComponentDefinition");
    api.patch("web", &params, &Patch::Apply(object)).await?;
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

/// Waits until every application says that it runs.
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

/// Which version made each Deployment, as a watch tells it.
struct Versions(watch::Receiver<HashMap<String, String>>);

impl Versions {
    fn watch(client: &Client) -> Self {
        let (tell, versions) = watch::channel(HashMap::new());
        let api: Api<Deployment> = Api::namespaced(client.clone(), "default");
        tokio::spawn(async move {
            let mut events = watcher::watcher(api, watcher::Config::default()).boxed();
            while let Some(event) = events.next().await {
                let Ok(Event::Apply(object) | Event::InitApply(object)) = event else {
                    continue;
                };
                if let Some(version) = object.annotations().get("example.com/made-by") {
                    tell.send_modify(|known| drop(known.insert(object.name_any(), version.clone())));
                }
            }
        });
        Self(versions)
    }

    async fn published(&self, client: &Client) -> Result<()> {
        let api = api_of(client, "DefinitionRevision");
        while api.list(&Default::default()).await?.items.is_empty() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        Ok(())
    }

    async fn all_at(&self, version: &str, count: usize) {
        let mut versions = self.0.clone();
        let there = |known: &HashMap<String, String>| {
            known.values().filter(|known| *known == version).count() >= count
        };
        // The sender ends with the runtime.
        let _ = versions.wait_for(there).await;
    }
}

/// The requests of the rival since the log was this long, by verb.
fn requests(target: &Target, since: u64) -> Result<Requests> {
    let text = std::fs::read(target.file("audit.log"))?;
    let mut requests = Requests::new();
    let since = usize::try_from(since)?.min(text.len());
    for line in text[since..].split(|byte| *byte == b'\n') {
        let Ok(event) = serde_json::from_slice::<Value>(line) else {
            continue;
        };
        if event["user"]["username"] == PEER && event["objectRef"]["resource"] != "leases" {
            let verb = event["verb"].as_str().unwrap_or_default().to_owned();
            *requests.entry(verb).or_default() += 1;
        }
    }
    Ok(requests)
}

/// Prints both beside each other.
#[expect(clippy::print_stdout, reason = "the table is the program's answer")]
pub(crate) fn print(columns: &[Measured], applications: usize) {
    let row = |name: &str, cell: &dyn Fn(&Measured) -> f64, digits: usize| {
        let values: Vec<f64> = columns.iter().map(cell).collect();
        let cells: Vec<String> = values
            .iter()
            .map(|value| format!("{value:>12.digits$}"))
            .collect();
        let ratio = match values.as_slice() {
            [ours, theirs] if *ours > 0.0 => format!("{:>11.1}x", theirs / ours),
            _ => String::new(),
        };
        println!("{name:<44}{}{ratio}", cells.join(""));
    };
    let names: Vec<String> = columns
        .iter()
        .map(|column| format!("{:>12}", column.name))
        .collect();
    println!("{:<44}{}", format!("{applications} applications"), names.join(""));
    let each = |requests: &Requests| requests.values().sum::<usize>() as f64 / applications as f64;
    row("all created and running, s", &|one| one.created.as_secs_f64(), 1);
    row("requests for each, created", &|one| each(&one.creation), 1);
    row(
        "first moved after a publish, s",
        &|one| one.first.as_secs_f64(),
        2,
    );
    row("last moved after a publish, s", &|one| one.last.as_secs_f64(), 2);
    row("requests for each, moved", &|one| each(&one.moving), 1);
    let verbs: std::collections::BTreeSet<&String> = columns
        .iter()
        .flat_map(|one| one.creation.keys().chain(one.moving.keys()))
        .collect();
    for verb in verbs {
        let count = |one: &Measured| one.moving.get(verb).copied().unwrap_or(0) as f64 / applications as f64;
        row(&format!("  {verb}"), &count, 2);
    }
    row("memory before, MB", &|one| one.base as f64 / 1e6, 1);
    row(
        "memory for each, KB",
        &|one| one.memory.saturating_sub(one.base) as f64 / 1e3 / applications as f64,
        1,
    );
    row(
        "writes in a minute without events",
        &|one| one.idle_writes as f64,
        0,
    );
}
