//! StatefulSets, DaemonSets, Jobs, CronJobs and Services, simulated, in virtual time.

use std::time::Duration;

use crate::controllers::support::{Json, condition, stays_quiet, template, virtual_cluster};
use anyhow::Result;
use serde_json::{Value, json};

fn stateful_set(replicas: i64, policy: &str) -> Value {
    json!({"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "db"},
        "spec": {"replicas": replicas, "serviceName": "db", "podManagementPolicy": policy,
            "selector": {"matchLabels": {"app": "db"}}, "template": template("db", "a", &json!({})),
            "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": 0}},
            "volumeClaimTemplates": [{"metadata": {"name": "data"},
                "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}]}})
}

async fn pods(api: &Json, namespace: &str) -> Result<Vec<Value>> {
    api.list(&format!("/api/v1/namespaces/{namespace}/pods")).await
}

fn names(pods: &[Value]) -> Vec<&str> {
    pods.iter()
        .filter_map(|pod| pod["metadata"]["name"].as_str())
        .collect()
}

fn is_ready(pod: &Value) -> bool {
    condition(pod, "Ready")["status"] == "True"
}

#[tokio::test(start_paused = true)]
async fn a_stateful_set_is_made_in_order_and_taken_down_in_reverse() -> Result<()> {
    let (cluster, api, namespace) = virtual_cluster().await?;
    let all = format!("/apis/apps/v1/namespaces/{namespace}/statefulsets");
    api.create(&all, &stateful_set(3, "OrderedReady")).await?;
    let path = format!("{all}/db");
    loop {
        let pods = pods(&api, &namespace).await?;
        let expected: Vec<String> = (0..pods.len()).map(|ordinal| format!("db-{ordinal}")).collect();
        assert_eq!(names(&pods), expected);
        let unready = pods.iter().filter(|pod| !is_ready(pod)).count();
        assert!(unready <= 1, "the next one waits for the one before");
        if pods.len() == 3 && unready == 0 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let settled = |set: &Value| {
        set["status"]["readyReplicas"] == set["spec"]["replicas"]
            && set["status"]["currentRevision"] == set["status"]["updateRevision"]
    };
    let set = api.until(&path, settled).await?;
    assert_eq!(set["status"]["availableReplicas"], 3);
    let pod = &pods(&api, &namespace).await?[1];
    assert_eq!(
        pod["metadata"]["labels"]["statefulset.kubernetes.io/pod-name"],
        "db-1"
    );
    assert_eq!(
        pod["metadata"]["labels"]["controller-revision-hash"],
        set["status"]["currentRevision"]
    );
    assert_eq!(
        (&pod["spec"]["hostname"], &pod["spec"]["subdomain"]),
        (&json!("db-1"), &json!("db"))
    );
    assert_eq!(
        api.list(&format!("/api/v1/namespaces/{namespace}/persistentvolumeclaims"))
            .await?
            .len(),
        3
    );

    api.patch(&path, &json!({"spec": {"replicas": 1}})).await?;
    loop {
        let pods = pods(&api, &namespace).await?;
        let going = pods
            .iter()
            .filter(|pod| pod["metadata"].get("deletionTimestamp").is_some())
            .count();
        assert!(going <= 1, "one at a time");
        assert_eq!(names(&pods)[0], "db-0");
        if pods.len() == 1 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    stays_quiet(&cluster).await;
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_stateful_set_is_updated_from_the_end_down_to_its_partition() -> Result<()> {
    let (cluster, api, namespace) = virtual_cluster().await?;
    let all = format!("/apis/apps/v1/namespaces/{namespace}/statefulsets");
    api.create(&all, &stateful_set(3, "Parallel")).await?;
    let path = format!("{all}/db");
    let first = api
        .until(&path, |set| set["status"]["readyReplicas"] == 3)
        .await?;
    let change = json!({"spec": {"updateStrategy": {"rollingUpdate": {"partition": 1}}, "template": template("db", "b", &json!({}))}});
    api.patch(&path, &change).await?;
    let updated = |set: &Value| set["status"]["updatedReplicas"] == 2 && set["status"]["readyReplicas"] == 3;
    let set = api.until(&path, updated).await?;
    assert_eq!(
        set["status"]["currentRevision"],
        first["status"]["currentRevision"]
    );
    assert_ne!(set["status"]["updateRevision"], set["status"]["currentRevision"]);
    let images: Vec<Value> = pods(&api, &namespace)
        .await?
        .iter()
        .map(|pod| pod["spec"]["containers"][0]["image"].clone())
        .collect();
    assert_eq!(images, ["a", "b", "b"]);
    api.patch(
        &path,
        &json!({"spec": {"updateStrategy": {"rollingUpdate": {"partition": 0}}}}),
    )
    .await?;
    let done = |set: &Value| {
        set["status"]["currentRevision"] == set["status"]["updateRevision"]
            && set["status"]["readyReplicas"] == 3
    };
    api.until(&path, done).await?;
    stays_quiet(&cluster).await;
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_daemon_set_has_a_pod_on_every_node() -> Result<()> {
    let (cluster, api, namespace) = virtual_cluster().await?;
    let all = format!("/apis/apps/v1/namespaces/{namespace}/daemonsets");
    let set = json!({"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": "agent"},
        "spec": {"selector": {"matchLabels": {"app": "agent"}}, "template": template("agent", "a", &json!({}))}});
    api.create(&all, &set).await?;
    let path = format!("{all}/agent");
    api.until(&path, |set| {
        set["status"]["numberReady"] == 1 && set["status"]["desiredNumberScheduled"] == 1
    })
    .await?;
    let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "second"}});
    api.create("/api/v1/nodes", &node).await?;
    api.patch(
        "/api/v1/nodes/second/status",
        &json!({"status": {"conditions": [{"type": "Ready", "status": "True"}]}}),
    )
    .await?;
    api.until(&path, |set| set["status"]["numberAvailable"] == 2)
        .await?;
    let mut nodes: Vec<Value> = pods(&api, &namespace)
        .await?
        .iter()
        .map(|pod| pod["spec"]["nodeName"].clone())
        .collect();
    nodes.sort_by_key(Value::to_string);
    assert_eq!(nodes, ["cambium-node", "second"]);
    api.patch(
        &path,
        &json!({"spec": {"template": template("agent", "b", &json!({}))}}),
    )
    .await?;
    api.until(&path, |set| {
        set["status"]["updatedNumberScheduled"] == 2 && set["status"]["numberAvailable"] == 2
    })
    .await?;
    stays_quiet(&cluster).await;
    Ok(())
}

fn job(name: &str, spec: &Value, annotations: &Value) -> Value {
    let mut template = template(name, "a", annotations);
    template["spec"]["restartPolicy"] = json!("Never");
    let mut job = json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name}, "spec": spec});
    job["spec"]["template"] = template;
    job
}

