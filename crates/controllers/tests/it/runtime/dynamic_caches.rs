//! Kinds that come and go, events, and requests that hang.
use std::sync::Arc;
use std::time::Duration;

use crate::runtime::support::{Told, config_map, config_maps};
use anyhow::Result;
use cambium_apiserver::ApiServer;
use cambium_controllers::runtime::dynamic_caches::WatchError;
use cambium_controllers::runtime::events::Severity;
use cambium_controllers::runtime::{DynamicCaches, Event, Events, Mapper, with_timeouts};
use cambium_metrics::Metrics;
use cambium_testing::{Backend, Fault, Faults, TestCluster, eventually, eventually_some, virtual_clock};
use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::Api;
use kube::api::{DeleteParams, DynamicObject, PostParams};
use serde_json::json;

fn definition(group: &str) -> CustomResourceDefinition {
    let schema = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let definition = json!({
        "metadata": {"name": format!("things.{group}")},
        "spec": {
            "group": group, "scope": "Namespaced", "names": {"plural": "things", "kind": "Thing"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}}],
        },
    });
    serde_json::from_value(definition).unwrap()
}

async fn define(cluster: &TestCluster, group: &str) -> Result<()> {
    let api: Api<CustomResourceDefinition> = Api::all(cluster.client());
    api.create(&PostParams::default(), &definition(group)).await?;
    Ok(())
}

#[tokio::test]
async fn kinds_are_found_by_asking_for_their_group_version_once() -> Result<()> {
    let cluster = TestCluster::start().await?;
    let faults = Faults::new();
    let mapper = Mapper::new(faults.client(&cluster.client()));
    let found = futures::future::join_all((0..10).map(|_| mapper.resolve("apps/v1", "Deployment"))).await;
    let deployment = found.into_iter().next().unwrap()?;
    assert_eq!(
        (deployment.api_resource.plural.as_str(), deployment.namespaced),
        ("deployments", true)
    );
    let namespace = mapper.resolve("v1", "Namespace").await?;
    assert_eq!(
        (namespace.api_resource.plural.as_str(), namespace.namespaced),
        ("namespaces", false)
    );
    mapper.resolve("v1", "ConfigMap").await?;
    let asked = [("get /api/v1".to_owned(), 1), ("get /apis/apps/v1".to_owned(), 1)];
    assert_eq!(faults.recorder().summary(), asked.into());
    for (api_version, kind, expected) in [
        (
            "v1",
            "Nothing",
            "no kind \"Nothing\" in \"v1\"; is its CRD installed?",
        ),
        (
            "no.group/v1",
            "X",
            "no kind \"X\" in \"no.group/v1\"; is its CRD installed?",
        ),
        (
            "a/b/c",
            "X",
            "\"a/b/c\" is no apiVersion: expected \"version\" or \"group/version\"",
        ),
        (
            "",
            "X",
            "\"\" is no apiVersion: expected \"version\" or \"group/version\"",
        ),
    ] {
        assert_eq!(
            mapper.resolve(api_version, kind).await.unwrap_err().to_string(),
            expected
        );
    }
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_kind_that_is_missing_is_not_asked_for_all_the_time() -> Result<()> {
    let cluster = TestCluster::embedded(ApiServer::builder().clock(virtual_clock())).await?;
    let faults = Faults::new();
    let mapper = Mapper::new(faults.client(&cluster.client()));
    for _ in 0..100 {
        assert!(mapper.resolve("example.com/v1", "Thing").await.is_err());
    }
    assert_eq!(faults.recorder().calls().len(), 1);
    define(&cluster, "example.com").await?;
    eventually("it is found", || async {
        Ok(mapper.resolve("example.com/v1", "Thing").await.is_ok())
    })
    .await?;
    assert!(faults.recorder().calls().len() <= 3);
    // It is known, until somebody says that it may have changed.
    let api: Api<CustomResourceDefinition> = Api::all(cluster.client());
    api.delete("things.example.com", &DeleteParams::default()).await?;
    mapper.resolve("example.com/v1", "Thing").await?;
    eventually("it is gone", || async {
        mapper.forget("example.com");
        Ok(mapper.resolve("example.com/v1", "Thing").await.is_err())
    })
    .await?;
    // An error is not an answer: the next who asks, asks the server.
    mapper.forget("example.com");
    faults.arm(1, Fault::Refuse(503));
    let error = mapper.resolve("example.com/v1", "Thing").await.unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("failed to discover \"example.com/v1\""),
        "{error}"
    );
    let error = mapper.resolve("example.com/v1", "Thing").await.unwrap_err();
    assert!(error.to_string().starts_with("no kind"), "{error}");
    Ok(())
}

