//! Definitions that are in each other's way, or in somebody else's: what is there is not touched because of another one.

use crate::composing::{Stage, condition, holds, settings};
use anyhow::{Result, ensure};
use cambium_controllers::Settings;
use cambium_testing::{eventually, eventually_some};
use serde_json::{Value, json};

const DEFINITIONS: &str = "/apis/apiextensions.crossplane.io/v1/compositeresourcedefinitions";
const CRDS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

/// A definition of a kind under another plural.
fn definition(stage: &Stage, kind: &str, plural: &str) -> (String, Value) {
    let name = format!("{plural}.{}", stage.group);
    let object = json!({
        "apiVersion": "apiextensions.crossplane.io/v1", "kind": "CompositeResourceDefinition",
        "metadata": {"name": name},
        "spec": {
            "group": stage.group, "names": {"kind": kind, "plural": plural},
            "versions": [{"name": "v1", "served": true, "referenceable": true, "schema": {"openAPIV3Schema": {
                "type": "object", "properties": {"spec": {"type": "object", "properties": {"text": {"type": "string"}}}},
            }}}],
        },
    });
    (format!("{DEFINITIONS}/{name}"), object)
}

/// A stage with a composite resource at work.
async fn at_work() -> Result<Stage> {
    let stage = Stage::start().await?;
    stage.publish(&stage.composition("base", "one")).await?;
    stage
        .compose("thing", json!({"compositionRef": {"name": stage.called("base")}}))
        .await?;
    stage.says("thing", "one").await?;
    Ok(stage)
}

/// Waits until a definition says why it is not established.
async fn waits(stage: &Stage, path: &str, word: &str) -> Result<()> {
    eventually(&format!("{path} says {word:?}"), || async {
        let found = stage.platform.raw.get(path).await?.body;
        let established = condition(&found, "Established").cloned().unwrap_or_default();
        let message = established["message"].as_str().unwrap_or_default();
        Ok(established["status"] == "False" && message.contains(word))
    })
    .await
}

#[tokio::test]
async fn what_one_definition_defines_stays_when_another_of_its_kind_goes() -> Result<()> {
    let stage = at_work().await?;
    for plural in ["aaas", "zzzs"] {
        let (path, second) = definition(&stage, "XThing", plural);
        stage.applied(&path, &second).await?;
        waits(&stage, &path, "are not accepted").await?;
        // The first one still answers for the kind, whoever sorts before it.
        stage.publish(&stage.composition("base", plural)).await?;
        stage.says("thing", plural).await?;
        stage.delete(&path).await?;
        stage.gone(&path).await?;
        stage.platform.idle().await?;
        let thing = stage.get("thing").await?;
        ensure!(thing["metadata"]["deletionTimestamp"].is_null(), "{thing}");
        ensure!(stage.platform.raw.get(&stage.path("thing")).await?.code == 200);
        stage.says("thing", plural).await?;
    }
    stage.at_rest().await
}

#[tokio::test]
async fn a_kind_is_taken_over_when_its_first_definition_goes() -> Result<()> {
    let stage = at_work().await?;
    let (path, second) = definition(&stage, "XThing", "zzzs");
    stage.applied(&path, &second).await?;
    waits(&stage, &path, "are not accepted").await?;
    let first = format!("{DEFINITIONS}/xthings.{}", stage.group);
    stage.delete(&first).await?;
    stage.gone(&first).await?;
    eventually("the second one is established", || async {
        Ok(holds(&stage.platform.raw.get(&path).await?.body, "Established"))
    })
    .await?;
    let things = format!("/apis/{}/v1/zzzs/other", stage.group);
    let other = stage.composite("other", json!({"compositionRef": {"name": stage.called("base")}}));
    stage.applied(&things, &other).await?;
    stage.says("other", "one").await.map(drop)?;
    stage.at_rest().await
}

