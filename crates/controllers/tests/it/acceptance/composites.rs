//! Which revision a composite resource gets, and what it is composed of: each row of what Crossplane does, in our behaviour where it differs.

use crate::composing::{Stage, condition, holds, settings};
use anyhow::{Context as _, Result, ensure};
use cambium_controllers::Settings;
use cambium_metrics::Metrics;
use cambium_testing::{eventually, eventually_some};
use serde_json::{Value, json};

fn automatic(stage: &Stage) -> Value {
    json!({"compositionRef": {"name": stage.called("base")}})
}

fn manual(stage: &Stage, revision: Option<&str>) -> Value {
    let mut machinery = automatic(stage);
    machinery["compositionUpdatePolicy"] = json!("Manual");
    if let Some(revision) = revision {
        machinery["compositionRevisionRef"] = json!({"name": revision});
    }
    machinery
}

fn following(stage: &Stage, channel: &str) -> Value {
    let mut machinery = automatic(stage);
    machinery["compositionUpdatePolicy"] = json!("Automatic");
    machinery["compositionRevisionSelector"] = json!({"matchLabels": {"channel": channel}});
    machinery
}

/// Publishes what `base` says, in a channel; the name of the revision.
async fn publish(stage: &Stage, says: &str, channel: &str) -> Result<String> {
    let mut composition = stage.composition("base", says);
    composition["metadata"]["labels"] = json!({"channel": channel});
    stage.publish(&composition).await?;
    stage.current("base").await
}

#[tokio::test]
async fn x1_without_a_policy_the_current_revision_is_taken_and_recorded() -> Result<()> {
    let stage = Stage::start().await?;
    let one = publish(&stage, "one", "dev").await?;
    stage.compose("thing", automatic(&stage)).await?;
    let thing = stage.uses("thing", &one).await?;
    let composed = stage.says("thing", "one").await?;
    assert_eq!(composed["data"]["text"], "thing");
    let metadata = &composed["metadata"];
    assert_eq!(
        metadata["annotations"]["crossplane.io/composition-resource-name"],
        "main"
    );
    assert_eq!(metadata["labels"]["crossplane.io/composite"], "thing");
    assert_eq!(metadata["ownerReferences"][0]["uid"], thing["metadata"]["uid"]);
    assert_eq!(metadata["ownerReferences"][0]["controller"], true);
    assert_eq!(
        thing["metadata"]["finalizers"],
        json!(["composite.apiextensions.crossplane.io"])
    );
    assert_eq!(
        thing["spec"]["resourceRefs"],
        json!([{"apiVersion": "v1", "kind": "ConfigMap", "name": metadata["name"], "namespace": stage.platform.namespace}])
    );
    let managers = metadata["managedFields"].as_array().context("managers")?;
    let applied: Vec<_> = managers
        .iter()
        .filter(|entry| entry["operation"] == "Apply")
        .collect();
    ensure!(applied.len() == 1, "{managers:?}");
    let manager = applied[0]["manager"].as_str().context("a manager")?;
    ensure!(
        manager.starts_with("apiextensions.crossplane.io/composed/"),
        "{manager}"
    );
    stage.at_rest().await
}

#[tokio::test]
async fn x2_and_x12_an_edit_moves_those_who_follow_and_a_revert_moves_them_back() -> Result<()> {
    let stage = Stage::start().await?;
    let one = publish(&stage, "one", "dev").await?;
    // A reference that its author set is not respected by those who follow.
    let mut machinery = automatic(&stage);
    machinery["compositionRevisionRef"] = json!({"name": "set-by-hand"});
    stage.compose("thing", machinery).await?;
    stage.uses("thing", &one).await?;
    let two = publish(&stage, "two", "dev").await?;
    stage.uses("thing", &two).await?;
    stage.says("thing", "two").await?;
    // Crossplane: a revert wakes nobody.
    assert_eq!(publish(&stage, "one", "dev").await?, one);
    stage.uses("thing", &one).await?;
    stage.says("thing", "one").await?;
    stage.at_rest().await
}

#[tokio::test]
async fn a_move_to_another_revision_is_counted_and_the_first_selection_is_not() -> Result<()> {
    let metrics = Metrics::default();
    let settings = Settings {
        metrics: metrics.clone(),
        ..settings()
    };
    let stage = Stage::with(settings, json!({})).await?;
    let one = publish(&stage, "one", "dev").await?;
    stage.compose("thing", following(&stage, "dev")).await?;
    stage.uses("thing", &one).await?;
    let two = publish(&stage, "two", "dev").await?;
    stage.uses("thing", &two).await?;
    // The selector matches the older revision alone.
    let revision = format!("/apis/apiextensions.crossplane.io/v1/compositionrevisions/{one}");
    stage
        .edit(&revision, json!({"metadata": {"labels": {"channel": "prod"}}}))
        .await?;
    let selector = json!({"compositionRevisionSelector": {"matchLabels": {"channel": "prod"}}});
    stage
        .edit(&stage.path("thing"), json!({"spec": selector}))
        .await?;
    stage.uses("thing", &one).await?;
    stage.at_rest().await?;
    let counted = metrics.encode();
    let moves: Vec<&str> = counted
        .lines()
        .filter(|line| line.starts_with("cambium_moves_total"))
        .collect();
    let line =
        |result: &str| format!("cambium_moves_total{{kind=\"CompositeResource\",result=\"{result}\"}} 1");
    for result in ["upgraded", "downgraded"] {
        assert!(moves.contains(&line(result).as_str()), "{moves:?}");
    }
    assert_eq!(moves.len(), 2, "{moves:?}");
    Ok(())
}

#[tokio::test]
async fn x3_x4_and_x14_a_selector_narrows_and_a_label_promotes() -> Result<()> {
    let stage = Stage::start().await?;
    let one = publish(&stage, "one", "stable").await?;
    stage.compose("steady", following(&stage, "stable")).await?;
    stage.compose("nobody", following(&stage, "beta")).await?;
    stage.uses("steady", &one).await?;
    stage
        .refused("nobody", "no compatible CompositionRevisions found")
        .await?;
    let two = publish(&stage, "two", "dev").await?;
    stage.platform.idle().await?;
    stage.uses("steady", &one).await?;
    // Crossplane: a label edit wakes nobody.
    let labels = json!({"metadata": {"labels": {"channel": "beta"}}});
    let three = publish(&stage, "three", "dev").await?;
    stage.edit(&stage.revision_path(&two), labels).await?;
    stage.uses("nobody", &two).await?;
    stage.uses("steady", &one).await?;
    let labels = json!({"metadata": {"labels": {"channel": "stable"}}});
    stage.edit(&stage.revision_path(&two), labels).await?;
    stage.uses("steady", &two).await?;
    // The last that had the label is gone for those who select it: what is composed stays.
    stage.refused("nobody", "no revision of").await?;
    stage.says("nobody", "two").await?;
    ensure!(three != two);
    stage.at_rest().await
}

