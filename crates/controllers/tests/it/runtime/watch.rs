//! Caches against a server, embedded or real.

use crate::runtime::support;

use std::sync::Arc;

use crate::runtime::support::{Told, config_map, config_maps, resource};
use anyhow::Result;
use cambium_apiserver::ApiServer;
use cambium_apiserver::store::History;
use cambium_controllers::runtime::{Cache, Key, Origin, Watch};
use cambium_testing::{Faults, TestCluster, eventually, virtual_clock};
use kube::api::{DeleteParams, PostParams};
use serde_json::json;

/// A cluster, a namespace, and a cache of the ConfigMaps that carry the namespace's name as a label.
struct Fixture {
    cluster: TestCluster,
    namespace: String,
    faults: Faults,
    cache: Arc<Cache>,
    told: Told,
    _watching: cambium_controllers::runtime::watch::Watching,
}

impl Fixture {
    async fn start() -> Result<Self> {
        Self::on(TestCluster::start().await?).await
    }

    async fn on(cluster: TestCluster) -> Result<Self> {
        let namespace = cluster.namespace("watch").await?;
        let faults = Faults::new();
        let told = Told::default();
        let cache = Cache::new(resource(), told.handler());
        let watch = Watch::new(faults.client(&cluster.client())).labels(format!("test={namespace}"));
        let watching = watch.spawn(cache.clone());
        Ok(Self {
            cluster,
            namespace,
            faults,
            cache,
            told,
            _watching: watching,
        })
    }

    fn key(&self, name: &str) -> Key {
        Key::new(&self.namespace, name)
    }

    /// Directly, past the faults.
    async fn create(&self, name: &str, text: &str) -> Result<kube::api::DynamicObject> {
        let api = config_maps(self.cluster.client(), &self.namespace);
        Ok(api
            .create(&PostParams::default(), &config_map(&self.namespace, name, text))
            .await?)
    }

    async fn write(&self, name: &str, text: &str) -> Result<kube::api::DynamicObject> {
        let api = config_maps(self.cluster.client(), &self.namespace);
        let mut object = api.get(name).await?;
        object.data["data"]["text"] = json!(text);
        Ok(api.replace(name, &PostParams::default(), &object).await?)
    }

    async fn delete(&self, name: &str) -> Result<()> {
        let api = config_maps(self.cluster.client(), &self.namespace);
        api.delete(name, &DeleteParams::default()).await?;
        Ok(())
    }

    async fn told(&self, expected: &[&str]) -> Result<()> {
        eventually(&format!("told {expected:?}"), || async {
            Ok(self.told.lines().len() >= expected.len())
        })
        .await?;
        assert_eq!(self.told.lines(), expected);
        Ok(())
    }
}

#[tokio::test]
async fn what_happens_is_told_once_and_in_order() -> Result<()> {
    let fixture = Fixture::start().await?;
    fixture.create("before", "x").await?;
    fixture.told(&["before: - > x"]).await?;
    fixture.cache.synced().await;
    fixture.create("a", "1").await?;
    fixture.write("a", "2").await?;
    fixture.delete("a").await?;
    fixture
        .told(&["before: - > x", "a: - > 1", "a: 1 > 2", "a: 2 > -"])
        .await?;
    assert_eq!(fixture.cache.len(), 1);
    let record = fixture.cache.get(&fixture.key("before")).unwrap();
    assert_eq!(record.value()["data"]["text"], "x");
    assert_eq!(record.value()["kind"], "ConfigMap");
    assert_eq!(record.metadata().labels.unwrap()["test"], fixture.namespace);
    Ok(())
}

#[tokio::test]
async fn an_answer_is_there_before_the_watch_and_is_not_told_twice() -> Result<()> {
    let fixture = Fixture::start().await?;
    fixture.cache.synced().await;
    fixture.faults.sever();
    fixture.cache.learn(fixture.create("a", "1").await?);
    assert!(fixture.cache.get(&fixture.key("a")).is_some());
    fixture.cache.learn(fixture.write("a", "2").await?);
    fixture.faults.mend();
    fixture.create("last", "x").await?;
    fixture.told(&["a: - > 1", "a: 1 > 2", "last: - > x"]).await?;
    let origins: Vec<Origin> = fixture
        .told
        .changes()
        .iter()
        .map(|change| change.origin)
        .collect();
    assert_eq!(origins, [Origin::Ourselves, Origin::Ourselves, Origin::Watch]);
    Ok(())
}

#[tokio::test]
async fn an_answer_to_a_deletion_is_there_before_the_watch() -> Result<()> {
    let fixture = Fixture::start().await?;
    fixture.create("a", "1").await?;
    fixture.told(&["a: - > 1"]).await?;
    let uid = fixture.cache.get(&fixture.key("a")).unwrap().uid().to_owned();
    fixture.faults.sever();
    fixture.delete("a").await?;
    fixture.cache.learn_gone(&fixture.key("a"), &uid);
    assert!(fixture.cache.is_empty());
    fixture.create("a", "again").await?;
    fixture.faults.mend();
    fixture.told(&["a: - > 1", "a: 1 > -", "a: - > again"]).await
}

