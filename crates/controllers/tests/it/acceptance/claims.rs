//! Claims: each gets a composite resource, what is said goes to it, and what it decides comes back.

use crate::claiming::Claims;
use crate::composing::{Stage, condition, holds, settings};
use anyhow::{Result, ensure};
use cambium_controllers::Settings;
use cambium_testing::{Fault, Faults, Filter, eventually, eventually_some};
use serde_json::{Value, json};

/// A composition that also says something in the composite resource's status.
fn telling(claims: &Claims, name: &str, text: &str) -> Value {
    let mut composition = claims.stage.composition(name, text);
    let patches = composition["spec"]["resources"][0]["patches"]
        .as_array_mut()
        .unwrap();
    patches.push(
        json!({"type": "ToCompositeFieldPath", "fromFieldPath": "data.says", "toFieldPath": "status.seen"}),
    );
    composition
}

#[tokio::test]
async fn a_claim_gets_a_composite_resource_and_shows_what_it_says() -> Result<()> {
    let claims = Claims::start().await?;
    claims.stage.publish(&telling(&claims, "base", "one")).await?;
    claims.claim("mine", json!({})).await?;
    let claim = claims.ready("mine").await?;
    let composite = claims.composite("mine").await?;
    let (namespace, name) = (
        &claims.stage.platform.namespace,
        composite["metadata"]["name"].as_str().unwrap(),
    );
    assert!(name.starts_with("mine-") && name.len() == 10, "{name}");
    assert_eq!(
        composite["spec"]["claimRef"],
        json!({"apiVersion": claim["apiVersion"], "kind": "Thing", "namespace": namespace, "name": "mine"})
    );
    let labels = &composite["metadata"]["labels"];
    assert_eq!(labels["crossplane.io/claim-name"], "mine");
    assert_eq!(labels["crossplane.io/claim-namespace"], *namespace);
    assert_eq!(
        claim["spec"]["resourceRef"],
        json!({"apiVersion": composite["apiVersion"], "kind": "XThing", "name": name})
    );
    assert_eq!(
        claim["metadata"]["finalizers"],
        json!(["finalizer.apiextensions.crossplane.io"])
    );
    let claim = claims
        .until("mine", "shows the status", |claim| {
            claim["status"]["seen"] == "one"
        })
        .await?;
    // What the composite resource decided has come back.
    assert_eq!(
        claim["spec"]["compositionRef"]["name"],
        claims.stage.called("base")
    );
    let revision = claims.stage.current("base").await?;
    claims.uses("mine", &revision).await?;
    assert_eq!(condition(&claim, "Synced").unwrap()["reason"], "ReconcileSuccess");
    assert_eq!(condition(&claim, "Ready").unwrap()["reason"], "Available");
    claims.stage.at_rest().await
}

#[tokio::test]
async fn a_claim_waits_for_its_composite_resource() -> Result<()> {
    let claims = Claims::start().await?;
    claims.claim("mine", json!({})).await?;
    let claim = claims
        .until("mine", "waits", |claim| condition(claim, "Ready").is_some())
        .await?;
    let ready = condition(&claim, "Ready").unwrap();
    assert_eq!(
        (&ready["status"], &ready["reason"], &ready["message"]),
        (
            &json!("False"),
            &json!("Waiting"),
            &json!("Claim is waiting for composite resource to become Ready")
        )
    );
    claims
        .stage
        .publish(&claims.stage.composition("base", "one"))
        .await?;
    claims.ready("mine").await?;
    claims.stage.at_rest().await
}