#[tokio::test]
async fn x5_and_x6_manual_takes_the_current_one_once_or_what_it_names() -> Result<()> {
    let stage = Stage::start().await?;
    let one = publish(&stage, "one", "dev").await?;
    let mut ignores = manual(&stage, None);
    ignores["compositionRevisionSelector"] = json!({"matchLabels": {"channel": "none"}});
    stage.compose("once", ignores).await?;
    stage.uses("once", &one).await?;
    let two = publish(&stage, "two", "dev").await?;
    stage.compose("named", manual(&stage, Some(&one))).await?;
    stage.uses("named", &one).await?;
    stage.platform.idle().await?;
    stage.uses("once", &one).await?;
    stage.says("once", "one").await?;
    let path = stage.path("once");
    stage
        .edit(&path, json!({"spec": {"compositionRevisionRef": {"name": two}}}))
        .await?;
    stage.uses("once", &two).await?;
    stage.says("once", "two").await?;
    stage.at_rest().await
}

#[tokio::test]
async fn x7_a_pin_to_nothing_is_refused_and_what_is_composed_stays() -> Result<()> {
    let stage = Stage::start().await?;
    publish(&stage, "one", "dev").await?;
    stage.compose("thing", manual(&stage, None)).await?;
    stage.says("thing", "one").await?;
    let path = stage.path("thing");
    stage
        .edit(
            &path,
            json!({"spec": {"compositionRevisionRef": {"name": "not-there"}}}),
        )
        .await?;
    let message = stage
        .refused(
            "thing",
            "cannot fetch Composition: cannot get CompositionRevision",
        )
        .await?;
    ensure!(message.contains("not-there"), "{message}");
    stage.says("thing", "one").await?;
    stage.at_rest().await
}

/// Whoever cannot be given a revision is told so by an event, once for each reason: a retry says nothing new.
#[tokio::test]
async fn whoever_gets_no_revision_is_warned_once_for_each_reason() -> Result<()> {
    let stage = Stage::start().await?;
    publish(&stage, "one", "dev").await?;
    stage.compose("selects", following(&stage, "preview")).await?;
    stage.compose("pinned", manual(&stage, Some("not-there"))).await?;
    let elsewhere = json!({"compositionRef": {"name": stage.called("missing")}});
    stage.compose("lost", elsewhere).await?;
    for (name, text) in [
        ("selects", "no compatible CompositionRevisions found"),
        ("pinned", "cannot get CompositionRevision"),
        ("lost", "cannot get Composition"),
    ] {
        stage.refused(name, text).await?;
        // Looked at again, it is refused for the same reason.
        let touched = json!({"metadata": {"labels": {"looked": "again"}}});
        stage.edit(&stage.path(name), touched).await?;
        stage.platform.idle().await?;
        let told = stage.told(name, text).await?;
        let facts: Vec<_> = told
            .iter()
            .map(|event| (&event["type"], &event["reason"], &event["series"]))
            .collect();
        assert_eq!(
            facts,
            [(&json!("Warning"), &json!("SelectComposition"), &Value::Null)],
            "{name}"
        );
    }
    let elsewhere = json!({"spec": {"compositionRef": {"name": stage.called("gone")}}});
    stage.edit(&stage.path("lost"), elsewhere).await?;
    stage.told("lost", &stage.called("gone")).await?;
    stage.at_rest().await
}

#[tokio::test]
async fn x8_a_pin_to_another_compositions_revision_is_refused() -> Result<()> {
    let stage = Stage::start().await?;
    let one = publish(&stage, "one", "dev").await?;
    stage.publish(&stage.composition("other", "other")).await?;
    stage.compose("thing", manual(&stage, Some(&one))).await?;
    stage.uses("thing", &one).await?;
    // Crossplane: goes on composing with the old one, and reports success.
    let path = stage.path("thing");
    let other = stage.called("other");
    stage
        .edit(&path, json!({"spec": {"compositionRef": {"name": other}}}))
        .await?;
    let message = stage.refused("thing", "belongs to the Composition").await?;
    ensure!(message.contains(&one) && message.contains(&other), "{message}");
    stage.says("thing", "one").await?;
    let current = stage.current("other").await?;
    stage
        .edit(
            &path,
            json!({"spec": {"compositionRevisionRef": {"name": current}}}),
        )
        .await?;
    stage.says("thing", "other").await?;
    // One that comes later is told of as soon as it is there, and as soon as it is gone.
    let later = stage.composition("later", "later");
    stage.publish(&later).await?;
    let revision = stage.current("later").await?;
    let path = stage.composition_path("later");
    stage.delete(&path).await?;
    stage.gone(&stage.revision_path(&revision)).await?;
    stage.compose("early", manual(&stage, Some(&revision))).await?;
    stage.refused("early", "not found").await?;
    stage.publish(&later).await?;
    stage.refused("early", "belongs to the Composition").await?;
    stage.delete(&path).await?;
    stage.refused("early", "not found").await?;
    stage.at_rest().await
}

#[tokio::test]
async fn x9_a_revision_for_another_kind_is_refused() -> Result<()> {
    let stage = Stage::start().await?;
    let mut composition = stage.composition("base", "one");
    composition["spec"]["compositeTypeRef"]["kind"] = json!("XOther");
    stage.publish(&composition).await?;
    stage.compose("thing", automatic(&stage)).await?;
    let message = stage
        .refused(
            "thing",
            "referenced composition is not compatible with this composite resource",
        )
        .await?;
    ensure!(
        message.contains("XOther") && message.contains("XThing"),
        "{message}"
    );
    stage.at_rest().await
}

#[tokio::test]
async fn x10_manual_automatic_manual_step_by_step() -> Result<()> {
    let stage = Stage::start().await?;
    let one = publish(&stage, "one", "dev").await?;
    stage.compose("thing", manual(&stage, None)).await?;
    stage.uses("thing", &one).await?;
    let two = publish(&stage, "two", "dev").await?;
    stage.platform.idle().await?;
    stage.uses("thing", &one).await?;
    let path = stage.path("thing");
    let policy = |policy: &str| json!({"spec": {"compositionUpdatePolicy": policy}});
    stage.edit(&path, policy("Automatic")).await?;
    stage.uses("thing", &two).await?;
    stage.edit(&path, policy("Manual")).await?;
    stage.platform.idle().await?;
    publish(&stage, "three", "dev").await?;
    stage.platform.idle().await?;
    stage.uses("thing", &two).await?;
    stage.says("thing", "two").await?;
    stage.at_rest().await
}

