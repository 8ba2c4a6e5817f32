//! What KubeVela gets wrong, defect by defect: each test is named after what must hold instead.

use crate::platform::{
    Platform, application, auto_update, component, condition, definition, saying, settings,
};
use anyhow::{Result, ensure};
use cambium_controllers::Settings;
use cambium_testing::{Backend, Faults, eventually};
use serde_json::{Value, json};

fn limited(definition_revision_limit: usize) -> Settings {
    Settings {
        definition_revision_limit,
        ..settings()
    }
}

async fn revisions_are(platform: &Platform, expected: &[&str]) -> Result<()> {
    let what = format!("the revisions are {expected:?}");
    let are = || async { Ok(platform.names("definitionrevisions").await? == expected) };
    eventually(&what, are).await
}

// 1: the limit deletes what is in use.

#[tokio::test]
async fn a_revision_in_use_outlives_every_limit() -> Result<()> {
    for (limit, kept) in [
        (0, vec!["a-v1.0.0", "a-v1.3.0"]),
        (1, vec!["a-v1.0.0", "a-v1.2.0", "a-v1.3.0"]),
    ] {
        let platform = Platform::with(limited(limit)).await?;
        platform.publish("a", "1.0.0").await?;
        platform
            .deploy_object(&saying("shop", "a@1.0.0", "before"))
            .await?;
        platform.runs("shop-main", "1.0.0").await?;
        for version in ["1.1.0", "1.2.0", "1.3.0"] {
            platform.publish("a", version).await?;
        }
        revisions_are(&platform, &kept).await?;
        // It is not only there, it can be used.
        platform
            .deploy_object(&saying("shop", "a@1.0.0", "after"))
            .await?;
        eventually("the change arrives", || async {
            Ok(platform.config_map("shop-main").await?["data"]
                == json!({"version": "1.0.0", "text": "after"}))
        })
        .await?;
        if platform.cluster.backend() == Backend::Embedded {
            // Once nobody needs it, it goes.
            platform.delete("applications", "shop").await?;
            revisions_are(&platform, &kept[1..]).await?;
        }
    }
    Ok(())
}

#[tokio::test]
async fn a_revision_that_a_rollback_needs_outlives_every_limit() -> Result<()> {
    let platform = Platform::with(limited(0)).await?;
    platform.publish("a", "1.0.0").await?;
    platform.deploy("shop", "a@1", json!({})).await?;
    platform.runs("shop-main", "1.0.0").await?;
    platform.publish("a", "1.1.0").await?;
    platform.runs("shop-main", "1.1.0").await?;
    platform.publish("a", "2.0.0").await?;
    platform.idle().await?;
    revisions_are(&platform, &["a-v1.0.0", "a-v1.1.0", "a-v2.0.0"]).await?;
    platform.rests().await
}

// 2: a published version can be edited.

#[tokio::test]
async fn a_published_version_keeps_its_content() -> Result<()> {
    let platform = Platform::start().await?;
    platform.publish("a", "1.0.0").await?;
    platform.deploy("shop", "a@1.0.0", json!({})).await?;
    platform.runs("shop-main", "1.0.0").await?;
    let before = platform.get("definitionrevisions", "a-v1.0.0").await?;

    platform
        .publish_object(&component("a", Some("1.0.0"), "something else"))
        .await?;
    let definition = platform.get("componentdefinitions", "a").await?;
    let conflict = condition(&definition, "Conflict").expect("a condition");
    assert_eq!(conflict["status"], "True", "{conflict}");
    assert_eq!(conflict["reason"], "ContentChanged", "{conflict}");
    let after = platform.get("definitionrevisions", "a-v1.0.0").await?;
    assert_eq!(after["spec"], before["spec"]);
    platform.deploy("other", "a@1.0.0", json!({})).await?;
    platform.runs("other-main", "1.0.0").await?;
    platform.runs("shop-main", "1.0.0").await?;

    // Whoever puts it back has no conflict any more.
    platform.publish("a", "1.0.0").await?;
    let definition = platform.get("componentdefinitions", "a").await?;
    assert_eq!(
        condition(&definition, "Conflict").expect("a condition")["status"],
        "False"
    );
    assert_eq!(
        condition(&definition, "Ready").expect("a condition")["status"],
        "True"
    );
    platform.rests().await
}