#[tokio::test]
async fn what_a_claim_says_goes_to_the_composite_resource_and_so_does_what_it_no_longer_says() -> Result<()> {
    let claims = Claims::start().await?;
    claims
        .stage
        .publish(&claims.stage.composition("base", "one"))
        .await?;
    let mut claim = claims.object("mine", json!({"copy": "a", "parts": {"x": 1, "y": {"z": [1]}}}));
    claim["metadata"]["labels"] = json!({"team": "a", "app.kubernetes.io/name": "b", "x.k8s.io/y": "z"});
    claim["metadata"]["annotations"] = json!({"note": "n", "kubectl.kubernetes.io/restartedAt": "now",
        "crossplane.io/external-name": "outside"});
    claims.stage.applied(&claims.path("mine"), &claim).await?;
    claims.ready("mine").await?;
    let composite = claims.composite("mine").await?;
    assert_eq!(composite["spec"]["parts"], json!({"x": 1, "y": {"z": [1]}}));
    assert_eq!(
        (&composite["spec"]["copy"], &composite["spec"]["text"]),
        (&json!("a"), &json!("mine"))
    );
    let metadata = &composite["metadata"];
    assert_eq!(metadata["labels"]["team"], "a");
    assert!(
        metadata["labels"]["app.kubernetes.io/name"].is_null() && metadata["labels"]["x.k8s.io/y"].is_null()
    );
    assert_eq!(metadata["annotations"]["note"], "n");
    assert_eq!(metadata["annotations"]["crossplane.io/external-name"], "outside");
    assert!(metadata["annotations"]["kubectl.kubernetes.io/restartedAt"].is_null());

    let mut less = claims.object("mine", json!({"parts": {"y": {"w": 2}}}));
    less["metadata"]["labels"] = json!({"other": "b"});
    claims.stage.applied(&claims.path("mine"), &less).await?;
    let composite = claims
        .composite_until("mine", "has lost a field", |found| {
            found["spec"]["copy"].is_null()
        })
        .await?;
    assert_eq!(composite["spec"]["parts"], json!({"y": {"w": 2}}));
    let metadata = &composite["metadata"];
    assert_eq!(
        (&metadata["labels"]["other"], &metadata["labels"]["team"]),
        (&json!("b"), &Value::Null)
    );
    assert!(metadata["annotations"]["note"].is_null());
    // A name outside stays what it is, and the claim is told.
    assert_eq!(metadata["annotations"]["crossplane.io/external-name"], "outside");
    let name = |claim: &Value| claim["metadata"]["annotations"]["crossplane.io/external-name"] == "outside";
    claims.until("mine", "has the external name again", name).await?;
    // What somebody does to the composite resource is undone.
    let path = claims.stage.path(metadata["name"].as_str().unwrap());
    claims
        .stage
        .edit(&path, json!({"spec": {"text": "hijacked"}}))
        .await?;
    claims
        .composite_until("mine", "says what the claim says", |found| {
            found["spec"]["text"] == "mine"
        })
        .await?;
    claims.stage.at_rest().await
}

#[tokio::test]
async fn machinery_that_is_smuggled_into_a_claim_does_not_get_through() -> Result<()> {
    let open = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let versions = json!([{"name": "v1", "served": true, "referenceable": true,
        "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": open}}}}]);
    let claims = Claims::with(json!({"versions": versions})).await?;
    claims
        .stage
        .publish(&claims.stage.composition("base", "one"))
        .await?;
    let foreign =
        json!([{"apiVersion": "v1", "kind": "Secret", "name": "theirs", "namespace": "kube-system"}]);
    let smuggled = json!({"resourceRefs": foreign, "free": "yes",
        "claimRef": {"apiVersion": "a/v1", "kind": "B", "namespace": "c", "name": "d"}});
    claims.claim("mine", smuggled).await?;
    claims.ready("mine").await?;
    let composite = claims.composite("mine").await?;
    assert_eq!(composite["spec"]["free"], "yes");
    assert_eq!(composite["spec"]["claimRef"]["name"], "mine");
    let references = composite["spec"]["resourceRefs"].as_array().unwrap();
    assert!(
        references
            .iter()
            .all(|reference| reference["kind"] == "ConfigMap"),
        "{references:?}"
    );
    claims.stage.at_rest().await
}