#[tokio::test]
async fn x11_without_the_composition_followers_wait_and_pins_stay() -> Result<()> {
    let stage = Stage::start().await?;
    publish(&stage, "one", "dev").await?;
    stage.compose("follows", automatic(&stage)).await?;
    stage.says("follows", "one").await?;
    let path = stage.composition_path("base");
    stage.delete(&path).await?;
    let message = stage.refused("follows", "cannot get Composition").await?;
    ensure!(message.contains(&stage.called("base")), "{message}");
    stage.says("follows", "one").await?;
    let again = publish(&stage, "again", "dev").await?;
    stage.uses("follows", &again).await?;
    stage.at_rest().await
}

#[tokio::test]
async fn the_composition_comes_from_the_first_that_says_so() -> Result<()> {
    let platform = settings();
    let stage = Stage::start().await?;
    let mut labelled = stage.composition("labelled", "labelled");
    labelled["metadata"]["labels"] = json!({"tier": "gold"});
    stage
        .compose(
            "waits",
            json!({"compositionSelector": {"matchLabels": {"tier": "gold"}}}),
        )
        .await?;
    stage.refused("waits", "no compatible Compositions found").await?;
    stage.publish(&labelled).await?;
    stage.says("waits", "labelled").await?;
    // Sticky: what was selected stays, though another fits better now.
    let path = stage.path("waits");
    stage
        .edit(
            &path,
            json!({"spec": {"compositionSelector": {"matchLabels": {"tier": "silver"}}}}),
        )
        .await?;
    stage.platform.idle().await?;
    stage.says("waits", "labelled").await?;
    drop(stage);

    let stage = Stage::with(platform, json!({})).await?;
    publish(&stage, "one", "dev").await?;
    stage.publish(&stage.composition("other", "other")).await?;
    stage
        .define(json!({"defaultCompositionRef": {"name": stage.called("base")}}))
        .await?;
    stage.compose("says-nothing", json!({})).await?;
    stage.says("says-nothing", "one").await?;
    stage
        .compose(
            "names-one",
            json!({"compositionRef": {"name": stage.called("other")}}),
        )
        .await?;
    stage.says("names-one", "other").await?;
    stage
        .define(json!({"enforcedCompositionRef": {"name": stage.called("other")}}))
        .await?;
    stage.says("says-nothing", "other").await?;
    stage.at_rest().await
}

#[tokio::test]
async fn an_enforced_policy_overrides_and_is_shown() -> Result<()> {
    let stage = Stage::with(settings(), json!({"enforceCompositionUpdatePolicy": "Manual"})).await?;
    let one = publish(&stage, "one", "dev").await?;
    let mut machinery = automatic(&stage);
    machinery["compositionUpdatePolicy"] = json!("Automatic");
    stage.compose("thing", machinery).await?;
    let thing = stage.uses("thing", &one).await?;
    assert_eq!(thing["status"]["compositionUpdatePolicy"], "Manual");
    let two = publish(&stage, "two", "dev").await?;
    stage.platform.idle().await?;
    stage.uses("thing", &one).await?;
    stage
        .define(json!({"enforceCompositionUpdatePolicy": "Automatic"}))
        .await?;
    stage.uses("thing", &two).await?;
    eventually("the policy is shown", || async {
        Ok(stage.get("thing").await?["status"]["compositionUpdatePolicy"] == "Automatic")
    })
    .await?;
    stage.at_rest().await
}

#[tokio::test]
async fn a_default_selector_is_given_to_those_who_have_none() -> Result<()> {
    let default = json!({"defaultCompositionRevisionSelector": {"matchLabels": {"channel": "stable"}}});
    let stage = Stage::with(settings(), default).await?;
    let one = publish(&stage, "one", "stable").await?;
    publish(&stage, "two", "dev").await?;
    stage.compose("thing", automatic(&stage)).await?;
    let thing = stage.uses("thing", &one).await?;
    assert_eq!(
        thing["spec"]["compositionRevisionSelector"],
        json!({"matchLabels": {"channel": "stable"}})
    );
    stage.at_rest().await
}

#[tokio::test]
async fn with_the_feature_off_compositions_are_used_as_they_are() -> Result<()> {
    let settings = Settings {
        composition_revisions: false,
        ..settings()
    };
    let stage = Stage::with(settings, json!({})).await?;
    stage.publish(&stage.composition("base", "one")).await?;
    stage.compose("thing", manual(&stage, None)).await?;
    stage.says("thing", "one").await?;
    stage.publish(&stage.composition("base", "two")).await?;
    let thing = stage.says("thing", "two").await?;
    ensure!(thing["spec"]["compositionRevisionRef"].is_null());
    stage.at_rest().await
}

#[tokio::test]
async fn what_is_deleted_or_changed_by_hand_is_put_back_at_once() -> Result<()> {
    let stage = Stage::start().await?;
    publish(&stage, "one", "dev").await?;
    stage.compose("thing", automatic(&stage)).await?;
    let composed = stage.says("thing", "one").await?;
    let name = composed["metadata"]["name"].as_str().context("a name")?;
    let path = format!(
        "/api/v1/namespaces/{}/configmaps/{name}",
        stage.platform.namespace
    );
    stage.delete(&path).await?;
    let again = eventually_some("it is there again", || async {
        let found = stage.says("thing", "one").await?;
        Ok((found["metadata"]["uid"] != composed["metadata"]["uid"]).then_some(found))
    })
    .await?;
    assert_eq!(again["metadata"]["name"], name);
    stage
        .edit(&path, json!({"data": {"says": "hacked", "added": "by hand"}}))
        .await?;
    let found = stage.says("thing", "one").await?;
    assert_eq!(found["data"]["added"], "by hand");
    stage.at_rest().await
}

#[tokio::test]
async fn what_is_no_longer_composed_is_collected_and_fields_that_go_are_gone() -> Result<()> {
    let stage = Stage::start().await?;
    let mut composition = stage.composition("base", "one");
    composition["spec"]["resources"][0]["base"]["data"]["extra"] = json!("here");
    let second = json!({
        "name": "second",
        "base": {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": stage.platform.namespace},
            "data": {"says": "second"}},
        "readinessChecks": [{"type": "None"}],
    });
    composition["spec"]["resources"]
        .as_array_mut()
        .context("a list")?
        .push(second);
    stage.publish(&composition).await?;
    stage.compose("thing", automatic(&stage)).await?;
    stage.says("thing", "second").await?;
    stage.says("thing", "one").await?;
    stage.publish(&stage.composition("base", "one")).await?;
    eventually("one is left, without the field", || async {
        let composed = stage.composed("thing").await?;
        Ok(composed.len() == 1 && composed[0]["data"]["extra"].is_null())
    })
    .await?;
    let thing = stage.get("thing").await?;
    assert_eq!(thing["spec"]["resourceRefs"].as_array().map(Vec::len), Some(1));
    stage.at_rest().await
}

