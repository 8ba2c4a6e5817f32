//! Applications on good days and bad ones, with nobody checking what is stored.

use crate::platform::{
    Platform, application, auto_update, component, condition, definition, saying, settings,
};
use anyhow::{Context as _, Result, ensure};
use cambium_testing::{Backend, eventually, eventually_some};
use serde_json::{Value, json};

async fn says(platform: &Platform, config_map: &str, text: &str) -> Result<()> {
    eventually(&format!("{config_map} says {text}"), || async {
        Ok(platform.config_map(config_map).await?["data"]["text"] == text)
    })
    .await
}

async fn gone(platform: &Platform, path: &str) -> Result<()> {
    eventually(&format!("{path} is gone"), || async {
        Ok(platform.raw.get(path).await?.code == 404)
    })
    .await
}

fn config_maps(platform: &Platform) -> String {
    format!("/api/v1/namespaces/{}/configmaps", platform.namespace)
}

#[tokio::test]
async fn publish_version_freezes_until_it_changes() -> Result<()> {
    let platform = Platform::start().await?;
    platform.publish("a", "1.0.0").await?;
    let at = |version: &str, text: &str| {
        let mut shop = saying("shop", "a@1", text);
        shop["metadata"]["annotations"] = json!({"app.oam.dev/publishVersion": version});
        shop
    };
    platform.deploy_object(&at("alpha", "first")).await?;
    says(&platform, "shop-main", "first").await?;
    platform.deploy("witness", "a@1", json!({})).await?;
    platform.publish("a", "1.1.0").await?;
    platform.runs("witness-main", "1.1.0").await?;
    let shop = platform.deploy_object(&at("alpha", "second")).await?;
    platform.idle().await?;
    platform.runs("shop-main", "1.0.0").await?;
    says(&platform, "shop-main", "first").await?;
    assert_eq!(shop["status"]["references"][0]["policy"], "Frozen");
    let resolved = condition(&shop, "Resolved").context("a condition")?;
    assert_eq!(
        resolved["message"],
        "Frozen at shop-v1 until publishVersion changes"
    );

    platform.deploy_object(&at("beta", "second")).await?;
    platform.runs("shop-main", "1.1.0").await?;
    says(&platform, "shop-main", "second").await?;
    // A value that was there before is a change, too.
    platform.deploy_object(&at("alpha", "third")).await?;
    says(&platform, "shop-main", "third").await?;
    platform.idle().await?;
    let shop = platform.application("shop").await?;
    assert_eq!(shop["status"]["latestRevision"]["name"], "shop-v3");
    platform.rests().await
}

#[tokio::test]
async fn a_frozen_application_does_not_run_a_revision_that_was_edited() -> Result<()> {
    let platform = Platform::start().await?;
    platform.publish("a", "1.0.0").await?;
    let mut shop = saying("shop", "a@1", "recorded");
    shop["metadata"]["annotations"] = json!({"app.oam.dev/publishVersion": "alpha"});
    platform.deploy_object(&shop).await?;
    says(&platform, "shop-main", "recorded").await?;
    let components = json!([{"name": "shop-main", "type": "a@1", "properties": {"text": "smuggled"}}]);
    let change = json!({"spec": {"application": {"spec": {"components": components}}}});
    platform.edit("applicationrevisions", "shop-v1", &change).await?;
    // Something that makes it be looked at.
    platform
        .edit(
            "applications",
            "shop",
            &json!({"metadata": {"labels": {"look": "again"}}}),
        )
        .await?;
    let resolved = platform.condition("shop", "Resolved", "False").await?;
    assert_eq!(resolved["reason"], "RevisionChanged", "{resolved}");
    says(&platform, "shop-main", "recorded").await?;
    platform.rests().await
}

#[tokio::test]
async fn an_edited_application_revision_gets_its_content_back() -> Result<()> {
    let platform = Platform::start().await?;
    platform.publish("a", "1.0.0").await?;
    platform.deploy_object(&saying("shop", "a@1", "recorded")).await?;
    says(&platform, "shop-main", "recorded").await?;
    let before = platform.get("applicationrevisions", "shop-v1").await?["spec"].clone();
    let change = json!({"spec": {"application": {"spec": {"smuggled": true}}}});
    platform.edit("applicationrevisions", "shop-v1", &change).await?;
    platform
        .edit(
            "applications",
            "shop",
            &json!({"metadata": {"annotations": auto_update("true")}}),
        )
        .await?;
    eventually("it is as it was", || async {
        Ok(platform.get("applicationrevisions", "shop-v1").await?["spec"] == before)
    })
    .await?;
    platform.rests().await
}

#[tokio::test]
async fn a_lock_is_enforced() -> Result<()> {
    let platform = Platform::start().await?;
    platform.publish("a", "1.0.0").await?;
    let digest = platform.get("definitionrevisions", "a-v1.0.0").await?["spec"]["digest"].clone();
    let locked = |name: &str, version: &str, digest: &Value| {
        let lock = json!({"component": {"a@1": {"version": version, "digest": digest}}}).to_string();
        application(name, json!({"app.oam.dev/lock": lock}), &[("main", "a@1")])
    };
    platform.deploy_object(&locked("shop", "1.0.0", &digest)).await?;
    platform.runs("shop-main", "1.0.0").await?;
    platform.deploy("witness", "a@1", json!({})).await?;
    platform.publish("a", "1.1.0").await?;
    platform.runs("witness-main", "1.1.0").await?;
    platform.idle().await?;
    platform.runs("shop-main", "1.0.0").await?;

    let other = json!(format!("sha256:{}", "0".repeat(64)));
    for (name, version, digest) in [("content", "1.0.0", &other), ("version", "1.0.7", &digest)] {
        platform.deploy_object(&locked(name, version, digest)).await?;
        let resolved = platform.condition(name, "Resolved", "False").await?;
        assert_eq!(resolved["reason"], "Locked", "{resolved}");
        let made = platform.config_map(&format!("{name}-main")).await?;
        assert_eq!(made["code"], 404);
    }
    // A reference that the lock does not know is none that it allows.
    let mut unknown = locked("unknown", "1.0.0", &digest);
    unknown["spec"]["components"][0]["type"] = json!("a@1.1");
    platform.deploy_object(&unknown).await?;
    let resolved = platform.condition("unknown", "Resolved", "False").await?;
    assert_eq!(resolved["reason"], "Locked", "{resolved}");
    platform.rests().await
}