#[tokio::test]
async fn a_definition_whose_names_are_taken_says_so_and_can_be_deleted() -> Result<()> {
    let stage = Stage::start().await?;
    let crd = format!("{CRDS}/widgets.{}", stage.group);
    let object = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("widgets.{}", stage.group)},
        "spec": {
            "group": stage.group, "scope": "Cluster",
            "names": {"kind": "Widget", "plural": "widgets"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {"type": "object"}}}],
        },
    });
    stage.applied(&crd, &object).await?;
    eventually("widgets are served", || async {
        Ok(holds(&stage.platform.raw.get(&crd).await?.body, "Established"))
    })
    .await?;
    let widget = format!("/apis/{}/v1/widgets/one", stage.group);
    let one =
        json!({"apiVersion": format!("{}/v1", stage.group), "kind": "Widget", "metadata": {"name": "one"}});
    stage.applied(&widget, &one).await?;
    let (path, second) = definition(&stage, "Widget", "wids");
    stage.applied(&path, &second).await?;
    waits(&stage, &path, "is already in use").await?;
    stage.delete(&path).await?;
    stage.gone(&path).await?;
    stage.gone(&format!("{CRDS}/wids.{}", stage.group)).await?;
    ensure!(stage.platform.raw.get(&widget).await?.code == 200);
    ensure!(stage.platform.raw.get(&crd).await?.code == 200);
    stage.at_rest().await
}

#[tokio::test]
async fn what_is_pinned_stays_though_its_definition_is_not_established() -> Result<()> {
    let keeping_none = Settings {
        composition_revision_limit: 0,
        ..settings()
    };
    let schema = json!({"openAPIV3Schema": {"type": "object", "properties": {"spec": {"type": "object",
        "properties": {"text": {"type": "string"}}}}}});
    let version = |name: &str, referenceable: bool| json!({"name": name, "served": true, "referenceable": referenceable, "schema": schema});
    let both = json!({"versions": [version("v1alpha1", false), version("v1", true)]});
    let mut stage = Stage::with(keeping_none, both.clone()).await?;
    stage.publish(&stage.composition("base", "one")).await?;
    let one = stage.current("base").await?;
    let base = stage.called("base");
    stage
        .compose("thing", json!({"compositionRef": {"name": base}}))
        .await?;
    stage.uses("thing", &one).await?;
    // Both versions have been stored, so that none of them can go.
    stage
        .define(json!({"versions": [version("v1alpha1", true), version("v1", false)]}))
        .await?;
    stage.define(both).await?;
    let path = format!("{DEFINITIONS}/xthings.{}", stage.group);
    let without = json!({"spec": {"versions": [version("v1", true)]}});
    stage.edit(&path, without).await?;
    waits(&stage, &path, "storedVersions").await?;

    let client = stage.platform.cluster.manager().await?;
    stage.platform.start_manager(client).await?;
    let pin = json!({"spec": {"compositionUpdatePolicy": "Manual", "compositionRevisionRef": {"name": one}}});
    stage.edit(&stage.path("thing"), pin).await?;
    stage.publish(&stage.composition("base", "two")).await?;
    stage.publish(&stage.composition("base", "three")).await?;
    // What nobody uses goes, and what is pinned stays.
    eventually("revisions 1 and 3 are left", || async {
        Ok(stage.numbers("base").await? == [1, 3])
    })
    .await?;
    let revision = eventually_some("it is known who uses it", || async {
        let found = stage.platform.raw.get(&stage.revision_path(&one)).await?.body;
        Ok((found["status"]["consumers"] == 1).then_some(found))
    })
    .await?;
    assert_eq!(revision["status"]["inUseBy"], "XThing thing");
    stage.platform.idle().await?;
    assert_eq!(stage.numbers("base").await?, [1, 3]);
    stage.at_rest().await
}

#[tokio::test]
async fn claims_cannot_be_taken_away_from_a_definition() -> Result<()> {
    let claims = json!({"claimNames": {"kind": "Thing", "plural": "things"}});
    let stage = Stage::with(settings(), claims).await?;
    let path = format!("{DEFINITIONS}/xthings.{}", stage.group);
    let without = json!({"spec": {"claimNames": null}});
    let answer = stage.platform.raw.patch("merge", &path, &without).await?;
    ensure!(
        answer.code == 422 && answer.message().contains("spec.claimNames: Invalid value"),
        "{}",
        answer.body
    );
    ensure!(answer.message().contains("Value is immutable"), "{}", answer.body);
    stage.at_rest().await
}
