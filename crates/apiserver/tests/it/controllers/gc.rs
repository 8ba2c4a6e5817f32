//! Garbage collection, on our server or on Kubernetes.

use crate::controllers::support::{Json, config_map, owner};
use anyhow::Result;
use cambium_testing::{Backend, TestCluster};
use serde_json::{Value, json};

const ABSENT: &str = "11111111-2222-3333-4444-555555555555";

struct Fixture {
    cluster: TestCluster,
    api: Json,
    maps: String,
}

impl Fixture {
    async fn new() -> Result<Self> {
        let cluster = TestCluster::start().await?;
        let namespace = cluster.namespace("gc").await?;
        let api = Json(cluster.client());
        Ok(Self {
            cluster,
            api,
            maps: format!("/api/v1/namespaces/{namespace}/configmaps"),
        })
    }

    async fn map(&self, name: &str, owners: &[Value]) -> Result<Value> {
        self.api.create(&self.maps, &config_map(name, owners)).await
    }

    fn path(&self, name: &str) -> String {
        format!("{}/{name}", self.maps)
    }

    /// Waits until the garbage collector has processed an object written after all others.
    async fn pass(&self) -> Result<()> {
        let marker = self.cluster.unique("marker");
        let absent = json!({"apiVersion": "v1", "kind": "ConfigMap", "name": marker, "uid": ABSENT});
        let dependent = self.cluster.unique("dependent");
        self.map(&dependent, &[absent]).await?;
        self.api.until_gone(&self.path(&dependent)).await
    }
}

#[tokio::test]
async fn background_deletion_takes_the_whole_tree() -> Result<()> {
    let at = Fixture::new().await?;
    let root = at.map("root", &[]).await?;
    let child = at.map("child", &[owner(&root)]).await?;
    at.map("grandchild", &[owner(&child)]).await?;
    at.map("stranger", &[]).await?;
    at.api.delete(&at.path("root"), "Background").await?;
    at.api.until_gone(&at.path("child")).await?;
    at.api.until_gone(&at.path("grandchild")).await?;
    assert!(at.api.get(&at.path("stranger")).await?.is_some());
    Ok(())
}

#[tokio::test]
async fn foreground_deletion_waits_for_dependents_that_block() -> Result<()> {
    let at = Fixture::new().await?;
    let root = at.map("root", &[]).await?;
    let mut child = config_map("child", &[owner(&root)]);
    child["metadata"]["finalizers"] = json!(["example.com/hold"]);
    let child = at.api.create(&at.maps, &child).await?;
    at.map("grandchild", &[owner(&child)]).await?;
    let mut loose = owner(&root);
    loose["blockOwnerDeletion"] = json!(false);
    at.map("loose", &[loose]).await?;
    let root = at.api.delete(&at.path("root"), "Foreground").await?;
    assert_eq!(root["metadata"]["finalizers"], json!(["foregroundDeletion"]));
    at.api.until_gone(&at.path("grandchild")).await?;
    at.api
        .until(&at.path("child"), |child| {
            child["metadata"]["finalizers"] == json!(["example.com/hold"])
        })
        .await?;
    at.pass().await?;
    assert!(
        at.api.get(&at.path("root")).await?.is_some(),
        "a dependent still blocks it"
    );
    at.api
        .patch(&at.path("child"), &json!({"metadata": {"finalizers": null}}))
        .await?;
    at.api.until_gone(&at.path("child")).await?;
    at.api.until_gone(&at.path("root")).await?;
    // It may go before: Kubernetes sees to it at once if it has heard of it before it hears of the deletion.
    at.api.until_gone(&at.path("loose")).await
}

#[tokio::test]
async fn foreground_deletion_ends_in_a_circle_too() -> Result<()> {
    let at = Fixture::new().await?;
    let first = at.map("first", &[]).await?;
    let second = at.map("second", &[owner(&first)]).await?;
    at.api
        .patch(
            &at.path("first"),
            &json!({"metadata": {"ownerReferences": [owner(&second)]}}),
        )
        .await?;
    at.api.delete(&at.path("first"), "Foreground").await?;
    at.api.until_gone(&at.path("first")).await?;
    at.api.until_gone(&at.path("second")).await
}

