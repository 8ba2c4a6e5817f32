//! Built-in admission plugins: LimitRanger, Priority, DefaultStorageClass, DefaultTolerationSeconds.

use anyhow::Result;
use cambium_testing::{Answer, Raw, TestCluster, eventually};
use serde_json::{Value, json};

const PRIORITIES: &str = "/apis/scheduling.k8s.io/v1/priorityclasses";

struct Place {
    raw: Raw,
    path: String,
    cluster: TestCluster,
}

impl Place {
    async fn of(test: &str) -> Result<Self> {
        let cluster = TestCluster::start().await?;
        let namespace = cluster.namespace(test).await?;
        Ok(Self {
            raw: cluster.raw(),
            path: format!("/api/v1/namespaces/{namespace}"),
            cluster,
        })
    }

    async fn range(&self, name: &str, limits: Value) -> Result<()> {
        let range = json!({"apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": name}, "spec": {"limits": limits}});
        let made = self
            .raw
            .post(&format!("{}/limitranges", self.path), &range)
            .await?;
        assert_eq!(made.code, 201, "{made:?}");
        Ok(())
    }

    /// Creates a pod that is not to be scheduled.
    async fn pod(&self, name: &str, spec: Value) -> Result<Answer> {
        let mut pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name},
            "spec": {"containers": [{"name": "c", "image": "i"}]}});
        for (field, value) in spec.as_object().into_iter().flatten() {
            pod["spec"][field] = value.clone();
        }
        self.raw.post(&format!("{}/pods", self.path), &pod).await
    }

    async fn claim(&self, name: &str, size: &str) -> Result<Answer> {
        let claim = json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name},
            "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": size}}}});
        self.raw
            .post(&format!("{}/persistentvolumeclaims", self.path), &claim)
            .await
    }
}

fn container(resources: Value) -> Value {
    json!({"containers": [{"name": "c", "image": "i", "resources": resources}]})
}

#[tokio::test]
async fn containers_get_what_they_do_not_ask_for() -> Result<()> {
    let place = Place::of("limits-default").await?;
    let limits = json!([{"type": "Container", "default": {"cpu": "500m", "memory": "500Mi"},
        "defaultRequest": {"cpu": "100m"}, "min": {"cpu": "50m"}, "max": {"cpu": "1"}}]);
    place.range("l", limits).await?;
    let pod = place.pod("a", json!({})).await?;
    assert_eq!(pod.code, 201, "{pod:?}");
    assert_eq!(
        pod.body["spec"]["containers"][0]["resources"],
        json!({"limits": {"cpu": "500m", "memory": "500Mi"}, "requests": {"cpu": "100m", "memory": "500Mi"}})
    );
    assert_eq!(
        pod.body["metadata"]["annotations"]["kubernetes.io/limit-ranger"],
        "LimitRanger plugin set: cpu, memory request for container c; cpu, memory limit for container c"
    );
    assert_eq!(pod.body["status"]["qosClass"], "Burstable");
    let half = place
        .pod("b", container(json!({"requests": {"cpu": "200m"}})))
        .await?;
    assert_eq!(
        half.body["spec"]["containers"][0]["resources"]["requests"]["cpu"],
        "200m"
    );
    Ok(())
}

#[tokio::test]
async fn what_is_beyond_a_range_is_refused() -> Result<()> {
    let place = Place::of("limits-bounds").await?;
    let limits = json!([
        {"type": "Container", "min": {"cpu": "100m"}, "max": {"cpu": "1"}},
        {"type": "Pod", "max": {"cpu": "1500m"}},
    ]);
    place.range("l", limits).await?;
    let refused = place
        .pod(
            "small",
            container(json!({"requests": {"cpu": "10m"}, "limits": {"cpu": "20m"}})),
        )
        .await?;
    assert_eq!((refused.code, refused.reason()), (403, "Forbidden"));
    assert_eq!(
        refused.message(),
        "pods \"small\" is forbidden: minimum cpu usage per Container is 100m, but request is 10m"
    );
    let refused = place
        .pod("large", container(json!({"limits": {"cpu": "2"}})))
        .await?;
    assert_eq!(
        refused.message(),
        "pods \"large\" is forbidden: [maximum cpu usage per Container is 1, but limit is 2, maximum cpu usage per Pod is 1500m, but limit is 2]"
    );
    let two = json!({"containers": [
        {"name": "a", "image": "i", "resources": {"limits": {"cpu": "800m"}}},
        {"name": "b", "image": "i", "resources": {"limits": {"cpu": "800m"}}}]});
    let refused = place.pod("both", two).await?;
    assert_eq!(
        refused.message(),
        "pods \"both\" is forbidden: maximum cpu usage per Pod is 1500m, but limit is 1600m"
    );
    Ok(())
}

