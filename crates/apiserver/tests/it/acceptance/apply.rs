//! Server-side apply: ownership and conflicts.

use anyhow::Result;
use cambium_testing::TestCluster;
use serde_json::{Value, json};

fn deployment(replicas: Option<u32>, image: &str) -> Value {
    let mut object = json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"},
        "spec": {
            "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {"containers": [{"name": "web", "image": image, "ports": [{"containerPort": 80}]}]},
            },
        },
    });
    if let Some(replicas) = replicas {
        object["spec"]["replicas"] = json!(replicas);
    }
    object
}

fn owner<'a>(object: &'a Value, manager: &str) -> &'a Value {
    let entries = object["metadata"]["managedFields"]
        .as_array()
        .map_or(&[][..], Vec::as_slice);
    entries
        .iter()
        .find(|entry| entry["manager"] == manager)
        .map_or(&Value::Null, |entry| &entry["fieldsV1"])
}

/// Create-only apply: a resource version that no object has makes an apply create an object and never change one.
#[tokio::test]
async fn an_apply_with_a_resource_version_that_nothing_has_only_creates() -> Result<()> {
    let cluster = TestCluster::start().await?;
    let raw = cluster.raw();
    let configs = format!(
        "/api/v1/namespaces/{}/configmaps",
        cluster.namespace("apply").await?
    );
    let config = |name: &str, version: &str| {
        json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": name, "resourceVersion": version}, "data": {"a": "1"},
        })
    };
    for version in ["18446744073709551615", "7"] {
        let name = format!("after-{version}");
        let path = format!("{configs}/{name}?fieldManager=one&force=true");
        let created = raw.patch("apply", &path, &config(&name, version)).await?;
        assert_eq!(created.code, 201, "{created:?}");
        let metadata = &created.body["metadata"];
        assert_eq!(metadata["managedFields"][0]["operation"], "Apply");
        assert_ne!(metadata["resourceVersion"], version);
        let again = raw.patch("apply", &path, &config(&name, version)).await?;
        assert_eq!((again.code, again.reason()), (409, "Conflict"), "{again:?}");
        let mut other = config(&name, version);
        other["data"] = json!({"b": "2"});
        let others = path.replace("=one", "=two");
        let refused = raw.patch("apply", &others, &other).await?;
        assert_eq!((refused.code, refused.reason()), (409, "Conflict"), "{refused:?}");
        assert_eq!(
            refused.body["details"],
            json!({"name": name, "kind": "configmaps"})
        );
        let found = raw.get(&format!("{configs}/{name}")).await?;
        assert_eq!(found.body["metadata"], *metadata);
        assert_eq!(found.body["data"], json!({"a": "1"}));
    }
    let path = format!("{configs}/never?fieldManager=one");
    let refused = raw.patch("apply", &path, &config("never", "abc")).await?;
    assert_eq!(refused.code, 500, "{refused:?}");
    assert_eq!(
        refused.message(),
        "strconv.ParseUint: parsing \"abc\": invalid syntax"
    );
    Ok(())
}

#[tokio::test]
async fn two_appliers_share_a_deployment() -> Result<()> {
    let cluster = TestCluster::start().await?;
    let raw = cluster.raw();
    let path = format!(
        "/apis/apps/v1/namespaces/{}/deployments/web",
        cluster.namespace("apply").await?
    );
    let one = format!("{path}?fieldManager=one");
    let two = format!("{path}?fieldManager=two");

    let created = raw.patch("apply", &one, &deployment(Some(3), "a:1")).await?;
    assert_eq!(created.code, 201, "{created:?}");
    assert_eq!(
        created.body["spec"]["strategy"]["type"], "RollingUpdate",
        "defaults are filled in"
    );
    let fields = owner(&created.body, "one");
    assert_eq!(fields["f:spec"]["f:replicas"], json!({}));
    assert!(
        fields["f:spec"].get("f:strategy").is_none(),
        "nobody owns defaults: {fields}"
    );
    let again = raw.patch("apply", &one, &deployment(Some(3), "a:1")).await?;
    assert_eq!(again.code, 200);
    assert_eq!(again.body["spec"], created.body["spec"]);

    let conflict = raw.patch("apply", &two, &deployment(Some(5), "b:1")).await?;
    assert_eq!((conflict.code, conflict.reason()), (409, "Conflict"));
    assert_eq!(
        conflict.message(),
        "Apply failed with 2 conflicts: conflicts with \"one\":\n- .spec.replicas\n- .spec.template.spec.containers[name=\"web\"].image"
    );
    assert_eq!(
        conflict.body["details"]["causes"][0],
        json!({"reason": "FieldManagerConflict", "message": "conflict with \"one\"", "field": ".spec.replicas"})
    );
    let forced = raw
        .patch("apply", &format!("{two}&force=true"), &deployment(Some(5), "a:1"))
        .await?;
    assert_eq!((forced.code, &forced.body["spec"]["replicas"]), (200, &json!(5)));
    assert!(
        owner(&forced.body, "one")["f:spec"].get("f:replicas").is_none(),
        "ownership has moved"
    );

    let dropped = raw.patch("apply", &two, &deployment(None, "a:1")).await?;
    assert_eq!(
        dropped.body["spec"]["replicas"], 1,
        "nobody wants a number any more: the default"
    );
    Ok(())
}