#[tokio::test]
async fn one_bad_resource_says_why_and_does_not_stop_its_siblings() -> Result<()> {
    let stage = Stage::start().await?;
    let mut composition = stage.composition("base", "one");
    let required = json!({
        "name": "needy",
        "base": {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": stage.platform.namespace}},
        "patches": [{"fromFieldPath": "spec.parts.missing", "toFieldPath": "data.says",
            "policy": {"fromFieldPath": "Required"}}],
        "readinessChecks": [{"type": "None"}],
    });
    let unknown = json!({
        "name": "unknown", "base": {"apiVersion": "nowhere.example.org/v1", "kind": "Nothing"},
    });
    composition["spec"]["resources"]
        .as_array_mut()
        .context("a list")?
        .extend([required, unknown]);
    stage.publish(&composition).await?;
    stage.compose("thing", automatic(&stage)).await?;
    let message = stage
        .refused("thing", "Unsynced resources: needy, unknown")
        .await?;
    ensure!(
        message.contains("spec.parts.missing: no such field") || message.contains("parts"),
        "{message}"
    );
    ensure!(message.contains("no kind \"Nothing\""), "{message}");
    stage.says("thing", "one").await?;
    let thing = stage.get("thing").await?;
    let ready = condition(&thing, "Ready").context("a condition")?;
    assert_eq!(
        (&ready["status"], &ready["reason"]),
        (&json!("False"), &json!("Creating"))
    );
    assert_eq!(ready["message"], "Unready resources: needy, unknown");
    // Each has its place, and one name however often it was tried; what nobody serves has none.
    let references = thing["spec"]["resourceRefs"].clone();
    let named = |place: usize| references[place]["name"].as_str();
    ensure!(references.as_array().map(Vec::len) == Some(3), "{references}");
    ensure!(named(1).is_some() && named(2).is_none(), "{references}");
    let needy = named(1).unwrap_or_default().to_owned();
    stage
        .edit(
            &stage.path("thing"),
            json!({"spec": {"parts": {"missing": "found"}}}),
        )
        .await?;
    let made = stage.says("thing", "found").await?;
    assert_eq!(made["metadata"]["name"], needy.as_str());
    stage.at_rest().await
}

#[tokio::test]
async fn two_that_compose_the_same_name_are_a_conflict() -> Result<()> {
    let stage = Stage::start().await?;
    let mut composition = stage.composition("base", "one");
    let name = json!({"fromFieldPath": "spec.copy", "toFieldPath": "metadata.name"});
    composition["spec"]["resources"][0]["patches"]
        .as_array_mut()
        .context("patches")?
        .push(name);
    stage.publish(&composition).await?;
    let called = |thing: &str| {
        let mut object = stage.composite(thing, automatic(&stage));
        object["spec"]["copy"] = json!("the-same");
        object
    };
    stage.applied(&stage.path("first"), &called("first")).await?;
    stage.says("first", "one").await?;
    stage.applied(&stage.path("second"), &called("second")).await?;
    let message = stage.refused("second", "is controlled by XThing first").await?;
    ensure!(message.contains("the-same"), "{message}");
    assert_eq!(stage.composed("first").await?.len(), 1);
    stage.at_rest().await
}

#[tokio::test]
async fn composed_resources_patch_their_composite_resource() -> Result<()> {
    let stage = Stage::start().await?;
    let mut composition = stage.composition("base", "one");
    let patches = composition["spec"]["resources"][0]["patches"]
        .as_array_mut()
        .context("patches")?;
    patches.push(
        json!({"type": "ToCompositeFieldPath", "fromFieldPath": "data.says", "toFieldPath": "status.seen"}),
    );
    patches.push(
        json!({"type": "ToCompositeFieldPath", "fromFieldPath": "data.says", "toFieldPath": "spec.copy"}),
    );
    stage.publish(&composition).await?;
    stage.compose("thing", automatic(&stage)).await?;
    eventually("it is patched", || async {
        let thing = stage.get("thing").await?;
        Ok(thing["status"]["seen"] == "one" && thing["spec"]["copy"] == "one" && holds(&thing, "Ready"))
    })
    .await?;
    stage.at_rest().await
}

#[tokio::test]
async fn a_paused_composite_resource_is_left_alone() -> Result<()> {
    let stage = Stage::start().await?;
    let one = publish(&stage, "one", "dev").await?;
    stage.compose("thing", automatic(&stage)).await?;
    stage.uses("thing", &one).await?;
    let path = stage.path("thing");
    let paused = |value: Value| json!({"metadata": {"annotations": {"crossplane.io/paused": value}}});
    stage.edit(&path, paused(json!("true"))).await?;
    eventually("it says so", || async {
        let thing = stage.get("thing").await?;
        Ok(condition(&thing, "Synced").is_some_and(|synced| synced["reason"] == "ReconcilePaused"))
    })
    .await?;
    let two = publish(&stage, "two", "dev").await?;
    stage.platform.idle().await?;
    stage.says("thing", "one").await?;
    stage.edit(&path, paused(Value::Null)).await?;
    stage.uses("thing", &two).await?;
    stage.at_rest().await
}

#[tokio::test]
async fn a_deleted_composite_resource_takes_along_what_it_was_composed_of() -> Result<()> {
    let stage = Stage::start().await?;
    publish(&stage, "one", "dev").await?;
    stage.compose("thing", automatic(&stage)).await?;
    stage.says("thing", "one").await?;
    stage.delete(&stage.path("thing")).await?;
    stage.gone(&stage.path("thing")).await?;
    eventually("nothing is left", || async {
        Ok(stage.composed("thing").await?.is_empty())
    })
    .await?;
    stage.at_rest().await
}

#[tokio::test]
async fn in_a_namespace_the_machinery_is_in_spec_crossplane_and_composing_stays_there() -> Result<()> {
    let stage = Stage::scoped(settings(), "Namespaced", json!({})).await?;
    let mut composition = stage.composition("base", "one");
    composition["spec"]["resources"][0]["base"]["metadata"] = json!({});
    let cluster = json!({"name": "wide", "base": {"apiVersion": "v1", "kind": "Namespace"}});
    stage.publish(&composition).await?;
    stage.compose("thing", automatic(&stage)).await?;
    let one = stage.current("base").await?;
    let thing = stage.uses("thing", &one).await?;
    let composed = stage.says("thing", "one").await?;
    let reference = json!({"apiVersion": "v1", "kind": "ConfigMap", "name": composed["metadata"]["name"]});
    assert_eq!(thing["spec"]["crossplane"]["resourceRefs"], json!([reference]));
    ensure!(holds(&thing, "Responsive"));
    composition["spec"]["resources"]
        .as_array_mut()
        .context("a list")?
        .push(cluster);
    stage.publish(&composition).await?;
    stage
        .refused("thing", "composes only resources in its namespace")
        .await?;
    stage.says("thing", "one").await?;
    stage.at_rest().await
}

#[tokio::test]
async fn connection_details_are_published_as_far_as_the_definition_allows() -> Result<()> {
    let stage = Stage::with(settings(), json!({"connectionSecretKeys": ["endpoint"]})).await?;
    let mut composition = stage.composition("base", "one");
    composition["spec"]["writeConnectionSecretsToNamespace"] = json!(stage.platform.namespace);
    composition["spec"]["resources"][0]["connectionDetails"] = json!([
        {"name": "endpoint", "type": "FromFieldPath", "fromFieldPath": "data.says"},
        {"name": "private", "type": "FromValue", "value": "hidden"},
    ]);
    stage.publish(&composition).await?;
    stage.compose("thing", automatic(&stage)).await?;
    let one = stage.current("base").await?;
    let thing = stage.uses("thing", &one).await?;
    let reference = &thing["spec"]["writeConnectionSecretToRef"];
    assert_eq!(reference["name"], thing["metadata"]["uid"]);
    let path = format!(
        "/api/v1/namespaces/{}/secrets/{}",
        stage.platform.namespace,
        reference["name"].as_str().context("a name")?
    );
    let secret = stage.platform.raw.get(&path).await?.body;
    assert_eq!(secret["data"], json!({"endpoint": "b25l"}));
    assert_eq!(secret["type"], "connection.crossplane.io/v1alpha1");
    assert_eq!(
        secret["metadata"]["ownerReferences"][0]["uid"],
        thing["metadata"]["uid"]
    );
    stage.at_rest().await
}

#[tokio::test]
async fn a_restart_and_an_idle_world_write_nothing() -> Result<()> {
    let mut stage = Stage::start().await?;
    publish(&stage, "one", "dev").await?;
    for name in ["a", "b", "c"] {
        stage.compose(name, automatic(&stage)).await?;
    }
    for name in ["a", "b", "c"] {
        stage.says(name, "one").await?;
    }
    stage.platform.idle().await?;
    let versions = |stage: &Stage| {
        let raw = stage.platform.raw.clone();
        let paths = [
            stage.path(""),
            "/api/v1/configmaps".to_owned(),
            stage.composition_path("base"),
        ];
        let revisions = "/apis/apiextensions.crossplane.io/v1/compositionrevisions".to_owned();
        async move {
            let mut versions = Vec::new();
            for path in paths.into_iter().chain([revisions]) {
                let body = raw.get(path.trim_end_matches('/')).await?.body;
                let items = body["items"]
                    .as_array()
                    .cloned()
                    .unwrap_or_else(|| vec![body.clone()]);
                versions.extend(
                    items
                        .iter()
                        .map(|item| item["metadata"]["resourceVersion"].clone()),
                );
            }
            anyhow::Ok(versions)
        }
    };
    tokio::time::sleep(std::time::Duration::from_millis(1500)).await;
    stage.platform.idle().await?;
    let before = versions(&stage).await?;
    let client = stage.platform.cluster.manager().await?;
    stage.platform.start_manager(client).await?;
    tokio::time::sleep(std::time::Duration::from_millis(1500)).await;
    stage.platform.idle().await?;
    assert_eq!(versions(&stage).await?, before);
    stage.at_rest().await
}

/// Three resources, each of which says what the next one is made of: `vpc` through the composite resource's status to `subnet`, and from there to
/// `host`; and all of them have a label that we give the composite resource ourselves.
fn chain(stage: &Stage) -> Value {
    let resource = |name: &str, patches: Value| {
        let base = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": stage.platform.namespace}});
        json!({"name": name, "base": base, "patches": patches, "readinessChecks": [{"type": "None"}]})
    };
    let composite =
        json!({"fromFieldPath": "metadata.labels[crossplane.io/composite]", "toFieldPath": "data.composite"});
    let mut composition = stage.composition("base", "");
    composition["spec"]["resources"] = json!([
        resource(
            "host",
            json!([composite, {"fromFieldPath": "status.said", "toFieldPath": "data.subnet"}])
        ),
        resource(
            "subnet",
            json!([
                composite,
                {"fromFieldPath": "status.seen", "toFieldPath": "data.vpc"},
                {"type": "ToCompositeFieldPath", "fromFieldPath": "data.vpc", "toFieldPath": "status.said"},
            ])
        ),
        resource(
            "vpc",
            json!([composite, {"type": "ToCompositeFieldPath", "fromFieldPath": "data.id", "toFieldPath": "status.seen"}])
        ),
    ]);
    composition
}

/// What a resource of a composite resource holds.
async fn part(stage: &Stage, name: &str, part: &str) -> Result<Value> {
    let all = stage.composed(name).await?;
    let found = all
        .into_iter()
        .find(|object| object["metadata"]["annotations"]["crossplane.io/composition-resource-name"] == part);
    Ok(found.unwrap_or_default())
}

#[tokio::test]
async fn what_one_resource_says_reaches_the_next_ones_in_every_composite_resource() -> Result<()> {
    let stage = Stage::start().await?;
    stage.publish(&chain(&stage)).await?;
    let names: Vec<String> = (0..10).map(|number| format!("thing-{number}")).collect();
    for name in &names {
        stage.compose(name, automatic(&stage)).await?;
    }
    for name in &names {
        for each in ["vpc", "subnet", "host"] {
            eventually(&format!("{each} of {name} has the label"), || async {
                Ok(part(&stage, name, each).await?["data"]["composite"] == name.as_str())
            })
            .await?;
        }
    }
    // Said at once, said again, and said to all of them while others are still at work.
    for said in ["one", "two", "three"] {
        for name in &names {
            let vpc = part(&stage, name, "vpc").await?;
            let path = format!(
                "/api/v1/namespaces/{}/configmaps/{}",
                stage.platform.namespace,
                vpc["metadata"]["name"].as_str().context("a name")?
            );
            stage
                .edit(&path, json!({"data": {"id": format!("{name}-{said}")}}))
                .await?;
        }
        for name in &names {
            let id = format!("{name}-{said}");
            eventually(&format!("host of {name} has {id}"), || async {
                Ok(part(&stage, name, "host").await?["data"]["subnet"] == id.as_str())
            })
            .await?;
        }
    }
    stage.at_rest().await
}

#[tokio::test]
async fn labels_set_by_hand_on_the_current_revision_stay_and_are_followed() -> Result<()> {
    let stage = Stage::start().await?;
    let one = publish(&stage, "one", "dev").await?;
    stage.compose("steady", following(&stage, "stable")).await?;
    stage.refused("steady", "no revision of").await?;
    let path = stage.revision_path(&one);
    stage
        .edit(&path, json!({"metadata": {"labels": {"channel": "stable"}}}))
        .await?;
    stage.uses("steady", &one).await?;
    // Other labels of the composition go on following, and this one stays.
    let mut composition = stage.composition("base", "one");
    composition["metadata"]["labels"] = json!({"channel": "dev", "team": "blue"});
    stage.publish(&composition).await?;
    eventually("the label of the composition follows", || async {
        let labels = stage.platform.raw.get(&path).await?.body["metadata"]["labels"].clone();
        ensure!(labels["channel"] == "stable", "{labels}");
        Ok(labels["team"] == "blue")
    })
    .await?;
    stage.uses("steady", &one).await?;
    // A new revision has the labels of the composition.
    composition["spec"]["resources"][0]["base"]["data"]["says"] = json!("two");
    stage.publish(&composition).await?;
    stage.platform.idle().await?;
    stage.uses("steady", &one).await?;
    stage.at_rest().await
}

#[tokio::test]
async fn a_long_name_makes_names_that_each_kind_can_have() -> Result<()> {
    let stage = Stage::start().await?;
    let namespace = stage.platform.namespace.clone();
    let mut composition = stage.composition("base", "one");
    let service = json!({
        "name": "service", "readinessChecks": [{"type": "None"}],
        "base": {"apiVersion": "v1", "kind": "Service", "metadata": {"namespace": namespace},
            "spec": {"ports": [{"port": 80}]}},
    });
    composition["spec"]["resources"]
        .as_array_mut()
        .context("a list")?
        .push(service);
    stage.publish(&composition).await?;
    let name = "x".repeat(53);
    stage.compose(&name, automatic(&stage)).await?;
    let one = stage.current("base").await?;
    let thing = stage.uses(&name, &one).await?;
    let references = thing["spec"]["resourceRefs"].as_array().context("references")?;
    let called = |kind: &str| {
        let mut found = references.iter().filter(|reference| reference["kind"] == kind);
        found
            .next()
            .and_then(|reference| reference["name"].as_str())
            .unwrap_or_default()
            .to_owned()
    };
    // Where the whole name fits, it stays whole.
    assert_eq!(called("ConfigMap").len(), 53 + 1 + 12);
    assert_eq!(called("Service").len(), 63);
    stage.at_rest().await
}

#[tokio::test]
async fn a_secret_that_the_composite_resource_does_not_control_is_not_read() -> Result<()> {
    let stage = Stage::start().await?;
    let namespace = stage.platform.namespace.clone();
    let secrets = format!("/api/v1/namespaces/{namespace}/secrets");
    let raw = &stage.platform.raw;
    let secret = |name: &str, owner: Value| {
        json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "ownerReferences": owner},
            "data": {"password": "aGlkZGVu"}})
    };
    ensure!(raw.post(&secrets, &secret("theirs", json!([]))).await?.code == 201);
    // Whoever writes the composite resource says where the details are.
    let crd = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("boxes.{}", stage.group)},
        "spec": {
            "group": stage.group, "scope": "Cluster", "names": {"kind": "Box", "plural": "boxes", "singular": "box", "listKind": "BoxList"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {
                "type": "object", "x-kubernetes-preserve-unknown-fields": true}}}],
        },
    });
    let path = format!(
        "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/boxes.{}",
        stage.group
    );
    stage.applied(&path, &crd).await?;
    let mut composition = stage.composition("base", "one");
    composition["spec"]["writeConnectionSecretsToNamespace"] = json!(namespace);
    composition["spec"]["resources"] = json!([{
        "name": "box", "readinessChecks": [{"type": "None"}],
        "base": {"apiVersion": format!("{}/v1", stage.group), "kind": "Box",
            "spec": {"writeConnectionSecretToRef": {"namespace": namespace}}},
        "patches": [{"fromFieldPath": "spec.text", "toFieldPath": "spec.writeConnectionSecretToRef.name"}],
        "connectionDetails": [{"name": "password", "type": "FromConnectionSecretKey", "fromConnectionSecretKey": "password"}],
    }]);
    stage.publish(&composition).await?;
    let one = stage.current("base").await?;
    stage.compose("theirs", automatic(&stage)).await?;
    let thing = stage.uses("theirs", &one).await?;
    stage.told("theirs", "cannot read connection secret").await?;
    let details = |thing: &Value| {
        format!(
            "{secrets}/{}",
            thing["metadata"]["uid"].as_str().unwrap_or_default()
        )
    };
    let found = raw.get(&details(&thing)).await?.body;
    ensure!(found["data"]["password"].is_null(), "{found}");
    // One that the composed resource controls is read, as providers write them.
    stage.compose("ours", automatic(&stage)).await?;
    let thing = stage.uses("ours", &one).await?;
    let name = thing["spec"]["resourceRefs"][0]["name"]
        .as_str()
        .context("a name")?;
    let path = format!("/apis/{}/v1/boxes/{name}", stage.group);
    let owner = raw.get(&path).await?.body;
    let owner = json!([{"apiVersion": owner["apiVersion"], "kind": "Box", "name": name,
        "uid": owner["metadata"]["uid"], "controller": true}]);
    ensure!(raw.post(&secrets, &secret("ours", owner)).await?.code == 201);
    // Secrets wake nobody.
    stage.edit(&path, json!({"spec": {"seen": true}})).await?;
    eventually("the details are published", || async {
        Ok(raw.get(&details(&thing)).await?.body["data"]["password"] == "aGlkZGVu")
    })
    .await?;
    stage.at_rest().await
}