#[tokio::test]
async fn orphans_lose_their_owner_and_stay() -> Result<()> {
    let at = Fixture::new().await?;
    let root = at.map("root", &[]).await?;
    let other = at.map("other", &[]).await?;
    at.map("child", &[owner(&root)]).await?;
    at.map("shared", &[owner(&root), owner(&other)]).await?;
    at.api.delete(&at.path("root"), "Orphan").await?;
    at.api.until_gone(&at.path("root")).await?;
    let child = at.api.read(&at.path("child")).await?;
    assert_eq!(child["metadata"].get("ownerReferences"), None);
    let shared = at.api.read(&at.path("shared")).await?;
    assert_eq!(shared["metadata"]["ownerReferences"], json!([owner(&other)]));
    Ok(())
}

#[tokio::test]
async fn a_dependent_with_another_owner_only_loses_the_reference() -> Result<()> {
    let at = Fixture::new().await?;
    let (first, second) = (at.map("first", &[]).await?, at.map("second", &[]).await?);
    at.map("child", &[owner(&first), owner(&second)]).await?;
    at.api.delete(&at.path("first"), "Background").await?;
    let kept = json!([owner(&second)]);
    at.api
        .until(&at.path("child"), |child| {
            child["metadata"]["ownerReferences"] == kept
        })
        .await?;
    at.api.delete(&at.path("second"), "Background").await?;
    at.api.until_gone(&at.path("child")).await
}

#[tokio::test]
async fn an_owner_must_be_there_under_its_name_namespace_and_uid() -> Result<()> {
    let at = Fixture::new().await?;
    let elsewhere = at.cluster.namespace("gc-other").await?;
    let far = at
        .api
        .create(
            &format!("/api/v1/namespaces/{elsewhere}/configmaps"),
            &config_map("far", &[]),
        )
        .await?;
    let near = at.map("near", &[]).await?;
    let mut replaced = owner(&near);
    replaced["uid"] = json!(ABSENT);
    at.map("of-a-far-owner", &[owner(&far)]).await?;
    at.map("of-an-earlier-owner", &[replaced]).await?;
    at.api.until_gone(&at.path("of-a-far-owner")).await?;
    at.api.until_gone(&at.path("of-an-earlier-owner")).await
}

#[tokio::test]
async fn nothing_is_deleted_on_a_guess() -> Result<()> {
    let at = Fixture::new().await?;
    let unknown = json!({"apiVersion": "example.com/v1", "kind": "Unheard", "name": "of", "uid": ABSENT});
    let gone =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "gone", "uid": ABSENT.replace('1', "9")});
    at.map("of-an-unknown-kind", std::slice::from_ref(&unknown))
        .await?;
    at.map("of-both", &[gone, unknown]).await?;
    // A cluster-scoped object cannot be owned by something in a namespace.
    let near = at.map("near", &[]).await?;
    let role = at.cluster.unique("gc-role");
    let role = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
        "metadata": {"name": role, "ownerReferences": [owner(&near)]}, "rules": []});
    let roles = "/apis/rbac.authorization.k8s.io/v1/clusterroles";
    at.api.create(roles, &role).await?;
    at.api.delete(&at.path("near"), "Background").await?;
    at.pass().await?;
    assert!(at.api.get(&at.path("of-an-unknown-kind")).await?.is_some());
    assert!(at.api.get(&at.path("of-both")).await?.is_some());
    let role_path = format!(
        "{roles}/{}",
        role["metadata"]["name"].as_str().unwrap_or_default()
    );
    assert!(at.api.get(&role_path).await?.is_some());
    at.api.delete(&role_path, "Background").await?;
    Ok(())
}