#[tokio::test]
async fn the_composition_is_the_claims_or_else_comes_back() -> Result<()> {
    let claims = Claims::start().await?;
    for (name, text, size) in [("big", "big", "l"), ("small", "small", "s")] {
        let mut composition = claims.stage.composition(name, text);
        composition["metadata"]["labels"] = json!({"size": size});
        claims.stage.publish(&composition).await?;
    }
    // A reference goes to the composite resource.
    let big = json!({"name": claims.stage.called("big")});
    claims.claim("named", json!({"compositionRef": big})).await?;
    claims.ready("named").await?;
    assert_eq!(claims.composite("named").await?["spec"]["compositionRef"], big);
    let small = json!({"name": claims.stage.called("small")});
    claims.claim("named", json!({"compositionRef": small})).await?;
    let is_small = |found: &Value| found["spec"]["compositionRef"] == small && holds(found, "Ready");
    claims.composite_until("named", "is small", is_small).await?;
    // A selector goes to the composite resource, and what it selects comes back.
    let selector = json!({"matchLabels": {"size": "s"}});
    claims
        .claim("selecting", json!({"compositionSelector": selector}))
        .await?;
    claims.ready("selecting").await?;
    assert_eq!(
        claims.composite("selecting").await?["spec"]["compositionSelector"],
        selector
    );
    claims.until("selecting", "is told", is_small).await?;
    claims.stage.at_rest().await
}

#[tokio::test]
async fn an_enforced_composition_always_comes_back() -> Result<()> {
    let claims = Claims::start().await?;
    for name in ["mine", "theirs"] {
        claims
            .stage
            .publish(&claims.stage.composition(name, name))
            .await?;
    }
    let (mine, theirs) = (claims.stage.called("mine"), claims.stage.called("theirs"));
    claims
        .define(json!({"enforcedCompositionRef": {"name": theirs}}))
        .await?;
    claims
        .claim("stubborn", json!({"compositionRef": {"name": mine}}))
        .await?;
    claims.ready("stubborn").await?;
    assert_eq!(
        claims.composite("stubborn").await?["spec"]["compositionRef"]["name"],
        theirs
    );
    let told = |claim: &Value| claim["spec"]["compositionRef"]["name"] == theirs;
    claims.until("stubborn", "is told", told).await?;
    claims.stage.at_rest().await
}

#[tokio::test]
async fn manual_then_automatic_then_manual_step_by_step() -> Result<()> {
    let claims = Claims::start().await?;
    let publish = async |text: &str| -> Result<String> {
        claims
            .stage
            .publish(&claims.stage.composition("base", text))
            .await?;
        claims.stage.current("base").await
    };
    let one = publish("one").await?;
    // Manual without a revision: the current one, once. The claim is not told, as in Crossplane.
    claims
        .claim("mine", json!({"compositionUpdatePolicy": "Manual"}))
        .await?;
    claims.ready("mine").await?;
    assert_eq!(
        claims.composite("mine").await?["spec"]["compositionRevisionRef"]["name"],
        one
    );
    let two = publish("two").await?;
    claims.stage.platform.idle().await?;
    assert_eq!(
        claims.composite("mine").await?["spec"]["compositionRevisionRef"]["name"],
        one
    );
    assert!(claims.get("mine").await?["spec"]["compositionRevisionRef"].is_null());
    // Manual with another revision: that one.
    let pin = |revision: &str| json!({"compositionUpdatePolicy": "Manual", "compositionRevisionRef": {"name": revision}});
    claims.claim("mine", pin(&two)).await?;
    claims.uses("mine", &two).await?;
    claims.claim("mine", pin(&one)).await?;
    claims.uses("mine", &one).await?;
    // Automatic: the current one, and the next one.
    claims
        .edit("mine", json!({"spec": {"compositionUpdatePolicy": "Automatic"}}))
        .await?;
    claims.uses("mine", &two).await?;
    let three = publish("three").await?;
    claims.uses("mine", &three).await?;
    // Manual again: where it is.
    claims
        .edit("mine", json!({"spec": {"compositionUpdatePolicy": "Manual"}}))
        .await?;
    claims
        .composite_until("mine", "is manual", |found| {
            found["spec"]["compositionUpdatePolicy"] == "Manual"
        })
        .await?;
    publish("four").await?;
    claims.stage.platform.idle().await?;
    claims.uses("mine", &three).await?;
    // From Automatic to a pin in one edit. Crossplane overwrites the pin.
    claims
        .edit("mine", json!({"spec": {"compositionUpdatePolicy": "Automatic"}}))
        .await?;
    claims.uses("mine", &claims.stage.current("base").await?).await?;
    claims.edit("mine", json!({"spec": pin(&one)})).await?;
    claims.uses("mine", &one).await?;
    claims.stage.platform.idle().await?;
    claims.uses("mine", &one).await?;
    claims.stage.at_rest().await
}