#[tokio::test]
async fn a_definition_at_home_wins_over_the_systems_and_the_status_says_from_where() -> Result<()> {
    let platform = Platform::start().await?;
    let system = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "vela-system"}});
    let created = platform.raw.post("/api/v1/namespaces", &system).await?;
    ensure!([201, 409].contains(&created.code), "vela-system");
    let name = platform.cluster.unique("shared");
    let mut shared = component(&name, Some("1.0.0"), "the system's");
    shared["metadata"]["namespace"] = json!("vela-system");
    platform.accepted(&shared).await?;
    platform.deploy("far", &format!("{name}@1"), json!({})).await?;
    platform.runs("far-main", "the system's").await?;
    platform.condition("far", "Ready", "True").await?;
    let from = platform.application("far").await?["status"]["references"][0]["namespace"].clone();
    assert_eq!(from, "vela-system");

    platform
        .publish_object(&component(&name, Some("1.0.1"), "our own"))
        .await?;
    platform.deploy("near", &format!("{name}@1"), json!({})).await?;
    platform.runs("near-main", "our own").await?;
    platform.condition("near", "Ready", "True").await?;
    let from = platform.application("near").await?["status"]["references"][0]["namespace"].clone();
    assert_eq!(from, platform.namespace.as_str());
    // Whoever uses what everybody shares goes on doing so.
    platform.idle().await?;
    platform.runs("far-main", "the system's").await?;
    platform.rests().await
}

#[tokio::test]
async fn what_belongs_to_somebody_else_is_not_overwritten_and_nothing_else_is_applied() -> Result<()> {
    let platform = Platform::start().await?;
    platform.publish("a", "1.0.0").await?;
    let theirs = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "shop-two"}, "data": {"text": "theirs"}});
    platform.raw.post(&config_maps(&platform), &theirs).await?;
    platform
        .deploy_object(&application("shop", json!({}), &[("one", "a"), ("two", "a")]))
        .await?;
    let applied = platform.condition("shop", "Applied", "False").await?;
    assert_eq!(applied["reason"], "OwnedByAnother", "{applied}");
    assert_eq!(
        platform.config_map("shop-two").await?["data"],
        json!({"text": "theirs"})
    );
    assert_eq!(platform.config_map("shop-one").await?["code"], 404);
    let shop = platform.application("shop").await?;
    assert!(shop["status"]["appliedResources"].is_null(), "{}", shop["status"]);
    assert!(shop["status"]["latestRevision"].is_null(), "{}", shop["status"]);
    // How somebody else's object is doing says nothing of this application.
    assert_eq!(shop["status"]["healthy"], "0/2", "{}", shop["status"]);

    // Another application is somebody else, too.
    let mut rival = application("rival", json!({}), &[("main", "a")]);
    platform.deploy_object(&rival).await?;
    platform.runs("rival-main", "1.0.0").await?;
    rival["metadata"]["name"] = json!("copy");
    platform.deploy_object(&rival).await?;
    let applied = platform.condition("copy", "Applied", "False").await?;
    assert_eq!(applied["reason"], "OwnedByAnother");
    let owner = format!("belongs to Application {}/rival", platform.namespace);
    assert!(
        applied["message"].as_str().unwrap_or_default().contains(&owner),
        "{applied}"
    );

    platform.delete("applications", "copy").await?;

    // Once it is out of the way, all is well.
    platform
        .raw
        .delete(&format!("{}/shop-two", config_maps(&platform)), &json!({}))
        .await?;
    platform.runs("shop-two", "1.0.0").await?;
    platform.runs("shop-one", "1.0.0").await?;
    platform.rests().await
}

#[tokio::test]
async fn two_components_that_render_one_object_are_refused() -> Result<()> {
    let platform = Platform::start().await?;
    let template = "output: {apiVersion: \"v1\", kind: \"ConfigMap\", metadata: name: \"same\", data: by: context.name}\n";
    platform
        .publish_object(&definition(
            "ComponentDefinition",
            "fixed",
            Some("1.0.0"),
            template,
        ))
        .await?;
    platform
        .deploy_object(&application(
            "shop",
            json!({}),
            &[("one", "fixed"), ("two", "fixed")],
        ))
        .await?;
    let rendered = platform.condition("shop", "Rendered", "False").await?;
    assert_eq!(rendered["reason"], "RenderFailed", "{rendered}");
    let message = rendered["message"].as_str().unwrap_or_default();
    assert!(
        message.contains("\"shop-one\" and \"shop-two\" both render ConfigMap"),
        "{message}"
    );
    assert_eq!(platform.config_map("same").await?["code"], 404);
    // What fails is tried again and again, and another test may wait until nobody does.
    platform.delete("applications", "shop").await?;
    platform.rests().await
}

#[tokio::test]
async fn a_kind_that_is_not_there_is_told_and_waited_for() -> Result<()> {
    let platform = Platform::start().await?;
    let group = format!("{}.example.com", platform.cluster.unique("g"));
    let template = format!("output: {{apiVersion: \"{group}/v1\", kind: \"Widget\", spec: size: 1}}\n");
    platform
        .publish_object(&definition(
            "ComponentDefinition",
            "widget",
            Some("1.0.0"),
            &template,
        ))
        .await?;
    platform.deploy("shop", "widget", json!({})).await?;
    let applied = platform.condition("shop", "Applied", "False").await?;
    assert_eq!(applied["reason"], "ApplyFailed", "{applied}");
    let message = applied["message"].as_str().unwrap_or_default();
    assert!(
        message.contains("\"Widget\"") && message.contains("CRD"),
        "{message}"
    );

    let schema = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let crd = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("widgets.{group}")},
        "spec": {
            "group": group, "scope": "Namespaced", "names": {"plural": "widgets", "singular": "widget", "kind": "Widget"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}}],
        },
    });
    let crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    assert_eq!(platform.raw.post(crds, &crd).await?.code, 201);
    platform.condition("shop", "Ready", "True").await?;
    let widget = format!(
        "/apis/{group}/v1/namespaces/{}/widgets/shop-main",
        platform.namespace
    );
    assert_eq!(platform.raw.get(&widget).await?.body["spec"]["size"], 1);

    // And the other way round: an application whose kind has gone can still be deleted.
    platform
        .raw
        .delete(&format!("{crds}/widgets.{group}"), &json!({}))
        .await?;
    gone(&platform, &widget).await?;
    platform.delete("applications", "shop").await?;
    let path = format!(
        "/apis/core.oam.dev/v1beta1/namespaces/{}/applications/shop",
        platform.namespace
    );
    gone(&platform, &path).await?;
    platform.rests().await
}

