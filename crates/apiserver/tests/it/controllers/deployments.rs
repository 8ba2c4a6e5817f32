//! Deployments, simulated, in virtual time.

use std::collections::HashMap;
use std::time::Duration;

use crate::controllers::support::{Json, condition, stays_quiet, template, virtual_cluster};
use anyhow::Result;
use futures::{StreamExt, TryStreamExt};
use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use kube::api::{WatchEvent, WatchParams};
use serde_json::{Value, json};

fn deployment(replicas: i64, template: &Value) -> Value {
    json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"},
        "spec": {"replicas": replicas, "selector": {"matchLabels": {"app": "web"}}, "template": template}})
}

fn is_complete(deployment: &Value) -> bool {
    let (status, wanted) = (&deployment["status"], &deployment["spec"]["replicas"]);
    status["observedGeneration"] == deployment["metadata"]["generation"]
        && [
            "replicas",
            "updatedReplicas",
            "readyReplicas",
            "availableReplicas",
        ]
        .iter()
        .all(|count| status[count] == *wanted)
}

struct Fixture {
    cluster: cambium_testing::TestCluster,
    api: Json,
    namespace: String,
    all: String,
    web: String,
}

impl Fixture {
    async fn new(deployment: &Value) -> Result<Self> {
        let (cluster, api, namespace) = virtual_cluster().await?;
        let all = format!("/apis/apps/v1/namespaces/{namespace}/deployments");
        api.create(&all, deployment).await?;
        let web = format!("{all}/web");
        Ok(Self {
            cluster,
            api,
            namespace,
            all,
            web,
        })
    }

    async fn roll(&self, image: &str, annotations: &Value) -> Result<Value> {
        self.api
            .patch(
                &self.web,
                &json!({"spec": {"template": template("web", image, annotations)}}),
            )
            .await
    }

    async fn pods(&self) -> Result<Vec<Value>> {
        self.api
            .list(&format!("/api/v1/namespaces/{}/pods", self.namespace))
            .await
    }

    async fn images(&self) -> Result<HashMap<String, usize>> {
        let mut images = HashMap::new();
        for pod in self.pods().await? {
            *images
                .entry(
                    pod["spec"]["containers"][0]["image"]
                        .as_str()
                        .unwrap_or_default()
                        .to_owned(),
                )
                .or_default() += 1;
        }
        Ok(images)
    }
}