#[tokio::test]
async fn plain_updates_own_what_they_change() -> Result<()> {
    let cluster = TestCluster::start().await?;
    let raw = cluster.raw();
    let path = format!(
        "/apis/apps/v1/namespaces/{}/deployments",
        cluster.namespace("own").await?
    );
    let one = format!("{path}/web");
    raw.post(&format!("{path}?fieldManager=maker"), &deployment(Some(1), "a:1"))
        .await?;
    let scaled = raw
        .patch(
            "merge",
            &format!("{one}?fieldManager=scaler"),
            &json!({"spec": {"replicas": 2}}),
        )
        .await?;
    assert_eq!(
        owner(&scaled.body, "scaler"),
        &json!({"f:spec": {"f:replicas": {}}})
    );
    assert!(owner(&scaled.body, "maker")["f:spec"].get("f:replicas").is_none());
    let conflict = raw
        .patch(
            "apply",
            &format!("{one}?fieldManager=applier"),
            &deployment(Some(4), "a:1"),
        )
        .await?;
    assert_eq!(conflict.code, 409);
    assert_eq!(
        conflict.message(),
        "Apply failed with 1 conflict: conflict with \"scaler\" using apps/v1: .spec.replicas"
    );
    let labels = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "labels": {"a": "b"}}});
    let labelled = raw
        .patch("apply", &format!("{one}?fieldManager=labeller"), &labels)
        .await?;
    assert_eq!(labelled.body["metadata"]["labels"], json!({"a": "b"}));
    let nothing = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}});
    let bare = raw
        .patch("apply", &format!("{one}?fieldManager=labeller"), &nothing)
        .await?;
    assert!(
        bare.body["metadata"].get("labels").is_none(),
        "{}",
        bare.body["metadata"]
    );
    Ok(())
}

#[tokio::test]
async fn applies_that_make_no_sense_are_refused() -> Result<()> {
    let cluster = TestCluster::start().await?;
    let raw = cluster.raw();
    let path = format!(
        "/api/v1/namespaces/{}/configmaps/a",
        cluster.namespace("sense").await?
    );
    let object =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"k": "v"}});
    let nobody = raw.patch("apply", &path, &object).await?;
    assert_eq!(nobody.code, 422);
    assert_eq!(
        nobody.message(),
        "PatchOptions.meta.k8s.io \"\" is invalid: fieldManager: Required value: is required for apply patch"
    );
    let mut owned = object.clone();
    owned["metadata"]["managedFields"] = json!([{"manager": "x", "operation": "Apply", "apiVersion": "v1"}]);
    let refused = raw
        .patch("apply", &format!("{path}?fieldManager=x"), &owned)
        .await?;
    assert_eq!(
        (refused.code, refused.message()),
        (400, "metadata.managedFields must be nil")
    );
    let mut unknown = object.clone();
    unknown["date"] = json!({});
    let refused = raw
        .patch(
            "apply",
            &format!("{path}?fieldManager=x&fieldValidation=Strict"),
            &unknown,
        )
        .await?;
    assert!(refused.code >= 400, "{refused:?}");
    let forced = raw
        .patch("merge", &format!("{path}?force=true"), &json!({}))
        .await?;
    assert_eq!(forced.code, 422, "{forced:?}");
    let yaml = json!("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  k: v\n");
    let applied = raw
        .patch("apply", &format!("{path}?fieldManager=x"), &yaml)
        .await?;
    assert_eq!((applied.code, &applied.body["data"]["k"]), (201, &json!("v")));
    Ok(())
}
