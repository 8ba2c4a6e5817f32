//! Compositions and their revisions: each row of what Crossplane does, in our behaviour where it differs.

use crate::composing::{Stage, condition, holds, settings};
use anyhow::{Context as _, Result, ensure};
use cambium_compositions::revision::LabelEdits;
use cambium_controllers::Settings;
use cambium_testing::{eventually, eventually_some};
use serde_json::{Value, json};

fn text<'a>(value: &'a Value, what: &str) -> Result<&'a str> {
    value.as_str().with_context(|| what.to_owned())
}

#[tokio::test]
async fn c1_a_new_composition_gets_one_revision_numbered_1() -> Result<()> {
    let stage = Stage::start().await?;
    let mut composition = stage.composition("base", "one");
    composition["metadata"]["annotations"] = json!({"note": "not copied"});
    composition["metadata"]["labels"] =
        json!({"channel": "dev", "crossplane.io/composition-name": "somebody-else"});
    stage.publish(&composition).await?;
    let revisions = stage.revisions("base").await?;
    ensure!(revisions.len() == 1, "{revisions:?}");
    let revision = &revisions[0];
    let labels = &revision["metadata"]["labels"];
    let hash = text(&labels["crossplane.io/composition-hash"], "a hash")?;
    assert_eq!(
        revision["metadata"]["name"],
        format!("{}-{}", stage.called("base"), &hash[..7])
    );
    assert_eq!(labels["crossplane.io/composition-spec-hash"], hash[..16]);
    // C19: a label of the composition does not shadow ours; its own labels are copied.
    assert_eq!(labels["crossplane.io/composition-name"], stage.called("base"));
    assert_eq!(labels["channel"], "dev");
    assert!(revision["metadata"]["annotations"]["note"].is_null());
    let owner = &revision["metadata"]["ownerReferences"][0];
    assert_eq!(
        (&owner["kind"], &owner["controller"]),
        (&json!("Composition"), &json!(true))
    );
    assert_eq!(revision["spec"]["revision"], 1);
    let mut spec = revision["spec"].clone();
    spec.as_object_mut().context("a spec")?.remove("revision");
    let stored = stage
        .platform
        .raw
        .get(&stage.composition_path("base"))
        .await?
        .body;
    assert_eq!(spec, stored["spec"]);
    stage.at_rest().await
}

#[tokio::test]
async fn c2_to_c8_a_spec_counts_an_annotation_does_not_and_a_return_is_renumbered() -> Result<()> {
    let stage = Stage::start().await?;
    let (one, two) = (stage.composition("base", "one"), stage.composition("base", "two"));
    stage.publish(&one).await?;
    let first = stage.current("base").await?;
    stage.publish(&two).await?;
    assert_eq!(stage.numbers("base").await?, [1, 2]);
    // C4: annotations never make a revision. Crossplane: they do, and the fleet re-points.
    let mut annotated = two.clone();
    annotated["metadata"]["annotations"] = json!({"tracking": "id"});
    stage.publish(&annotated).await?;
    stage.platform.idle().await?;
    assert_eq!(stage.numbers("base").await?, [1, 2]);
    // C6: back to what the first one holds; it gets the newest number, and the highest is current.
    stage.publish(&one).await?;
    assert_eq!(stage.numbers("base").await?, [2, 3]);
    assert_eq!(stage.current("base").await?, first);
    // C7: and so on, with two objects.
    stage.publish(&two).await?;
    stage.publish(&one).await?;
    assert_eq!(stage.numbers("base").await?, [4, 5]);
    stage.at_rest().await
}