#[tokio::test]
async fn admission_refuses_a_published_version_with_other_content_and_names_both_digests() -> Result<()> {
    let platform = Platform::with_admission().await?;
    platform.publish("a", "1.0.0").await?;
    let published = platform.get("definitionrevisions", "a-v1.0.0").await?["spec"]["digest"].clone();
    let refused = platform
        .refused(&component("a", Some("1.0.0"), "something else"))
        .await?;
    let published = published.as_str().expect("a digest");
    assert!(refused.contains(published), "{refused}");
    assert_eq!(refused.matches("sha256:").count(), 2, "{refused}");
    assert!(
        refused.contains("publish the change under a new version"),
        "{refused}"
    );
    // Labels and descriptions are not content.
    let mut labelled = component("a", Some("1.0.0"), "1.0.0");
    labelled["metadata"]["labels"] = json!({"team": "platform"});
    platform.accepted(&labelled).await?;
    platform.rests().await
}

// 3: a bare type means what was applied last.

#[tokio::test]
async fn a_bare_type_is_the_highest_release_and_not_what_was_applied_last() -> Result<()> {
    let platform = Platform::start().await?;
    platform.publish("a", "1.2.8").await?;
    platform.deploy("pinned", "a@1.2.8", json!({})).await?;
    platform.deploy("follower", "a@1", json!({})).await?;
    platform.publish("a", "2.0.0").await?;
    platform.deploy("early", "a", auto_update("true")).await?;
    platform.publish("a", "1.2.9").await?;
    platform.deploy("bare", "a", json!({})).await?;
    platform.runs("bare-main", "2.0.0").await?;
    platform.runs("follower-main", "1.2.9").await?;
    platform.idle().await?;
    platform.runs("early-main", "2.0.0").await?;
    platform.runs("pinned-main", "1.2.8").await?;
    let definition = platform.get("componentdefinitions", "a").await?;
    assert_eq!(definition["status"]["highestVersion"], "2.0.0");
    platform.rests().await
}

// 4: a bare type is frozen, or is not, and nobody can say which.

#[tokio::test]
async fn a_bare_type_of_a_versioned_definition_is_pinned_unless_it_asks_to_follow() -> Result<()> {
    let platform = Platform::start().await?;
    platform.publish("a", "1.0.0").await?;
    platform.deploy("pinned", "a", json!({})).await?;
    platform.deploy("follower", "a", auto_update("true")).await?;
    platform.runs("pinned-main", "1.0.0").await?;
    platform.runs("follower-main", "1.0.0").await?;
    platform.publish("a", "2.0.0").await?;
    platform.runs("follower-main", "2.0.0").await?;
    platform.idle().await?;
    platform.runs("pinned-main", "1.0.0").await?;
    // An edit of its own does not move it either, and its status says what it does not take.
    platform.deploy_object(&saying("pinned", "a", "edited")).await?;
    eventually("the edit arrives", || async {
        Ok(
            platform.config_map("pinned-main").await?["data"]
                == json!({"version": "1.0.0", "text": "edited"}),
        )
    })
    .await?;
    let reference = platform.application("pinned").await?["status"]["references"][0].clone();
    assert_eq!(reference["version"], "1.0.0");
    assert_eq!(reference["newer"]["version"], "2.0.0", "{reference}");
    // Asked to follow, it does.
    platform
        .edit(
            "applications",
            "pinned",
            &json!({"metadata": {"annotations": auto_update("true")}}),
        )
        .await?;
    platform.runs("pinned-main", "2.0.0").await?;
    platform.rests().await
}

