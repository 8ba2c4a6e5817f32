//! A cluster in virtual time, and a manager behind a line on which things go wrong.

use crate::platform::{install, settings};
use anyhow::{Context as _, Result, ensure};
use cambium_apiserver::{ApiServer, Clock};
use cambium_controllers::runtime::lease::{self, Election};
use cambium_controllers::{Authors, Identities, Manager, Otherwise, Settings};
use cambium_testing::{Faults, Raw, TestCluster, virtual_clock};
use http::Method;
use kube::Client;
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinHandle;

/// Longer than a request may take.
const QUIET: usize = 15;

/// Longer than a request may take, and less than a scene must be quiet to be taken for settled.
pub(crate) const LATE: Duration = Duration::from_secs(12);

/// A process: dropping it is like killing it.
pub(crate) struct Process {
    pub(crate) manager: Arc<Manager>,
    pub(crate) work: JoinHandle<()>,
    pub(crate) election: Option<Election>,
}

impl Process {
    pub(crate) async fn start(client: Client, clock: &Clock) -> Result<Self> {
        let settings = Settings {
            request_timeout: Duration::from_secs(10),
            clock: clock.clone(),
            // Which has all rights here.
            identities: Identities {
                authors: Authors::Unknown,
                otherwise: Otherwise::Manager,
            },
            ..settings()
        };
        let manager = Arc::new(Manager::new(client, settings).await?);
        let running = manager.clone();
        let work = tokio::spawn(async move { running.run().await });
        let election = None;
        Ok(Self {
            manager,
            work,
            election,
        })
    }

    /// One that works only while it leads.
    pub(crate) async fn standing(client: Client, clock: &Clock, identity: &str) -> Result<Self> {
        let mut process = Self::start(client.clone(), clock).await?;
        process.work.abort();
        let election = Election::start(client, lease::Settings::new("default", "cambium", identity));
        let (running, leadership) = (process.manager.clone(), election.leadership());
        process.work = tokio::spawn(async move { running.run_while_leading(leadership).await });
        process.election = Some(election);
        Ok(process)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.work.abort();
    }
}

/// A namespace in a cluster, and a manager behind a line on which things go wrong.
pub(crate) struct Scene<'a> {
    pub(crate) raw: Raw,
    pub(crate) client: Client,
    pub(crate) faults: &'a Faults,
    pub(crate) namespace: String,
    pub(crate) process: Option<Process>,
    pub(crate) clock: Clock,
    pub(crate) began: String,
}

/// A cluster in virtual time, with our kinds.
pub(crate) struct World {
    pub(crate) cluster: TestCluster,
    pub(crate) clock: Clock,
}

pub(crate) async fn world() -> Result<World> {
    let clock = virtual_clock();
    let cluster = TestCluster::embedded(ApiServer::builder().clock(clock.clone())).await?;
    install(&cluster.raw()).await?;
    Ok(World { cluster, clock })
}

impl<'a> Scene<'a> {
    pub(crate) async fn set(world: &World, faults: &'a Faults) -> Result<Self> {
        let cluster = &world.cluster;
        let raw = cluster.raw();
        let namespace = cluster.namespace("scene").await?;
        let list = raw.get("/apis/core.oam.dev/v1beta1/applications").await?.body;
        let began = list["metadata"]["resourceVersion"]
            .as_str()
            .context("a version")?;
        let mut scene = Self {
            raw,
            client: faults.client(&cluster.client()),
            faults,
            namespace,
            process: None,
            clock: world.clock.clone(),
            began: began.to_owned(),
        };
        scene.restart().await;
        Ok(scene)
    }

    /// A new process; if it dies while it starts, another one.
    pub(crate) async fn restart(&mut self) {
        self.process = None;
        loop {
            if self.faults.has_crashed() {
                self.faults.revive();
            }
            match Process::start(self.client.clone(), &self.clock).await {
                Ok(process) => return self.process = Some(process),
                Err(_) => tokio::time::sleep(Duration::from_secs(1)).await,
            }
        }
    }

    /// Until nothing has been left to do for a while.
    pub(crate) async fn settled(&mut self) -> Result<()> {
        let mut quiet = 0;
        for _ in 0..600 {
            tokio::time::sleep(Duration::from_secs(1)).await;
            if self.faults.has_crashed() {
                self.restart().await;
            }
            let process = self.process.as_ref().context("a process")?;
            // Whoever sees nothing has nothing to do.
            let at_rest = process.manager.is_idle() && !self.faults.is_frozen();
            quiet = if at_rest { quiet + 1 } else { 0 };
            if quiet == QUIET {
                return Ok(());
            }
        }
        anyhow::bail!("it does not come to rest: {:?}", self.faults.recorder().summary());
    }

    /// The law: *at rest, reconciling again changes nothing*. A new process reconciles everything, and writes nothing; one that something goes wrong
    /// for may, and then the next one writes nothing.
    pub(crate) async fn at_rest(&mut self) -> Result<()> {
        loop {
            let struck = self.faults.struck().len();
            self.process = None;
            self.faults.recorder().clear();
            self.restart().await;
            self.settled().await?;
            if self.faults.struck().len() == struck {
                let writes = self.faults.recorder().writes();
                ensure!(writes.is_empty(), "not at rest, a new process wrote: {writes:?}");
                return Ok(());
            }
        }
    }

    /// What was created and deleted since the beginning, by kind: `+shop-one -shop-two`.
    pub(crate) async fn happened(&self, path: &str) -> Result<String> {
        let path = format!("{path}?watch=1&resourceVersion={}&timeoutSeconds=1", self.began);
        let answer = self.raw.send(Method::GET, &path, &[], &Value::Null).await?;
        let text = match &answer.body {
            Value::String(text) => text.clone(),
            one => one.to_string(),
        };
        let mut counted: BTreeMap<String, usize> = BTreeMap::new();
        for line in text.lines() {
            let event: Value = serde_json::from_str(line)?;
            let name = event["object"]["metadata"]["name"].as_str().unwrap_or("?");
            let sign = match event["type"].as_str() {
                Some("ADDED") => '+',
                Some("DELETED") => '-',
                Some("MODIFIED") => continue,
                _ => anyhow::bail!("{event}"),
            };
            if name != "kube-root-ca.crt" && !name.is_empty() {
                *counted.entry(format!("{sign}{name}")).or_default() += 1;
            }
        }
        let words = counted.into_iter().map(|(what, count)| match count {
            1 => what,
            count => format!("{what}*{count}"),
        });
        Ok(words.collect::<Vec<_>>().join(" "))
    }
}