#[tokio::test]
async fn drift_is_put_right() -> Result<()> {
    let platform = Platform::start().await?;
    platform.publish("a", "1.0.0").await?;
    platform.deploy_object(&saying("shop", "a", "ours")).await?;
    says(&platform, "shop-main", "ours").await?;
    platform.idle().await?;
    let path = format!("{}/shop-main", config_maps(&platform));
    for change in [
        json!({"data": {"text": "theirs"}}),
        json!({"data": {"text": null}}),
        json!({"metadata": {"labels": {"app.oam.dev/component": "theirs"}}}),
        json!({"metadata": {"labels": {"app.oam.dev/name": null}}}),
        json!({"metadata": {"labels": null}}),
    ] {
        ensure!(
            platform.raw.patch("merge", &path, &change).await?.code == 200,
            "{change}"
        );
        eventually(&format!("{change} is undone"), || async {
            let found = platform.config_map("shop-main").await?;
            let labels = &found["metadata"]["labels"];
            Ok(found["data"]["text"] == "ours"
                && labels["app.oam.dev/name"] == "shop"
                && labels["app.oam.dev/component"] == "shop-main")
        })
        .await?;
    }
    let uid = platform.config_map("shop-main").await?["metadata"]["uid"].clone();
    platform.raw.delete(&path, &json!({})).await?;
    eventually("it is made again", || async {
        let found = platform.config_map("shop-main").await?;
        Ok(found["data"]["text"] == "ours" && found["metadata"]["uid"] != uid)
    })
    .await?;
    // What others add is theirs.
    let addition = json!({"data": {"added": "by somebody"}, "metadata": {"labels": {"theirs": "yes"}}});
    platform.raw.patch("merge", &path, &addition).await?;
    platform.deploy_object(&saying("shop", "a", "ours again")).await?;
    says(&platform, "shop-main", "ours again").await?;
    let found = platform.config_map("shop-main").await?;
    assert_eq!(
        (&found["data"]["added"], &found["metadata"]["labels"]["theirs"]),
        (&json!("by somebody"), &json!("yes"))
    );
    platform.rests().await
}

#[tokio::test]
async fn what_is_no_longer_rendered_is_pruned_and_what_only_looks_like_it_is_not() -> Result<()> {
    let platform = Platform::start().await?;
    platform.publish("a", "1.0.0").await?;
    let secret = "output: {apiVersion: \"v1\", kind: \"Secret\", stringData: a: \"b\"}\n";
    platform
        .publish_object(&definition("ComponentDefinition", "a", Some("2.0.0"), secret))
        .await?;
    let both = application("shop", json!({}), &[("one", "a@1"), ("two", "a@1")]);
    platform.deploy_object(&both).await?;
    platform.runs("shop-one", "1.0.0").await?;
    platform.runs("shop-two", "1.0.0").await?;
    // Somebody copies one, labels and all.
    let labels = platform.config_map("shop-one").await?["metadata"]["labels"].clone();
    let copy =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "copy", "labels": labels}});
    assert_eq!(platform.raw.post(&config_maps(&platform), &copy).await?.code, 201);

    // One goes, the other becomes something else.
    platform
        .deploy_object(&application("shop", json!({}), &[("one", "a@2")]))
        .await?;
    gone(&platform, &format!("{}/shop-one", config_maps(&platform))).await?;
    gone(&platform, &format!("{}/shop-two", config_maps(&platform))).await?;
    let secret = format!("/api/v1/namespaces/{}/secrets/shop-one", platform.namespace);
    assert_eq!(platform.raw.get(&secret).await?.code, 200);
    let copy = format!("{}/copy", config_maps(&platform));
    assert_eq!(platform.raw.get(&copy).await?.code, 200, "the copy is not ours");

    platform.delete("applications", "shop").await?;
    gone(&platform, &secret).await?;
    let path = format!(
        "/apis/core.oam.dev/v1beta1/namespaces/{}/applications/shop",
        platform.namespace
    );
    gone(&platform, &path).await?;
    assert_eq!(platform.raw.get(&copy).await?.code, 200, "the copy is not ours");
    platform.rests().await
}

#[tokio::test]
async fn what_was_made_stays_if_the_application_is_told_to_leave_it() -> Result<()> {
    let platform = Platform::with_admission().await?;
    platform.publish("web", "1.0.0").await?;
    platform.deploy("shop", "web", json!({})).await?;
    platform.condition("shop", "Applied", "True").await?;
    let path = format!("{}/shop", platform.path("applications"));
    let made = format!("/api/v1/namespaces/{}/configmaps/shop-main", platform.namespace);
    let before = platform.raw.get(&made).await?;
    assert_eq!(before.code, 200, "{}", before.body);
    let orphan = json!({"propagationPolicy": "Orphan"});
    let answer = platform.raw.delete(&path, &orphan).await?;
    assert_eq!(answer.code, 403, "{}", answer.body);
    let message = answer.body["message"].as_str().unwrap_or_default();
    assert!(
        message.contains("give it the finalizer app.oam.dev/orphan-resource and delete it as usual"),
        "{message}"
    );
    let finalizers = json!({"metadata": {"finalizers": [
        "app.oam.dev/resource-tracker-finalizer", "app.oam.dev/orphan-resource",
    ]}});
    assert_eq!(platform.raw.patch("merge", &path, &finalizers).await?.code, 200);
    assert!(platform.raw.delete(&path, &json!({})).await?.code < 300);
    gone(&platform, &path).await?;
    let after = platform.raw.get(&made).await?;
    assert_eq!(after.code, 200, "{}", after.body);
    assert_eq!(after.body["metadata"]["uid"], before.body["metadata"]["uid"]);
    assert_eq!(after.body["metadata"]["deletionTimestamp"], Value::Null);
    let labels = &after.body["metadata"]["labels"];
    assert_eq!(labels["app.oam.dev/name"], Value::Null, "{labels}");
    platform.rests().await
}

#[tokio::test]
async fn an_application_that_made_nothing_has_nothing_to_leave() -> Result<()> {
    let platform = Platform::start().await?;
    let mut shop = application("shop", json!({}), &[("main", "nothing@1")]);
    shop["metadata"]["finalizers"] = json!(["app.oam.dev/orphan-resource"]);
    platform.accepted(&shop).await?;
    platform.condition("shop", "Resolved", "False").await?;
    platform.delete("applications", "shop").await?;
    let path = format!("{}/shop", platform.path("applications"));
    gone(&platform, &path).await?;
    platform.rests().await
}

#[tokio::test]
async fn deletion_removes_what_was_made_wherever_it_is() -> Result<()> {
    let platform = Platform::start().await?;
    let (elsewhere, cluster_wide) = (
        platform.cluster.namespace("elsewhere").await?,
        platform.cluster.unique("role"),
    );
    let template = format!(
        r#"
output: {{apiVersion: "rbac.authorization.k8s.io/v1", kind: "ClusterRole", metadata: name: "{cluster_wide}", rules: []}}
outputs: far: {{apiVersion: "v1", kind: "ConfigMap", metadata: {{name: "far", namespace: "{elsewhere}"}}, data: a: "b"}}
"#
    );
    platform
        .publish_object(&definition("ComponentDefinition", "wide", None, &template))
        .await?;
    platform.deploy("shop", "wide", json!({})).await?;
    platform.condition("shop", "Applied", "True").await?;
    let role = format!("/apis/rbac.authorization.k8s.io/v1/clusterroles/{cluster_wide}");
    let far = format!("/api/v1/namespaces/{elsewhere}/configmaps/far");
    for path in [&role, &far] {
        assert_eq!(platform.raw.get(path).await?.code, 200, "{path}");
    }
    // Not even its definition is needed for that.
    platform.delete("componentdefinitions", "wide").await?;
    platform.delete("applications", "shop").await?;
    for path in [&role, &far] {
        gone(&platform, path).await?;
    }
    let path = format!(
        "/apis/core.oam.dev/v1beta1/namespaces/{}/applications/shop",
        platform.namespace
    );
    gone(&platform, &path).await?;
    platform.rests().await
}