#[tokio::test]
async fn a_bare_type_of_a_definition_without_versions_moves_when_its_application_is_edited() -> Result<()> {
    let platform = Platform::start().await?;
    platform.publish_object(&component("a", None, "first")).await?;
    platform.deploy("plain", "a", json!({})).await?;
    platform.deploy("follower", "a", auto_update("true")).await?;
    platform.deploy("staying", "a", auto_update("false")).await?;
    for name in ["plain-main", "follower-main", "staying-main"] {
        platform.runs(name, "first").await?;
    }
    platform.publish_object(&component("a", None, "second")).await?;
    platform.runs("follower-main", "second").await?;
    platform.idle().await?;
    platform.runs("plain-main", "first").await?;
    platform.runs("staying-main", "first").await?;
    for name in ["plain", "staying"] {
        let edit = json!({"spec": {"components": [{
            "name": format!("{name}-main"), "type": "a", "properties": {"text": "edited"},
        }]}});
        platform.edit("applications", name, &edit).await?;
    }
    platform.runs("plain-main", "second").await?;
    platform.idle().await?;
    platform.runs("staying-main", "first").await?;
    platform.rests().await
}

// 5: two versions of one definition in one application.

#[tokio::test]
async fn two_versions_of_one_definition_live_in_one_application() -> Result<()> {
    let platform = Platform::start().await?;
    platform.publish("a", "1.0.0").await?;
    platform.publish("a", "2.0.0").await?;
    for version in ["1.0.0", "2.0.0"] {
        let template = format!("patch: metadata: annotations: trait: \"{version}\"\n");
        platform
            .publish_object(&definition("TraitDefinition", "t", Some(version), &template))
            .await?;
    }
    let mut shop = application(
        "shop",
        json!({}),
        &[("old", "a@1"), ("new", "a@2"), ("bare", "a")],
    );
    shop["spec"]["components"][0]["traits"] = json!([{"type": "t@2.0.0"}]);
    shop["spec"]["components"][1]["traits"] = json!([{"type": "t@1.0.0"}]);
    platform.deploy_object(&shop).await?;
    platform.runs("shop-old", "1.0.0").await?;
    platform.runs("shop-new", "2.0.0").await?;
    platform.runs("shop-bare", "2.0.0").await?;
    for (name, version) in [("shop-old", "2.0.0"), ("shop-new", "1.0.0")] {
        let annotations = &platform.config_map(name).await?["metadata"]["annotations"];
        assert_eq!(annotations["trait"], version, "{name}");
    }
    platform.rests().await
}

// 6: autoUpdate "false" half-enables it.

#[tokio::test]
async fn auto_update_false_is_false_for_every_kind_of_reference() -> Result<()> {
    let platform = Platform::start().await?;
    let marked = |text: &str| format!("patch: metadata: annotations: trait: \"{text}\"\n");
    platform.publish("a", "1.0.0").await?;
    platform
        .publish_object(&component("legacy", None, "first"))
        .await?;
    platform
        .publish_object(&definition("TraitDefinition", "t", None, &marked("first")))
        .await?;
    let mut shop = application("shop", auto_update("false"), &[("one", "a"), ("two", "legacy")]);
    shop["spec"]["components"][0]["traits"] = json!([{"type": "t"}]);
    platform.deploy_object(&shop).await?;
    let mut follower = application(
        "follower",
        auto_update("true"),
        &[("one", "a"), ("two", "legacy")],
    );
    follower["spec"]["components"][0]["traits"] = json!([{"type": "t"}]);
    platform.deploy_object(&follower).await?;
    platform.runs("shop-one", "1.0.0").await?;
    platform.runs("shop-two", "first").await?;

    platform.publish("a", "1.0.1").await?;
    platform
        .publish_object(&component("legacy", None, "second"))
        .await?;
    platform
        .publish_object(&definition("TraitDefinition", "t", None, &marked("second")))
        .await?;
    platform.runs("follower-one", "1.0.1").await?;
    platform.runs("follower-two", "second").await?;
    platform.idle().await?;
    platform.runs("shop-one", "1.0.0").await?;
    platform.runs("shop-two", "first").await?;
    let one = platform.config_map("shop-one").await?;
    assert_eq!(one["metadata"]["annotations"]["trait"], "first");
    let shop = platform.application("shop").await?;
    assert_eq!(
        shop["status"]["latestRevision"]["name"], "shop-v1",
        "nothing was recorded"
    );
    platform.rests().await
}

