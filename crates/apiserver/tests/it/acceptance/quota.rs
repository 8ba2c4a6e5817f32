//! ResourceQuotas: `status.used` is updated promptly, and writes that exceed a quota are denied.

use anyhow::Result;
use cambium_testing::{Answer, Raw, TestCluster, eventually, eventually_some};
use serde_json::{Value, json};

struct Place {
    raw: Raw,
    path: String,
    _cluster: TestCluster,
}

impl Place {
    async fn of(test: &str) -> Result<Self> {
        let cluster = TestCluster::start().await?;
        let namespace = cluster.namespace(test).await?;
        Ok(Self {
            raw: cluster.raw(),
            path: format!("/api/v1/namespaces/{namespace}"),
            _cluster: cluster,
        })
    }

    /// Creates a quota and waits until it is enforced: Kubernetes reads quotas from an informer cache. A quota without scopes
    /// also forbids ConfigMaps, so that a denied ConfigMap shows that the quota is in the cache.
    async fn quota(&self, name: &str, mut spec: Value, used: Value) -> Result<()> {
        let scoped = spec.get("scopes").or(spec.get("scopeSelector")).is_some();
        if !scoped {
            spec["hard"]["configmaps"] = json!("0");
        }
        let quota =
            json!({"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": name}, "spec": spec});
        let made = self
            .raw
            .post(&format!("{}/resourcequotas", self.path), &quota)
            .await?;
        assert_eq!(made.code, 201, "{made:?}");
        self.until_used(name, used).await?;
        if scoped {
            return Ok(());
        }
        let probe = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "probe"}});
        let path = format!("{}/configmaps?dryRun=All", self.path);
        eventually(&format!("{name} is in force"), || async {
            Ok(self.raw.post(&path, &probe).await?.code == 403)
        })
        .await
    }

    async fn until_used(&self, name: &str, used: Value) -> Result<()> {
        let path = format!("{}/resourcequotas/{name}", self.path);
        eventually(&format!("{name} has used {used}"), || async {
            let quota = self.raw.get(&path).await?.body;
            let is_all = used.as_object().into_iter().flatten().all(|(name, amount)| {
                quota["status"]["used"].get(name) == Some(amount)
                    && quota["status"]["hard"].get(name) == quota["spec"]["hard"].get(name)
            });
            Ok(is_all)
        })
        .await
    }

    async fn secret(&self, name: &str, query: &str) -> Result<Answer> {
        let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}});
        self.raw
            .post(&format!("{}/secrets{query}", self.path), &secret)
            .await
    }

    async fn pod(&self, name: &str, change: impl Fn(&mut Value)) -> Result<Answer> {
        self.pod_with("", name, change).await
    }

    async fn pod_with(&self, query: &str, name: &str, change: impl Fn(&mut Value)) -> Result<Answer> {
        let mut pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name},
            "spec": {"containers": [{"name": "c", "image": "i"}], "terminationGracePeriodSeconds": 0}});
        change(&mut pod["spec"]);
        self.raw.post(&format!("{}/pods{query}", self.path), &pod).await
    }

    async fn delete(&self, what: &str) -> Result<()> {
        let options = json!({"gracePeriodSeconds": 0});
        let deleted = self
            .raw
            .delete(&format!("{}/{what}", self.path), &options)
            .await?;
        assert_eq!(deleted.code, 200, "{deleted:?}");
        Ok(())
    }
}

#[tokio::test]
async fn the_last_place_is_taken_and_given_back() -> Result<()> {
    let place = Place::of("quota").await?;
    let hard = json!({"secrets": "1", "count/secrets": "5"});
    place
        .quota("q", json!({"hard": hard}), json!({"secrets": "0"}))
        .await?;
    assert_eq!(place.secret("a", "").await?.code, 201);
    let refused = place.secret("b", "").await?;
    assert_eq!((refused.code, refused.reason()), (403, "Forbidden"));
    assert_eq!(
        refused.message(),
        "secrets \"b\" is forbidden: exceeded quota: q, requested: secrets=1, used: secrets=1, limited: secrets=1"
    );
    assert_eq!(refused.body["details"], json!({"name": "b", "kind": "secrets"}));
    place
        .until_used("q", json!({"secrets": "1", "count/secrets": "1"}))
        .await?;
    place.delete("secrets/a").await?;
    place
        .until_used("q", json!({"secrets": "0", "count/secrets": "0"}))
        .await?;
    // A server that asks a copy of the quotas may see the old status for a moment.
    eventually("the place is free", || async {
        Ok(place.secret("b", "").await?.code == 201)
    })
    .await
}

