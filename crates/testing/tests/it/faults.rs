//! Tests of the fault injection.

use std::time::Duration;

use anyhow::{Result, bail};
use cambium_apiserver::ApiServer;
use cambium_testing::{Fault, Faults, Filter, TestCluster, Watch, for_every_call, virtual_clock};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, DeleteParams, ListParams, ObjectMeta, PostParams};

fn named(name: &str) -> ConfigMap {
    ConfigMap {
        metadata: ObjectMeta {
            name: Some(name.to_owned()),
            ..ObjectMeta::default()
        },
        ..ConfigMap::default()
    }
}

async fn create(api: &Api<ConfigMap>, name: &str) -> kube::Result<ConfigMap> {
    api.create(&PostParams::default(), &named(name)).await
}

fn code(error: &kube::Error) -> u16 {
    match error {
        kube::Error::Api(status) => status.code,
        _ => 0,
    }
}

#[tokio::test]
async fn each_fault_does_what_it_says_once() -> Result<()> {
    let cluster = TestCluster::start().await?;
    let namespace = cluster.namespace("faults").await?;
    let faults = Faults::counting(&Filter::writes().of("configmaps"));
    let api: Api<ConfigMap> = Api::namespaced(faults.client(&cluster.client()), &namespace);
    let direct: Api<ConfigMap> = Api::namespaced(cluster.client(), &namespace);
    let cases = [
        (Fault::Refuse(409), Some(409), false),
        (Fault::TooMany(Duration::from_secs(1)), Some(429), false),
        (Fault::Refuse(500), Some(500), false),
        (Fault::Refuse(503), Some(503), false),
        (Fault::LoseRequest, Some(0), false),
        (Fault::LoseAnswer, Some(0), true),
        (Fault::Delay(Duration::from_millis(1)), None, true),
    ];
    for (number, (fault, expected, carried_out)) in cases.into_iter().enumerate() {
        let [before, name] = ["before", "it"].map(|name| format!("{name}-{number}"));
        faults.arm(2, fault);
        create(&api, &before).await?;
        api.list(&ListParams::default()).await?;
        let answer = create(&api, &name).await;
        assert_eq!(answer.err().as_ref().map(code), expected, "{fault}");
        assert_eq!(direct.get_opt(&name).await?.is_some(), carried_out, "{fault}");
        let struck = faults.struck().pop().unwrap();
        assert_eq!(
            struck.to_string(),
            format!("create /api/v1/namespaces/{namespace}/configmaps")
        );
        create(&api, &format!("after-{number}")).await?;
    }
    Ok(())
}

