//! What goes wrong is said: no failure leaves a composite resource without a word, or with one that is not so.

use crate::composing;

use crate::composing::{Stage, condition, holds};
use anyhow::{Result, ensure};
use cambium_testing::eventually_some;
use serde_json::{Value, json};

fn machinery(stage: &Stage) -> Value {
    json!({"compositionRef": {"name": stage.called("base")}})
}

/// A template of a ConfigMap or Secret, in this test's namespace.
fn template(stage: &Stage, name: &str, mut base: Value, patches: Value) -> Value {
    base["apiVersion"] = json!("v1");
    base["metadata"] = json!({"namespace": stage.platform.namespace});
    json!({"name": name, "base": base, "patches": patches, "readinessChecks": [{"type": "None"}]})
}

#[tokio::test]
async fn a_resource_that_the_server_cannot_read_is_told_and_its_siblings_are_made() -> Result<()> {
    let stage = Stage::start().await?;
    let mut composition = stage.composition("base", "one");
    let good = composition["spec"]["resources"][0].clone();
    let bad = template(
        &stage,
        "bad",
        json!({"kind": "ConfigMap", "data": {"v": 1}}),
        json!([]),
    );
    composition["spec"]["resources"] = json!([bad, good]);
    stage.publish(&composition).await?;
    stage.compose("thing", machinery(&stage)).await?;
    stage
        .refused("thing", "cannot apply composed resource \"bad\"")
        .await?;
    stage.says("thing", "one").await?;
    stage.told("thing", "resource \"bad\"").await.map(drop)?;
    stage.at_rest().await
}

#[tokio::test]
async fn values_of_a_secret_that_is_refused_are_not_shown() -> Result<()> {
    let stage = Stage::start().await?;
    let mut composition = stage.composition("base", "one");
    let patches = json!([{"fromFieldPath": "spec.parts.pin", "toFieldPath": "stringData.pw"}]);
    let secret = template(&stage, "secret", json!({"kind": "Secret"}), patches);
    composition["spec"]["resources"]
        .as_array_mut()
        .into_iter()
        .for_each(|all| all.push(secret.clone()));
    stage.publish(&composition).await?;
    let mut thing = machinery(&stage);
    thing["parts"] = json!({"pin": 87_654_321});
    stage.compose("thing", thing).await?;
    let said = stage
        .refused("thing", "cannot apply composed resource \"secret\"")
        .await?;
    ensure!(!said.contains("87654321"), "{said}");
    for event in stage.told("thing", "resource \"secret\"").await? {
        ensure!(!event.to_string().contains("87654321"), "{event}");
    }
    stage.at_rest().await
}

#[tokio::test]
async fn what_the_composite_resource_does_not_take_is_told() -> Result<()> {
    let schema = json!({"openAPIV3Schema": {"type": "object", "properties": {
        "spec": {"type": "object", "properties": {"text": {"type": "string"}, "size": {"type": "integer"}}},
        "status": {"type": "object", "properties": {"count": {"type": "integer"}, "seen": {"type": "string"}}},
    }}});
    let versions = json!([{"name": "v1", "served": true, "referenceable": true, "schema": schema}]);
    let stage = Stage::with(composing::settings(), json!({"versions": versions})).await?;
    let composition = |to: &str| {
        let mut composition = stage.composition("base", "one");
        composition["spec"]["resources"][0]["patches"] = json!([
            {"type": "ToCompositeFieldPath", "fromFieldPath": "data.says", "toFieldPath": to},
        ]);
        composition
    };
    for (at, to) in ["status.count", "spec.size", "metadata.name"].iter().enumerate() {
        stage.publish(&composition("status.seen")).await?;
        let (old, new) = (format!("old-{at}"), format!("new-{at}"));
        stage.compose(&old, machinery(&stage)).await?;
        eventually_some("it works", || async {
            let found = stage.get(&old).await?;
            Ok((holds(&found, "Synced") && found["status"]["seen"] == "one").then_some(()))
        })
        .await?;
        stage.publish(&composition(to)).await?;
        stage.compose(&new, machinery(&stage)).await?;
        for name in [&old, &new] {
            stage.refused(name, "cannot update composite resource: ").await?;
        }
        // The rest stays as it was.
        let found = stage.get(&old).await?;
        assert_eq!(found["status"]["seen"], "one");
        ensure!(condition(&found, "Ready").is_some(), "{found}");
        stage.told(&new, "cannot update").await?;
        // It is well again when the composition is.
        stage.publish(&composition("status.seen")).await?;
        for name in [&old, &new] {
            eventually_some("it is well again", || async {
                Ok(holds(&stage.get(name).await?, "Synced").then_some(()))
            })
            .await?;
            stage.delete(&stage.path(name)).await?;
        }
    }
    stage.at_rest().await
}