/// The response codes of concurrent writers.
async fn at_once(place: &Place, writers: usize) -> Result<Vec<u16>> {
    let mut tasks = tokio::task::JoinSet::new();
    for number in 0..writers {
        let (raw, path) = (place.raw.clone(), format!("{}/secrets", place.path));
        let secret =
            json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": format!("s{number}")}});
        tasks.spawn(async move { raw.post(&path, &secret).await });
    }
    let mut codes = Vec::new();
    while let Some(answer) = tasks.join_next().await {
        codes.push(answer??.code);
    }
    Ok(codes)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn writers_at_once_do_not_both_take_the_last_place() -> Result<()> {
    let place = Place::of("quota-race").await?;
    place
        .quota("q", json!({"hard": {"secrets": "5"}}), json!({"secrets": "0"}))
        .await?;
    let codes = at_once(&place, 20).await?;
    assert_eq!(codes.iter().filter(|code| **code == 201).count(), 5, "{codes:?}");
    assert!(codes.iter().all(|code| matches!(code, 201 | 403)), "{codes:?}");
    place.until_used("q", json!({"secrets": "5"})).await
}

/// Kubernetes may answer some writers with a conflict: it counts quota usage by status updates.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn none_is_refused_a_place_that_is_free() -> Result<()> {
    let directory = tempfile::tempdir()?;
    let builder = cambium_apiserver::ApiServer::builder().file(directory.path().join("store"));
    let cluster = TestCluster::embedded(builder).await?;
    let place = Place {
        raw: cluster.raw(),
        path: format!("/api/v1/namespaces/{}", cluster.namespace("quota-free").await?),
        _cluster: cluster,
    };
    place
        .quota("q", json!({"hard": {"secrets": "200"}}), json!({"secrets": "0"}))
        .await?;
    let codes = at_once(&place, 200).await?;
    assert!(codes.iter().all(|code| *code == 201), "{codes:?}");
    assert_eq!(place.secret("one-more", "").await?.code, 403);
    place.until_used("q", json!({"secrets": "200"})).await
}

#[tokio::test]
async fn a_write_that_does_not_happen_uses_nothing() -> Result<()> {
    let place = Place::of("quota-dry").await?;
    place
        .quota("q", json!({"hard": {"secrets": "1"}}), json!({"secrets": "0"}))
        .await?;
    assert_eq!(place.secret("a", "?dryRun=All").await?.code, 201);
    assert_eq!(place.secret("a", "").await?.code, 201);
    let refused = place.secret("b", "?dryRun=All").await?;
    assert_eq!(refused.code, 403, "{refused:?}");
    Ok(())
}

#[tokio::test]
async fn pods_are_charged_for_what_they_want_and_must_say_it() -> Result<()> {
    let place = Place::of("quota-pods").await?;
    let hard = json!({"pods": "5", "cpu": "1", "limits.memory": "1Gi", "requests.example.com/dongle": "3"});
    let none = json!({"pods": "0", "cpu": "0", "limits.memory": "0", "requests.example.com/dongle": "0"});
    place.quota("q", json!({"hard": hard}), none.clone()).await?;
    let refused = place.pod("silent", |_| {}).await?;
    assert_eq!(
        refused.message(),
        "pods \"silent\" is forbidden: failed quota: q: must specify cpu for: c; limits.memory for: c"
    );
    let resources = |spec: &mut Value| {
        spec["containers"][0]["resources"] = json!({
            "requests": {"cpu": "600m", "memory": "300Mi", "example.com/dongle": "2"},
            "limits": {"memory": "0.5Gi", "example.com/dongle": "2"}});
    };
    let made = place.pod("a", resources).await?;
    assert_eq!(made.code, 201, "{made:?}");
    place
        .until_used(
            "q",
            json!({"pods": "1", "cpu": "600m", "limits.memory": "512Mi", "requests.example.com/dongle": "2"}),
        )
        .await?;
    let refused = place.pod("b", resources).await?;
    assert_eq!(
        refused.message(),
        "pods \"b\" is forbidden: exceeded quota: q, requested: cpu=600m,requests.example.com/dongle=2, used: cpu=600m,requests.example.com/dongle=2, limited: cpu=1,requests.example.com/dongle=3"
    );
    place.delete("pods/a").await?;
    place.until_used("q", none).await
}