#[tokio::test]
async fn a_crash_ends_everything_until_there_is_a_new_process() -> Result<()> {
    let cluster = TestCluster::start().await?;
    let namespace = cluster.namespace("crash").await?;
    let faults = Faults::counting(&Filter::writes());
    let client = faults.client(&cluster.client());
    let api: Api<ConfigMap> = Api::namespaced(client.clone(), &namespace);
    let path = format!("/api/v1/namespaces/{namespace}/secrets?watch=true");
    let mut watch = Watch::open(&client, &path, "application/json").await?;
    faults.arm(1, Fault::Crash);
    assert!(create(&api, "a").await.is_err());
    faults.crashed().await;
    assert!(api.list(&ListParams::default()).await.is_err());
    assert!(!matches!(watch.next().await, Ok(Some(_))), "the watch has ended");
    assert_eq!(faults.counted().len(), 1);
    faults.revive();
    create(&api, "a").await?;
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_hanging_request_hangs_and_a_severed_line_fails_at_once() -> Result<()> {
    let cluster = TestCluster::embedded(ApiServer::builder().clock(virtual_clock())).await?;
    let faults = Faults::new();
    let api: Api<ConfigMap> = Api::default_namespaced(faults.client(&cluster.client()));
    faults.arm(1, Fault::Hang);
    assert!(
        tokio::time::timeout(Duration::from_secs(3600), create(&api, "a"))
            .await
            .is_err()
    );
    faults.sever();
    assert!(create(&api, "a").await.is_err());
    faults.mend();
    create(&api, "a").await?;
    Ok(())
}

#[tokio::test]
async fn requests_are_recorded_by_verb_and_resource() -> Result<()> {
    let cluster = TestCluster::start().await?;
    let namespace = cluster.namespace("record").await?;
    let faults = Faults::new();
    let api: Api<ConfigMap> = Api::namespaced(faults.client(&cluster.client()), &namespace);
    create(&api, "a").await?;
    create(&api, "b").await?;
    api.get("a").await?;
    api.list(&ListParams::default()).await?;
    api.delete("a", &DeleteParams::default()).await?;
    let recorder = faults.recorder();
    let expected = [
        ("create configmaps", 2),
        ("delete configmaps", 1),
        ("get configmaps", 1),
        ("list configmaps", 1),
    ];
    assert_eq!(
        recorder.summary(),
        expected.map(|(what, count)| (what.to_owned(), count)).into()
    );
    assert_eq!(
        (recorder.writes().len(), recorder.lists(), recorder.calls().len()),
        (3, 1, 5)
    );
    recorder.clear();
    assert!(recorder.calls().is_empty());
    Ok(())
}

/// Creates two objects with retries, restarting after crashes.
async fn diligent(faults: Faults) -> Result<()> {
    let cluster = TestCluster::embedded(ApiServer::builder().clock(virtual_clock())).await?;
    let api: Api<ConfigMap> = Api::default_namespaced(faults.client(&cluster.client()));
    for name in ["a", "b"] {
        loop {
            if faults.has_crashed() {
                faults.revive();
            }
            let limit = Duration::from_secs(30);
            match tokio::time::timeout(limit, create(&api, name)).await {
                Ok(Ok(_)) => break,
                Ok(Err(error)) if code(&error) == 409 && api.get_opt(name).await?.is_some() => break,
                _ => tokio::time::sleep(Duration::from_secs(1)).await,
            }
        }
    }
    let direct: Api<ConfigMap> = Api::default_namespaced(cluster.client());
    let there = direct.list(&ListParams::default()).await?.items;
    let names: Vec<_> = there
        .iter()
        .filter_map(|one| one.metadata.name.as_deref())
        .collect();
    if names != ["a", "b"] {
        bail!("there are {names:?}");
    }
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_scenario_that_copes_with_everything_passes() -> Result<()> {
    for_every_call(&Filter::writes(), &Fault::ALL, diligent).await
}

#[tokio::test(start_paused = true)]
async fn a_scenario_that_does_not_is_told_with_call_and_fault() -> Result<()> {
    let careless = async |faults: Faults| {
        let cluster = TestCluster::embedded(ApiServer::builder().clock(virtual_clock())).await?;
        let api: Api<ConfigMap> = Api::default_namespaced(faults.client(&cluster.client()));
        create(&api, "a").await?;
        if create(&api, "b").await.is_err() {
            create(&api, "b").await.expect("the second try gets through");
        }
        Ok(())
    };
    let error = for_every_call(&Filter::writes(), &[Fault::LoseAnswer], careless)
        .await
        .unwrap_err();
    let text = format!("{error:#}");
    let expected =
        "call 1 of 2, create /api/v1/namespaces/default/configmaps: carried out, and the answer is lost: ";
    assert!(text.starts_with(expected), "{text}");
    // A panic is told in the same way.
    let filter = Filter::writes().of("configmaps");
    let panics = async |faults: Faults| {
        let cluster = TestCluster::embedded(ApiServer::builder().clock(virtual_clock())).await?;
        let api: Api<ConfigMap> = Api::default_namespaced(faults.client(&cluster.client()));
        assert!(create(&api, "a").await.is_ok(), "it must be there");
        Ok(())
    };
    let error = for_every_call(&filter, &[Fault::Refuse(503)], panics).await;
    let text = format!("{:#}", error.unwrap_err());
    let expected =
        "call 1 of 1, create /api/v1/namespaces/default/configmaps: refused with 503: it must be there";
    assert_eq!(text, expected);
    // So is a scenario in which there is nothing to go wrong.
    let error = for_every_call(&Filter::writes(), &Fault::ALL, async |_| Ok(())).await;
    assert_eq!(
        error.unwrap_err().to_string(),
        "the scenario makes no counted call"
    );
    Ok(())
}
