//! Pods and Jobs: subresources and validation.

use anyhow::Result;
use cambium_testing::{Raw, TestCluster, eventually_some};
use serde_json::{Value, json};

struct Place {
    raw: Raw,
    namespace: String,
    _cluster: TestCluster,
}

async fn place(test: &str) -> Result<Place> {
    let cluster = TestCluster::start().await?;
    Ok(Place {
        namespace: cluster.namespace(test).await?,
        raw: cluster.raw(),
        _cluster: cluster,
    })
}

impl Place {
    fn pods(&self) -> String {
        format!("/api/v1/namespaces/{}/pods", self.namespace)
    }

    /// Creates a pod that no scheduler touches, once the namespace has its ServiceAccount.
    async fn pod(&self, name: &str) -> Result<Value> {
        let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name},
            "spec": {"schedulerName": "nobody", "containers": [{"name": "c", "image": "i"}]}});
        let path = self.pods();
        eventually_some("the pod is made", || async {
            let made = self.raw.post(&path, &pod).await?;
            Ok((made.code == 201).then_some(made.body))
        })
        .await
    }
}

#[tokio::test]
async fn a_pod_is_bound_once() -> Result<()> {
    let place = &place("bound").await?;
    let made = place.pod("p").await?;
    let tolerated = |mark: &str| json!({"key": format!("node.kubernetes.io/{mark}"), "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300});
    assert_eq!(
        made["spec"]["tolerations"],
        json!([tolerated("not-ready"), tolerated("unreachable")])
    );

    let path = format!("{}/p/binding", place.pods());
    let bind = |node: &str| json!({"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "p"}, "target": {"kind": "Node", "name": node}});
    let nowhere = place.raw.post(&path, &bind("")).await?;
    assert_eq!(
        (nowhere.code, nowhere.message()),
        (500, "target.name: Required value")
    );
    // Its scheduler is somebody else.
    let unbound = place.raw.get(&format!("{}/p", place.pods())).await?;
    assert_eq!(unbound.body["spec"].get("nodeName"), None);
    assert_eq!(place.raw.post(&path, &bind("there")).await?.code, 201);
    for node in ["there", "elsewhere"] {
        let refused = place.raw.post(&path, &bind(node)).await?;
        assert_eq!((refused.code, refused.reason()), (409, "Conflict"), "{refused:?}");
        assert_eq!(
            refused.message(),
            "Operation cannot be fulfilled on pods/binding \"p\": pod p is already assigned to node \"there\""
        );
    }
    Ok(())
}

#[tokio::test]
async fn what_is_not_there_has_no_logs() -> Result<()> {
    let place = &place("logs").await?;
    for what in [
        "log",
        "exec?command=a&stdout=true",
        "attach?stdout=true",
        "portforward",
        "proxy",
    ] {
        let missing = place.raw.get(&format!("{}/none/{what}", place.pods())).await?;
        assert_eq!((missing.code, missing.reason()), (404, "NotFound"), "{what}");
        assert_eq!(missing.message(), "pods \"none\" not found");
    }
    Ok(())
}

#[tokio::test]
async fn a_job_that_rests_may_still_be_placed() -> Result<()> {
    let place = &place("rests").await?;
    let jobs = format!("/apis/batch/v1/namespaces/{}/jobs", place.namespace);
    let job = json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j"}, "spec": {
        "suspend": true, "template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}}});
    let made = place.raw.post(&jobs, &job).await?;
    assert_eq!(made.code, 201, "{made:?}");
    let path = format!("{jobs}/j");
    let node = json!({"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution":
        {"nodeSelectorTerms": [{"matchExpressions": [{"key": "a", "operator": "Exists"}]}]}}});
    let pods = json!({"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution":
        [{"topologyKey": "a", "labelSelector": {}}]}});
    let (free, fixed) = (200, 422);
    for (code, spec) in [
        (fixed, json!({"containers": [{"name": "c", "image": "z"}]})),
        (
            free,
            json!({"containers": [{"name": "c", "resources": {"requests": {"cpu": "1"}}}]}),
        ),
        (free, json!({"nodeSelector": {"a": "b"}})),
        (free, json!({"tolerations": [{"key": "a", "operator": "Exists"}]})),
        (free, json!({"affinity": node})),
        (fixed, json!({"affinity": pods})),
        (free, json!({"affinity": null})),
        (free, json!({"schedulingGates": [{"name": "a.b/c"}]})),
        (fixed, json!({"activeDeadlineSeconds": 5})),
        (fixed, json!({"serviceAccountName": "q"})),
        (fixed, json!({"initContainers": [{"name": "q", "image": "z"}]})),
    ] {
        let change = json!({"spec": {"template": {"spec": spec}}});
        let answer = place.raw.patch("strategic", &path, &change).await?;
        assert_eq!(answer.code, code, "{change} {answer:?}");
        if code == fixed {
            assert_eq!(answer.body["details"]["causes"][0]["field"], "spec.template.spec");
            assert!(answer.message().ends_with(": field is immutable"), "{change}");
        }
    }
    for (code, labels) in [(free, json!({"x": "y"})), (fixed, json!({"job-name": "other"}))] {
        let change = json!({"spec": {"template": {"metadata": {"labels": labels}}}});
        let answer = place.raw.patch("strategic", &path, &change).await?;
        assert_eq!(answer.code, code, "{change} {answer:?}");
    }
    let started = json!({"spec": {"suspend": false}});
    assert_eq!(place.raw.patch("merge", &path, &started).await?.code, 200);
    let change = json!({"spec": {"template": {"spec": {"nodeSelector": {"a": "c"}}}}});
    let late = place.raw.patch("merge", &path, &change).await?;
    assert_eq!(late.code, 422, "{late:?}");
    assert_eq!(late.body["details"]["causes"][0]["field"], "spec.template");
    Ok(())
}

#[tokio::test]
async fn a_deployment_counts_its_annotations() -> Result<()> {
    let place = &place("counts").await?;
    let path = format!("/apis/apps/v1/namespaces/{}/deployments", place.namespace);
    let pod =
        json!({"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}});
    let deployment = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"},
        "spec": {"replicas": 0, "selector": {"matchLabels": {"a": "b"}}, "template": pod}});
    assert_eq!(place.raw.post(&path, &deployment).await?.code, 201);
    for (what, change, generation) in [
        ("d", json!({"annotations": {"k": "v"}}), 2),
        ("d", json!({"labels": {"k": "v"}}), 2),
        ("d/status", json!({"annotations": {"k": "w"}}), 2),
    ] {
        let change = json!({"metadata": change});
        let answer = place
            .raw
            .patch("merge", &format!("{path}/{what}"), &change)
            .await?;
        assert_eq!(
            answer.body["metadata"]["generation"], generation,
            "{change} {answer:?}"
        );
    }
    Ok(())
}