#[tokio::test]
async fn a_resize_keeps_to_ranges_and_quotas() -> Result<()> {
    let place = Place::of("limits-resize").await?;
    place
        .range("l", json!([{"type": "Container", "max": {"cpu": "2"}}]))
        .await?;
    let quota = json!({"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q"}, "spec": {"hard": {"limits.cpu": "1500m"}}});
    let quotas = format!("{}/resourcequotas", place.path);
    assert_eq!(place.raw.post(&quotas, &quota).await?.code, 201);
    eventually("the quota is in force", || async {
        let quota = place.raw.get(&format!("{quotas}/q")).await?.body;
        Ok(quota["status"]["used"]["limits.cpu"] == "0")
    })
    .await?;
    let ask = |cpu: &str| json!({"requests": {"cpu": "100m"}, "limits": {"cpu": cpu}});
    assert_eq!(place.pod("a", container(ask("1"))).await?.code, 201);
    let resize = |cpu: &'static str| {
        let (raw, path) = (place.raw.clone(), format!("{}/pods/a/resize", place.path));
        let patch = json!({"spec": {"containers": [{"name": "c", "resources": ask(cpu)}]}});
        async move {
            raw.patch("application/strategic-merge-patch+json", &path, &patch)
                .await
        }
    };
    let refused = resize("3").await?;
    assert_eq!(
        refused.message(),
        "pods \"a\" is forbidden: maximum cpu usage per Container is 2, but limit is 3"
    );
    let refused = resize("2").await?;
    assert_eq!(
        refused.message(),
        "pods \"a\" is forbidden: exceeded quota: q, requested: limits.cpu=1, used: limits.cpu=1, limited: limits.cpu=1500m"
    );
    let done = resize("1200m").await?;
    assert_eq!(done.code, 200, "{done:?}");
    eventually("the resize is counted", || async {
        let quota = place.raw.get(&format!("{quotas}/q")).await?.body;
        Ok(quota["status"]["used"]["limits.cpu"] == "1200m")
    })
    .await
}

#[tokio::test]
async fn limits_stay_near_to_requests() -> Result<()> {
    let place = Place::of("limits-ratio").await?;
    place
        .range(
            "l",
            json!([{"type": "Container", "maxLimitRequestRatio": {"cpu": "3"}}]),
        )
        .await?;
    let ask = |limit: &str| container(json!({"requests": {"cpu": "300m"}, "limits": {"cpu": limit}}));
    assert_eq!(place.pod("near", ask("900m")).await?.code, 201);
    let refused = place.pod("far", ask("1")).await?;
    assert_eq!(
        refused.message(),
        "pods \"far\" is forbidden: cpu max limit to request ratio per Container is 3, but provided ratio is 3.333333"
    );
    Ok(())
}

#[tokio::test]
async fn claims_have_a_least_and_a_most() -> Result<()> {
    let place = Place::of("limits-claims").await?;
    let limits =
        json!([{"type": "PersistentVolumeClaim", "min": {"storage": "1Gi"}, "max": {"storage": "2Gi"}}]);
    place.range("l", limits).await?;
    assert_eq!(place.claim("fits", "2Gi").await?.code, 201);
    let refused = place.claim("small", "100Mi").await?;
    assert_eq!(
        refused.message(),
        "persistentvolumeclaims \"small\" is forbidden: minimum storage usage per PersistentVolumeClaim is 1Gi, but request is 100Mi"
    );
    let refused = place.claim("large", "3Gi").await?;
    assert_eq!(
        refused.message(),
        "persistentvolumeclaims \"large\" is forbidden: maximum storage usage per PersistentVolumeClaim is 2Gi, but request is 3Gi"
    );
    Ok(())
}

#[tokio::test]
async fn a_pod_has_the_priority_of_its_class() -> Result<()> {
    let place = Place::of("priority").await?;
    let plain = place.pod("plain", json!({})).await?.body;
    assert_eq!(
        (&plain["spec"]["priority"], &plain["spec"]["preemptionPolicy"]),
        (&json!(0), &json!("PreemptLowerPriority"))
    );
    let name = place.cluster.unique("high");
    let class = json!({"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass",
        "metadata": {"name": name}, "value": 70, "preemptionPolicy": "Never"});
    assert_eq!(place.raw.post(PRIORITIES, &class).await?.code, 201);
    let wanted = json!({"priorityClassName": name});
    // Kubernetes learns of a class by a watch.
    eventually("the class is known", || async {
        Ok(place.pod("probe", wanted.clone()).await?.code == 201)
    })
    .await?;
    let pod = place.pod("important", wanted).await?.body;
    assert_eq!(
        (&pod["spec"]["priority"], &pod["spec"]["preemptionPolicy"]),
        (&json!(70), &json!("Never"))
    );
    let refused = place
        .pod("bold", json!({"priorityClassName": name, "priority": 71}))
        .await?;
    assert_eq!(
        refused.message(),
        "pods \"bold\" is forbidden: the integer value of priority (71) must not be provided in pod spec; priority admission controller computed 70 from the given PriorityClass name"
    );
    let refused = place.pod("lost", json!({"priorityClassName": "nowhere"})).await?;
    assert_eq!(
        refused.message(),
        "pods \"lost\" is forbidden: no PriorityClass with name nowhere was found"
    );
    let deleted = place
        .raw
        .delete(&format!("{PRIORITIES}/{name}"), &json!({}))
        .await?;
    assert_eq!(deleted.code, 200);
    Ok(())
}