#[tokio::test]
async fn c3_labels_follow_on_the_current_revision_and_issue_nothing() -> Result<()> {
    let stage = Stage::start().await?;
    let mut composition = stage.composition("base", "one");
    composition["metadata"]["labels"] = json!({"channel": "dev", "team": "a"});
    stage.publish(&composition).await?;
    let name = stage.current("base").await?;
    // What people give a revision is theirs.
    stage
        .edit(
            &stage.revision_path(&name),
            json!({"metadata": {"labels": {"audited": "yes"}}}),
        )
        .await?;
    composition["metadata"]["labels"] = json!({"channel": "stable"});
    stage.publish(&composition).await?;
    let labels = eventually_some("labels follow", || async {
        let revision = stage.platform.raw.get(&stage.revision_path(&name)).await?.body;
        let labels = revision["metadata"]["labels"].clone();
        Ok((labels["channel"] == "stable").then_some(labels))
    })
    .await?;
    assert!(labels["team"].is_null() && labels["audited"] == "yes", "{labels}");
    assert_eq!(stage.numbers("base").await?, [1]);
    stage.at_rest().await
}

#[tokio::test]
async fn c3_behind_the_gate_a_label_edit_issues_a_revision_as_in_crossplane() -> Result<()> {
    let settings = Settings {
        label_edits: LabelEdits::Issue,
        ..settings()
    };
    let stage = Stage::with(settings, json!({})).await?;
    let mut composition = stage.composition("base", "one");
    composition["metadata"]["labels"] = json!({"channel": "dev"});
    stage.publish(&composition).await?;
    composition["metadata"]["labels"] = json!({"channel": "stable"});
    stage.publish(&composition).await?;
    eventually("there are two", || async {
        Ok(stage.numbers("base").await? == [1, 2])
    })
    .await?;
    let revisions = stage.revisions("base").await?;
    assert_eq!(revisions[0]["metadata"]["labels"]["channel"], "dev");
    assert_eq!(revisions[1]["metadata"]["labels"]["channel"], "stable");
    stage.at_rest().await
}

#[tokio::test]
async fn c9_a_revision_without_an_owner_is_adopted() -> Result<()> {
    let stage = Stage::start().await?;
    stage.publish(&stage.composition("base", "one")).await?;
    let name = stage.current("base").await?;
    stage
        .edit(
            &stage.revision_path(&name),
            json!({"metadata": {"ownerReferences": null}}),
        )
        .await?;
    eventually("it has an owner again", || async {
        let revision = stage.platform.raw.get(&stage.revision_path(&name)).await?.body;
        Ok(revision["metadata"]["ownerReferences"][0]["kind"] == "Composition")
    })
    .await?;
    assert_eq!(stage.numbers("base").await?, [1]);
    stage.at_rest().await
}

#[tokio::test]
async fn c10_and_c11_revisions_go_with_their_composition_and_numbers_go_on() -> Result<()> {
    let stage = Stage::start().await?;
    stage.publish(&stage.composition("base", "one")).await?;
    stage.publish(&stage.composition("base", "two")).await?;
    let path = stage.composition_path("base");
    stage.delete(&path).await?;
    stage.gone(&path).await?;
    // Crossplane: the new one is stuck until the garbage collector is done, and then counts from 1.
    stage.publish(&stage.composition("base", "two")).await?;
    eventually("only the new revision is left", || async {
        Ok(stage.numbers("base").await? == [3])
    })
    .await?;
    stage.at_rest().await
}

#[tokio::test]
async fn c12_the_current_revision_is_made_again_with_a_new_number() -> Result<()> {
    let stage = Stage::start().await?;
    stage.publish(&stage.composition("base", "one")).await?;
    let name = stage.current("base").await?;
    stage.delete(&stage.revision_path(&name)).await?;
    eventually("it is there again", || async {
        Ok(stage.numbers("base").await? == [2])
    })
    .await?;
    assert_eq!(stage.revisions("base").await?[0]["metadata"]["name"], name);
    stage.at_rest().await
}

#[tokio::test]
async fn c13_an_old_revision_that_was_deleted_stays_deleted() -> Result<()> {
    let stage = Stage::start().await?;
    stage.publish(&stage.composition("base", "one")).await?;
    let old = stage.current("base").await?;
    stage.publish(&stage.composition("base", "two")).await?;
    stage.delete(&stage.revision_path(&old)).await?;
    stage.platform.idle().await?;
    assert_eq!(stage.numbers("base").await?, [2]);
    stage.at_rest().await
}

