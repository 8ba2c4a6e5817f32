//! What a client of the API server sees of conversion and admission.

use std::sync::Arc;
use std::time::Duration;

use crate::support::{AsAnnotated, MUTATING, Stage, definition, signing};
use anyhow::Result;
use cambium_convert::Converter;
use cambium_testing::{eventually, eventually_some};
use cambium_webhooks::Webhooks;
use cambium_webhooks::admission::Admission;
use http::Method;
use serde_json::{Value, json};

const KINDS: [&str; 4] = [
    "ComponentDefinition",
    "TraitDefinition",
    "PolicyDefinition",
    "WorkflowStepDefinition",
];

#[tokio::test]
async fn definitions_are_read_at_both_versions() -> Result<()> {
    let stage = Stage::set().await?;
    let webhooks = stage.webhooks(Admission::default()).await?;
    let versions = json!([
        {"version": "1.0.0", "schematic": {"cue": {"template": "one"}}, "unknown": [1, {"a": null}]},
        {"version": "1.1.0", "schematic": {"cue": {"template": "two"}}},
    ]);
    for kind in KINDS {
        let new = definition("v2beta1", kind, "new", json!({"versions": versions}));
        let made = stage.create(&new).await?;
        assert_eq!(
            (made.code, &made.body["spec"]),
            (201, &new["spec"]),
            "{kind}: {made:?}"
        );
        let old = definition(
            "v1beta1",
            kind,
            "old",
            json!({"schematic": {"cue": {"template": "old"}}}),
        );
        let made = stage.create(&old).await?;
        assert_eq!(
            (made.code, &made.body["spec"]),
            (201, &old["spec"]),
            "{kind}: {made:?}"
        );
        for (version, name, expected) in [
            ("v1beta1", "new", versions[1].clone()),
            ("v2beta1", "new", new["spec"].clone()),
            ("v1beta1", "old", old["spec"].clone()),
            (
                "v2beta1",
                "old",
                json!({"versions": [{"version": "0.0.0-legacy", "schematic": {"cue": {"template": "old"}}}]}),
            ),
        ] {
            let read = stage.raw.get(&stage.path(version, kind, name)).await?;
            assert_eq!(
                (read.code, &read.body["spec"]),
                (200, &expected),
                "{kind} {name} at {version}: {read:?}"
            );
        }
        let list = stage.raw.get(&stage.collection(&new)).await?.body;
        let names: Vec<&Value> = list["items"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|one| &one["metadata"]["name"])
            .collect();
        assert_eq!(names, ["new", "old"], "{kind}");
        // As `kubectl get` asks.
        for version in ["v1beta1", "v2beta1"] {
            let path = stage.collection(&definition(version, kind, "", Value::Null));
            let accept = [("accept", "application/json;as=Table;v=v1;g=meta.k8s.io")];
            let table = stage
                .raw
                .send(Method::GET, &path, &accept, &Value::Null)
                .await?
                .body;
            let rows = table["rows"].as_array().into_iter().flatten();
            let cells: Vec<&Value> = rows.map(|row| &row["cells"][0]).collect();
            assert_eq!(cells, ["new", "old"], "{kind} at {version}: {table}");
        }
        // An edit through either version counts.
        let path = stage.path("v1beta1", kind, "new");
        let edit = json!({"spec": {"schematic": {"cue": {"template": "edited"}}}});
        assert_eq!(stage.raw.patch("merge", &path, &edit).await?.code, 200);
        let read = stage.raw.get(&stage.path("v2beta1", kind, "new")).await?.body;
        let versions = &read["spec"]["versions"];
        assert_eq!(
            (&versions[0], &versions[1]["schematic"]["cue"]["template"]),
            (&new["spec"]["versions"][0], &json!("edited"))
        );
    }
    webhooks.stop().await;
    Ok(())
}

#[tokio::test]
async fn a_validator_is_heard_by_the_client() -> Result<()> {
    let stage = Stage::set().await?;
    let webhooks = stage.webhooks(checked()).await?;
    let annotated = |version: &str, name: &str, annotations: Value| {
        let mut object = definition(version, "ComponentDefinition", name, json!({}));
        object["metadata"]["annotations"] = annotations;
        object
    };
    let webhook = "as-annotated.webhooks.cambium.dev";
    for version in ["v1beta1", "v2beta1"] {
        let denied = annotated(version, "denied", json!({"deny": "the reason, in words"}));
        let answer = stage.create(&denied).await?;
        let message = format!("admission webhook \"{webhook}\" denied the request: the reason, in words");
        assert_eq!(
            (answer.code, answer.reason(), answer.message()),
            (422, "Invalid", &*message)
        );
    }
    let warned = annotated("v1beta1", "warned", json!({"warn": "think of the others"}));
    let answer = stage.create(&warned).await?;
    assert_eq!(
        (answer.code, answer.warnings),
        (201, vec!["think of the others".to_owned()])
    );

    let kept = annotated("v1beta1", "kept", json!({"keep": "it is in use"}));
    assert_eq!(stage.create(&kept).await?.code, 201);
    let path = stage.path("v1beta1", "ComponentDefinition", "kept");
    let answer = stage.raw.delete(&path, &Value::Null).await?;
    let message = format!("admission webhook \"{webhook}\" denied the request: it is in use");
    assert_eq!(
        (answer.code, answer.reason(), answer.message()),
        (403, "Forbidden", &*message)
    );
    let released = json!({"metadata": {"annotations": {"keep": null}}});
    assert_eq!(stage.raw.patch("merge", &path, &released).await?.code, 200);
    assert_eq!(stage.raw.delete(&path, &Value::Null).await?.code, 200);

    let panics = annotated("v1beta1", "panics", json!({"panic": ""}));
    let answer = stage.create(&panics).await?;
    let message = format!(
        "admission webhook \"{webhook}\" denied the request: the validator \"as-annotated\" failed; \
         the log of the manager has the reason"
    );
    assert_eq!((answer.code, answer.message()), (500, &*message));
    assert_eq!(
        stage.create(&annotated("v1beta1", "fine", json!({}))).await?.code,
        201
    );
    webhooks.stop().await;
    Ok(())
}