#[tokio::test]
async fn a_kind_is_watched_once_from_its_first_use_and_only_what_is_selected() -> Result<()> {
    let cluster = TestCluster::start().await?;
    let namespace = cluster.namespace("children").await?;
    let faults = Faults::new();
    let told = Told::default();
    let handler = told.handler();
    let client = faults.client(&cluster.client());
    let selector = format!("test={namespace}");
    let children = Arc::new(DynamicCaches::new(
        client.clone(),
        Some(selector),
        move |gvk, change| {
            assert_eq!(gvk.kind, "ConfigMap");
            handler(change);
        },
    ));
    let api = config_maps(cluster.client(), &namespace);
    api.create(&PostParams::default(), &config_map(&namespace, "a", "1"))
        .await?;
    let mut other = config_map(&namespace, "other", "1");
    other.metadata.labels = None;
    api.create(&PostParams::default(), &other).await?;

    let resource = Mapper::new(client).resolve("v1", "ConfigMap").await?;
    assert!(children.get(&resource.gvk()).is_none());
    let caches = futures::future::join_all((0..10).map(|_| children.ensure(&resource))).await;
    for cache in caches {
        assert_eq!(cache?.len(), 1);
    }
    assert_eq!(faults.recorder().summary()["watch configmaps"], 1);
    api.create(&PostParams::default(), &config_map(&namespace, "b", "1"))
        .await?;
    eventually("b is told", || async {
        Ok(told.lines() == ["a: - > 1", "b: - > 1"])
    })
    .await?;
    assert_eq!(children.all().len(), 1);
    Ok(())
}

#[tokio::test]
async fn a_kind_that_goes_is_told_as_gone_and_watched_again_when_it_is_back() -> Result<()> {
    let cluster = TestCluster::start().await?;
    let namespace = cluster.namespace("kinds").await?;
    let group = format!("{namespace}.example.com");
    let told = Told::default();
    let handler = told.handler();
    let children = DynamicCaches::new(cluster.client(), None, move |_, change| handler(change));
    let mapper = Mapper::new(cluster.client());
    let crds: Api<CustomResourceDefinition> = Api::all(cluster.client());
    let mut known = None;
    for round in 1..=2 {
        define(&cluster, &group).await?;
        let resource = eventually_some("it is served", || async {
            mapper.forget(&group);
            Ok(mapper.resolve(&format!("{group}/v1"), "Thing").await.ok())
        })
        .await?;
        let cache = eventually_some("it is watched", || async {
            Ok(children.ensure(&resource).await.ok())
        })
        .await?;
        if let Some(known) = known.replace(cache.clone()) {
            assert!(Arc::ptr_eq(&known, &cache), "whoever held it goes on");
        }
        let thing = DynamicObject::new("a", &resource.api_resource)
            .data(json!({"data": {"text": round.to_string()}}));
        eventually("it can be created", || async {
            let api = resource.api(cluster.client(), &namespace);
            Ok(api.create(&PostParams::default(), &thing).await.is_ok())
        })
        .await?;
        eventually("it is told", || async { Ok(cache.len() == 1) }).await?;
        crds.delete(&format!("things.{group}"), &DeleteParams::default())
            .await?;
        if cluster.backend() == Backend::Embedded {
            // Kubernetes ends the watches of a kind that goes; the embedded server lets them run out.
            children.forget(&group);
        }
        eventually("it is gone", || async {
            Ok(children.get(&resource.gvk()).is_none())
        })
        .await?;
        assert!(cache.is_empty());
        eventually("the definition is gone", || async {
            Ok(crds.get_opt(&format!("things.{group}")).await?.is_none())
        })
        .await?;
        let error = children.ensure(&resource).await.err().unwrap();
        assert!(matches!(error, WatchError::Gone { .. }), "{error}");
    }
    // Things may be marked before they are deleted, which is told too.
    let mut lines = told.lines();
    lines.dedup_by(|line, before| line.split(": ").nth(1) == Some("1 > 1") || line == before);
    lines.retain(|line| !line.ends_with("1 > 1") && !line.ends_with("2 > 2"));
    assert_eq!(lines, ["a: - > 1", "a: 1 > -", "a: - > 2", "a: 2 > -"]);
    Ok(())
}