#[tokio::test]
async fn what_somebody_else_made_under_a_name_that_we_would_give_is_left_alone() -> Result<()> {
    let stage = Stage::start().await?;
    publish(&stage, "one", "dev").await?;
    let mut paused = stage.composite("thing", automatic(&stage));
    paused["metadata"]["annotations"] = json!({"crossplane.io/paused": "true"});
    let thing = stage.applied(&stage.path("thing"), &paused).await?;
    // Names can be foretold.
    let digits = cambium_lineage::Digest::of(&json!([thing["metadata"]["uid"], "main"])).hex();
    let maps = format!("/api/v1/namespaces/{}/configmaps", stage.platform.namespace);
    let owner = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "owner"}});
    let owner = stage.platform.raw.post(&maps, &owner).await?.body["metadata"]["uid"].clone();
    let theirs = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": format!("thing-{}", &digits[..12]), "ownerReferences": [{
            "apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner, "controller": true}]},
        "data": {"says": "theirs"},
    });
    ensure!(stage.platform.raw.post(&maps, &theirs).await?.code == 201);
    let resume = json!({"metadata": {"annotations": {"crossplane.io/paused": null}}});
    stage.edit(&stage.path("thing"), resume).await?;
    stage.refused("thing", "exists and is controlled by").await?;
    let path = format!("{maps}/thing-{}", &digits[..12]);
    let found = stage.platform.raw.get(&path).await?.body;
    ensure!(found["data"] == json!({"says": "theirs"}), "{found}");
    stage.at_rest().await
}