// 7: pre-releases cannot be declared, and are selected if they are there.

#[tokio::test]
async fn a_pre_release_is_selected_by_its_full_name_only() -> Result<()> {
    let platform = Platform::with_admission().await?;
    platform.publish("a", "1.2.0").await?;
    for (name, reference) in [("bare", "a"), ("major", "a@1"), ("minor", "a@v1.2")] {
        platform.deploy(name, reference, auto_update("true")).await?;
    }
    platform.publish("a", "1.3.0-rc.1").await?;
    platform.deploy("brave", "a@1.3.0-rc.1", json!({})).await?;
    platform.runs("brave-main", "1.3.0-rc.1").await?;
    let refused = platform
        .refused(&application("wrong", json!({}), &[("main", "a@1.3")]))
        .await?;
    assert!(
        refused.contains("1.3.0-rc.1"),
        "it names what there is: {refused}"
    );
    platform.idle().await?;
    for name in ["bare-main", "major-main", "minor-main"] {
        platform.runs(name, "1.2.0").await?;
    }
    platform.publish("a", "1.3.0").await?;
    platform.runs("bare-main", "1.3.0").await?;
    platform.runs("major-main", "1.3.0").await?;
    platform.idle().await?;
    platform.runs("minor-main", "1.2.0").await?;
    platform.runs("brave-main", "1.3.0-rc.1").await?;
    platform.rests().await
}

// 8: nothing happens until the next resync.

#[tokio::test]
async fn a_publish_reaches_those_who_follow_and_asks_nothing_about_the_others() -> Result<()> {
    let mut platform = Platform::without_manager(settings()).await?;
    let faults = Faults::new();
    platform
        .start_manager(faults.client(&platform.cluster.manager().await?))
        .await?;
    platform.publish("a", "1.0.0").await?;
    platform.publish("b", "1.0.0").await?;
    platform.deploy("follower", "a@1", json!({})).await?;
    for (name, reference, annotations) in [
        ("exact", "a@1.0.0", json!({})),
        ("bare", "a", json!({})),
        ("off", "a@1.0.0", auto_update("false")),
        ("published", "a@1", json!({"app.oam.dev/publishVersion": "one"})),
        ("stranger", "b@1", auto_update("true")),
    ] {
        platform.deploy(name, reference, annotations).await?;
        platform.runs(&format!("{name}-main"), "1.0.0").await?;
    }
    platform.idle().await?;
    faults.recorder().clear();
    platform.publish("a", "1.1.0").await?;
    platform.runs("follower-main", "1.1.0").await?;
    platform.idle().await?;
    let calls = faults.recorder().calls();
    let about_applications = ["applications", "applicationrevisions", "configmaps"];
    for call in calls.iter().filter(|call| call.namespace == platform.namespace) {
        let resource = call.resource.split('/').next().unwrap_or_default();
        let follower = call.name.is_empty() || call.name.starts_with("follower");
        ensure!(!about_applications.contains(&resource) || follower, "{call}");
    }
    let writes = calls
        .iter()
        .filter(|call| call.verb.is_write() && call.name.starts_with("follower"));
    assert!(writes.count() <= 4, "{calls:?}");
    assert_eq!(faults.recorder().lists(), 0);
    platform.rests().await
}

// 9: `@v1` is a number here and a major there.