#[tokio::test]
async fn the_same_event_is_counted_and_another_note_is_another_event() -> Result<()> {
    let cluster = TestCluster::start().await?;
    let namespace = cluster.namespace("events").await?;
    let events = Events::start(cluster.client(), "cambium", "test-1");
    let event = |note: &str| Event {
        regarding: ObjectReference {
            api_version: Some("v1".to_owned()),
            kind: Some("ConfigMap".to_owned()),
            name: Some("web".to_owned()),
            namespace: Some(namespace.clone()),
            uid: Some("u".to_owned()),
            ..ObjectReference::default()
        },
        severity: Severity::Normal,
        reason: "Moved".to_owned(),
        action: "Resolve".to_owned(),
        note: note.to_owned(),
    };
    for note in [
        "1.2.3 to 1.2.4",
        "1.2.3 to 1.2.4",
        "1.2.4 to 1.2.5",
        &"ü".repeat(2000),
        "1.2.3 to 1.2.4",
    ] {
        events.record(event(note));
    }
    let api: Api<k8s_openapi::api::events::v1::Event> = Api::namespaced(cluster.client(), &namespace);
    let counts = eventually_some("all are there", || async {
        let found = api.list(&Default::default()).await?.items;
        let mut counts: Vec<(usize, i32)> = found
            .iter()
            .map(|event| {
                (
                    event.note.as_ref().unwrap().len(),
                    event.series.as_ref().map_or(1, |series| series.count),
                )
            })
            .collect();
        counts.sort_unstable();
        Ok(Some(counts).filter(|counts| counts.iter().map(|(_, count)| count).sum::<i32>() == 5))
    })
    .await?;
    assert_eq!(counts, [(14, 1), (14, 3), (1024, 1)]);
    Ok(())
}

/// A server that answers nothing costs an event, never a reconcile.
#[tokio::test(start_paused = true)]
async fn events_that_cannot_be_sent_hold_nobody_up() -> Result<()> {
    let cluster = TestCluster::embedded(ApiServer::builder().clock(virtual_clock())).await?;
    let faults = Faults::new();
    faults.arm(1, Fault::Hang);
    let events = Events::start(faults.client(&cluster.client()), "cambium", "test-1");
    let event = |number: usize| Event {
        regarding: ObjectReference::default(),
        severity: Severity::Warning,
        reason: "Test".to_owned(),
        action: "Test".to_owned(),
        note: number.to_string(),
    };
    for number in 0..10_000 {
        events.record(event(number));
    }
    assert!(events.lost() > 5_000);
    let api: Api<k8s_openapi::api::events::v1::Event> = Api::namespaced(cluster.client(), "default");
    eventually("the others are sent", || async {
        Ok(api.list(&Default::default()).await?.items.len() == 4095)
    })
    .await
}

#[tokio::test(start_paused = true)]
async fn a_request_that_hangs_ends_and_a_watch_may_take_its_time() -> Result<()> {
    let cluster = TestCluster::embedded(ApiServer::builder().clock(virtual_clock())).await?;
    let faults = Faults::new();
    let client = with_timeouts(
        &faults.client(&cluster.client()),
        Duration::from_secs(30),
        &Metrics::default(),
    );
    let api = config_maps(client.clone(), "default");
    faults.arm(1, Fault::Hang);
    let begin = tokio::time::Instant::now();
    assert!(api.list(&Default::default()).await.is_err());
    assert_eq!(begin.elapsed(), Duration::from_secs(30));
    assert!(api.list(&Default::default()).await.is_ok());
    let mut watch =
        cambium_testing::Watch::open(&client, "/api/v1/namespaces?watch=true", "application/json").await?;
    watch.take(1).await?;
    tokio::time::sleep(Duration::from_secs(60)).await;
    cluster.namespace("later").await?;
    eventually("the watch is still open", || async {
        Ok(cluster.server().unwrap().open_watches() == 1)
    })
    .await?;
    while !watch.take(1).await?[0].contains("later") {}
    Ok(())
}