#[tokio::test]
async fn a_definition_that_comes_back_with_other_content_is_flagged_and_never_swapped() -> Result<()> {
    let platform = Platform::start().await?;
    platform.publish("a", "1.0.0").await?;
    platform.deploy("shop", "a@1.0.0", json!({})).await?;
    platform.runs("shop-main", "1.0.0").await?;
    platform.delete("componentdefinitions", "a").await?;
    let path = format!(
        "/apis/core.oam.dev/v1beta1/namespaces/{}/componentdefinitions/a",
        platform.namespace
    );
    gone(&platform, &path).await?;
    platform
        .publish_object(&component("a", Some("1.0.0"), "swapped"))
        .await?;
    let definition = platform.get("componentdefinitions", "a").await?;
    let conflict = condition(&definition, "Conflict").context("a condition")?;
    assert_eq!(
        (&conflict["status"], &conflict["reason"]),
        (&json!("True"), &json!("ContentChanged"))
    );
    platform
        .deploy_object(&saying("shop", "a@1.0.0", "edited"))
        .await?;
    says(&platform, "shop-main", "edited").await?;
    platform.runs("shop-main", "1.0.0").await?;
    platform.rests().await
}

#[tokio::test]
async fn an_edited_definition_revision_is_not_used_and_gets_its_content_back() -> Result<()> {
    let mut platform = Platform::without_manager(settings()).await?;
    platform.start_manager(platform.cluster.manager().await?).await?;
    platform.publish("a", "1.0.0").await?;
    platform.publish("a", "1.1.0").await?;
    platform.deploy("old", "a@1.0.0", json!({})).await?;
    platform.runs("old-main", "1.0.0").await?;
    let smuggled = component("a", None, "smuggled")["spec"]["schematic"].clone();
    let change = json!({"spec": {"componentDefinition": {"spec": {"schematic": smuggled, "extension": {"more": true}}}}});

    // The definition still says what 1.1.0 was.
    let before = platform.get("definitionrevisions", "a-v1.1.0").await?["spec"].clone();
    platform.edit("definitionrevisions", "a-v1.1.0", &change).await?;
    eventually("it is as it was", || async {
        Ok(platform.get("definitionrevisions", "a-v1.1.0").await?["spec"] == before)
    })
    .await?;
    // What 1.0.0 was, nobody knows any more.
    platform.edit("definitionrevisions", "a-v1.0.0", &change).await?;
    let resolved = platform.condition("old", "Resolved", "False").await?;
    assert_eq!(resolved["reason"], "RevisionChanged", "{resolved}");
    platform.runs("old-main", "1.0.0").await?;
    platform.deploy("new", "a@1.0.0", json!({})).await?;
    let resolved = platform.condition("new", "Resolved", "False").await?;
    assert_eq!(resolved["reason"], "RevisionChanged", "{resolved}");
    platform.rests().await
}

#[tokio::test]
async fn old_revisions_of_an_application_are_deleted_beyond_the_limit() -> Result<()> {
    let settings = cambium_controllers::Settings {
        application_revision_limit: 1,
        ..settings()
    };
    let platform = Platform::with(settings).await?;
    platform.publish("a", "1.0.0").await?;
    for text in ["one", "two", "three"] {
        platform.deploy_object(&saying("shop", "a@1.0.0", text)).await?;
        says(&platform, "shop-main", text).await?;
    }
    eventually("the current one and one more are left", || async {
        Ok(platform.names("applicationrevisions").await? == ["shop-v2", "shop-v3"])
    })
    .await
}

#[tokio::test]
async fn policies_and_workflows_are_resolved_and_never_ignored() -> Result<()> {
    let platform = Platform::start().await?;
    platform.publish("a", "1.0.0").await?;
    for version in ["1.0.0", "2.0.0"] {
        platform
            .publish_object(&definition(
                "PolicyDefinition",
                "p",
                Some(version),
                "parameter: {}\n",
            ))
            .await?;
        platform
            .publish_object(&definition(
                "WorkflowStepDefinition",
                "s",
                Some(version),
                "parameter: {}\n",
            ))
            .await?;
    }
    let mut shop = application("shop", json!({}), &[("main", "a")]);
    platform.deploy_object(&shop).await?;
    platform.runs("shop-main", "1.0.0").await?;
    shop["spec"]["policies"] = json!([{"name": "one", "type": "p@1"}]);
    shop["spec"]["components"][0]["properties"] = json!({"text": "sooner"});
    platform.deploy_object(&shop).await?;
    let applied = platform.condition("shop", "Applied", "False").await?;
    assert_eq!(applied["reason"], "PolicyNotSupported", "{applied}");
    platform.condition("shop", "Ready", "False").await?;
    says(&platform, "shop-main", "hello").await?;
    shop["metadata"]["annotations"] = json!({"app.oam.dev/ignore-unsupported": "true"});
    platform.deploy_object(&shop).await?;
    let applied = platform.condition("shop", "Applied", "True").await?;
    assert_eq!(applied["reason"], "UnsupportedIgnored", "{applied}");
    says(&platform, "shop-main", "sooner").await?;
    shop["metadata"]["annotations"] = json!({});
    let references = platform.application("shop").await?["status"]["references"].clone();
    assert_eq!(
        (&references[1]["asked"], &references[1]["version"]),
        (&json!("p@1"), &json!("1.0.0"))
    );

    shop["spec"]["workflow"] = json!({"steps": [{"name": "deploy", "type": "s@2"}]});
    shop["spec"]["components"][0]["properties"] = json!({"text": "later"});
    platform.deploy_object(&shop).await?;
    let applied = platform.condition("shop", "Applied", "False").await?;
    assert_eq!(applied["reason"], "PolicyNotSupported", "{applied}");
    let message = applied["message"].as_str().unwrap_or_default();
    assert!(message.contains("workflows are not supported"), "{message}");
    let references = platform.application("shop").await?["status"]["references"].clone();
    assert_eq!(
        (&references[2]["asked"], &references[2]["version"]),
        (&json!("s@2"), &json!("2.0.0"))
    );
    says(&platform, "shop-main", "sooner").await?;
    shop["spec"]["policies"][0]["type"] = json!("p@3");
    platform.deploy_object(&shop).await?;
    let resolved = platform.condition("shop", "Resolved", "False").await?;
    assert_eq!(resolved["reason"], "VersionNotFound", "{resolved}");
    platform.rests().await
}