#[tokio::test]
async fn revision_selectors_go_both_ways() -> Result<()> {
    let claims = Claims::start().await?;
    let channel = |name: &str| json!({"matchLabels": {"channel": name}});
    let mut revisions = Vec::new();
    for (text, label) in [("one", "stable"), ("two", "fast")] {
        let mut composition = claims.stage.composition("base", text);
        composition["metadata"]["labels"] = json!({"channel": label});
        claims.stage.publish(&composition).await?;
        revisions.push(claims.stage.current("base").await?);
    }
    let (stable, fast) = (&revisions[0], &revisions[1]);
    claims
        .claim("mine", json!({"compositionRevisionSelector": channel("stable")}))
        .await?;
    claims.uses("mine", stable).await?;
    claims
        .claim("mine", json!({"compositionRevisionSelector": channel("fast")}))
        .await?;
    claims.uses("mine", fast).await?;
    // One that is taken away does not come back.
    claims.claim("mine", json!({})).await?;
    claims
        .composite_until("mine", "selects nothing", |found| {
            found["spec"]["compositionRevisionSelector"].is_null()
        })
        .await?;
    claims.stage.platform.idle().await?;
    assert!(claims.get("mine").await?["spec"]["compositionRevisionSelector"].is_null());
    // What the definition selects comes to the claim.
    claims
        .define(json!({"defaultCompositionRevisionSelector": channel("stable")}))
        .await?;
    claims.claim("other", json!({})).await?;
    claims.uses("other", stable).await?;
    let told = |claim: &Value| claim["spec"]["compositionRevisionSelector"] == channel("stable");
    claims.until("other", "is told what it selects", told).await?;
    // Its own wins; without it, the definition's is in force again.
    claims
        .claim("other", json!({"compositionRevisionSelector": channel("fast")}))
        .await?;
    claims.uses("other", fast).await?;
    let nothing = json!({"spec": {"compositionRevisionSelector": null}});
    claims.edit("other", nothing).await?;
    claims
        .composite_until("other", "no longer selects what the claim said", |found| {
            found["spec"]["compositionRevisionSelector"] != channel("fast")
        })
        .await?;
    claims.stage.at_rest().await
}

#[tokio::test]
async fn an_enforced_policy_wins_over_a_claim() -> Result<()> {
    let claims = Claims::with(json!({"enforceCompositionUpdatePolicy": "Automatic"})).await?;
    claims
        .stage
        .publish(&claims.stage.composition("base", "one"))
        .await?;
    let one = claims.stage.current("base").await?;
    let pin = json!({"compositionUpdatePolicy": "Manual", "compositionRevisionRef": {"name": one}});
    claims.claim("mine", pin).await?;
    claims.uses("mine", &one).await?;
    claims
        .stage
        .publish(&claims.stage.composition("base", "two"))
        .await?;
    claims.uses("mine", &claims.stage.current("base").await?).await?;
    let shown = |claim: &Value| claim["status"]["compositionUpdatePolicy"] == "Automatic";
    claims.until("mine", "shows the policy in force", shown).await?;
    claims.stage.at_rest().await
}

#[tokio::test]
async fn a_pinned_claim_keeps_a_revision_before_it_has_a_composite_resource() -> Result<()> {
    let settings = Settings {
        composition_revision_limit: 0,
        ..settings()
    };
    let claims = Claims::on(Stage::with(settings, json!({})).await?);
    claims.define(json!({})).await?;
    let mut kept = Vec::new();
    for text in ["one", "two"] {
        claims
            .stage
            .publish(&claims.stage.composition("base", text))
            .await?;
        let revision = claims.stage.current("base").await?;
        let mut claim = claims.object(
            text,
            json!({"compositionRef": {"name": claims.stage.called("base")}, "compositionUpdatePolicy": "Manual",
                "compositionRevisionRef": {"name": revision}}),
        );
        claim["metadata"]["annotations"] = json!({"crossplane.io/paused": "true"});
        claims.stage.applied(&claims.path(text), &claim).await?;
        kept.push(revision);
    }
    claims
        .stage
        .publish(&claims.stage.composition("base", "three"))
        .await?;
    claims
        .stage
        .publish(&claims.stage.composition("base", "four"))
        .await?;
    eventually("what nobody uses is gone", || async {
        Ok(claims.stage.numbers("base").await? == [1, 2, 4])
    })
    .await?;
    // A pin that goes lets its revision go.
    claims.stage.delete(&claims.path("one")).await?;
    claims.stage.gone(&claims.stage.revision_path(&kept[0])).await?;
    ensure!(claims.composites().await?.is_empty(), "nobody was to make one");
    claims.stage.at_rest().await
}

