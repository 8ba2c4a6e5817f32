//! The two examples of the design document that composition revisions come from, and what it shows they become.

use crate::composing::{Stage, holds};
use anyhow::{Result, ensure};
use cambium_testing::{eventually_some, rights};
use serde_json::{Value, json};

const DEFINITION: &str = include_str!("../../../../../examples/compositions/seed-definition.yaml");
const COMPOSITION: &str = include_str!("../../../../../examples/compositions/seed-composition.yaml");
const CLAIM: &str = include_str!("../../../../../examples/compositions/seed-claim.yaml");

const CROSSPLANE: &str = "/apis/apiextensions.crossplane.io/v1";
const COMPOSITES: &str = "/apis/database.example.org/v1alpha1/compositepostgresqlinstances";
const CLAIMS: &str = "/apis/database.example.org/v1alpha1/namespaces/default/postgresqlinstances";
const INSTANCES: &str = "/apis/database.gcp.crossplane.io/v1beta1/cloudsqlinstances";

/// Where an object of an example is.
fn path(object: &Value) -> String {
    let name = object["metadata"]["name"].as_str().unwrap();
    match object["kind"].as_str().unwrap() {
        "CompositeResourceDefinition" => format!("{CROSSPLANE}/compositeresourcedefinitions/{name}"),
        "Composition" => format!("{CROSSPLANE}/compositions/{name}"),
        "PostgreSQLInstance" => format!("{CLAIMS}/{name}"),
        _ => format!("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{name}"),
    }
}

/// Applies what an example holds.
async fn apply(stage: &Stage, example: &str) -> Result<()> {
    for object in serde_saphyr::from_multiple::<Value>(example)? {
        stage.applied(&path(&object), &object).await?;
    }
    Ok(())
}

async fn until(stage: &Stage, path: &str, what: &str, is: impl Fn(&Value) -> bool) -> Result<Value> {
    eventually_some(&format!("{path} {what}"), || async {
        let found = stage.platform.raw.get(path).await?.body;
        Ok(is(&found).then_some(found))
    })
    .await
}

async fn defined(stage: &Stage) -> Result<()> {
    // What a platform grants for its own kinds, and for what they compose.
    for group in ["database.example.org", "database.gcp.crossplane.io"] {
        rights::grant_composing(&stage.platform.raw, group, &["*"]).await?;
    }
    apply(stage, DEFINITION).await?;
    let definition = "compositepostgresqlinstances.database.example.org";
    let path = format!("{CROSSPLANE}/compositeresourcedefinitions/{definition}");
    until(stage, &path, "is offered", |found| {
        holds(found, "Established") && holds(found, "Offered")
    })
    .await?;
    until(stage, CLAIMS, "is served", |found| found["items"].is_array()).await?;
    until(stage, INSTANCES, "is served", |found| found["items"].is_array()).await?;
    Ok(())
}

/// The only revision of a composition.
async fn revision_of(stage: &Stage, composition: &str) -> Result<Value> {
    let selector = format!("labelSelector=crossplane.io/composition-name={composition}");
    let path = format!("{CROSSPLANE}/compositionrevisions?{selector}");
    let found = until(stage, &path, "has a revision", |found| {
        found["items"].as_array().is_some_and(|items| !items.is_empty())
    })
    .await?;
    ensure!(found["items"].as_array().unwrap().len() == 1, "{found}");
    Ok(found["items"][0].clone())
}

#[tokio::test]
async fn the_examples_of_the_seed_give_the_objects_that_it_shows() -> Result<()> {
    let stage = Stage::start().await?;
    // Where the examples have connection secrets put.
    let namespace =
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "crossplane-system"}});
    stage
        .applied("/api/v1/namespaces/crossplane-system", &namespace)
        .await?;
    defined(&stage).await?;
    the_composition_gives_its_revision(&stage).await?;
    the_claim_follows_the_composition_that_it_selects(&stage).await?;
    stage.at_rest().await
}