/// Adds to what `base` composes: a Service with fields that nobody knows, and a kind of the test's own that does not know `spec.size` yet.
async fn publish_with_unknown_fields(stage: &Stage) -> Result<()> {
    let mut composition = stage.composition("base", "one");
    composition["spec"]["resources"][0]["base"]["nonsense"] = json!("text");
    let namespace = &stage.platform.namespace;
    let more = [
        json!({"apiVersion": "v1", "kind": "Service", "metadata": {"namespace": namespace},
            "spec": {"nonsense": true, "ports": [{"port": 80, "note": "unknown"}]}}),
        json!({"apiVersion": format!("{}/v1", stage.group), "kind": "Widget", "metadata": {"namespace": namespace},
            "spec": {"size": 3, "colour": "red"}}),
    ];
    let resources = composition["spec"]["resources"]
        .as_array_mut()
        .context("resources")?;
    for base in more {
        let name = base["kind"].as_str().unwrap_or_default().to_lowercase();
        resources.push(json!({"name": name, "base": base, "readinessChecks": [{"type": "None"}]}));
    }
    stage.publish(&composition).await?;
    Ok(())
}

fn widgets(stage: &Stage, fields: Value) -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("widgets.{}", stage.group)},
        "spec": {
            "group": stage.group, "scope": "Namespaced", "names": {"kind": "Widget", "plural": "widgets"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {
                "type": "object", "properties": {"spec": {"type": "object", "properties": fields}},
            }}}],
        },
    })
}