#[tokio::test]
async fn health_is_what_the_definition_says_and_late_traits_wait_for_it() -> Result<()> {
    let platform = Platform::start().await?;
    let mut slow = component("slow", Some("1.0.0"), "1.0.0");
    slow["spec"]["status"] = json!({
        "healthPolicy": "isHealth: (*context.output.metadata.annotations.ready | \"no\") == \"yes\"",
        "customStatus": "message: \"ready: \" + (*context.output.metadata.annotations.ready | \"not yet\")",
    });
    platform.publish_object(&slow).await?;
    let template = "outputs: late: {apiVersion: \"v1\", kind: \"ConfigMap\", metadata: name: context.name + \"-late\", data: a: \"b\"}\n";
    let mut late = definition("TraitDefinition", "late", Some("1.0.0"), template);
    late["spec"]["stage"] = json!("PostDispatch");
    platform.publish_object(&late).await?;
    let mut shop = application("shop", json!({}), &[("main", "slow")]);
    shop["spec"]["components"][0]["traits"] = json!([{"type": "late"}]);
    platform.deploy_object(&shop).await?;
    let healthy = platform.condition("shop", "Healthy", "False").await?;
    assert_eq!(healthy["reason"], "Unhealthy", "{healthy}");
    let found = platform.application("shop").await?;
    assert_eq!(found["status"]["services"][0]["message"], "ready: not yet");
    assert_eq!(found["status"]["status"], "unhealthy");
    assert_eq!(
        condition(&found, "Applied").context("a condition")?["reason"],
        "Progressing"
    );
    assert_eq!(platform.config_map("shop-main-late").await?["code"], 404);

    let ready = json!({"metadata": {"annotations": {"ready": "yes"}}});
    let path = format!("{}/shop-main", config_maps(&platform));
    platform.raw.patch("merge", &path, &ready).await?;
    platform.condition("shop", "Ready", "True").await?;
    assert_eq!(platform.config_map("shop-main-late").await?["data"]["a"], "b");
    let found = platform.application("shop").await?;
    assert_eq!(found["status"]["services"][0]["message"], "ready: yes");
    assert_eq!(found["status"]["healthy"], "1/1");
    // What was dispatched stays when its workload falls ill.
    platform
        .raw
        .patch(
            "merge",
            &path,
            &json!({"metadata": {"annotations": {"ready": "no"}}}),
        )
        .await?;
    platform.condition("shop", "Healthy", "False").await?;
    platform.idle().await?;
    assert_eq!(platform.config_map("shop-main-late").await?["data"]["a"], "b");
    platform.rests().await
}

#[tokio::test]
async fn annotations_that_mean_nothing_are_refused_and_nothing_is_forgotten() -> Result<()> {
    let platform = Platform::start().await?;
    platform.publish("a", "1.0.0").await?;
    platform.deploy("shop", "a", json!({})).await?;
    platform.runs("shop-main", "1.0.0").await?;
    platform.publish("a", "2.0.0").await?;
    for (annotations, text) in [
        (auto_update("yes"), "\"yes\""),
        (auto_update(""), "\"\""),
        (
            json!({"app.oam.dev/autoUpdate": "true", "app.oam.dev/publishVersion": "x"}),
            "Application has both autoUpdate and publishVersion annotations. Only one can be present",
        ),
        (json!({"app.oam.dev/lock": "no lock"}), "cambium lock"),
    ] {
        platform.deploy("shop", "a", annotations).await?;
        let found = eventually_some(text, || async {
            let resolved = condition(&platform.application("shop").await?, "Resolved");
            Ok(resolved.filter(|resolved| resolved["message"].as_str().unwrap_or_default().contains(text)))
        })
        .await?;
        assert_eq!(
            (&found["status"], &found["reason"]),
            (&json!("False"), &json!("InvalidAnnotations"))
        );
        let shop = platform.application("shop").await?;
        assert_eq!(
            shop["status"]["references"][0]["version"], "1.0.0",
            "what is in use is not forgotten"
        );
    }
    platform.deploy("shop", "a", json!({})).await?;
    platform.condition("shop", "Ready", "True").await?;
    platform.runs("shop-main", "1.0.0").await?;
    platform.rests().await
}

#[tokio::test]
async fn long_names_are_used_or_refused_in_words() -> Result<()> {
    let platform = Platform::start().await?;
    let long = "d".repeat(200);
    platform.publish(&long, "1.0.0").await?;
    let definition = platform.get("componentdefinitions", &long).await?;
    assert_eq!(
        definition["status"]["highestVersion"], "1.0.0",
        "{}",
        definition["status"]
    );
    // As long as a label may be: the name of its revision is longer.
    let name = "n".repeat(63);
    let mut edge = application(&name, json!({}), &[("main", &long)]);
    edge["spec"]["components"][0]["name"] = json!("short");
    platform.deploy_object(&edge).await?;
    platform.runs("short", "1.0.0").await?;
    platform.condition(&name, "Ready", "True").await?;

    let name = "n".repeat(64);
    edge["metadata"]["name"] = json!(name);
    edge["spec"]["components"][0]["name"] = json!("other");
    platform.deploy_object(&edge).await?;
    let rendered = platform.condition(&name, "Rendered", "False").await?;
    assert!(
        rendered["message"]
            .as_str()
            .unwrap_or_default()
            .contains("64 characters"),
        "{rendered}"
    );
    platform.rests().await
}

#[tokio::test]
async fn an_application_without_components_is_ready_and_has_nothing() -> Result<()> {
    let platform = Platform::start().await?;
    platform.publish("a", "1.0.0").await?;
    platform.deploy("shop", "a", json!({})).await?;
    platform.runs("shop-main", "1.0.0").await?;
    platform
        .deploy_object(&application("shop", json!({}), &[]))
        .await?;
    gone(&platform, &format!("{}/shop-main", config_maps(&platform))).await?;
    platform.condition("shop", "Ready", "True").await?;
    let shop = platform.application("shop").await?;
    assert_eq!(shop["status"]["healthy"], "0/0");
    platform.deploy("shop", "a", json!({})).await?;
    platform.runs("shop-main", "1.0.0").await?;
    platform.rests().await
}

#[tokio::test]
async fn four_kinds_of_one_name_have_revisions_of_their_own() -> Result<()> {
    let platform = Platform::start().await?;
    let patch = "patch: metadata: annotations: trait: \"yes\"\n";
    let all = [
        component("web", Some("1.0.0"), "1.0.0"),
        definition("TraitDefinition", "web", Some("1.0.0"), patch),
        definition("PolicyDefinition", "web", Some("1.0.0"), "parameter: {}\n"),
        definition("WorkflowStepDefinition", "web", Some("1.0.0"), "parameter: {}\n"),
    ];
    // All at once: each wants the same name first.
    for definition in &all {
        platform.accepted(definition).await?;
    }
    for definition in &all {
        platform.publish_object(definition).await?;
    }
    let mut kinds: Vec<String> = Vec::new();
    for revision in platform.list("definitionrevisions").await? {
        let spec = &revision["spec"];
        let type_ = spec["definitionType"].as_str().unwrap_or("?");
        kinds.push(type_.to_owned());
        let field = match type_ {
            "Component" => "componentDefinition",
            "Trait" => "traitDefinition",
            "Policy" => "policyDefinition",
            _ => "workflowStepDefinition",
        };
        assert_eq!(spec[field]["kind"], format!("{type_}Definition"), "{spec}");
    }
    kinds.sort();
    assert_eq!(kinds, ["Component", "Policy", "Trait", "WorkflowStep"]);
    let mut shop = application("shop", json!({}), &[("main", "web@1")]);
    shop["spec"]["components"][0]["traits"] = json!([{"type": "web@1"}]);
    platform.deploy_object(&shop).await?;
    platform.runs("shop-main", "1.0.0").await?;
    let annotations = &platform.config_map("shop-main").await?["metadata"]["annotations"];
    assert_eq!(annotations["trait"], "yes");
    platform.rests().await
}