#[tokio::test(start_paused = true)]
async fn a_job_completes() -> Result<()> {
    let (cluster, api, namespace) = virtual_cluster().await?;
    let all = format!("/apis/batch/v1/namespaces/{namespace}/jobs");
    api.create(
        &all,
        &job("sums", &json!({"completions": 4, "parallelism": 2}), &json!({})),
    )
    .await?;
    let path = format!("{all}/sums");
    let done = api
        .until(&path, |job| condition(job, "Complete")["status"] == "True")
        .await?;
    assert_eq!(done["status"]["succeeded"], 4);
    assert!(done["status"]["completionTime"].is_string());
    assert_eq!(condition(&done, "Complete")["reason"], "CompletionsReached");
    assert_eq!(pods(&api, &namespace).await?.len(), 4);
    stays_quiet(&cluster).await;
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_job_fails_beyond_its_limit() -> Result<()> {
    let (cluster, api, namespace) = virtual_cluster().await?;
    let all = format!("/apis/batch/v1/namespaces/{namespace}/jobs");
    let script = json!({"simulate.cambium.dev/exit-code": "7", "simulate.cambium.dev/run-for": "2s"});
    api.create(&all, &job("bad", &json!({"backoffLimit": 1}), &script))
        .await?;
    let failed = api
        .until(&format!("{all}/bad"), |job| {
            condition(job, "Failed")["status"] == "True"
        })
        .await?;
    assert_eq!(condition(&failed, "Failed")["reason"], "BackoffLimitExceeded");
    assert_eq!(failed["status"]["failed"], 2);
    let pods = pods(&api, &namespace).await?;
    assert_eq!(
        pods[0]["status"]["containerStatuses"][0]["state"]["terminated"]["exitCode"],
        7
    );
    stays_quiet(&cluster).await;
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn an_indexed_job_works_on_every_index_and_goes_after_its_time() -> Result<()> {
    let (_cluster, api, namespace) = virtual_cluster().await?;
    let all = format!("/apis/batch/v1/namespaces/{namespace}/jobs");
    let spec = json!({"completions": 3, "parallelism": 3, "completionMode": "Indexed", "ttlSecondsAfterFinished": 20});
    api.create(&all, &job("parts", &spec, &json!({}))).await?;
    let path = format!("{all}/parts");
    let done = api
        .until(&path, |job| condition(job, "Complete")["status"] == "True")
        .await?;
    assert_eq!(done["status"]["completedIndexes"], "0-2");
    api.until_gone(&path).await?;
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_cron_job_makes_jobs_on_time_and_forgets_old_ones() -> Result<()> {
    let (_cluster, api, namespace) = virtual_cluster().await?;
    let all = format!("/apis/batch/v1/namespaces/{namespace}/cronjobs");
    let mut template = template("tick", "a", &json!({}));
    template["spec"]["restartPolicy"] = json!("OnFailure");
    let cron = json!({"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "tick"},
        "spec": {"schedule": "* * * * *", "successfulJobsHistoryLimit": 2, "jobTemplate": {"spec": {"template": template}}}});
    api.create(&all, &cron).await?;
    tokio::time::sleep(Duration::from_secs(60 * 5 + 10)).await;
    let jobs = api.list(&all.replace("cronjobs", "jobs")).await?;
    assert_eq!(jobs.len(), 2, "{:?}", names(&jobs));
    assert!(
        jobs.iter()
            .all(|job| condition(job, "Complete")["status"] == "True")
    );
    let cron = api.read(&format!("{all}/tick")).await?;
    assert_eq!(cron["status"].get("active"), None);
    let last = cron["status"]["lastScheduleTime"].as_str().unwrap_or_default();
    assert!(last.ends_with(":00Z"), "{last}");
    api.patch(&format!("{all}/tick"), &json!({"spec": {"suspend": true}}))
        .await?;
    tokio::time::sleep(Duration::from_secs(300)).await;
    assert_eq!(
        api.read(&format!("{all}/tick")).await?["status"]["lastScheduleTime"],
        last
    );
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn jobs_that_sleep_are_kept_replaced_or_waited_for() -> Result<()> {
    let (_cluster, api, namespace) = virtual_cluster().await?;
    let all = format!("/apis/batch/v1/namespaces/{namespace}/cronjobs");
    for policy in ["Allow", "Forbid", "Replace"] {
        let mut template = template("nap", "a", &json!({}));
        template["spec"]["restartPolicy"] = json!("OnFailure");
        template["spec"]["containers"][0]["command"] = json!(["sleep", "600"]);
        let cron = json!({"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": policy.to_lowercase()},
            "spec": {"schedule": "* * * * *", "concurrencyPolicy": policy, "jobTemplate": {"spec": {"template": template}}}});
        api.create(&all, &cron).await?;
    }
    tokio::time::sleep(Duration::from_secs(60 * 4 + 30)).await;
    let jobs = api.list(&all.replace("cronjobs", "jobs")).await?;
    let of = |policy: &str| -> Vec<&str> {
        let jobs = names(&jobs).into_iter();
        jobs.filter(|name| name.starts_with(policy)).collect()
    };
    let (allowed, first, latest) = (of("allow"), of("forbid"), of("replace"));
    assert!(allowed.len() >= 4, "{allowed:?}");
    assert_eq!((first.len(), latest.len()), (1, 1), "{first:?} {latest:?}");
    let minute = |name: &str| name.rsplit('-').next().map(str::to_owned);
    assert_eq!(minute(first[0]), minute(allowed[0]), "the first is waited for");
    assert_eq!(
        minute(latest[0]),
        minute(allowed[allowed.len() - 1]),
        "the latest has replaced the others"
    );
    assert!(jobs.iter().all(|job| job["status"]["active"] == 1));
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_service_knows_where_its_ready_pods_are() -> Result<()> {
    let (cluster, api, namespace) = virtual_cluster().await?;
    let core = format!("/api/v1/namespaces/{namespace}");
    let service = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"},
        "spec": {"selector": {"app": "web"}, "ports": [{"name": "http", "port": 80, "targetPort": 8080, "protocol": "TCP"}]}});
    api.create(&format!("{core}/services"), &service).await?;
    let deployment = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"},
        "spec": {"replicas": 2, "selector": {"matchLabels": {"app": "web"}}, "template": template("web", "a", &json!({}))}});
    let deployments = format!("/apis/apps/v1/namespaces/{namespace}/deployments");
    api.create(&deployments, &deployment).await?;
    let ready = |endpoints: &Value| {
        endpoints["subsets"][0]["addresses"]
            .as_array()
            .is_some_and(|list| list.len() == 2)
    };
    let endpoints = api.until(&format!("{core}/endpoints/web"), ready).await?;
    assert_eq!(
        endpoints["subsets"][0]["ports"],
        json!([{"name": "http", "port": 8080, "protocol": "TCP"}])
    );
    let slices = api
        .list(&format!(
            "/apis/discovery.k8s.io/v1/namespaces/{namespace}/endpointslices"
        ))
        .await?;
    assert_eq!(slices.len(), 1);
    assert_eq!(
        slices[0]["metadata"]["labels"]["kubernetes.io/service-name"],
        "web"
    );
    assert!(
        slices[0]["endpoints"]
            .as_array()
            .is_some_and(|list| list.iter().all(|one| one["conditions"]["ready"] == true))
    );
    stays_quiet(&cluster).await;
    api.patch(
        &format!("{deployments}/web/scale"),
        &json!({"spec": {"replicas": 0}}),
    )
    .await?;
    api.until(&format!("{core}/endpoints/web"), |endpoints| {
        endpoints["subsets"].as_array().is_none_or(Vec::is_empty)
    })
    .await?;
    api.delete(&format!("{core}/services/web"), "Background").await?;
    api.until_gone(&format!("{core}/endpoints/web")).await
}