fn checked() -> Admission {
    Admission::validating(vec![Arc::new(AsAnnotated)])
}

#[tokio::test]
async fn a_mutator_changes_what_is_stored_and_its_configuration_is_kept() -> Result<()> {
    let stage = Stage::set().await?;
    let admission = Admission {
        mutators: signing().mutators,
        ..checked()
    };
    let webhooks = stage.webhooks(admission).await?;
    let path = format!("{MUTATING}/{}", stage.configuration);
    let registered = stage.raw.get(&path).await?.body["webhooks"][0].clone();
    assert_eq!(
        (&registered["sideEffects"], &registered["reinvocationPolicy"]),
        (&json!("None"), &json!("Never")),
        "{registered}"
    );
    let mut object = definition("v1beta1", "ComponentDefinition", "signed", json!({}));
    object["metadata"]["annotations"] = json!({"example.dev/signed": "somebody else", "warn": "hm"});
    let signer = eventually_some("mutators are asked", || async {
        let answer = stage.create(&object).await?;
        assert_eq!(answer.code, 201, "{answer:?}");
        stage
            .raw
            .delete(
                &stage.path("v1beta1", "ComponentDefinition", "signed"),
                &Value::Null,
            )
            .await?;
        let signer = answer.body["metadata"]["annotations"]["example.dev/signed"].clone();
        // An API server hears of a webhook a little later than we tell it.
        Ok((signer != "somebody else").then_some(signer))
    })
    .await?;
    assert_ne!(signer, "");
    // Asked at every version, and before validators.
    object["metadata"]["annotations"] = json!({"deny": "no"});
    object["apiVersion"] = json!("core.oam.dev/v2beta1");
    let answer = stage.create(&object).await?;
    let message = "admission webhook \"signs.webhooks.cambium.dev\" denied the request: no";
    assert_eq!((answer.code, answer.message()), (403, message));
    // Whoever removes the configuration gets it back.
    assert_eq!(stage.raw.delete(&path, &Value::Null).await?.code, 200);
    eventually("the configuration is back", || async {
        Ok(stage.raw.get(&path).await?.body["webhooks"][0]["name"] == registered["name"])
    })
    .await?;
    webhooks.stop().await;
    Ok(())
}

#[tokio::test]
async fn a_validator_that_does_not_decide_is_a_no_in_words() -> Result<()> {
    let stage = Stage::set().await?;
    let listener = Stage::listener().await?;
    let mut options = stage.options(&listener)?;
    options.limits.validation = Duration::from_millis(100);
    let client = stage.cluster.client();
    let webhooks = Webhooks::start(client, listener, options, checked()).await?;
    let mut object = definition("v1beta1", "ComponentDefinition", "slow", json!({}));
    object["metadata"]["annotations"] = json!({"hang": ""});
    let answer = stage.create(&object).await?;
    let message = "admission webhook \"as-annotated.webhooks.cambium.dev\" denied the request: \
        the validator \"as-annotated\" timed out after 100ms; try again";
    assert_eq!(
        (answer.code, answer.reason(), answer.message()),
        (500, "InternalError", message)
    );
    webhooks.stop().await;
    Ok(())
}

#[tokio::test]
async fn a_panic_in_conversion_names_the_object_and_spares_the_others() -> Result<()> {
    let stage = Stage::set().await?;
    let listener = Stage::listener().await?;
    let mut options = stage.options(&listener)?;
    let converters = options.converters.clone();
    let fragile = Converter::new(
        ["core.oam.dev/v1beta1", "core.oam.dev/v2beta1"],
        move |object, desired| {
            if object["metadata"]["name"] == "bad" {
                panic!("cannot bear it");
            }
            converters.convert(object, desired)
        },
    );
    options
        .converters
        .register("core.oam.dev", "PolicyDefinition", fragile);
    let webhooks = Webhooks::start(stage.manager.clone(), listener, options, Admission::default()).await?;
    for name in ["fine", "bad"] {
        let made = stage
            .create(&definition("v1beta1", "PolicyDefinition", name, json!({})))
            .await?;
        assert_eq!(made.code, 201, "stored as it is written: {made:?}");
    }
    let answer = stage
        .raw
        .get(&stage.path("v2beta1", "PolicyDefinition", "bad"))
        .await?;
    let expected = format!("objects[0], PolicyDefinition {}/bad", stage.namespace);
    assert!(
        answer.code == 500
            && answer.message().contains(&expected)
            && answer.message().contains("cannot bear it"),
        "{answer:?}"
    );
    let answer = stage
        .raw
        .get(&stage.path("v2beta1", "PolicyDefinition", "fine"))
        .await?;
    assert_eq!(answer.code, 200, "{answer:?}");
    let path = stage.path("v1beta1", "PolicyDefinition", "bad");
    assert_eq!(stage.raw.delete(&path, &Value::Null).await?.code, 200);
    webhooks.stop().await;
    Ok(())
}