#[tokio::test]
async fn an_application_that_comes_back_under_its_name_starts_anew() -> Result<()> {
    let platform = Platform::start().await?;
    platform.publish("a", "1.0.0").await?;
    platform.deploy("shop", "a", json!({})).await?;
    platform.runs("shop-main", "1.0.0").await?;
    platform.publish("a", "2.0.0").await?;
    if platform.cluster.backend() == Backend::Kubernetes {
        // Nobody collects the revisions of the first one there.
        return Ok(());
    }
    platform.delete("applications", "shop").await?;
    let path = format!(
        "/apis/core.oam.dev/v1beta1/namespaces/{}/applications/shop",
        platform.namespace
    );
    gone(&platform, &path).await?;
    platform.deploy("shop", "a", json!({})).await?;
    platform.runs("shop-main", "2.0.0").await?;
    platform.idle().await?;
    let shop = platform.application("shop").await?;
    assert_eq!(shop["status"]["latestRevision"]["name"], "shop-v1");
    platform.rests().await
}

/// A definition in the system's namespace, under a name that only this test has.
async fn publish_far(platform: &Platform, name: &str, version: &str) -> Result<()> {
    let system = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "vela-system"}});
    let created = platform.raw.post("/api/v1/namespaces", &system).await?;
    ensure!([201, 409].contains(&created.code), "vela-system");
    let mut far = component(name, Some(version), version);
    far["metadata"]["namespace"] = json!("vela-system");
    platform.accepted(&far).await?;
    let path = format!("/apis/core.oam.dev/v1beta1/namespaces/vela-system/componentdefinitions/{name}");
    eventually(&format!("{name} {version} is published"), || async {
        let found = platform.raw.get(&path).await?.body;
        Ok(found["status"]["highestVersion"] == version)
    })
    .await
}

#[tokio::test]
async fn whoever_publishes_nearer_by_moves_nobody_who_uses_what_is_shared() -> Result<()> {
    let platform = Platform::start().await?;
    let name = platform.cluster.unique("shared");
    publish_far(&platform, &name, "1.2.2").await?;
    publish_far(&platform, &name, "1.10.0").await?;
    platform
        .deploy("exact", &format!("{name}@1.2.2"), json!({}))
        .await?;
    platform.deploy("bare", &name, json!({})).await?;
    platform.deploy("series", &format!("{name}@1"), json!({})).await?;
    platform.runs("exact-main", "1.2.2").await?;
    platform.runs("bare-main", "1.10.0").await?;
    platform.runs("series-main", "1.10.0").await?;
    platform.idle().await?;
    let generation = |found: &Value| found["metadata"]["resourceVersion"].clone();
    let before = [
        platform.application("exact").await?,
        platform.application("bare").await?,
    ];

    platform
        .publish_object(&component(&name, Some("1.2.2"), "near"))
        .await?;
    // Who comes now looks here first; who uses what everybody shares, and is applied as its author, is not handed to whoever may publish here.
    platform.deploy("new", &format!("{name}@1"), json!({})).await?;
    platform.runs("new-main", "near").await?;
    platform.idle().await?;
    platform.runs("series-main", "1.10.0").await?;
    for application in &before {
        let found = platform
            .application(application["metadata"]["name"].as_str().context("a name")?)
            .await?;
        assert_eq!(generation(&found), generation(application), "{found}");
        assert_eq!(found["status"]["references"][0]["namespace"], "vela-system");
    }
    // What is pinned is still looked after.
    let path = format!("{}/exact-main", config_maps(&platform));
    platform.raw.delete(&path, &json!({})).await?;
    platform.runs("exact-main", "1.2.2").await?;

    // A definition that is gone hides nothing, though a revision of it is still in use.
    platform
        .deploy("near", &format!("{name}@1.2.2"), json!({}))
        .await?;
    platform.runs("near-main", "near").await?;
    platform.delete("componentdefinitions", &name).await?;
    platform.runs("new-main", "1.10.0").await?;
    platform.runs("series-main", "1.10.0").await?;
    platform.deploy("late", &name, json!({})).await?;
    platform.runs("late-main", "1.10.0").await?;
    platform.idle().await?;
    platform.runs("near-main", "near").await?;
    platform.runs("exact-main", "1.2.2").await?;
    platform.rests().await
}

#[tokio::test]
async fn what_is_frozen_does_not_move_when_its_revision_is_gone() -> Result<()> {
    let platform = Platform::start().await?;
    platform.publish("a", "1.0.0").await?;
    let frozen = json!({"app.oam.dev/publishVersion": "monday"});
    platform.deploy("shop", "a@1", frozen).await?;
    platform.runs("shop-main", "1.0.0").await?;
    platform.condition("shop", "Ready", "True").await?;
    platform.publish("a", "1.1.0").await?;
    platform.delete("applicationrevisions", "shop-v1").await?;
    let resolved = platform.condition("shop", "Resolved", "False").await?;
    assert_eq!(
        resolved["message"],
        "it is frozen at shop-v1, which is gone; change app.oam.dev/publishVersion to record a new one"
    );
    platform.idle().await?;
    platform.runs("shop-main", "1.0.0").await?;
    let thawed = json!({"app.oam.dev/publishVersion": "tuesday"});
    platform.deploy("shop", "a@1", thawed).await?;
    platform.runs("shop-main", "1.1.0").await?;
    platform.rests().await
}