#[tokio::test]
async fn quotas_count_what_is_in_their_scope() -> Result<()> {
    let place = Place::of("quota-scopes").await?;
    let none = json!({"pods": "0"});
    place
        .quota(
            "light",
            json!({"hard": {"pods": "1"}, "scopes": ["BestEffort"]}),
            none.clone(),
        )
        .await?;
    let selector = json!({"matchExpressions": [{"scopeName": "Terminating", "operator": "Exists"}]});
    place
        .quota(
            "short",
            json!({"hard": {"pods": "5"}, "scopeSelector": selector}),
            none,
        )
        .await?;
    let heavy = |spec: &mut Value| {
        spec["containers"][0]["resources"] = json!({"requests": {"cpu": "1m"}});
        spec["activeDeadlineSeconds"] = json!(3600);
    };
    assert_eq!(place.pod("heavy", heavy).await?.code, 201);
    assert_eq!(place.pod("light", |_| {}).await?.code, 201);
    place.until_used("light", json!({"pods": "1"})).await?;
    place.until_used("short", json!({"pods": "1"})).await?;
    let refused = eventually_some("there is no place for another", || async {
        let answer = place.pod_with("?dryRun=All", "lighter", |_| {}).await?;
        Ok((answer.code != 201).then_some(answer))
    })
    .await?;
    assert_eq!(
        refused.message(),
        "pods \"lighter\" is forbidden: exceeded quota: light, requested: pods=1, used: pods=1, limited: pods=1"
    );
    assert_eq!(place.pod("heavier", heavy).await?.code, 201);
    Ok(())
}

#[tokio::test]
async fn an_update_is_charged_for_what_it_adds() -> Result<()> {
    let place = Place::of("quota-update").await?;
    let hard = json!({"services": "1", "services.nodeports": "1"});
    place
        .quota(
            "q",
            json!({"hard": hard}),
            json!({"services": "0", "services.nodeports": "0"}),
        )
        .await?;
    let ports = json!([{"name": "a", "port": 80}, {"name": "b", "port": 81}]);
    let service =
        json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}, "spec": {"ports": ports}});
    let services = format!("{}/services", place.path);
    assert_eq!(place.raw.post(&services, &service).await?.code, 201);
    place.until_used("q", json!({"services": "1"})).await?;
    let mut patch = json!({"metadata": {"labels": {"a": "b"}}});
    let kind = "application/merge-patch+json";
    let one = format!("{services}/s");
    assert_eq!(place.raw.patch(kind, &one, &patch).await?.code, 200);
    patch["spec"] = json!({"type": "NodePort"});
    let refused = place.raw.patch(kind, &one, &patch).await?;
    assert_eq!(
        refused.message(),
        "services \"s\" is forbidden: exceeded quota: q, requested: services.nodeports=2, used: services.nodeports=0, limited: services.nodeports=1"
    );
    Ok(())
}

#[tokio::test]
async fn scopes_are_checked_and_stay() -> Result<()> {
    let place = Place::of("quota-valid").await?;
    let quotas = format!("{}/resourcequotas", place.path);
    let quota = |spec: Value| json!({"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q"}, "spec": spec});
    let bad = quota(json!({"hard": {"secrets": "-1"}, "scopes": ["Terminating"]}));
    let refused = place.raw.post(&quotas, &bad).await?;
    assert_eq!(refused.code, 422);
    assert_eq!(
        refused.message(),
        "ResourceQuota \"q\" is invalid: [spec.hard[secrets]: Invalid value: \"-1\": must be greater than or equal to 0, spec.scopes: Invalid value: [\"Terminating\"]: unsupported scope applied to resource]"
    );
    let good = quota(json!({"hard": {"pods": "1"}, "scopes": ["Terminating"]}));
    assert_eq!(place.raw.post(&quotas, &good).await?.code, 201);
    let patch = json!({"spec": {"scopes": ["NotTerminating"]}});
    let refused = place
        .raw
        .patch("application/merge-patch+json", &format!("{quotas}/q"), &patch)
        .await?;
    assert_eq!(
        refused.message(),
        "ResourceQuota \"q\" is invalid: spec.scopes: Invalid value: [\"NotTerminating\"]: field is immutable"
    );
    Ok(())
}

#[tokio::test]
async fn what_somebody_writes_into_the_status_changes_nothing() -> Result<()> {
    let place = Place::of("quota-status").await?;
    place
        .quota("q", json!({"hard": {"secrets": "1"}}), json!({"secrets": "0"}))
        .await?;
    let path = format!("{}/resourcequotas/q/status", place.path);
    let patch = json!({"status": {"used": {"secrets": "7"}}});
    let patched = place
        .raw
        .patch("application/merge-patch+json", &path, &patch)
        .await?;
    assert_eq!(patched.body["status"]["used"]["secrets"], "7", "{patched:?}");
    // Kubernetes looks at it again when something else happens, or after five minutes.
    let nudge = json!({"spec": {"hard": {"secrets": "2"}}});
    let quota = format!("{}/resourcequotas/q", place.path);
    let nudged = place
        .raw
        .patch("application/merge-patch+json", &quota, &nudge)
        .await?;
    assert_eq!(nudged.code, 200);
    place.until_used("q", json!({"secrets": "0"})).await
}