#[tokio::test]
async fn v1_means_major_1_whatever_the_numbers_are() -> Result<()> {
    let platform = Platform::start().await?;
    for version in ["3.0.0", "2.0.0", "1.4.0", "1.5.0"] {
        platform.publish("a", version).await?;
    }
    for (name, reference, version) in [
        ("one", "a@v1", "1.5.0"),
        ("three", "a@v3", "3.0.0"),
        ("minor", "a@v1.4", "1.4.0"),
    ] {
        platform.deploy(name, reference, json!({})).await?;
        platform.runs(&format!("{name}-main"), version).await?;
    }
    // There are four numbers, and no major 4.
    platform.deploy("four", "a@v4", json!({})).await?;
    let condition = platform.condition("four", "Resolved", "False").await?;
    assert_eq!(condition["reason"], "VersionNotFound");
    // Without versions, it is the number.
    for text in ["first", "second"] {
        platform.publish_object(&component("legacy", None, text)).await?;
    }
    platform.deploy("legacy", "legacy@v1", json!({})).await?;
    platform.runs("legacy-main", "first").await?;
    platform.rests().await
}

// 10: deleting a definition takes the revisions in use with it.

#[tokio::test]
async fn deleting_a_definition_leaves_revisions_to_those_who_use_them() -> Result<()> {
    let platform = Platform::start().await?;
    platform.publish("a", "1.0.0").await?;
    platform.publish("a", "1.1.0").await?;
    platform
        .deploy_object(&saying("shop", "a@1.0.0", "before"))
        .await?;
    platform.runs("shop-main", "1.0.0").await?;
    platform.delete("componentdefinitions", "a").await?;
    eventually("the definition is gone", || async {
        Ok(platform.get("componentdefinitions", "a").await?["code"] == 404)
    })
    .await?;
    if platform.cluster.backend() == Backend::Embedded {
        revisions_are(&platform, &["a-v1.0.0"]).await?;
    } else {
        // Nobody collects garbage there: somebody does by hand what the collector would.
        for name in ["a-v1.0.0", "a-v1.1.0"] {
            platform.delete("definitionrevisions", name).await?;
        }
        revisions_are(&platform, &["a-v1.0.0"]).await?;
    }
    platform.idle().await?;
    platform
        .deploy_object(&saying("shop", "a@1.0.0", "after"))
        .await?;
    eventually("the application still works", || async {
        Ok(platform.config_map("shop-main").await?["data"]["text"] == "after")
    })
    .await?;
    if platform.cluster.backend() == Backend::Embedded {
        platform.delete("applications", "shop").await?;
        revisions_are(&platform, &[]).await?;
    }
    platform.rests().await
}

#[tokio::test]
async fn a_revision_that_kubevela_made_stays_for_those_who_use_it() -> Result<()> {
    let platform = Platform::start().await?;
    platform.publish_object(&component("kw", None, "first")).await?;
    // KubeVela's revisions have no finalizer.
    platform
        .edit(
            "definitionrevisions",
            "kw-v1",
            &json!({"metadata": {"finalizers": null}}),
        )
        .await?;
    eventually("it is held", || async {
        let held = json!(["definitionrevision.oam.dev/in-use"]);
        Ok(platform.get("definitionrevisions", "kw-v1").await?["metadata"]["finalizers"] == held)
    })
    .await?;
    platform.deploy("shop", "kw@v1", json!({})).await?;
    platform.runs("shop-main", "first").await?;
    platform.publish_object(&component("kw", None, "second")).await?;
    platform.idle().await?;
    platform.delete("componentdefinitions", "kw").await?;
    if platform.cluster.backend() == Backend::Embedded {
        revisions_are(&platform, &["kw-v1"]).await?;
        platform.delete("applications", "shop").await?;
        revisions_are(&platform, &[]).await?;
    }
    platform.rests().await
}