#[tokio::test]
async fn a_component_waits_for_those_it_depends_on() -> Result<()> {
    let platform = Platform::start().await?;
    let mut slow = component("slow", Some("1.0.0"), "1.0.0");
    slow["spec"]["status"] = json!({
        "healthPolicy": "isHealth: (*context.output.metadata.annotations.ready | \"no\") == \"yes\"",
    });
    platform.publish_object(&slow).await?;
    platform.publish("a", "1.0.0").await?;
    let components = [("first", "slow"), ("second", "a"), ("third", "a"), ("alone", "a")];
    let mut shop = application("shop", json!({}), &components);
    shop["spec"]["components"][1]["dependsOn"] = json!(["shop-first"]);
    shop["spec"]["components"][2]["dependsOn"] = json!(["shop-second"]);
    platform.deploy_object(&shop).await?;
    platform.runs("shop-alone", "1.0.0").await?;
    let applied = platform.condition("shop", "Applied", "False").await?;
    assert_eq!(
        applied["message"],
        "2 objects wait for their dependencies to be healthy"
    );
    platform.idle().await?;
    assert_eq!(platform.config_map("shop-second").await?["code"], 404);

    // Once the first is healthy the others follow, one after the other, without anybody's doing.
    let path = format!("{}/shop-first", config_maps(&platform));
    let ready = json!({"metadata": {"annotations": {"ready": "yes"}}});
    platform.raw.patch("merge", &path, &ready).await?;
    platform.runs("shop-third", "1.0.0").await?;
    platform.condition("shop", "Ready", "True").await?;

    // One that was applied is put back, though what it depends on has fallen ill; what takes another's place is waited for.
    let ill = json!({"metadata": {"annotations": {"ready": "no"}}});
    platform.raw.patch("merge", &path, &ill).await?;
    platform.condition("shop", "Healthy", "False").await?;
    let second = format!("{}/shop-second", config_maps(&platform));
    platform.raw.delete(&second, &json!({})).await?;
    platform.runs("shop-second", "1.0.0").await?;
    shop["spec"]["components"][2]["name"] = json!("shop-successor");
    shop["spec"]["components"][2]["dependsOn"] = json!(["shop-first"]);
    platform.deploy_object(&shop).await?;
    platform.condition("shop", "Applied", "False").await?;
    platform.idle().await?;
    platform.runs("shop-third", "1.0.0").await?;
    platform.raw.patch("merge", &path, &ready).await?;
    platform.runs("shop-successor", "1.0.0").await?;
    gone(&platform, &format!("{}/shop-third", config_maps(&platform))).await?;

    shop["spec"]["components"][2]["dependsOn"] = json!(["shop-second"]);
    shop["spec"]["components"][1]["dependsOn"] = json!(["shop-successor", "nobody"]);
    platform.deploy_object(&shop).await?;
    let rendered = platform.condition("shop", "Rendered", "False").await?;
    assert_eq!(
        rendered["message"],
        "component \"shop-second\": dependsOn names \"nobody\", and there is no such component\n\
         components shop-second, shop-successor wait for each other; take one dependsOn away"
    );
    platform.rests().await
}

#[tokio::test]
async fn an_application_that_is_not_healthy_says_why() -> Result<()> {
    let platform = Platform::start().await?;
    let mut unready = component("unready", Some("1.0.0"), "1.0.0");
    unready["spec"]["status"] = json!({"healthPolicy": "isHealth: context.output.data.ready == \"yes\""});
    platform.publish_object(&unready).await?;
    platform.deploy("shop", "unready", json!({})).await?;
    let healthy = platform.condition("shop", "Healthy", "False").await?;
    let message = healthy["message"].as_str().unwrap_or_default();
    assert!(message.starts_with("Not healthy: shop-main: "), "{message}");
    for cause in ["ready", "unready.healthPolicy:1:"] {
        assert!(message.contains(cause), "{message}");
    }
    platform.rests().await
}

#[tokio::test]
async fn what_the_server_rewrites_is_waited_for_as_it_was_applied() -> Result<()> {
    let platform = Platform::start().await?;
    let template = "output: {apiVersion: \"v1\", kind: \"Secret\", stringData: a: \"b\"}\nparameter: {}\n";
    platform
        .publish_object(&definition("ComponentDefinition", "key", Some("1.0.0"), template))
        .await?;
    platform.publish("a", "1.0.0").await?;
    let mut shop = application("shop", json!({}), &[("key", "key"), ("main", "a")]);
    shop["spec"]["components"][1]["dependsOn"] = json!(["shop-key"]);
    platform.deploy_object(&shop).await?;
    platform.runs("shop-main", "1.0.0").await?;
    platform.condition("shop", "Ready", "True").await?;
    platform.idle().await?;
    platform.rests().await
}

#[tokio::test]
async fn a_field_that_the_kind_does_not_know_is_reported_and_left_out() -> Result<()> {
    let platform = Platform::start().await?;
    let template = r#"
output: {
	apiVersion: "v1"
	kind:       "Service"
	spec: {
		nonsense: true
		ports: [{port: 80, note: "unknown"}]
	}
}
"#;
    let service = definition("ComponentDefinition", "svc", Some("1.0.0"), template);
    platform.publish_object(&service).await?;
    platform.deploy("shop", "svc", json!({})).await?;
    let applied = platform.condition("shop", "Applied", "True").await?;
    assert_eq!(applied["reason"], "FieldsIgnored", "{applied}");
    let message = applied["message"].as_str().unwrap_or_default();
    for path in [".spec.nonsense", ".note"] {
        assert!(message.contains(path), "{message}");
    }
    let path = format!("/api/v1/namespaces/{}/services/shop-main", platform.namespace);
    let service = platform.raw.get(&path).await?.body;
    assert_eq!(service["spec"]["ports"][0]["port"], 80, "{service}");
    // At rest, nothing is applied again: the object stays as it is, and so does what is said of it.
    platform.idle().await?;
    platform
        .edit(
            "applications",
            "shop",
            &json!({"metadata": {"labels": {"look": "again"}}}),
        )
        .await?;
    platform.idle().await?;
    let applied = platform.condition("shop", "Applied", "True").await?;
    assert_eq!(applied["reason"], "FieldsIgnored", "{applied}");
    platform.rests().await
}

#[tokio::test]
async fn a_field_that_a_kind_learns_later_is_applied_then() -> Result<()> {
    let platform = Platform::start().await?;
    let group = format!("{}.example.org", platform.cluster.unique("later"));
    let crd = |fields: &[&str]| {
        let fields: serde_json::Map<String, Value> = fields
            .iter()
            .map(|field| ((*field).to_owned(), json!({"type": "string"})))
            .collect();
        json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": format!("vpcs.{group}")},
            "spec": {
                "group": group, "scope": "Namespaced", "names": {"plural": "vpcs", "singular": "vpc", "kind": "Vpc"},
                "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {
                    "type": "object", "properties": {"spec": {"type": "object", "properties": fields}},
                }}}],
            },
        })
    };
    let crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    let made = platform.raw.post(crds, &crd(&["region"])).await?;
    assert_eq!(made.code, 201, "{made:?}");
    let template = format!(
        "output: {{apiVersion: \"{group}/v1\", kind: \"Vpc\", spec: {{region: \"x\", later: \"y\"}}}}\n"
    );
    let vpc = definition("ComponentDefinition", "vpc", Some("1.0.0"), &template);
    platform.publish_object(&vpc).await?;
    platform.deploy("shop", "vpc", json!({})).await?;
    let path = format!(
        "/apis/{group}/v1/namespaces/{}/vpcs/shop-main",
        platform.namespace
    );
    eventually("the field is left out", || async {
        let found = platform.application("shop").await?;
        let applied = condition(&found, "Applied").unwrap_or_default();
        Ok(applied["reason"] == "FieldsIgnored" && platform.raw.get(&path).await?.code == 200)
    })
    .await?;
    platform.idle().await?;
    let learned = platform
        .raw
        .patch(
            "merge",
            &format!("{crds}/vpcs.{group}"),
            &crd(&["region", "later"]),
        )
        .await?;
    assert_eq!(learned.code, 200, "{learned:?}");
    eventually("the field is applied", || async {
        let found = platform.application("shop").await?;
        let applied = condition(&found, "Applied").unwrap_or_default();
        let vpc = platform.raw.get(&path).await?.body;
        Ok(applied["reason"] == "Available" && vpc["spec"]["later"] == "y")
    })
    .await?;
    platform.rests().await
}