#[tokio::test(start_paused = true)]
async fn a_namespace_with_workloads_goes_too() -> Result<()> {
    let (_cluster, api, namespace) = virtual_cluster().await?;
    let path = format!("/api/v1/namespaces/{namespace}");
    let deployment = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"},
        "spec": {"replicas": 2, "selector": {"matchLabels": {"app": "web"}}, "template": template("web", "a", &json!({}))}});
    api.create(
        &format!("/apis/apps/v1/namespaces/{namespace}/deployments"),
        &deployment,
    )
    .await?;
    api.until(
        &format!("/apis/apps/v1/namespaces/{namespace}/deployments/web"),
        |web| web["status"]["readyReplicas"] == 2,
    )
    .await?;
    api.delete(&path, "Background").await?;
    api.until_gone(&path).await
}

#[tokio::test(start_paused = true)]
async fn the_simulator_can_be_left_out() -> Result<()> {
    use cambium_apiserver::{ApiServer, Controllers};
    let controllers = Controllers {
        workloads: None,
        ..Controllers::all()
    };
    let cluster =
        cambium_testing::TestCluster::embedded(ApiServer::builder().controllers(controllers)).await?;
    let api = Json(cluster.client());
    let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}});
    api.create("/api/v1/namespaces/default/pods", &pod).await?;
    tokio::time::sleep(Duration::from_secs(60)).await;
    let pod = api.read("/api/v1/namespaces/default/pods/p").await?;
    assert_eq!(pod["spec"].get("nodeName"), None);
    assert!(api.list("/api/v1/nodes").await?.is_empty());
    Ok(())
}