#[tokio::test]
async fn the_system_has_its_classes() -> Result<()> {
    let place = Place::of("priority-system").await?;
    for (name, value) in [
        ("system-node-critical", 2_000_001_000_i64),
        ("system-cluster-critical", 2_000_000_000),
    ] {
        // Kubernetes makes them a moment after it has begun to listen.
        eventually("the system's classes are there", || async {
            let class = place.raw.get(&format!("{PRIORITIES}/{name}")).await?;
            Ok(class.code == 200 && class.body["value"] == value)
        })
        .await?;
    }
    eventually("a pod can be vital", || async {
        let wanted = json!({"priorityClassName": "system-cluster-critical"});
        let pod = place.pod("vital", wanted).await?;
        Ok(pod.body["spec"]["priority"] == 2_000_000_000_i64)
    })
    .await?;
    let own = json!({"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "system-mine"}, "value": 1});
    let refused = place.raw.post(PRIORITIES, &own).await?;
    assert_eq!(
        refused.message(),
        "PriorityClass.scheduling.k8s.io \"system-mine\" is invalid: metadata.name: Forbidden: priority class names with 'system-' prefix are reserved for system use only. error: system-mine is not a known system priority class"
    );
    Ok(())
}

#[tokio::test]
async fn a_claim_gets_the_default_class() -> Result<()> {
    let place = Place::of("storage-default").await?;
    let before = place.claim("before", "1Gi").await?.body;
    assert_eq!(before["spec"].get("storageClassName"), None);
    let name = place.cluster.unique("standard");
    let class = json!({"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "provisioner": "example.com/none",
        "metadata": {"name": name, "annotations": {"storageclass.kubernetes.io/is-default-class": "true"}}});
    let classes = "/apis/storage.k8s.io/v1/storageclasses";
    assert_eq!(place.raw.post(classes, &class).await?.code, 201);
    eventually("a claim gets it", || async {
        let number = place.cluster.unique("after");
        let claim = place.claim(&number, "1Gi").await?.body;
        Ok(claim["spec"]["storageClassName"] == json!(name))
    })
    .await?;
    let deleted = place.raw.delete(&format!("{classes}/{name}"), &json!({})).await?;
    assert_eq!(deleted.code, 200);
    Ok(())
}

#[tokio::test]
async fn a_claim_gets_a_volume_that_is_there() -> Result<()> {
    let place = Place::of("volumes").await?;
    let class = place.cluster.unique("by-hand");
    let volume = |name: &str, size: &str| {
        json!({"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name},
            "spec": {"capacity": {"storage": size}, "accessModes": ["ReadWriteOnce"], "storageClassName": class,
                "persistentVolumeReclaimPolicy": "Retain", "hostPath": {"path": "/nowhere"}}})
    };
    let (small, large) = (place.cluster.unique("small"), place.cluster.unique("large"));
    for (name, size) in [(&small, "1Gi"), (&large, "5Gi")] {
        let made = place
            .raw
            .post("/api/v1/persistentvolumes", &volume(name, size))
            .await?;
        assert_eq!(made.code, 201, "{made:?}");
    }
    let claim = json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "c"},
        "spec": {"accessModes": ["ReadWriteOnce"], "storageClassName": class, "resources": {"requests": {"storage": "2Gi"}}}});
    let claims = format!("{}/persistentvolumeclaims", place.path);
    assert_eq!(place.raw.post(&claims, &claim).await?.code, 201);
    let phase = |path: String| {
        let raw = place.raw.clone();
        async move { Ok::<_, anyhow::Error>(raw.get(&path).await?.body["status"]["phase"].clone()) }
    };
    eventually("the claim is bound", || async {
        Ok(phase(format!("{claims}/c")).await? == "Bound")
    })
    .await?;
    let bound = place.raw.get(&format!("{claims}/c")).await?.body;
    assert_eq!(bound["spec"]["volumeName"], json!(large));
    assert_eq!(bound["status"]["capacity"], json!({"storage": "5Gi"}));
    assert_eq!(
        bound["metadata"]["annotations"],
        json!({"pv.kubernetes.io/bind-completed": "yes", "pv.kubernetes.io/bound-by-controller": "yes"})
    );
    let taken = format!("/api/v1/persistentvolumes/{large}");
    assert_eq!(phase(taken.clone()).await?, "Bound");
    assert_eq!(
        phase(format!("/api/v1/persistentvolumes/{small}")).await?,
        "Available"
    );
    let deleted = place.raw.delete(&format!("{claims}/c"), &json!({})).await?;
    assert_eq!(deleted.code, 200);
    eventually("the volume is released", || async {
        Ok(phase(taken.clone()).await? == "Released")
    })
    .await?;
    for name in [small, large] {
        let path = format!("/api/v1/persistentvolumes/{name}");
        assert_eq!(place.raw.delete(&path, &json!({})).await?.code, 200);
    }
    Ok(())
}