#[tokio::test(start_paused = true)]
async fn a_deployment_becomes_available_and_then_nothing_is_written() -> Result<()> {
    let at = Fixture::new(&deployment(3, &template("web", "a", &json!({})))).await?;
    let done = at.api.until(&at.web, is_complete).await?;
    assert_eq!(
        condition(&done, "Available")["reason"],
        "MinimumReplicasAvailable"
    );
    assert_eq!(
        condition(&done, "Progressing")["reason"],
        "NewReplicaSetAvailable"
    );
    assert_eq!(
        done["metadata"]["annotations"]["deployment.kubernetes.io/revision"],
        "1"
    );
    for pod in at.pods().await? {
        assert_eq!(pod["spec"]["nodeName"], "cambium-node");
        assert_eq!(pod["status"]["phase"], "Running");
        assert_eq!(condition(&pod, "Ready")["status"], "True");
        assert!(pod["status"]["podIP"].is_string());
        assert_eq!(pod["status"]["containerStatuses"][0]["ready"], true);
    }
    let owner = at.pods().await?[0]["metadata"]["managedFields"].clone();
    assert!(owner.as_array().is_some_and(|fields| {
        fields
            .iter()
            .any(|one| one["manager"] == "kube-controller-manager")
    }));
    stays_quiet(&at.cluster).await;
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn scaling_follows_and_a_lost_pod_is_replaced() -> Result<()> {
    let at = Fixture::new(&deployment(2, &template("web", "a", &json!({})))).await?;
    at.api.until(&at.web, is_complete).await?;
    at.api
        .patch(&format!("{}/scale", at.web), &json!({"spec": {"replicas": 5}}))
        .await?;
    at.api.until(&at.web, is_complete).await?;
    let lost = at.pods().await?[0]["metadata"]["name"].clone();
    let path = format!(
        "/api/v1/namespaces/{}/pods/{}",
        at.namespace,
        lost.as_str().unwrap_or_default()
    );
    at.api.delete(&path, "Background").await?;
    at.api.until_gone(&path).await?;
    at.api.until(&at.web, is_complete).await?;
    at.api
        .patch(&format!("{}/scale", at.web), &json!({"spec": {"replicas": 0}}))
        .await?;
    at.api
        .until(&at.web, |web| web["status"].get("replicas").is_none())
        .await?;
    cambium_testing::eventually("the pods are gone", || async { Ok(at.pods().await?.is_empty()) }).await?;
    stays_quiet(&at.cluster).await;
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_rolling_update_never_leaves_its_bounds() -> Result<()> {
    let mut wanted = deployment(10, &template("web", "a", &json!({})));
    wanted["spec"]["strategy"] =
        json!({"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 2, "maxUnavailable": 3}});
    wanted["spec"]["minReadySeconds"] = json!(2);
    let at = Fixture::new(&wanted).await?;
    at.api.until(&at.web, is_complete).await?;
    let pods: Api<Pod> = Api::namespaced(at.cluster.client(), &at.namespace);
    let events = pods.watch(&WatchParams::default(), "0").await?;
    at.roll("b", &json!({})).await?;
    let watching = tokio::spawn(async move {
        let mut events = events.boxed();
        let mut seen: HashMap<String, bool> = HashMap::new();
        let mut checked = 0;
        while let Some(event) = events.try_next().await? {
            match event {
                WatchEvent::Added(pod) | WatchEvent::Modified(pod) => {
                    let ready = pod
                        .status
                        .iter()
                        .flat_map(|status| status.conditions.iter().flatten());
                    let ready = ready
                        .into_iter()
                        .any(|one| one.type_ == "Ready" && one.status == "True");
                    let name = pod.metadata.name.clone().unwrap_or_default();
                    match pod.metadata.deletion_timestamp {
                        Some(_) => seen.remove(&name),
                        None => seen.insert(name, ready),
                    };
                }
                WatchEvent::Deleted(pod) => {
                    seen.remove(&pod.metadata.name.unwrap_or_default());
                }
                _ => {}
            }
            checked += 1;
            anyhow::ensure!(seen.len() <= 12, "{} pods", seen.len());
            let ready = seen.values().filter(|ready| **ready).count();
            anyhow::ensure!(checked <= 10 || ready >= 7, "only {ready} ready");
        }
        Ok(checked)
    });
    at.api
        .until(&at.web, |web| {
            web["status"]["observedGeneration"] == 2 && is_complete(web)
        })
        .await?;
    assert_eq!(at.images().await?.get("b"), Some(&10));
    at.cluster.server().map(cambium_apiserver::ApiServer::stop);
    let checked = watching.await??;
    assert!(checked > 40, "{checked} events");
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_failing_rollout_keeps_the_old_pods_times_out_and_is_rolled_back() -> Result<()> {
    let mut wanted = deployment(3, &template("web", "a", &json!({})));
    wanted["spec"]["progressDeadlineSeconds"] = json!(30);
    let at = Fixture::new(&wanted).await?;
    at.api.until(&at.web, is_complete).await?;
    at.roll("b", &json!({"simulate.cambium.dev/fail": "CrashLoopBackOff"}))
        .await?;
    let stuck = at
        .api
        .until(&at.web, |web| {
            condition(web, "Progressing")["reason"] == "ProgressDeadlineExceeded"
        })
        .await?;
    assert_eq!(condition(&stuck, "Progressing")["status"], "False");
    assert_eq!(condition(&stuck, "Available")["status"], "True");
    assert_eq!(stuck["status"]["availableReplicas"], 3);
    assert_eq!(
        at.images().await?,
        HashMap::from([("a".to_owned(), 3), ("b".to_owned(), 1)])
    );
    let crashing = at
        .pods()
        .await?
        .into_iter()
        .find(|pod| pod["spec"]["containers"][0]["image"] == "b")
        .unwrap_or_default();
    let container = &crashing["status"]["containerStatuses"][0];
    assert_eq!(container["state"]["waiting"]["reason"], "CrashLoopBackOff");
    assert!(container["restartCount"].as_i64() > Some(0), "{container:#}");

    at.roll("a", &json!({"simulate.cambium.dev/fail": null})).await?;
    let back = at
        .api
        .until(&at.web, |web| {
            web["metadata"]["annotations"]["deployment.kubernetes.io/revision"] == "3"
        })
        .await?;
    assert_eq!(back["metadata"]["generation"], 3);
    at.api.until(&at.web, is_complete).await?;
    cambium_testing::eventually("the bad pod is gone", || async {
        Ok(at.images().await?.len() == 1)
    })
    .await?;
    let sets = at.api.list(&at.all.replace("deployments", "replicasets")).await?;
    assert_eq!(sets.len(), 2, "the old ReplicaSet came back into use");
    stays_quiet(&at.cluster).await;
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn recreate_leaves_nothing_running_in_between() -> Result<()> {
    let mut wanted = deployment(2, &template("web", "a", &json!({})));
    wanted["spec"]["strategy"] = json!({"type": "Recreate"});
    let at = Fixture::new(&wanted).await?;
    at.api.until(&at.web, is_complete).await?;
    at.roll("b", &json!({})).await?;
    let web = at.web.clone();
    loop {
        let images = at.images().await?;
        assert!(images.len() <= 1, "{images:?}");
        if at
            .api
            .get(&web)
            .await?
            .is_some_and(|web| is_complete(&web) && web["status"]["observedGeneration"] == 2)
        {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(at.images().await?, HashMap::from([("b".to_owned(), 2)]));
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn deleting_a_deployment_takes_its_pods() -> Result<()> {
    let at = Fixture::new(&deployment(3, &template("web", "a", &json!({})))).await?;
    at.api.until(&at.web, is_complete).await?;
    at.api.delete(&at.web, "Foreground").await?;
    at.api.until_gone(&at.web).await?;
    assert!(at.pods().await?.is_empty());
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn orphaned_pods_are_adopted_again() -> Result<()> {
    let wanted = deployment(2, &template("web", "a", &json!({})));
    let at = Fixture::new(&wanted).await?;
    at.api.until(&at.web, is_complete).await?;
    let before: Vec<Value> = at
        .pods()
        .await?
        .iter()
        .map(|pod| pod["metadata"]["uid"].clone())
        .collect();
    at.api.delete(&at.web, "Orphan").await?;
    at.api.until_gone(&at.web).await?;
    at.api.create(&at.all, &wanted).await?;
    at.api.until(&at.web, is_complete).await?;
    let after: Vec<Value> = at
        .pods()
        .await?
        .iter()
        .map(|pod| pod["metadata"]["uid"].clone())
        .collect();
    assert_eq!(before, after);
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_bad_script_is_told_and_the_default_applies() -> Result<()> {
    let at = Fixture::new(&deployment(
        1,
        &template("web", "a", &json!({"simulate.cambium.dev/ready-after": "soon"})),
    ))
    .await?;
    at.api.until(&at.web, is_complete).await?;
    let pod = &at.pods().await?[0];
    assert_eq!(
        condition(pod, "SimulationScripted")["reason"],
        "InvalidAnnotation"
    );
    let events = at
        .api
        .list(&format!("/api/v1/namespaces/{}/events", at.namespace))
        .await?;
    let told = events
        .iter()
        .filter(|event| event["reason"] == "InvalidSimulation")
        .count();
    assert_eq!(told, 1);
    Ok(())
}
