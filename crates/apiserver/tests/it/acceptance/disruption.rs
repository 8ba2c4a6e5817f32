//! PodDisruptionBudgets: their status follows the pods, and evictions respect them.

use anyhow::Result;
use cambium_testing::{Answer, Backend, Raw, TestCluster, eventually};
use serde_json::{Value, json};

struct Place {
    raw: Raw,
    namespace: String,
    cluster: TestCluster,
}

impl Place {
    async fn of(test: &str) -> Result<Self> {
        let cluster = TestCluster::start().await?;
        Ok(Self {
            raw: cluster.raw(),
            namespace: cluster.namespace(test).await?,
            cluster,
        })
    }

    fn pods(&self) -> String {
        format!("/api/v1/namespaces/{}/pods", self.namespace)
    }

    fn budget(&self) -> String {
        format!(
            "/apis/policy/v1/namespaces/{}/poddisruptionbudgets/b",
            self.namespace
        )
    }

    /// A running, ready pod. Without nodes, the test writes its status.
    async fn pod(&self, name: &str) -> Result<()> {
        let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": {"app": "web"}},
            "spec": {"containers": [{"name": "c", "image": "i"}], "terminationGracePeriodSeconds": 0}});
        let made = self.raw.post(&self.pods(), &pod).await?;
        assert_eq!(made.code, 201, "{made:?}");
        let path = format!("{}/{name}", self.pods());
        if self.cluster.backend() == Backend::Kubernetes {
            let status =
                json!({"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}});
            let told = self
                .raw
                .patch("application/merge-patch+json", &format!("{path}/status"), &status)
                .await?;
            assert_eq!(told.code, 200, "{told:?}");
        }
        eventually("the pod is ready", || async {
            let pod = self.raw.get(&path).await?.body;
            let conditions = pod["status"]["conditions"]
                .as_array()
                .cloned()
                .unwrap_or_default();
            Ok(pod["status"]["phase"] == "Running"
                && conditions
                    .iter()
                    .any(|one| one["type"] == "Ready" && one["status"] == "True"))
        })
        .await
    }

    async fn make_budget(&self, spec: Value) -> Result<()> {
        let mut budget = json!({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "b"}, "spec": spec});
        budget["spec"]["selector"] = json!({"matchLabels": {"app": "web"}});
        let made = self
            .raw
            .post(self.budget().trim_end_matches("/b"), &budget)
            .await?;
        assert_eq!(made.code, 201, "{made:?}");
        Ok(())
    }

    async fn until(&self, expected: [i64; 4]) -> Result<Value> {
        eventually(&format!("the budget says {expected:?}"), || async {
            let budget = self.raw.get(&self.budget()).await?.body;
            let numbers = [
                "expectedPods",
                "currentHealthy",
                "desiredHealthy",
                "disruptionsAllowed",
            ]
            .map(|field| budget["status"][field].as_i64().unwrap_or(-1));
            Ok(numbers == expected
                && budget["status"]["observedGeneration"] == budget["metadata"]["generation"])
        })
        .await?;
        Ok(self.raw.get(&self.budget()).await?.body["status"].clone())
    }

    async fn evict(&self, name: &str, query: &str) -> Result<Answer> {
        let eviction = json!({"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name, "namespace": self.namespace}});
        self.raw
            .post(&format!("{}/{name}/eviction{query}", self.pods()), &eviction)
            .await
    }
}

#[tokio::test]
async fn a_budget_counts_its_pods() -> Result<()> {
    let place = Place::of("budget").await?;
    place.make_budget(json!({"minAvailable": 1})).await?;
    let status = place.until([0, 0, 1, 0]).await?;
    let condition = &status["conditions"][0];
    assert_eq!(
        (&condition["type"], &condition["status"], &condition["reason"]),
        (
            &json!("DisruptionAllowed"),
            &json!("False"),
            &json!("InsufficientPods")
        )
    );
    place.pod("a").await?;
    place.pod("b").await?;
    let status = place.until([2, 2, 1, 1]).await?;
    assert_eq!(status["conditions"][0]["reason"], "SufficientPods");
    let deleted = place
        .raw
        .delete(&format!("{}/a", place.pods()), &json!({"gracePeriodSeconds": 0}))
        .await?;
    assert_eq!(deleted.code, 200);
    place.until([1, 1, 1, 0]).await?;
    Ok(())
}

#[tokio::test]
async fn an_eviction_keeps_to_the_budget() -> Result<()> {
    let place = Place::of("evict").await?;
    place.make_budget(json!({"minAvailable": 2})).await?;
    for name in ["a", "b", "c"] {
        place.pod(name).await?;
    }
    place.until([3, 3, 2, 1]).await?;
    let tried = place.evict("a", "?dryRun=All").await?;
    assert_eq!(tried.code, 201, "{tried:?}");
    let done = place.evict("a", "").await?;
    assert_eq!(
        (done.code, &done.body["status"]),
        (201, &json!("Success")),
        "{done:?}"
    );
    place.until([2, 2, 2, 0]).await?;
    let refused = place.evict("b", "").await?;
    assert_eq!((refused.code, refused.reason()), (429, "TooManyRequests"));
    assert_eq!(
        refused.message(),
        "Cannot evict pod as it would violate the pod's disruption budget."
    );
    assert_eq!(
        refused.body["details"],
        json!({"causes": [{"reason": "DisruptionBudget", "message": "The disruption budget b needs 2 healthy pods and has 2 currently"}]})
    );
    let gone = place.raw.get(&format!("{}/a", place.pods())).await?;
    assert_eq!(gone.code, 404, "{gone:?}");
    Ok(())
}

#[tokio::test]
async fn an_eviction_without_a_budget_is_a_deletion() -> Result<()> {
    let place = Place::of("evict-free").await?;
    place.pod("a").await?;
    let another = json!({"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "a"},
        "deleteOptions": {"preconditions": {"uid": "somebody-else"}}});
    let refused = place
        .raw
        .post(&format!("{}/a/eviction", place.pods()), &another)
        .await?;
    assert_eq!((refused.code, refused.reason()), (409, "Conflict"));
    assert_eq!(place.evict("a", "").await?.code, 201);
    eventually("the pod is gone", || async {
        Ok(place.raw.get(&format!("{}/a", place.pods())).await?.code == 404)
    })
    .await?;
    let missing = place.evict("a", "").await?;
    assert_eq!((missing.code, missing.reason()), (404, "NotFound"));
    let other = json!({"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "x"}});
    let refused = place
        .raw
        .post(&format!("{}/a/eviction", place.pods()), &other)
        .await?;
    assert_eq!(
        (refused.code, refused.message()),
        (400, "name in URL does not match name in Eviction object")
    );
    Ok(())
}

#[tokio::test]
async fn two_budgets_for_one_pod_are_too_many() -> Result<()> {
    let place = Place::of("evict-two").await?;
    place.pod("a").await?;
    place.make_budget(json!({"minAvailable": 0})).await?;
    let mut second = place.raw.get(&place.budget()).await?.body;
    second["metadata"] = json!({"name": "c"});
    let made = place
        .raw
        .post(place.budget().trim_end_matches("/b"), &second)
        .await?;
    assert_eq!(made.code, 201, "{made:?}");
    let refused = place.evict("a", "").await?;
    assert_eq!(
        (refused.code, refused.message()),
        (
            500,
            "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."
        )
    );
    Ok(())
}