#[tokio::test]
async fn background_deletion_lets_the_claim_go_at_once() -> Result<()> {
    let claims = Claims::start().await?;
    claims
        .stage
        .publish(&claims.stage.composition("base", "one"))
        .await?;
    claims.claim("mine", json!({})).await?;
    claims.ready("mine").await?;
    let composite = claims.composite("mine").await?["metadata"]["name"]
        .as_str()
        .unwrap()
        .to_owned();
    let path = claims.stage.path(&composite);
    // Somebody holds the composite resource.
    let held = json!({"metadata": {"finalizers": ["composite.apiextensions.crossplane.io", "test.example.org/hold"]}});
    claims.stage.edit(&path, held).await?;
    claims.stage.delete(&claims.path("mine")).await?;
    claims.stage.gone(&claims.path("mine")).await?;
    let found = claims.stage.get(&composite).await?;
    assert!(!found["metadata"]["deletionTimestamp"].is_null(), "{found}");
    claims
        .stage
        .edit(&path, json!({"metadata": {"finalizers": null}}))
        .await?;
    claims.stage.gone(&path).await?;
    claims.stage.at_rest().await
}

#[tokio::test]
async fn foreground_deletion_waits_for_everything() -> Result<()> {
    let claims = Claims::start().await?;
    claims
        .stage
        .publish(&claims.stage.composition("base", "one"))
        .await?;
    claims
        .claim("mine", json!({"compositeDeletePolicy": "Foreground"}))
        .await?;
    claims.ready("mine").await?;
    let composite = claims.composite("mine").await?["metadata"]["name"]
        .as_str()
        .unwrap()
        .to_owned();
    let composed = claims.stage.composed(&composite).await?.remove(0);
    let (namespace, name) = (
        &claims.stage.platform.namespace,
        composed["metadata"]["name"].as_str().unwrap(),
    );
    let path = format!("/api/v1/namespaces/{namespace}/configmaps/{name}");
    let hold = json!({"metadata": {"finalizers": ["test.example.org/hold"]}});
    claims.stage.edit(&path, hold).await?;
    claims.stage.delete(&claims.path("mine")).await?;
    let deleting =
        |claim: &Value| condition(claim, "Ready").is_some_and(|ready| ready["reason"] == "Deleting");
    claims.until("mine", "is deleting", deleting).await?;
    claims.stage.platform.idle().await?;
    ensure!(claims.stage.platform.raw.get(&claims.path("mine")).await?.code == 200);
    claims
        .stage
        .edit(&path, json!({"metadata": {"finalizers": null}}))
        .await?;
    claims.stage.gone(&claims.path("mine")).await?;
    for path in [claims.stage.path(&composite), path] {
        let code = claims.stage.platform.raw.get(&path).await?.code;
        ensure!(code == 404, "{path}: {code}");
    }
    claims.stage.at_rest().await
}

#[tokio::test]
async fn claims_go_with_their_definition() -> Result<()> {
    let claims = Claims::start().await?;
    claims
        .stage
        .publish(&claims.stage.composition("base", "one"))
        .await?;
    claims.claim("mine", json!({})).await?;
    claims.ready("mine").await?;
    let path = format!(
        "/apis/apiextensions.crossplane.io/v1/compositeresourcedefinitions/xthings.{}",
        claims.stage.group
    );
    claims.stage.delete(&path).await?;
    claims.stage.gone(&path).await?;
    for plural in ["things", "xthings"] {
        let crd = format!(
            "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{plural}.{}",
            claims.stage.group
        );
        claims.stage.gone(&crd).await?;
    }
    claims.stage.at_rest().await
}