#[tokio::test]
async fn admission_refuses_to_delete_a_definition_in_use_unless_it_may_be_orphaned() -> Result<()> {
    let platform = Platform::with_admission().await?;
    platform.publish("a", "1.0.0").await?;
    platform.deploy("shop", "a@1.0.0", json!({})).await?;
    platform.runs("shop-main", "1.0.0").await?;
    let refused = platform.delete("componentdefinitions", "a").await?;
    assert!(refused.code >= 400, "{refused:?}");
    let user = format!("Application {}/shop", platform.namespace);
    assert!(refused.message().contains(&user), "{refused:?}");
    assert!(
        refused.message().contains("cambium.dev/allow-orphans=true"),
        "{refused:?}"
    );
    let orphan = json!({"metadata": {"annotations": {"cambium.dev/allow-orphans": "true"}}});
    platform.edit("componentdefinitions", "a", &orphan).await?;
    let deleted = platform.delete("componentdefinitions", "a").await?;
    assert!(deleted.code < 300, "{deleted:?}");
    // Garbage collection comes when it likes, and marks what we hold.
    eventually("the revision is marked", || async {
        let revision = platform.get("definitionrevisions", "a-v1.0.0").await?;
        Ok(revision["metadata"]["deletionTimestamp"].is_string())
    })
    .await?;
    platform.idle().await?;
    platform.runs("shop-main", "1.0.0").await?;
    assert_eq!(platform.names("definitionrevisions").await?, ["a-v1.0.0"]);
    platform.rests().await
}

// 11: the existence check takes `a@1.2` for a name.

#[tokio::test]
async fn versioned_references_pass_admission() -> Result<()> {
    let platform = Platform::with_admission().await?;
    platform.publish("a", "1.2.3").await?;
    let patch = "patch: metadata: annotations: trait: \"yes\"\n";
    platform
        .publish_object(&definition("TraitDefinition", "t", Some("1.0.0"), patch))
        .await?;
    for (index, reference) in ["a", "a@1", "a@v1", "a@1.2", "a@v1.2.3"].into_iter().enumerate() {
        let name = format!("app{index}");
        let mut shop = application(&name, json!({}), &[("main", reference)]);
        shop["spec"]["components"][0]["traits"] = json!([{"type": "t@v1"}]);
        platform.accepted(&shop).await?;
        platform.runs(&format!("{name}-main"), "1.2.3").await?;
    }
    platform.rests().await
}

// 12: after a revert, the next change overwrites history.

#[tokio::test]
async fn a_revert_loses_no_revision() -> Result<()> {
    let platform = Platform::start().await?;
    platform.publish("a", "1.0.0").await?;
    let recorded = async |text: &str| -> Result<Value> {
        platform.deploy_object(&saying("shop", "a@1.0.0", text)).await?;
        eventually(&format!("it says {text}"), || async {
            Ok(platform.config_map("shop-main").await?["data"]["text"] == text)
        })
        .await?;
        platform.idle().await?;
        Ok(platform.application("shop").await?["status"]["latestRevision"].clone())
    };
    assert_eq!(recorded("A").await?["name"], "shop-v1");
    assert_eq!(recorded("B").await?["name"], "shop-v2");
    let again = recorded("A").await?;
    assert_eq!(
        (&again["name"], &again["revision"]),
        (&json!("shop-v1"), &json!(3))
    );
    assert_eq!(recorded("C").await?["name"], "shop-v4");
    let mut texts: Vec<(String, String)> = Vec::new();
    for revision in platform.list("applicationrevisions").await? {
        let text = &revision["spec"]["application"]["spec"]["components"][0]["properties"]["text"];
        let name = &revision["metadata"]["name"];
        texts.push((
            name.as_str().unwrap_or("?").into(),
            text.as_str().unwrap_or("?").into(),
        ));
    }
    let expected = [("shop-v1", "A"), ("shop-v2", "B"), ("shop-v4", "C")];
    assert_eq!(
        texts,
        expected.map(|(name, text)| (name.to_owned(), text.to_owned()))
    );
    platform.rests().await
}