#[tokio::test]
async fn fields_that_a_kind_does_not_know_are_reported_and_left_out_until_it_does() -> Result<()> {
    let stage = Stage::start().await?;
    let kind = format!(
        "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.{}",
        stage.group
    );
    let colour = json!({"colour": {"type": "string"}});
    stage.applied(&kind, &widgets(&stage, colour)).await?;
    publish_with_unknown_fields(&stage).await?;
    stage.compose("thing", automatic(&stage)).await?;
    let ignored = |known: &Value| known["status"] == "True" && known["reason"] == "FieldsIgnored";
    let said = eventually_some("it is synced without some fields", || async {
        let thing = stage.get("thing").await?;
        let synced = condition(&thing, "Synced").filter(|known| ignored(known));
        Ok(synced
            .filter(|_| holds(&thing, "Ready"))
            .map(|known| known["message"].as_str().unwrap_or_default().to_owned()))
    })
    .await?;
    let expected = "Unknown fields were left out: main: .nonsense; \
                    service: .spec.nonsense, .spec.ports[port=80,protocol=\"TCP\"].note; widget: .spec.size";
    assert_eq!(said, expected);
    let told = stage.told("thing", "were left out").await?;
    assert_eq!(
        (told.len(), &told[0]["type"], &told[0]["reason"]),
        (1, &json!("Warning"), &json!("FieldsIgnored"))
    );
    let of_thing = "labelSelector=crossplane.io/composite=thing";
    let namespace = &stage.platform.namespace;
    let services = format!("/api/v1/namespaces/{namespace}/services?{of_thing}");
    let services = stage.platform.raw.get(&services).await?.body;
    assert_eq!(services["items"][0]["spec"]["ports"][0]["port"], 80, "{services}");
    stage.says("thing", "one").await?;
    // Looked at once more, it says the same, and nothing is applied again.
    stage.platform.idle().await?;
    let before = stage.get("thing").await?;
    let look = json!({"metadata": {"annotations": {"look": "again"}}});
    stage.edit(&stage.path("thing"), look).await?;
    stage.platform.idle().await?;
    assert_eq!(before["status"], stage.get("thing").await?["status"]);
    assert_eq!(
        stage.told("thing", "were left out").await?[0]["series"],
        Value::Null
    );
    // What the kind learns is applied.
    let both = json!({"colour": {"type": "string"}, "size": {"type": "integer"}});
    stage.applied(&kind, &widgets(&stage, both)).await?;
    let widgets = format!(
        "/apis/{}/v1/namespaces/{namespace}/widgets?{of_thing}",
        stage.group
    );
    eventually("the widget has its size", || async {
        let widgets = stage.platform.raw.get(&widgets).await?.body;
        let spec = &widgets["items"][0]["spec"];
        Ok(*spec == json!({"size": 3, "colour": "red"}))
    })
    .await?;
    eventually("only the others are left out", || async {
        let thing = stage.get("thing").await?;
        let said = condition(&thing, "Synced").and_then(|known| known["message"].as_str());
        Ok(said == expected.strip_suffix("; widget: .spec.size"))
    })
    .await?;
    stage.at_rest().await
}

#[tokio::test]
async fn a_composed_resource_that_no_watch_shows_keeps_its_name() -> Result<()> {
    let stage = Stage::start().await?;
    publish(&stage, "one", "dev").await?;
    let before = stage.compose_unseen("thing", automatic(&stage)).await?;
    let composed = stage.says("thing", "one").await?;
    assert_eq!(composed["metadata"]["uid"], before["metadata"]["uid"]);
    assert_eq!(stage.composed("thing").await?.len(), 1);
    stage.at_rest().await
}

#[tokio::test]
async fn a_template_of_another_kind_does_not_replace_what_no_watch_shows() -> Result<()> {
    let stage = Stage::start().await?;
    let mut composition = stage.composition("base", "one");
    composition["spec"]["resources"][0]["base"]["kind"] = json!("Secret");
    composition["spec"]["resources"][0]["patches"] = json!([]);
    if let Some(base) = composition["spec"]["resources"][0]["base"].as_object_mut() {
        base.remove("data");
    }
    stage.publish(&composition).await?;
    let before = stage.compose_unseen("thing", automatic(&stage)).await?;
    let refused = eventually_some("it is reconciled", || async {
        let thing = stage.get("thing").await?;
        let synced = condition(&thing, "Synced").cloned();
        Ok(synced.filter(|synced| synced["reason"] != "ReconcilePaused"))
    })
    .await?;
    let message = refused["message"].as_str().unwrap_or_default();
    ensure!(message.contains("cannot change the kind"), "{refused}");
    let after = stage.platform.config_map("thing-x7h2k").await?;
    assert_eq!(after["metadata"]["uid"], before["metadata"]["uid"]);
    let references = stage.get("thing").await?["spec"]["resourceRefs"].clone();
    assert_eq!(references[0]["name"], "thing-x7h2k");
    stage.at_rest().await
}