async fn the_composition_gives_its_revision(stage: &Stage) -> Result<()> {
    apply(stage, COMPOSITION).await?;
    let revision = revision_of(stage, "example").await?;
    let composition = stage
        .platform
        .raw
        .get(&format!("{CROSSPLANE}/compositions/example"))
        .await?
        .body;

    let name = revision["metadata"]["name"].as_str().unwrap();
    let digits = name.strip_prefix("example-").unwrap();
    assert_eq!(digits.len(), 7, "{name}");
    let labels = &revision["metadata"]["labels"];
    assert_eq!(labels["crossplane.io/composition-name"], "example");
    let hash = labels["crossplane.io/composition-spec-hash"].as_str().unwrap();
    assert!(
        hash.len() == 16 && hash.bytes().all(|digit| digit.is_ascii_hexdigit()),
        "{hash}"
    );
    assert_eq!(
        revision["metadata"]["ownerReferences"],
        json!([{
            "apiVersion": "apiextensions.crossplane.io/v1", "kind": "Composition", "name": "example",
            "uid": composition["metadata"]["uid"], "controller": true, "blockOwnerDeletion": true,
        }])
    );
    // Apart from the number, the spec is the composition's.
    let mut spec = composition["spec"].clone();
    spec["revision"] = json!(1);
    assert_eq!(revision["spec"], spec);
    let written: Vec<Value> = serde_saphyr::from_multiple(COMPOSITION)?;
    for (field, value) in written[0]["spec"].as_object().unwrap() {
        assert_eq!(revision["spec"][field], *value, "{field}");
    }
    Ok(())
}

async fn the_claim_follows_the_composition_that_it_selects(stage: &Stage) -> Result<()> {
    apply(stage, CLAIM).await?;
    let revision = revision_of(stage, "example-gcp").await?["metadata"]["name"].clone();

    let claim = until(stage, &format!("{CLAIMS}/my-db"), "names the revision", |claim| {
        claim["spec"]["compositionRevisionRef"]["name"] == revision
    })
    .await?;
    let spec = &claim["spec"];
    assert_eq!(spec["compositionRef"], json!({"name": "example-gcp"}));
    assert_eq!(
        spec["compositionSelector"],
        json!({"matchLabels": {"provider": "gcp"}})
    );
    assert_eq!(spec["compositionUpdatePolicy"], "Automatic");
    let composite = format!("{COMPOSITES}/{}", spec["resourceRef"]["name"].as_str().unwrap());
    let composite = until(stage, &composite, "is composed", |found| holds(found, "Synced")).await?;
    assert_eq!(
        composite["spec"]["compositionRef"],
        json!({"name": "example-gcp"})
    );
    assert_eq!(
        composite["spec"]["compositionRevisionRef"],
        json!({"name": revision})
    );
    assert_eq!(composite["spec"]["compositionUpdatePolicy"], "Automatic");

    let instance = composite["spec"]["resourceRefs"][0]["name"].as_str().unwrap();
    let instance = format!("{INSTANCES}/{instance}");
    let made = stage.platform.raw.get(&instance).await?.body;
    assert_eq!(
        made["spec"]["forProvider"],
        json!({
            "databaseVersion": "POSTGRES_12", "region": "us-central1",
            "settings": {"tier": "db-custom-1-3840", "dataDiskType": "PD_SSD", "dataDiskSizeGb": 20},
        })
    );
    // A provider says when it is there.
    let ready = json!({"status": {"conditions": [{"type": "Ready", "status": "True", "reason": "Available",
        "lastTransitionTime": "2030-01-01T00:00:00Z"}]}});
    stage.edit(&format!("{instance}/status"), ready).await?;
    until(stage, &format!("{CLAIMS}/my-db"), "is ready", |claim| {
        holds(claim, "Ready")
    })
    .await?;
    Ok(())
}