#[tokio::test]
async fn an_owner_of_another_scope_is_found() -> Result<()> {
    let at = Fixture::new().await?;
    let roles = "/apis/rbac.authorization.k8s.io/v1/clusterroles";
    let role = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
        "metadata": {"name": at.cluster.unique("gc-owner")}, "rules": []});
    let role = at.api.create(roles, &role).await?;
    at.map("child", &[owner(&role)]).await?;
    at.pass().await?;
    assert!(at.api.get(&at.path("child")).await?.is_some());
    let path = format!(
        "{roles}/{}",
        role["metadata"]["name"].as_str().unwrap_or_default()
    );
    at.api.delete(&path, "Background").await?;
    at.api.until_gone(&at.path("child")).await
}

fn widgets(group: &str) -> Value {
    json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("widgets.{group}")},
        "spec": {"group": group, "scope": "Namespaced",
            "names": {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"},
            "versions": [{"name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}]}})
}

#[tokio::test]
async fn a_kind_that_comes_later_decides_then() -> Result<()> {
    let at = Fixture::new().await?;
    if at.cluster.backend() == Backend::Kubernetes {
        // There it takes until the next resynchronisation of discovery and a long back-off.
        return Ok(());
    }
    let reference =
        json!({"apiVersion": "late.example.com/v1", "kind": "Widget", "name": "w", "uid": ABSENT});
    at.map("child", &[reference]).await?;
    at.pass().await?;
    assert!(at.api.get(&at.path("child")).await?.is_some());
    at.api
        .create(
            "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
            &widgets("late.example.com"),
        )
        .await?;
    at.api.until_gone(&at.path("child")).await
}

#[tokio::test]
async fn custom_resources_own_and_are_owned() -> Result<()> {
    let at = Fixture::new().await?;
    if at.cluster.backend() == Backend::Kubernetes {
        return Ok(());
    }
    at.api
        .create(
            "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
            &widgets("gc.example.com"),
        )
        .await?;
    let all = at
        .maps
        .replace("/api/v1/", "/apis/gc.example.com/v1/")
        .replace("configmaps", "widgets");
    cambium_testing::eventually("widgets are served", || async {
        Ok(at.api.get(&all).await?.is_some())
    })
    .await?;
    let root = at.map("root", &[]).await?;
    let widget = json!({"apiVersion": "gc.example.com/v1", "kind": "Widget", "metadata": {"name": "w", "ownerReferences": [owner(&root)]}});
    let widget = at.api.create(&all, &widget).await?;
    at.map("child", &[owner(&widget)]).await?;
    at.api.delete(&at.path("root"), "Foreground").await?;
    at.api.until_gone(&format!("{all}/w")).await?;
    at.api.until_gone(&at.path("child")).await?;
    at.api.until_gone(&at.path("root")).await
}

#[tokio::test]
async fn work_is_taken_up_again_after_a_restart() -> Result<()> {
    use cambium_apiserver::{ApiServer, Controllers};
    let directory = tempfile::tempdir()?;
    let file = directory.path().join("store");
    let maps = "/api/v1/namespaces/default/configmaps";
    {
        let off = ApiServer::builder().file(&file).controllers(Controllers::none());
        let cluster = TestCluster::embedded(off).await?;
        let api = Json(cluster.client());
        let root = api.create(maps, &config_map("root", &[])).await?;
        let held = api.create(maps, &config_map("held", &[])).await?;
        api.create(maps, &config_map("child", &[owner(&root)])).await?;
        api.create(maps, &config_map("of-held", &[owner(&held)])).await?;
        api.delete(&format!("{maps}/root"), "Background").await?;
        api.delete(&format!("{maps}/held"), "Foreground").await?;
        assert!(
            api.get(&format!("{maps}/child")).await?.is_some(),
            "nobody collects"
        );
    }
    // The file stays locked until the last handle of the first server is gone.
    let cluster = cambium_testing::eventually_some("the file is free", || async {
        Ok(TestCluster::embedded(ApiServer::builder().file(&file)).await.ok())
    })
    .await?;
    let api = Json(cluster.client());
    for name in ["child", "of-held", "held"] {
        api.until_gone(&format!("{maps}/{name}")).await?;
    }
    Ok(())
}

#[tokio::test]
async fn jobs_and_replication_controllers_orphan_unless_told_otherwise() -> Result<()> {
    let at = Fixture::new().await?;
    let raw = at.cluster.raw();
    let namespace = at.maps.replace("/configmaps", "");
    let jobs = namespace.replace("/api/v1", "/apis/batch/v1") + "/jobs";
    let controllers = format!("{namespace}/replicationcontrollers");
    let pod = json!({"metadata": {"labels": {"app": "a"}},
        "spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}});
    let job = json!({"apiVersion": "batch/v1", "kind": "Job", "spec": {"suspend": true, "template": pod}});
    let mut always = pod.clone();
    always["spec"]["restartPolicy"] = json!("Always");
    let controller = json!({"apiVersion": "v1", "kind": "ReplicationController",
        "spec": {"replicas": 0, "selector": {"app": "a"}, "template": always}});
    let warning = "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them or set propagationPolicy=Orphan to suppress this warning";
    let warned = vec![warning.to_owned()];

    for (path, object, warnings) in [(&jobs, &job, warned.clone()), (&controllers, &controller, vec![])] {
        let make = async |name: &str| -> Result<(String, String)> {
            let mut object = object.clone();
            object["metadata"] = json!({"name": name});
            let made = at.api.create(path, &object).await?;
            let child = at.cluster.unique("child");
            at.map(&child, &[owner(&made)]).await?;
            Ok((format!("{path}/{name}"), at.path(&child)))
        };
        let (parent, child) = make("silent").await?;
        let deleted = raw.delete(&parent, &Value::Null).await?;
        assert_eq!(deleted.warnings, warnings);
        assert_eq!(deleted.body["metadata"]["finalizers"], json!(["orphan"]));
        at.api.until_gone(&parent).await?;
        let orphan = at.api.read(&child).await?;
        assert_eq!(orphan["metadata"]["ownerReferences"], Value::Null);

        let (parent, child) = make("empty").await?;
        let deleted = raw.delete(&parent, &json!({})).await?;
        assert_eq!(deleted.warnings, warnings);
        assert_eq!(deleted.body["metadata"]["finalizers"], json!(["orphan"]));
        at.api.until_gone(&parent).await?;
        assert!(at.api.get(&child).await?.is_some());

        let (parent, child) = make("background").await?;
        let deleted = raw
            .delete(&parent, &json!({"propagationPolicy": "Background"}))
            .await?;
        assert_eq!((deleted.code, deleted.warnings), (200, vec![]));
        at.api.until_gone(&parent).await?;
        at.api.until_gone(&child).await?;

        let (parent, child) = make("not-orphaned").await?;
        let deleted = raw.delete(&parent, &json!({"orphanDependents": false})).await?;
        assert_eq!((deleted.code, deleted.warnings), (200, vec![]));
        at.api.until_gone(&child).await?;
        at.api.until_gone(&parent).await?;

        // What was said before still counts.
        let (parent, child) = make("foreground").await?;
        let hold = json!({"metadata": {"finalizers": ["example.com/hold"]}});
        at.api.patch(&child, &hold).await?;
        at.api.delete(&parent, "Foreground").await?;
        let again = raw.delete(&parent, &Value::Null).await?;
        assert_eq!(
            again.body["metadata"]["finalizers"],
            json!(["foregroundDeletion"])
        );
        at.api
            .patch(&child, &json!({"metadata": {"finalizers": null}}))
            .await?;
        at.api.until_gone(&parent).await?;
        at.api.until_gone(&child).await?;
    }
    // Only who is told to collect is warned: the collection of nothing, too.
    let collected = raw.delete(&jobs, &Value::Null).await?;
    assert_eq!((collected.code, collected.warnings), (200, warned));
    Ok(())
}
