//! Which revisions of a composition stay, and which go.

use crate::composing::{Stage, settings};
use anyhow::{Context as _, Result, ensure};
use cambium_controllers::Settings;
use cambium_testing::{eventually, eventually_some};
use jiff::SignedDuration;
use serde_json::{Value, json};

/// Keeps the current revision and one more.
fn keeping_one() -> Settings {
    Settings {
        composition_revision_limit: 1,
        ..settings()
    }
}

async fn publish(stage: &Stage, says: &str, channel: &str) -> Result<String> {
    let mut composition = stage.composition("base", says);
    composition["metadata"]["labels"] = json!({"channel": channel});
    stage.publish(&composition).await?;
    stage.current("base").await
}

fn uses(stage: &Stage, machinery: Value) -> Value {
    let mut all = json!({"compositionRef": {"name": stage.called("base")}});
    for (field, value) in machinery.as_object().into_iter().flatten() {
        all[field] = value.clone();
    }
    all
}

async fn left(stage: &Stage, numbers: &[i64]) -> Result<()> {
    eventually(&format!("{numbers:?} are left"), || async {
        Ok(stage.numbers("base").await? == numbers)
    })
    .await
}

#[tokio::test]
async fn the_current_one_the_newest_the_pinned_and_the_selected_stay() -> Result<()> {
    let stage = Stage::with(keeping_one(), json!({})).await?;
    let one = publish(&stage, "one", "dev").await?;
    let pin = uses(
        &stage,
        json!({"compositionUpdatePolicy": "Manual", "compositionRevisionRef": {"name": one}}),
    );
    stage.compose("pinned", pin).await?;
    stage.uses("pinned", &one).await?;
    let two = publish(&stage, "two", "stable").await?;
    let follow = uses(
        &stage,
        json!({"compositionRevisionSelector": {"matchLabels": {"channel": "stable"}}}),
    );
    stage.compose("selects", follow).await?;
    stage.uses("selects", &two).await?;
    for says in ["three", "four", "five", "six"] {
        publish(&stage, says, "dev").await?;
    }
    left(&stage, &[1, 2, 5, 6]).await?;
    let revision = stage.platform.raw.get(&stage.revision_path(&one)).await?.body;
    assert_eq!(revision["status"]["inUseBy"], "XThing pinned");
    assert_eq!(revision["status"]["current"], false);
    // Nobody needs them any more.
    stage.delete(&stage.path("pinned")).await?;
    stage.delete(&stage.path("selects")).await?;
    left(&stage, &[5, 6]).await?;
    // Numbers go on, whatever went.
    publish(&stage, "one", "dev").await?;
    left(&stage, &[6, 7]).await?;
    stage.at_rest().await
}

#[tokio::test]
async fn a_selector_that_a_definition_gives_keeps_what_new_ones_would_get() -> Result<()> {
    let default = json!({"defaultCompositionRevisionSelector": {"matchLabels": {"channel": "stable"}}});
    let stage = Stage::with(keeping_one(), default).await?;
    let one = publish(&stage, "one", "stable").await?;
    for says in ["two", "three", "four"] {
        publish(&stage, says, "dev").await?;
    }
    left(&stage, &[1, 3, 4]).await?;
    stage.compose("late", uses(&stage, json!({}))).await?;
    stage.uses("late", &one).await?;
    stage.at_rest().await
}

#[tokio::test]
async fn a_composition_says_how_many_it_keeps_and_a_revert_keeps_what_it_goes_back_to() -> Result<()> {
    let stage = Stage::with(keeping_one(), json!({})).await?;
    let publish = async |says: &str| {
        let mut composition = stage.composition("base", says);
        composition["metadata"]["annotations"] = json!({"composition.cambium.dev/revision-limit": "0"});
        stage.publish(&composition).await?;
        stage.current("base").await
    };
    let one = publish("one").await?;
    publish("two").await?;
    left(&stage, &[2]).await?;
    // Its object went; the content is the same, and so is the name.
    assert_eq!(publish("one").await?, one);
    left(&stage, &[3]).await?;
    stage.at_rest().await
}

#[tokio::test]
async fn a_pin_that_comes_before_the_delay_is_over_wins() -> Result<()> {
    let settings = Settings {
        deletion_delay: SignedDuration::from_secs(3),
        composition_revision_limit: 0,
        ..settings()
    };
    let stage = Stage::with(settings, json!({})).await?;
    let one = publish(&stage, "one", "dev").await?;
    publish(&stage, "two", "dev").await?;
    let unused_since = |name: String| {
        let stage = &stage;
        async move {
            let revision = stage.platform.raw.get(&stage.revision_path(&name)).await?.body;
            anyhow::Ok(revision["status"]["unusedSince"].as_str().map(str::to_owned))
        }
    };
    eventually_some("it is marked", || unused_since(one.clone())).await?;
    let pin = uses(
        &stage,
        json!({"compositionUpdatePolicy": "Manual", "compositionRevisionRef": {"name": one}}),
    );
    stage.compose("pinned", pin).await?;
    stage.uses("pinned", &one).await?;
    eventually("the mark is gone", || async {
        Ok(unused_since(one.clone()).await?.is_none())
    })
    .await?;
    tokio::time::sleep(std::time::Duration::from_secs(4)).await;
    stage.platform.idle().await?;
    ensure!(stage.numbers("base").await? == [1, 2]);
    stage.delete(&stage.path("pinned")).await?;
    left(&stage, &[2]).await?;
    stage.at_rest().await
}

#[tokio::test]
async fn paused_and_deleting_ones_count_and_the_young_are_kept() -> Result<()> {
    let settings = Settings {
        revision_grace: SignedDuration::from_secs(3600),
        ..keeping_one()
    };
    let stage = Stage::with(settings, json!({})).await?;
    for says in ["one", "two", "three", "four"] {
        publish(&stage, says, "dev").await?;
    }
    tokio::time::sleep(std::time::Duration::from_secs(2)).await;
    ensure!(stage.numbers("base").await? == [1, 2, 3, 4], "all are young");
    drop(stage);

    let stage = Stage::with(keeping_one(), json!({})).await?;
    let one = publish(&stage, "one", "dev").await?;
    let pin = uses(
        &stage,
        json!({"compositionUpdatePolicy": "Manual", "compositionRevisionRef": {"name": one}}),
    );
    let mut held = stage.composite("held", pin);
    held["metadata"]["finalizers"] = json!(["example.org/held"]);
    held["metadata"]["annotations"] = json!({"crossplane.io/paused": "true"});
    stage.applied(&stage.path("held"), &held).await?;
    for says in ["two", "three", "four"] {
        publish(&stage, says, "dev").await?;
    }
    left(&stage, &[1, 3, 4]).await?;
    stage.delete(&stage.path("held")).await?;
    stage.platform.idle().await?;
    ensure!(stage.numbers("base").await? == [1, 3, 4]);
    let free = json!({"metadata": {"finalizers": null}});
    stage.edit(&stage.path("held"), free).await?;
    left(&stage, &[3, 4]).await?;
    let current = stage.revisions("base").await?.pop().context("a revision")?;
    assert_eq!(current["status"]["current"], true);
    stage.at_rest().await
}