#[tokio::test]
async fn a_composite_resource_of_another_claim_is_refused() -> Result<()> {
    let claims = Claims::start().await?;
    claims
        .stage
        .publish(&claims.stage.composition("base", "one"))
        .await?;
    claims.claim("mine", json!({})).await?;
    let mine = claims.ready("mine").await?;
    claims
        .claim("thief", json!({"resourceRef": mine["spec"]["resourceRef"]}))
        .await?;
    let refused =
        |claim: &Value| condition(claim, "Synced").is_some_and(|synced| synced["status"] == "False");
    let thief = claims.until("thief", "is refused", refused).await?;
    assert_eq!(
        condition(&thief, "Synced").unwrap()["message"],
        format!(
            "refusing to operate on composite resource {} that is not bound to this claim: bound to claim \"mine\"",
            mine["spec"]["resourceRef"]["name"]
        )
    );
    // It can go, and what is not its own stays.
    claims.stage.delete(&claims.path("thief")).await?;
    claims.stage.gone(&claims.path("thief")).await?;
    claims.stage.platform.idle().await?;
    let composite = claims.composite("mine").await?;
    assert!(composite["metadata"]["deletionTimestamp"].is_null() && composite["spec"]["text"] == "mine");
    claims.stage.at_rest().await
}

#[tokio::test]
async fn a_composite_resource_that_is_free_is_bound_and_one_that_vanishes_is_made_again() -> Result<()> {
    let claims = Claims::start().await?;
    claims
        .stage
        .publish(&claims.stage.composition("base", "one"))
        .await?;
    claims.stage.compose("free", json!({})).await?;
    let reference =
        json!({"apiVersion": format!("{}/v1", claims.stage.group), "kind": "XThing", "name": "free"});
    claims.claim("mine", json!({"resourceRef": reference})).await?;
    claims
        .composite_until("mine", "is the claim's", |found| {
            found["metadata"]["name"] == "free" && found["spec"]["claimRef"]["name"] == "mine"
        })
        .await?;
    claims.ready("mine").await?;
    let uid = claims.composite("mine").await?["metadata"]["uid"].clone();
    claims.stage.delete(&claims.stage.path("free")).await?;
    let again = |found: &Value| found["metadata"]["uid"].is_string() && found["metadata"]["uid"] != uid;
    claims.composite_until("mine", "is made again", again).await?;
    claims.ready("mine").await?;
    assert_eq!(claims.composites().await?.len(), 1);
    claims.stage.at_rest().await
}

#[tokio::test]
async fn connection_details_are_copied_into_the_claims_namespace() -> Result<()> {
    let claims = Claims::start().await?;
    let elsewhere = claims.stage.platform.cluster.namespace("system").await?;
    let mut composition = claims.stage.composition("base", "one");
    composition["spec"]["writeConnectionSecretsToNamespace"] = json!(elsewhere);
    composition["spec"]["resources"][0]["connectionDetails"] =
        json!([{"name": "text", "type": "FromFieldPath", "fromFieldPath": "data.text"}]);
    claims.stage.publish(&composition).await?;
    claims
        .claim("mine", json!({"writeConnectionSecretToRef": {"name": "details"}}))
        .await?;
    let path = format!(
        "/api/v1/namespaces/{}/secrets/details",
        claims.stage.platform.namespace
    );
    // "mine" and "yours", as Secrets have them.
    let says = async |text: &str| -> Result<Value> {
        eventually_some(&format!("the secret says {text}"), || async {
            let found = claims.stage.platform.raw.get(&path).await?.body;
            Ok((found["data"]["text"] == text).then_some(found))
        })
        .await
    };
    let secret = says("bWluZQ==").await?;
    assert_eq!(secret["type"], "connection.crossplane.io/v1alpha1");
    let owner = &secret["metadata"]["ownerReferences"][0];
    assert_eq!(
        (&owner["kind"], &owner["name"], &owner["controller"]),
        (&json!("Thing"), &json!("mine"), &json!(true))
    );
    let published = |claim: &Value| claim["status"]["connectionDetails"]["lastPublishedTime"].is_string();
    claims.until("mine", "says when", published).await?;
    // Only the secret changes.
    claims.edit("mine", json!({"spec": {"text": "yours"}})).await?;
    says("eW91cnM=").await?;
    // A secret of somebody else's is left alone.
    let other = format!("/api/v1/namespaces/{}/secrets", claims.stage.platform.namespace);
    let theirs =
        json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "theirs"}, "data": {"a": "Yg=="}});
    ensure!(claims.stage.platform.raw.post(&other, &theirs).await?.code == 201);
    claims
        .claim("thief", json!({"writeConnectionSecretToRef": {"name": "theirs"}}))
        .await?;
    let refused = |claim: &Value| {
        let message = condition(claim, "Synced").map(|synced| synced["message"].to_string());
        message.is_some_and(|message| message.contains("refusing to modify uncontrolled secret of type"))
    };
    claims.until("thief", "is refused", refused).await?;
    let kept = claims
        .stage
        .platform
        .raw
        .get(&format!("{other}/theirs"))
        .await?
        .body;
    assert_eq!(kept["data"], json!({"a": "Yg=="}));
    // It would be tried again and again, in a cluster that tests share.
    claims.stage.delete(&claims.path("thief")).await?;
    claims.stage.gone(&claims.path("thief")).await?;
    claims.stage.at_rest().await
}