/// Controllers write to a Deployment as soon as it is there: what we created of it is ours all the same, and goes when nobody wants it.
#[tokio::test]
async fn what_was_created_is_taken_away_though_others_wrote_at_once() -> Result<()> {
    let platform = Platform::start().await?;
    let deployment = |version: &str, annotations: &str| {
        let template = format!(
            r#"
output: {{
	apiVersion: "apps/v1"
	kind:       "Deployment"
	metadata: annotations: {annotations}
	spec: {{
		selector: matchLabels: app: context.name
		template: {{
			metadata: labels: app: context.name
			spec: containers: [{{name: "main", image: "nginx"}}]
		}}
	}}
}}
"#
        );
        definition("ComponentDefinition", "deployed", Some(version), &template)
    };
    platform
        .publish_object(&deployment("1.0.0", "{old: \"x\", kept: \"y\"}"))
        .await?;
    let path = format!("/apis/apps/v1/namespaces/{}/deployments", platform.namespace);
    let names: Vec<String> = (0..5).map(|number| format!("shop-{number}")).collect();
    for name in &names {
        platform.deploy(name, "deployed@1", json!({})).await?;
    }
    for name in &names {
        platform.condition(name, "Applied", "True").await?;
    }
    platform
        .publish_object(&deployment("1.0.1", "{kept: \"z\"}"))
        .await?;
    for name in &names {
        let path = format!("{path}/{name}-main");
        eventually("the annotation is gone", || async {
            let annotations = platform.raw.get(&path).await?.body["metadata"]["annotations"].clone();
            Ok(annotations["kept"] == "z" && annotations["old"].is_null())
        })
        .await?;
        platform.condition(name, "Applied", "True").await?;
    }
    platform.idle().await?;
    for name in &names {
        let found = platform.raw.get(&format!("{path}/{name}-main")).await?.body;
        let managers = found["metadata"]["managedFields"]
            .as_array()
            .context("managers")?;
        let ours = managers.iter().filter(|entry| entry["manager"] == "cambium");
        let ours: Vec<&Value> = ours.map(|entry| &entry["operation"]).collect();
        assert_eq!(ours, ["Apply"], "{managers:?}");
    }
    platform.rests().await
}

/// A component that is cheap by default, and costs the third power of what it is given.
fn hostile(name: &str, version: &str, default: u32) -> Value {
    let template = format!(
        r#"import "list"

parameter: {{n: *{default} | int, text: *"hello" | string}}
_n: list.Range(0, parameter.n, 1)
output: {{
	apiVersion: "v1"
	kind:       "ConfigMap"
	data: {{
		version: "{version}"
		for i in _n for j in _n for k in _n {{"\(i)-\(j)-\(k)": "x"}}
	}}
}}
"#
    );
    definition("ComponentDefinition", name, Some(version), &template)
}

#[tokio::test]
async fn a_template_costs_its_author_and_nobody_else() -> Result<()> {
    let platform = Platform::start().await?;
    let neighbour = platform.elsewhere().await?;
    platform.publish_object(&hostile("greedy", "1.0.0", 1)).await?;
    neighbour.publish("a", "1.0.0").await?;
    // More than there are workers.
    for index in 0..10 {
        let mut greedy = application(&format!("greedy-{index}"), json!({}), &[("main", "greedy@1.0.0")]);
        greedy["spec"]["components"][0]["properties"] = json!({"n": 500});
        platform.accepted(&greedy).await?;
    }
    neighbour.deploy("shop", "a@1", json!({})).await?;
    neighbour.runs("shop-main", "1.0.0").await?;
    for index in 0..10 {
        let rendered = platform
            .condition(&format!("greedy-{index}"), "Rendered", "False")
            .await?;
        ensure!(rendered["reason"] == "TemplateTooExpensive", "{rendered}");
        let message = rendered["message"].as_str().unwrap_or_default();
        ensure!(message.contains("greedy:"), "no place: {message}");
    }
    // Nobody tries again.
    platform.idle().await?;
    let mut calm = application("greedy-0", json!({}), &[("main", "greedy@1.0.0")]);
    calm["spec"]["components"][0]["properties"] = json!({"n": 2});
    platform.deploy_object(&calm).await?;
    platform.runs("greedy-0-main", "1.0.0").await?;
    platform.rests().await
}

#[tokio::test]
async fn a_version_that_is_too_expensive_moves_nobody_even_if_it_was_stored_before() -> Result<()> {
    let mut platform = Platform::start().await?;
    platform.publish_object(&hostile("greedy", "1.0.0", 1)).await?;
    platform.deploy("shop", "greedy@1", json!({})).await?;
    platform.runs("shop-main", "1.0.0").await?;
    platform.publish_object(&hostile("greedy", "1.0.1", 500)).await?;
    let definition = platform.get("componentdefinitions", "greedy").await?;
    let told = definition["status"].to_string();
    ensure!(told.contains("TemplateTooExpensive"), "{told}");
    platform.runs("shop-main", "1.0.0").await?;

    // As an older manager would have published it.
    platform.publish_object(&hostile("greedy", "1.0.0", 1)).await?;
    let mut revision = platform.get("definitionrevisions", "greedy-v1.0.0").await?;
    let template = hostile("greedy", "1.0.1", 500)["spec"].clone();
    revision["metadata"] = json!({
        "name": "greedy-v1.0.1", "namespace": platform.namespace, "labels": revision["metadata"]["labels"],
    });
    let spec = revision["spec"].as_object_mut().context("a spec")?;
    spec.remove("digest");
    spec.insert("revision".to_owned(), json!(2));
    spec.insert("version".to_owned(), json!("1.0.1"));
    spec.insert("revisionHash".to_owned(), json!(""));
    revision["spec"]["componentDefinition"]["spec"] = template;
    let answer = platform
        .raw
        .post(&platform.path("definitionrevisions"), &revision)
        .await?;
    ensure!(answer.code < 300, "{}: {}", answer.code, answer.body);
    platform.stop_manager().await;
    let client = platform.cluster.client();
    platform.start_manager(client).await?;
    platform.publish("a", "1.0.0").await?;
    platform.deploy("other", "a@1", json!({})).await?;
    platform.runs("other-main", "1.0.0").await?;
    platform.runs("shop-main", "1.0.0").await?;
    platform.idle().await?;
    platform.rests().await
}
