//! All of it together: a small controller that keeps a copy of each source, with everything going wrong that can.

use std::sync::Arc;
use std::time::Duration;

use crate::runtime::support::{config_map, config_maps, resource};
use anyhow::{Result, ensure};
use cambium_apiserver::ApiServer;
use cambium_controllers::runtime::watch::Watching;
use cambium_controllers::runtime::{
    Backoff, Cache, Change, Key, Origin, Outcome, Queue, Watch, with_timeouts,
};
use cambium_metrics::Metrics;
use cambium_testing::{Fault, Faults, Filter, TestCluster, for_every_call, virtual_clock};
use kube::Client;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams, Preconditions};
use serde_json::Value;
use tokio::task::JoinHandle;

const NAMESPACE: &str = "default";

/// A process: dropping it is like killing it.
struct Manager {
    queue: Queue<String>,
    work: JoinHandle<()>,
    _watching: Watching,
}

impl Manager {
    fn start(client: &Client) -> Self {
        let client = with_timeouts(client, Duration::from_secs(10), &Metrics::default());
        let queue = Queue::new(Backoff::default());
        let tell = queue.clone();
        let cache = Cache::new(resource(), move |change: Change| {
            // What we write ourselves needs no second look.
            if change.origin == Origin::Watch && !change.same_content() {
                let name = &change.key.name;
                tell.add(name.strip_prefix("copy-").unwrap_or(name).to_owned());
            }
        });
        let watch = Watch::new(client.clone()).labels(format!("test={NAMESPACE}"));
        let watching = watch.spawn(cache.clone());
        let work = {
            let queue = queue.clone();
            tokio::spawn(async move {
                // Nothing is decided on half of the truth.
                cache.synced().await;
                queue
                    .work(2, move |name| reconcile(name, cache.clone(), client.clone()))
                    .await;
            })
        };
        Self {
            queue,
            work,
            _watching: watching,
        }
    }
}

impl Drop for Manager {
    fn drop(&mut self) {
        self.work.abort();
    }
}

async fn reconcile(name: String, cache: Arc<Cache>, client: Client) -> Outcome {
    match copy(&name, &cache, client).await {
        Ok(()) => Outcome::Done,
        Err(_) => Outcome::Retry,
    }
}

async fn copy(name: &str, cache: &Cache, client: Client) -> kube::Result<()> {
    let text = |value: Value| value["data"]["text"].as_str().unwrap_or_default().to_owned();
    let (name, key) = (format!("copy-{name}"), Key::new(NAMESPACE, name));
    let api = config_maps(client, NAMESPACE);
    let source = cache.get(&key).map(|record| text(record.value()));
    let copy = cache.get(&Key::new(NAMESPACE, &name));
    match (source, copy) {
        (Some(source), Some(copy)) if source == text(copy.value()) => {}
        (Some(source), _) => {
            let manager = PatchParams::apply("copier").force();
            let copy = config_map(NAMESPACE, &name, &source);
            cache.learn(api.patch(&name, &manager, &Patch::Apply(&copy)).await?);
        }
        (None, Some(copy)) => {
            let preconditions = Some(Preconditions {
                uid: Some(copy.uid().to_owned()),
                resource_version: None,
            });
            match api
                .delete(
                    &name,
                    &DeleteParams {
                        preconditions,
                        ..DeleteParams::default()
                    },
                )
                .await
            {
                Ok(_) => cache.learn_gone(&Key::new(NAMESPACE, &name), copy.uid()),
                // An answer that was lost, or somebody else: the watch tells.
                Err(kube::Error::Api(status)) if status.code == 404 => {}
                Err(error) => return Err(error),
            }
        }
        (None, None) => {}
    }
    Ok(())
}

/// Ten minutes are enough for whatever is still to be tried again.
async fn settled(manager: &mut Option<Manager>, faults: &Faults, client: &Client) {
    for _ in 0..600 {
        tokio::time::sleep(Duration::from_secs(1)).await;
        if faults.has_crashed() {
            *manager = None;
            faults.revive();
            *manager = Some(Manager::start(client));
        }
    }
}

#[tokio::test(start_paused = true)]
async fn whatever_goes_wrong_the_end_is_the_same_and_a_restart_writes_nothing() -> Result<()> {
    for_every_call(&Filter::all(), &Fault::ALL, async |faults| {
        let cluster = TestCluster::embedded(ApiServer::builder().clock(virtual_clock())).await?;
        let direct = config_maps(cluster.client(), NAMESPACE);
        let client = faults.client(&cluster.client());
        for (name, text) in [("a", "1"), ("b", "1")] {
            direct
                .create(&PostParams::default(), &config_map(NAMESPACE, name, text))
                .await?;
        }
        let mut manager = Some(Manager::start(&client));
        settled(&mut manager, &faults, &client).await;
        let change = config_map(NAMESPACE, "a", "2");
        direct
            .patch("a", &PatchParams::default(), &Patch::Merge(&change))
            .await?;
        direct.delete("b", &DeleteParams::default()).await?;
        settled(&mut manager, &faults, &client).await;

        let there = direct.list(&Default::default()).await?.items;
        let there: Vec<String> = there
            .iter()
            .filter(|one| one.metadata.labels.is_some())
            .map(|one| {
                format!(
                    "{}={}",
                    one.metadata.name.clone().unwrap_or_default(),
                    one.data["data"]["text"]
                )
            })
            .collect();
        ensure!(there == ["a=\"2\"", "copy-a=\"2\""], "there is {there:?}");
        ensure!(
            manager.as_ref().is_some_and(|manager| manager.queue.is_idle()),
            "it is at rest"
        );

        drop(manager);
        faults.recorder().clear();
        let mut manager = Some(Manager::start(&client));
        settled(&mut manager, &faults, &client).await;
        let summary = faults.recorder().summary();
        ensure!(
            summary.keys().eq(["watch configmaps"]),
            "after a restart: {summary:?}"
        );
        Ok(())
    })
    .await
}