/// What has lost the annotation that says which resource it is, is neither deleted nor replaced, in either mode: whoever knows says so again.
#[tokio::test]
async fn what_has_lost_its_mark_is_kept_and_named() -> Result<()> {
    let stage = Stage::start().await?;
    for name in ["templates", "functions"] {
        let mut composition = stage.composition(name, "one");
        let mut second = composition["spec"]["resources"][0].clone();
        (second["name"], second["base"]["data"]["says"]) = (json!("second"), json!("two"));
        let resources = composition["spec"]["resources"].as_array_mut().unwrap();
        resources.push(second);
        let composition = match name {
            "functions" => as_pipeline(composition),
            _ => composition,
        };
        stage.publish(&composition).await?;
    }
    let mark = "crossplane.io/composition-resource-name";
    for name in ["templates", "functions"] {
        let machinery = json!({"compositionRef": {"name": stage.called(name)}});
        // Under a name that Crossplane gave it.
        let before = stage.compose_unseen_marked(name, machinery, json!({})).await?;
        let given = format!("{name}-x7h2k");
        let said = stage.refused(name, &given).await?;
        ensure!(said.contains(mark), "{said}");
        let kept = stage.platform.config_map(&given).await?;
        assert_eq!(kept["metadata"]["uid"], before["metadata"]["uid"]);
        assert_eq!(kept["data"]["says"], "before");
        let references = stage.get(name).await?["spec"]["resourceRefs"].clone();
        assert_eq!(references.as_array().map(Vec::len), Some(1), "{references}");
        assert_eq!(references[0]["name"], given);
        assert_eq!(stage.composed(name).await?, [json!(null); 0], "nothing beside it");
        let path = format!(
            "/api/v1/namespaces/{}/configmaps/{given}",
            stage.platform.namespace
        );
        stage
            .edit(&path, json!({"metadata": {"annotations": {mark: "main"}}}))
            .await?;
        // No watch shows what has lost its label, too: the composite resource is told to look.
        stage
            .edit(
                &stage.path(name),
                json!({"metadata": {"annotations": {"crossplane.io/reconcile-requested-at": "now"}}}),
            )
            .await?;
        stage.says(name, "two").await?;
        let now = stage.says(name, "one").await?;
        assert_eq!(now["metadata"]["uid"], before["metadata"]["uid"]);
    }
    stage.at_rest().await
}

/// Templates that are given names keep what they made without: it is told by its place.
#[tokio::test]
async fn templates_that_are_given_names_keep_what_they_made() -> Result<()> {
    let stage = Stage::start().await?;
    let named = |names: [Option<&str>; 2], says: &str| {
        let mut composition = stage.composition("base", says);
        let mut resource = composition["spec"]["resources"][0].take();
        resource.as_object_mut().unwrap().remove("name");
        let resources = names.map(|name| {
            let mut resource = resource.clone();
            if let Some(name) = name {
                resource["name"] = json!(name);
            }
            resource
        });
        composition["spec"]["resources"] = json!(resources);
        composition
    };
    let uids = async || -> Result<Vec<Value>> {
        let found = stage.composed("thing").await?;
        let mut uids: Vec<Value> = found
            .iter()
            .map(|object| object["metadata"]["uid"].clone())
            .collect();
        uids.sort_by_key(Value::to_string);
        Ok(uids)
    };
    stage.publish(&named([None, None], "one")).await?;
    stage.compose("thing", automatic(&stage)).await?;
    eventually("both are there", || async { Ok(uids().await?.len() == 2) }).await?;
    let before = uids().await?;
    stage.publish(&named([Some("a"), Some("b")], "two")).await?;
    eventually("both are named", || async {
        let found = stage.composed("thing").await?;
        Ok(found.iter().all(|object| object["data"]["says"] == "two"))
    })
    .await?;
    assert_eq!(uids().await?, before);
    stage.at_rest().await
}

/// A composition that makes the same with a function.
fn as_pipeline(mut composition: Value) -> Value {
    let mut resources = composition["spec"]["resources"].take();
    for resource in resources.as_array_mut().into_iter().flatten() {
        resource["patches"][0]["type"] = json!("FromCompositeFieldPath");
    }
    let input =
        json!({"apiVersion": "pt.fn.crossplane.io/v1beta1", "kind": "Resources", "resources": resources});
    let function = json!({"name": "function-patch-and-transform"});
    let spec = &mut composition["spec"];
    spec["mode"] = json!("Pipeline");
    spec["pipeline"] = json!([{"step": "compose", "functionRef": function, "input": input}]);
    if let Some(fields) = spec.as_object_mut() {
        fields.remove("resources");
    }
    composition
}

/// Patches and built-in functions run where nobody waits for them for longer than the time limit: whatever takes longer is said, and is not tried again
/// before something changes.
#[tokio::test]
async fn what_is_too_expensive_to_compose_says_so_and_is_not_tried_again() -> Result<()> {
    let limited = Settings {
        template_time_limit: std::time::Duration::ZERO,
        ..settings()
    };
    let mut stage = Stage::with(limited, json!({})).await?;
    stage.publish(&stage.composition("templates", "one")).await?;
    let functions = as_pipeline(stage.composition("functions", "one"));
    stage.publish(&functions).await?;
    for name in ["templates", "functions"] {
        let machinery = json!({"compositionRef": {"name": stage.called(name)}});
        stage.compose(name, machinery).await?;
        stage.refused(name, "takes longer than").await?;
        let synced = stage.get(name).await?;
        let synced = condition(&synced, "Synced").unwrap();
        assert_eq!(synced["reason"], "TemplateTooExpensive", "{synced}");
        assert_eq!(stage.composed(name).await?, [json!(null); 0]);
    }
    stage.platform.idle().await?;
    stage
        .platform
        .set_template_time_limit(std::time::Duration::from_secs(60));
    let client = stage.platform.cluster.manager().await?;
    stage.platform.start_manager(client).await?;
    for name in ["templates", "functions"] {
        stage.says(name, "one").await?;
    }
    stage.at_rest().await
}
