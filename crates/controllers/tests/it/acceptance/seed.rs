//! The acceptance criteria of definition versioning, scenario by scenario.

use crate::platform::{Platform, application, auto_update};
use anyhow::Result;
use serde_json::json;

#[tokio::test]
async fn a_declared_version_is_listed_among_the_revisions() -> Result<()> {
    let platform = Platform::start().await?;
    platform.publish("a", "1.2.2").await?;
    platform.publish("a", "1.2.3").await?;
    assert_eq!(
        platform.names("definitionrevisions").await?,
        ["a-v1.2.2", "a-v1.2.3"]
    );
    let definition = platform.get("componentdefinitions", "a").await?;
    let versions: Vec<_> = definition["status"]["versions"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|version| version["version"].as_str().unwrap_or_default())
        .collect();
    assert_eq!(versions, ["1.2.3", "1.2.2"]);
    assert_eq!(definition["status"]["highestVersion"], "1.2.3");
    platform.rests().await
}

#[tokio::test]
async fn scenario_1_uses_the_version_that_is_specified() -> Result<()> {
    let platform = Platform::start().await?;
    for (name, versions) in [("a", ["1.2.2", "1.2.3"]), ("b", ["4.4.2", "4.5.6"])] {
        for version in versions {
            platform.publish(name, version).await?;
        }
    }
    let shop = application("shop", json!({}), &[("one", "a@1.2.2"), ("two", "b@v4.4.2")]);
    platform.deploy_object(&shop).await?;
    platform.runs("shop-one", "1.2.2").await?;
    platform.runs("shop-two", "4.4.2").await?;
    platform.rests().await
}

#[tokio::test]
async fn scenario_1_variant_takes_the_latest_for_what_is_not_specified() -> Result<()> {
    let platform = Platform::start().await?;
    for (name, versions) in [("a", ["1.2.2", "1.2.3"]), ("b", ["4.4.2", "4.5.6"])] {
        for version in versions {
            platform.publish(name, version).await?;
        }
    }
    let shop = application("shop", json!({}), &[("one", "a@1.2"), ("two", "b@4")]);
    platform.deploy_object(&shop).await?;
    platform.runs("shop-one", "1.2.3").await?;
    platform.runs("shop-two", "4.5.6").await?;
    platform.rests().await
}

#[tokio::test]
async fn scenario_2_with_auto_upgrade_disabled_it_stays() -> Result<()> {
    let platform = Platform::start().await?;
    platform.publish("a", "1.2.3").await?;
    platform.deploy("shop", "a@1.2.3", auto_update("false")).await?;
    platform.deploy("bare", "a", auto_update("false")).await?;
    platform.deploy("follower", "a@1.2", json!({})).await?;
    platform.publish("a", "1.2.5").await?;
    // Whoever follows has moved, so those who do not would have.
    platform.runs("follower-main", "1.2.5").await?;
    platform.idle().await?;
    platform.runs("shop-main", "1.2.3").await?;
    platform.runs("bare-main", "1.2.3").await?;
    platform.rests().await
}

#[tokio::test]
async fn scenario_2_variant_an_exact_version_that_is_not_there_fails() -> Result<()> {
    let platform = Platform::start().await?;
    platform.publish("a", "1.2.3").await?;
    platform.deploy("shop", "a@1.2.2", auto_update("false")).await?;
    let condition = platform.condition("shop", "Resolved", "False").await?;
    assert_eq!(condition["reason"], "VersionNotFound", "{condition}");
    assert_eq!(platform.config_map("shop-main").await?["code"], 404);
    platform.rests().await
}

#[tokio::test]
async fn scenario_2_variant_a_partial_version_fails() -> Result<()> {
    let platform = Platform::start().await?;
    platform.publish("a", "1.2.3").await?;
    platform.deploy("shop", "a@1.2", auto_update("false")).await?;
    let condition = platform.condition("shop", "Resolved", "False").await?;
    assert_eq!(condition["reason"], "PartialWhilePinned", "{condition}");
    assert_eq!(platform.config_map("shop-main").await?["code"], 404);
    platform.rests().await
}

#[tokio::test]
async fn scenario_3_with_auto_upgrade_it_moves_to_the_new_patch() -> Result<()> {
    let platform = Platform::start().await?;
    platform.publish("a", "1.2.3").await?;
    platform.deploy("shop", "a@1.2", auto_update("true")).await?;
    platform.runs("shop-main", "1.2.3").await?;
    platform.publish("a", "1.2.5").await?;
    platform.runs("shop-main", "1.2.5").await?;
    platform.idle().await?;
    let shop = platform.application("shop").await?;
    let reference = &shop["status"]["references"][0];
    assert_eq!(reference["asked"], "a@1.2");
    assert_eq!(reference["version"], "1.2.5");
    assert_eq!(shop["status"]["latestRevision"]["name"], "shop-v2");
    platform.rests().await
}

#[tokio::test]
async fn scenario_3_variant_an_exact_version_that_is_not_there_fails() -> Result<()> {
    let platform = Platform::start().await?;
    platform.publish("a", "1.2.3").await?;
    platform.deploy("shop", "a@1.2.2", auto_update("true")).await?;
    platform.condition("shop", "Resolved", "False").await?;
    // It is not given up: the version may still be published.
    platform.publish("a", "1.2.2").await?;
    platform.runs("shop-main", "1.2.2").await?;
    platform.rests().await
}

#[tokio::test]
async fn scenario_3_variant_a_partial_version_takes_what_is_there() -> Result<()> {
    let platform = Platform::start().await?;
    platform.publish("a", "1.2.3").await?;
    platform.deploy("shop", "a@1.2", auto_update("true")).await?;
    platform.runs("shop-main", "1.2.3").await?;
    platform.rests().await
}

#[tokio::test]
async fn scenario_4_a_version_is_the_same_thing_wherever_it_was_published() -> Result<()> {
    let platform = Platform::start().await?;
    for version in ["1.2.1", "1.2.2", "2.2.1"] {
        platform.publish("a", version).await?;
    }
    let here = platform.get("definitionrevisions", "a-v1.2.2").await?;
    let elsewhere = platform.elsewhere().await?;
    for version in ["2.2.1", "1.2.2", "1.2.1"] {
        elsewhere.publish("a", version).await?;
    }
    let there = elsewhere.get("definitionrevisions", "a-v1.2.2").await?;
    assert_eq!(here["spec"]["digest"], there["spec"]["digest"]);
    for cluster in [&platform, &elsewhere] {
        cluster.deploy("shop", "a@1.2.2", json!({})).await?;
        cluster.runs("shop-main", "1.2.2").await?;
    }
    platform.rests().await
}