#[tokio::test]
async fn a_cut_line_loses_nothing_and_repeats_nothing() -> Result<()> {
    let fixture = Fixture::start().await?;
    fixture.create("stays", "x").await?;
    fixture.create("goes", "x").await?;
    fixture.told(&["stays: - > x", "goes: - > x"]).await?;
    fixture.cache.synced().await;
    fixture.told.clear();
    fixture.faults.sever();
    fixture.write("stays", "y").await?;
    fixture.delete("goes").await?;
    fixture.create("comes", "x").await?;
    fixture.faults.mend();
    fixture
        .told(&["stays: x > y", "goes: x > -", "comes: - > x"])
        .await?;
    assert_eq!(
        fixture.faults.recorder().lists(),
        0,
        "the first list was a watch, and it was resumed"
    );
    Ok(())
}

#[tokio::test]
async fn a_write_that_changes_only_who_manages_what_can_be_told_apart() -> Result<()> {
    let fixture = Fixture::start().await?;
    fixture.create("a", "1").await?;
    fixture.told(&["a: - > 1"]).await?;
    let api = config_maps(fixture.cluster.client(), &fixture.namespace);
    let mut object = config_map(&fixture.namespace, "a", "1");
    object.metadata.namespace = None;
    let manager = kube::api::PatchParams::apply("another").force();
    api.patch("a", &manager, &kube::api::Patch::Apply(&object))
        .await?;
    fixture.told(&["a: - > 1", "a: 1 > 1"]).await?;
    let changes = fixture.told.changes();
    assert!(changes[1].same_content(), "{:?}", changes[1]);
    let version = |index: usize| changes[index].after.as_ref().unwrap().version();
    assert!(version(1) > version(0));
    Ok(())
}

/// A server from before streaming lists.
#[tokio::test]
async fn a_server_without_streaming_lists_is_listed() -> Result<()> {
    let cluster = TestCluster::start().await?;
    let namespace = cluster.namespace("old").await?;
    let api = config_maps(cluster.client(), &namespace);
    for name in ["a", "b"] {
        api.create(&PostParams::default(), &config_map(&namespace, name, "1"))
            .await?;
    }
    let told = Told::default();
    let cache = Cache::new(resource(), told.handler());
    let faults = Faults::new();
    let old = support::without_streaming_lists(&faults.client(&cluster.client()));
    let _watching = Watch::new(old)
        .labels(format!("test={namespace}"))
        .spawn(cache.clone());
    cache.synced().await;
    assert_eq!((cache.len(), faults.recorder().lists()), (2, 1));
    api.create(&PostParams::default(), &config_map(&namespace, "c", "1"))
        .await?;
    eventually("c is told", || async { Ok(told.lines().len() == 3) }).await
}

/// Hours of virtual time, a log that forgets at once: what is relisted is told as what has changed.
#[tokio::test(start_paused = true)]
async fn after_an_outage_that_the_log_does_not_reach_back_over_only_differences_are_told() -> Result<()> {
    for old in [false, true] {
        let history = History {
            events: 4,
            ..History::default()
        };
        let builder = ApiServer::builder().clock(virtual_clock()).history(history);
        let cluster = TestCluster::embedded(builder).await?;
        let namespace = cluster.namespace("outage").await?;
        let api = config_maps(cluster.client(), &namespace);
        let write = async |name: &str, text: &str| {
            let manager = kube::api::PatchParams::apply("test").force();
            api.patch(
                name,
                &manager,
                &kube::api::Patch::Apply(config_map(&namespace, name, text)),
            )
            .await
        };
        for name in ["same", "changed", "gone", "again"] {
            write(name, "1").await?;
        }
        let told = Told::default();
        let cache = Cache::new(resource(), told.handler());
        let faults = Faults::new();
        let mut client = faults.client(&cluster.client());
        if old {
            client = support::without_streaming_lists(&client);
        }
        let _watching = Watch::new(client).spawn(cache.clone());
        cache.synced().await;
        tokio::time::sleep(std::time::Duration::from_secs(1)).await;
        told.clear();
        let before = cache.len();

        faults.sever();
        write("changed", "2").await?;
        for name in ["gone", "again"] {
            api.delete(name, &DeleteParams::default()).await?;
        }
        write("again", "2").await?;
        cache.learn(write("ours", "1").await?);
        for round in 0..50 {
            write("busy", &round.to_string()).await?;
        }
        tokio::time::sleep(std::time::Duration::from_secs(3600)).await;
        faults.mend();
        eventually("all is told", || async { Ok(told.lines().len() >= 5) }).await?;
        let mut lines = told.lines();
        lines.sort();
        let expected = [
            "again: 1 > 2",
            "busy: - > 49",
            "changed: 1 > 2",
            "gone: 1 > -",
            "ours: - > 1",
        ];
        assert_eq!(lines, expected, "old: {old}");
        assert_eq!(cache.len(), before + 1, "one is gone, two are new");
        // And it goes on.
        write("same", "2").await?;
        eventually("it goes on", || async { Ok(told.lines().len() >= 6) }).await?;
    }
    Ok(())
}

/// While nothing happens, nothing is asked: in a working day, only the watch is opened again now and then.
#[tokio::test(start_paused = true)]
async fn a_quiet_day_is_quiet() -> Result<()> {
    let cluster = TestCluster::embedded(ApiServer::builder().clock(virtual_clock())).await?;
    let told = Told::default();
    let cache = Cache::new(resource(), told.handler());
    let faults = Faults::new();
    let _watching = Watch::new(faults.client(&cluster.client())).spawn(cache.clone());
    cache.synced().await;
    tokio::time::sleep(std::time::Duration::from_secs(8 * 3600)).await;
    let summary = faults.recorder().summary();
    assert_eq!(summary.keys().collect::<Vec<_>>(), ["watch configmaps"]);
    assert!(summary["watch configmaps"] < 8 * 13, "{summary:?}");
    Ok(())
}