#[tokio::test]
async fn c15_two_contents_with_the_same_first_digits_have_two_names() -> Result<()> {
    let stage = Stage::start().await?;
    stage.publish(&stage.composition("base", "one")).await?;
    let one = stage.current("base").await?;
    stage.delete(&stage.composition_path("base")).await?;
    stage.gone(&stage.revision_path(&one)).await?;
    // Somebody else's revision has the name.
    let mut squatter = stage.composition("other", "squatting");
    squatter["kind"] = json!("CompositionRevision");
    squatter["metadata"] =
        json!({"name": one, "labels": {"crossplane.io/composition-name": stage.called("other")}});
    squatter["spec"]["revision"] = json!(1);
    stage.applied(&stage.revision_path(&one), &squatter).await?;
    eventually_some("it is seen", || async {
        stage.publish(&stage.composition("base", "one")).await?;
        let name = stage.current("base").await?;
        Ok((name != one && name.starts_with(&one)).then_some(()))
    })
    .await?;
    stage.at_rest().await
}

#[tokio::test]
async fn c16_a_composition_with_a_long_name_works() -> Result<()> {
    let stage = Stage::start().await?;
    let long = "a-name-that-is-much-longer-than-a-label-can-be-and-goes-on-and-on";
    let mut composition = stage.composition(long, "one");
    stage.publish(&composition).await?;
    stage
        .compose("thing", json!({"compositionRef": {"name": stage.called(long)}}))
        .await?;
    let first = stage.current(long).await?;
    stage.uses("thing", &first).await?;
    composition["spec"]["resources"][0]["base"]["data"]["says"] = json!("two");
    stage.publish(&composition).await?;
    stage.says("thing", "two").await?;
    let revision = stage.platform.raw.get(&stage.revision_path(&first)).await?.body;
    let label = text(
        &revision["metadata"]["labels"]["crossplane.io/composition-name"],
        "a label",
    )?;
    assert_eq!(label.len(), 63);
    stage.at_rest().await
}

#[tokio::test]
async fn c17_the_kind_that_a_composition_is_for_cannot_change() -> Result<()> {
    let stage = Stage::start().await?;
    let mut composition = stage.composition("base", "one");
    stage.publish(&composition).await?;
    composition["spec"]["compositeTypeRef"]["kind"] = json!("XOther");
    let answer = stage.apply(&stage.composition_path("base"), &composition).await?;
    ensure!(
        answer.code == 422 && answer.message().contains("compositeTypeRef"),
        "{}",
        answer.body
    );
    stage.at_rest().await
}

#[tokio::test]
async fn an_edited_revision_is_marked_and_the_current_one_is_put_back() -> Result<()> {
    let stage = Stage::start().await?;
    stage.publish(&stage.composition("base", "one")).await?;
    let old = stage.current("base").await?;
    stage.publish(&stage.composition("base", "two")).await?;
    let current = stage.current("base").await?;
    let edit = json!({"spec": {"writeConnectionSecretsToNamespace": "elsewhere"}});
    for name in [&old, &current] {
        stage.edit(&stage.revision_path(name), edit.clone()).await?;
    }
    eventually("the current one is as it was", || async {
        let revision = stage.platform.raw.get(&stage.revision_path(&current)).await?.body;
        Ok(revision["spec"]["writeConnectionSecretsToNamespace"].is_null() && holds(&revision, "Intact"))
    })
    .await?;
    let marked = eventually_some("the old one is marked", || async {
        let revision = stage.platform.raw.get(&stage.revision_path(&old)).await?.body;
        let intact = condition(&revision, "Intact").cloned();
        Ok(intact.filter(|intact| intact["status"] == "False"))
    })
    .await?;
    assert_eq!(marked["reason"], "ContentChanged");
    let pin = json!({"compositionRef": {"name": stage.called("base")}, "compositionUpdatePolicy": "Manual",
        "compositionRevisionRef": {"name": old}});
    stage.compose("thing", pin).await?;
    stage
        .refused("thing", "was edited after it was published")
        .await?;
    stage.at_rest().await
}