#[tokio::test]
async fn a_paused_claim_is_left_alone() -> Result<()> {
    let claims = Claims::start().await?;
    claims
        .stage
        .publish(&claims.stage.composition("base", "one"))
        .await?;
    claims.claim("mine", json!({})).await?;
    claims.ready("mine").await?;
    let pause = |value: Value| json!({"metadata": {"annotations": {"crossplane.io/paused": value}}});
    claims.edit("mine", pause(json!("true"))).await?;
    let paused =
        |claim: &Value| condition(claim, "Synced").is_some_and(|known| known["reason"] == "ReconcilePaused");
    claims.until("mine", "is paused", paused).await?;
    claims.edit("mine", json!({"spec": {"text": "later"}})).await?;
    claims.stage.platform.idle().await?;
    assert_eq!(claims.composite("mine").await?["spec"]["text"], "mine");
    claims.edit("mine", pause(Value::Null)).await?;
    claims
        .composite_until("mine", "is looked at again", |found| {
            found["spec"]["text"] == "later"
        })
        .await?;
    claims.stage.at_rest().await
}

#[tokio::test]
async fn a_crash_at_any_write_leaves_one_composite_resource() -> Result<()> {
    let mut claims = Claims::start().await?;
    claims
        .stage
        .publish(&claims.stage.composition("base", "one"))
        .await?;
    let client = claims.stage.platform.cluster.manager().await?;
    let mut crashed = 0;
    for k in 1.. {
        let writes = Filter::writes().without("events");
        let faults = Faults::counting(&writes);
        let through = faults.client(&client);
        claims.stage.platform.start_manager(through).await?;
        claims.stage.platform.idle().await?;
        faults.arm(k, Fault::Crash);
        let name = format!("mine-{k}");
        claims.claim(&name, json!({})).await?;
        eventually("it has crashed, or was not to", || async {
            Ok(faults.has_crashed() || holds(&claims.get(&name).await?, "Ready"))
        })
        .await?;
        claims.stage.platform.start_manager(client.clone()).await?;
        claims.ready(&name).await?;
        claims.stage.platform.idle().await?;
        let all = claims.composites().await?;
        let of = |composite: &&Value| composite["spec"]["claimRef"]["name"] == name.as_str();
        assert_eq!(all.iter().filter(of).count(), 1, "after a crash before write {k}");
        assert_eq!(all.len(), k, "after a crash before write {k}");
        if !faults.has_crashed() {
            break;
        }
        crashed += 1;
    }
    ensure!(crashed >= 4, "only {crashed} writes");
    claims.stage.at_rest().await
}

#[tokio::test]
async fn an_unchanged_world_is_not_written() -> Result<()> {
    let mut claims = Claims::start().await?;
    claims.stage.publish(&telling(&claims, "base", "one")).await?;
    for name in ["a", "b", "c"] {
        claims.claim(name, json!({"parts": {"x": name}})).await?;
        claims.ready(name).await?;
    }
    claims.stage.platform.idle().await?;
    let faults = Faults::new();
    let client = faults.client(&claims.stage.platform.cluster.manager().await?);
    claims.stage.platform.start_manager(client).await?;
    claims.stage.platform.idle().await?;
    let writes = faults.recorder().writes();
    ensure!(writes.is_empty(), "{writes:?}");
    claims.stage.at_rest().await
}
