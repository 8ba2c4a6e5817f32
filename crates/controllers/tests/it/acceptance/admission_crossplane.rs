//! What is refused of compositions before it is stored, and in which words: through the webhook that an API server calls.

use crate::claiming::Claims;
use crate::composing::Stage;
use anyhow::{Result, ensure};
use cambium_testing::{Answer, eventually};
use serde_json::{Value, json};

const GROUP: &str = "/apis/apiextensions.crossplane.io/v1";

/// The answer must be a refusal that says all this.
fn is_refused(answer: &Answer, words: &[&str]) -> Result<()> {
    ensure!(answer.code >= 400, "{}: {}", answer.code, answer.body);
    for word in words {
        ensure!(
            answer.message().contains(word),
            "{word:?} is not in: {}",
            answer.message()
        );
    }
    Ok(())
}

fn pin(composition: &str, revision: &str) -> Value {
    json!({"compositionRef": {"name": composition}, "compositionUpdatePolicy": "Manual",
        "compositionRevisionRef": {"name": revision}})
}

#[tokio::test]
async fn a_composition_is_refused_with_everything_that_is_wrong() -> Result<()> {
    let stage = Stage::checked("LegacyCluster", json!({})).await?;
    let path = stage.composition_path("base");
    let mut composition = stage.composition("base", "one");
    composition["metadata"]["annotations"] = json!({"composition.cambium.dev/revision-limit": "many"});
    composition["spec"]["patchsets"] = json!([]);
    composition["spec"]["revision"] = json!(7);
    let mut second = composition["spec"]["resources"][0].clone();
    second["patches"] = json!([{"fromFieldPath": "spec.[", "toFieldPath": "data.text"}]);
    composition["spec"]["resources"]
        .as_array_mut()
        .unwrap()
        .push(second);
    let answer = stage.apply(&path, &composition).await?;
    is_refused(
        &answer,
        &[
            "metadata.annotations[composition.cambium.dev/revision-limit]: \"many\" is not a number",
            "spec.revision: revisions are numbered when they are issued",
            "spec.patchsets: there is no such field; did you mean \"patchSets\"?",
            "spec.resources[1].patches[0].fromFieldPath: Invalid value",
            "spec.resources[1].name: Duplicate value: \"main\"",
        ],
    )?;
    ensure!(
        stage.platform.raw.get(&path).await?.code == 404,
        "nothing was stored"
    );
    stage.publish(&stage.composition("base", "one")).await?;
    // An edit is checked as well.
    let edit = json!({"spec": {"resources": null, "writeConnectionSecretsToNamspace": "a"}});
    let answer = stage.platform.raw.patch("merge", &path, &edit).await?;
    is_refused(
        &answer,
        &[
            "spec.writeConnectionSecretsToNamspace",
            "did you mean \"writeConnectionSecretsToNamespace\"?",
        ],
    )
}

#[tokio::test]
async fn a_revision_cannot_be_edited_and_not_be_deleted_while_it_is_used() -> Result<()> {
    let stage = Stage::checked("LegacyCluster", json!({})).await?;
    stage.publish(&stage.composition("base", "one")).await?;
    let one = stage.current("base").await?;
    let path = stage.revision_path(&one);
    for edit in [
        json!({"spec": {"writeConnectionSecretsToNamespace": "elsewhere"}}),
        json!({"spec": {"resources": null}}),
    ] {
        let answer = stage.platform.raw.patch("merge", &path, &edit).await?;
        is_refused(
            &answer,
            &["spec: CompositionRevisions are immutable", &stage.called("base")],
        )?;
    }
    let lower = json!({"spec": {"revision": 0}});
    is_refused(
        &stage.platform.raw.patch("merge", &path, &lower).await?,
        &["never goes down"],
    )?;
    // Labels are for people.
    stage
        .edit(&path, json!({"metadata": {"labels": {"channel": "stable"}}}))
        .await?;

    stage.compose("user", pin(&stage.called("base"), &one)).await?;
    stage.uses("user", &one).await?;
    stage.publish(&stage.composition("base", "two")).await?;
    let two = stage.current("base").await?;
    let answer = stage.platform.raw.delete(&path, &json!({})).await?;
    is_refused(&answer, &[&one, "is in use by XThing user"])?;
    assert_eq!(answer.code, 403);
    // Going back renumbers a revision, which is no edit.
    stage.publish(&stage.composition("base", "one")).await?;
    assert_eq!(stage.numbers("base").await?, [2, 3]);
    // What nobody uses can go.
    stage.delete(&stage.revision_path(&two)).await?;
    stage.gone(&stage.revision_path(&two)).await?;
    // What is in use can go, if its users may be left behind.
    stage.publish(&stage.composition("base", "two")).await?;
    let allow = json!({"metadata": {"annotations": {"cambium.dev/allow-orphans": "true"}}});
    stage.edit(&path, allow).await?;
    stage.delete(&path).await?;
    stage.refused("user", "not found").await?;
    stage.says("user", "one").await?;
    stage.publish(&stage.composition("base", "one")).await?;
    let path = stage.revision_path(&one);
    stage.uses("user", &one).await?;
    // With its composition goes all, if users may be left behind.
    let allow = json!({"metadata": {"annotations": {"cambium.dev/allow-orphans": "true"}}});
    stage.edit(&stage.composition_path("base"), allow).await?;
    stage.delete(&stage.composition_path("base")).await?;
    stage.gone(&path).await?;
    stage.at_rest().await
}

#[tokio::test]
async fn numbers_of_revisions_are_not_given_by_hand() -> Result<()> {
    let stage = Stage::checked("LegacyCluster", json!({})).await?;
    stage.publish(&stage.composition("base", "one")).await?;
    let one = stage.current("base").await?;
    stage
        .compose("user", json!({"compositionRef": {"name": stage.called("base")}}))
        .await?;
    stage.uses("user", &one).await?;
    stage.publish(&stage.composition("base", "two")).await?;
    let two = stage.current("base").await?;
    stage.uses("user", &two).await?;
    for (name, number, words) in [
        (
            &one,
            i64::MAX,
            "only the revision with the current spec of Composition",
        ),
        (&one, 3, "only the revision with the current spec of Composition"),
        (&two, i64::MAX, "is too high"),
    ] {
        let raise = json!({"spec": {"revision": number}});
        let path = stage.revision_path(name);
        is_refused(
            &stage.platform.raw.patch("merge", &path, &raise).await?,
            &["spec.revision: ", words],
        )?;
    }
    // Made by hand: what is restored may have any number that can have been issued, and moves nobody.
    let mut copy = stage.composition("base", "forged");
    copy["kind"] = json!("CompositionRevision");
    let name = stage.called("copy");
    copy["metadata"] =
        json!({"name": name, "labels": {"crossplane.io/composition-name": stage.called("base")}});
    copy["spec"]["revision"] = json!(i64::MAX);
    let revisions = format!("{GROUP}/compositionrevisions");
    is_refused(
        &stage.platform.raw.post(&revisions, &copy).await?,
        &["is too high"],
    )?;
    copy["spec"]["revision"] = json!(6000);
    let answer = stage.platform.raw.post(&revisions, &copy).await?;
    ensure!(answer.code == 201, "{}", answer.body);
    eventually("the current one has the highest number again", || async {
        Ok(stage.numbers("base").await? == [1, 6000, 6001] && stage.current("base").await? == two)
    })
    .await?;
    stage.platform.idle().await?;
    stage.uses("user", &two).await?;
    let moved = stage
        .platform
        .raw
        .get("/apis/events.k8s.io/v1/events")
        .await?
        .body;
    ensure!(!moved.to_string().contains(&name), "nobody moved to it");
    stage.publish(&stage.composition("base", "three")).await?;
    stage.says("user", "three").await?;
    stage.at_rest().await
}

#[tokio::test]
async fn a_kind_that_another_definition_has_is_refused_until_that_one_is_gone() -> Result<()> {
    let stage = Stage::checked("LegacyCluster", json!({})).await?;
    let name = format!("aaas.{}", stage.group);
    let path = format!("{GROUP}/compositeresourcedefinitions/{name}");
    let definition = json!({
        "apiVersion": "apiextensions.crossplane.io/v1", "kind": "CompositeResourceDefinition",
        "metadata": {"name": name},
        "spec": {"group": stage.group, "names": {"kind": "XThing", "plural": "aaas"}, "versions": [
            {"name": "v1", "served": true, "referenceable": true,
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": {"type": "object"}}}}},
        ]},
    });
    let first = format!("xthings.{}", stage.group);
    is_refused(
        &stage.apply(&path, &definition).await?,
        &["spec.names.kind: ", &first, "choose another kind"],
    )?;
    let first = format!("{GROUP}/compositeresourcedefinitions/{first}");
    stage.delete(&first).await?;
    stage.gone(&first).await?;
    stage.applied(&path, &definition).await?;
    stage.at_rest().await
}

#[tokio::test]
async fn a_definition_is_refused_with_everything_that_is_wrong_and_warned_about_the_rest() -> Result<()> {
    let stage = Stage::checked("LegacyCluster", json!({})).await?;
    let group = format!("other.{}", stage.group);
    let name = format!("xothers.{group}");
    let path = format!("{GROUP}/compositeresourcedefinitions/{name}");
    let schema = json!({"openAPIV3Schema": {"type": "object", "properties": {"spec": {"type": "object"}}}});
    let version = |name: &str| json!({"name": name, "served": true, "referenceable": true, "schema": schema});
    let mut definition = json!({
        "apiVersion": "apiextensions.crossplane.io/v1", "kind": "CompositeResourceDefinition",
        "metadata": {"name": name},
        "spec": {"group": group, "names": {"kind": "XOther", "plural": "xothers"},
            "claimNames": {"kind": "XOther", "plural": "others"},
            "versions": [version("v1")]},
    });
    definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"] =
        json!({"type": "object", "properties": {"compositionRef": {"type": "string"}}});
    let answer = stage.apply(&path, &definition).await?;
    is_refused(
        &answer,
        &[
            "properties[spec].properties[compositionRef]: this field is reserved for composition",
            "spec.claimNames.kind: \"XOther\" conflicts with composite resource name",
        ],
    )?;
    definition["spec"]["claimNames"]["kind"] = json!("Other");
    definition["spec"]["versions"] = json!([version("v1")]);
    definition["spec"]["defaultCompositionRevisionSelector"] =
        json!({"matchLabels": {"a": "b"}, "matchExpressions": [{"key": "c", "operator": "Exists"}]});
    let answer = stage.apply(&path, &definition).await?;
    ensure!(answer.code < 300, "{}", answer.body);
    let warned = |answer: &Answer, text: &str| answer.warnings.iter().any(|warning| warning.contains(text));
    ensure!(
        warned(&answer, "only matchLabels is used"),
        "{:?}",
        answer.warnings
    );
    // While there is something of its kinds it is not deleted, unless all that may go with it.
    let own = format!("{GROUP}/compositeresourcedefinitions/xthings.{}", stage.group);
    stage.publish(&stage.composition("base", "one")).await?;
    stage.compose("lost", json!({})).await?;
    stage.uses("lost", &stage.current("base").await?).await?;
    let answer = stage.platform.raw.delete(&own, &json!({})).await?;
    is_refused(
        &answer,
        &[
            "is in use by XThing lost; delete them first",
            "cambium.dev/allow-orphans",
        ],
    )?;
    assert_eq!(answer.code, 403);
    let allow = json!({"metadata": {"annotations": {"cambium.dev/allow-orphans": "true"}}});
    stage.edit(&own, allow).await?;
    let answer = stage.platform.raw.delete(&own, &json!({})).await?;
    ensure!(answer.code < 300, "{}", answer.body);
    ensure!(
        warned(&answer, "defines 1 XThing, which are deleted with it"),
        "{:?}",
        answer.warnings
    );
    stage.gone(&own).await
}

/// Pins of composite resources, wherever they keep them.
async fn pins(stage: Stage, field: &str) -> Result<()> {
    stage.publish(&stage.composition("base", "zero")).await?;
    let zero = stage.current("base").await?;
    let zero = stage.platform.raw.get(&stage.revision_path(&zero)).await?.body;
    stage.publish(&stage.composition("base", "one")).await?;
    stage.publish(&stage.composition("other", "other")).await?;
    let mut alien = stage.composition("alien", "alien");
    alien["spec"]["compositeTypeRef"]["kind"] = json!("XAlien");
    stage.publish(&alien).await?;
    let (base, one) = (stage.called("base"), stage.current("base").await?);
    let field = format!("{field}.compositionRevisionRef.name");
    let attempts = [
        (
            pin(&base, &stage.current("other").await?),
            "belongs to the Composition",
        ),
        (
            pin(&stage.called("alien"), &stage.current("alien").await?),
            "is not compatible with this composite resource",
        ),
    ];
    for (machinery, words) in &attempts {
        let answer = stage
            .apply(&stage.path("thing"), &stage.composite("thing", machinery.clone()))
            .await?;
        is_refused(&answer, &[&field, words])?;
    }
    stage.compose("thing", pin(&base, &one)).await?;
    stage.uses("thing", &one).await?;
    for (machinery, words) in &attempts {
        let answer = stage
            .apply(&stage.path("thing"), &stage.composite("thing", machinery.clone()))
            .await?;
        is_refused(&answer, &[&field, words])?;
    }
    // What is not there may come: a backup is restored in any order, and repositories are applied in any.
    let early = stage.composite("early", pin(&base, "nowhere"));
    let answer = stage.apply(&stage.path("early"), &early).await?;
    ensure!(answer.code == 201, "{answer:?}");
    let warned = |warning: &String| warning.contains(&field) && warning.contains("\"nowhere\"");
    ensure!(answer.warnings.iter().any(warned), "{:?}", answer.warnings);
    ensure!(
        answer.warnings[0].contains("nothing is composed until"),
        "{answer:?}"
    );
    // What is composed already is not taken away.
    let (elsewhere, path) = (
        stage.composite("thing", pin(&base, "nowhere")),
        stage.path("thing"),
    );
    let answer = stage
        .platform
        .raw
        .patch(
            "application/apply-patch+yaml",
            &format!("{path}?fieldManager=test&force=true&dryRun=All"),
            &elsewhere,
        )
        .await?;
    ensure!(
        answer.code == 200 && answer.warnings[0].contains("composed resources are unchanged until"),
        "{answer:?}"
    );
    stage.refused("early", "\"nowhere\" not found").await?;
    let mut restored = zero;
    restored["metadata"] = json!({"name": "nowhere", "labels": restored["metadata"]["labels"],
        "annotations": restored["metadata"]["annotations"]});
    restored["spec"]["revision"] = json!(100);
    let revisions = stage.revision_path("");
    let answer = stage
        .platform
        .raw
        .post(revisions.trim_end_matches('/'), &restored)
        .await?;
    ensure!(answer.code == 201, "{answer:?}");
    stage.uses("early", "nowhere").await?;
    stage.says("early", "zero").await?;
    stage.delete(&stage.path("early")).await?;
    // Whoever follows may name what he likes: it is overwritten.
    let mut following = pin(&base, "nowhere");
    following["compositionUpdatePolicy"] = json!("Automatic");
    stage.compose("thing", following).await?;
    stage.uses("thing", &one).await?;
    // A revision that was issued this moment is there.
    let mut composition = stage.composition("base", "two");
    for text in ["two", "three", "four"] {
        composition["spec"]["resources"][0]["base"]["data"]["says"] = json!(text);
        stage.publish(&composition).await?;
        let current = stage.current("base").await?;
        stage.compose("thing", pin(&base, &current)).await?;
        stage.uses("thing", &current).await?;
    }
    stage.at_rest().await
}

#[tokio::test]
async fn pins_of_legacy_composite_resources_are_checked() -> Result<()> {
    pins(Stage::checked("LegacyCluster", json!({})).await?, "spec").await
}

#[tokio::test]
async fn pins_of_composite_resources_in_namespaces_are_checked() -> Result<()> {
    pins(Stage::checked("Namespaced", json!({})).await?, "spec.crossplane").await
}

#[tokio::test]
async fn claims_are_checked_too_and_their_composite_resources_get_through() -> Result<()> {
    let claims = Claims::on(Stage::checked("LegacyCluster", json!({})).await?);
    claims.define(json!({})).await?;
    let stage = &claims.stage;
    stage.publish(&stage.composition("base", "one")).await?;
    let (base, one) = (stage.called("base"), stage.current("base").await?);
    let wrong = claims.object("mine", pin(&base, "nowhere"));
    eventually("claims are checked", || async {
        let path = format!("{}?dryRun=All", claims.path("").trim_end_matches('/'));
        Ok(!stage.platform.raw.post(&path, &wrong).await?.warnings.is_empty())
    })
    .await?;
    let path = format!("{}?dryRun=All", claims.path("").trim_end_matches('/'));
    let answer = stage.platform.raw.post(&path, &wrong).await?;
    let warned = |warning: &String| warning.contains("spec.compositionRevisionRef.name");
    ensure!(answer.warnings.iter().any(warned), "{answer:?}");
    claims.claim("mine", pin(&base, &one)).await?;
    claims.ready("mine").await?;
    claims.uses("mine", &one).await?;
    // A pinned claim is a user of its revision, and so is its composite resource.
    stage.publish(&stage.composition("base", "two")).await?;
    let answer = stage
        .platform
        .raw
        .delete(&stage.revision_path(&one), &json!({}))
        .await?;
    let claimed = format!("Thing {}/mine", stage.platform.namespace);
    is_refused(&answer, &["is in use by", &claimed, "XThing mine-"])?;
    claims.stage.at_rest().await
}

#[tokio::test]
async fn an_enforced_policy_cannot_be_contradicted() -> Result<()> {
    let stage = Stage::checked("LegacyCluster", json!({})).await?;
    stage.publish(&stage.composition("base", "one")).await?;
    let one = stage.current("base").await?;
    stage.compose("before", pin(&stage.called("base"), &one)).await?;
    stage.uses("before", &one).await?;
    stage
        .define(json!({"enforceCompositionUpdatePolicy": "Automatic"}))
        .await?;
    let manual = stage.composite("thing", json!({"compositionUpdatePolicy": "Manual"}));
    let enforced = format!(
        "CompositeResourceDefinition \"xthings.{}\" enforces Automatic",
        stage.group
    );
    eventually("it is refused", || async {
        Ok(stage.apply(&stage.path("thing"), &manual).await?.code == 422)
    })
    .await?;
    let answer = stage.apply(&stage.path("thing"), &manual).await?;
    is_refused(&answer, &["spec.compositionUpdatePolicy", &enforced])?;
    stage
        .compose("thing", json!({"compositionUpdatePolicy": "Automatic"}))
        .await?;
    let edit = json!({"spec": {"compositionUpdatePolicy": "Manual"}});
    let answer = stage
        .platform
        .raw
        .patch("merge", &stage.path("thing"), &edit)
        .await?;
    is_refused(&answer, &[&enforced])?;
    // What was there before can be edited, and follows.
    stage
        .edit(&stage.path("before"), json!({"spec": {"text": "other"}}))
        .await?;
    stage.publish(&stage.composition("base", "two")).await?;
    let two = stage.current("base").await?;
    stage.uses("before", &two).await?;
    stage.uses("thing", &two).await?;
    stage.at_rest().await
}

#[tokio::test]
async fn the_kinds_that_are_checked_are_those_that_are_defined() -> Result<()> {
    let stage = Stage::checked("LegacyCluster", json!({})).await?;
    let checked = async || -> Result<bool> {
        let path = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/cambium";
        let found = stage.platform.raw.get(path).await?.body;
        let webhooks = found["webhooks"].as_array().unwrap().iter();
        let mut rules = webhooks.flat_map(|webhook| webhook["rules"].as_array().unwrap());
        Ok(rules
            .any(|rule| rule["apiGroups"] == json!([stage.group]) && rule["resources"] == json!(["xthings"])))
    };
    ensure!(checked().await?, "xthings are not checked");
    let path = format!("{GROUP}/compositeresourcedefinitions/xthings.{}", stage.group);
    stage.delete(&path).await?;
    stage.gone(&path).await?;
    eventually("nobody asks about them any more", || async {
        Ok(!checked().await?)
    })
    .await?;
    stage.at_rest().await
}

#[tokio::test]
async fn a_composition_in_use_is_deleted_only_if_its_users_may_be_left_behind() -> Result<()> {
    let stage = Stage::checked("LegacyCluster", json!({})).await?;
    stage.publish(&stage.composition("base", "one")).await?;
    let path = stage.composition_path("base");
    let machinery = json!({"compositionRef": {"name": stage.called("base")}});
    for name in ["one", "two"] {
        stage.compose(name, machinery.clone()).await?;
        stage.says(name, "one").await?;
    }
    let answer = stage.platform.raw.delete(&path, &json!({})).await?;
    is_refused(
        &answer,
        &[
            "is in use by XThing one, XThing two;",
            "cambium.dev/allow-orphans",
        ],
    )?;
    // Those who are going do not need it.
    stage
        .edit(
            &stage.path("two"),
            json!({"metadata": {"finalizers": ["example.org/held"]}}),
        )
        .await?;
    stage.delete(&stage.path("two")).await?;
    let answer = stage.platform.raw.delete(&path, &json!({})).await?;
    is_refused(&answer, &["is in use by XThing one;"])?;
    let allow = json!({"metadata": {"annotations": {"cambium.dev/allow-orphans": "true"}}});
    stage.edit(&path, allow).await?;
    stage.delete(&path).await?;
    stage.gone(&path).await?;
    stage.refused("one", "not found").await?;
    stage.says("one", "one").await?;
    stage
        .edit(&stage.path("two"), json!({"metadata": {"finalizers": []}}))
        .await?;
    stage.at_rest().await
}

#[tokio::test]
async fn a_claim_takes_over_only_what_its_author_may_update() -> Result<()> {
    let claims = Claims::on(Stage::checked("LegacyCluster", json!({})).await?);
    claims.define(json!({})).await?;
    let stage = &claims.stage;
    stage.publish(&stage.composition("base", "one")).await?;
    let machinery = json!({"compositionRef": {"name": stage.called("base")}});
    stage.compose("free", machinery.clone()).await?;
    stage.says("free", "one").await?;
    // Bob may do what he likes with claims, and nothing with composite resources.
    let (raw, group) = (&stage.platform.raw, &stage.group);
    let rbac = "/apis/rbac.authorization.k8s.io/v1";
    let allow = async |name: &str, rule: Value| -> Result<()> {
        let name = stage.called(name);
        let role = json!({"metadata": {"name": name}, "rules": [rule]});
        ensure!(raw.post(&format!("{rbac}/clusterroles"), &role).await?.code == 201);
        let binding = json!({"metadata": {"name": name},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name},
            "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "bob"}]});
        ensure!(
            raw.post(&format!("{rbac}/clusterrolebindings"), &binding)
                .await?
                .code
                == 201
        );
        Ok(())
    };
    allow(
        "claims",
        json!({"apiGroups": [group], "resources": ["things"], "verbs": ["*"]}),
    )
    .await?;
    let bob = raw.clone().acting_as("bob");
    let path = claims.path("");
    let path = path.trim_end_matches('/');
    let mut spec = machinery.clone();
    spec["resourceRef"] = json!({"apiVersion": format!("{group}/v1"), "kind": "XThing", "name": "free"});
    let taking = claims.object("mine", spec.clone());
    eventually("claims are checked", || async {
        let answer = bob.post(&format!("{path}?dryRun=All"), &taking).await?;
        Ok(answer.code == 422 || answer.code == 403 && answer.message().contains("spec.resourceRef"))
    })
    .await?;
    let answer = bob.post(path, &taking).await?;
    is_refused(
        &answer,
        &["spec.resourceRef", "bob may not update XThing \"free\""],
    )?;
    // Nor what is not there yet.
    let mut absent = taking.clone();
    absent["spec"]["resourceRef"]["name"] = json!("tomorrow");
    is_refused(&bob.post(path, &absent).await?, &["\"tomorrow\""])?;
    // Without naming any, he gets one of his own; and cannot change over afterwards.
    let own = bob.post(path, &claims.object("own", machinery)).await?;
    ensure!(own.code == 201, "{own:?}");
    claims.ready("own").await?;
    let change = json!({"spec": {"resourceRef": {"name": "free"}}});
    is_refused(&bob.patch("merge", &claims.path("own"), &change).await?, &[])?;
    // Whoever may update it may give it away.
    let rule = json!({"apiGroups": [group], "resources": ["xthings"], "resourceNames": ["free"], "verbs": ["update"]});
    allow("composites", rule).await?;
    eventually("bob takes it", || async {
        Ok(bob.post(path, &taking).await?.code == 201)
    })
    .await?;
    claims.ready("mine").await?;
    ensure!(stage.get("free").await?["spec"]["claimRef"]["name"] == "mine");
    claims.stage.at_rest().await
}

#[tokio::test]
async fn a_composition_is_judged_by_the_schemas_of_what_it_composes() -> Result<()> {
    let stage = Stage::checked("LegacyCluster", json!({})).await?;
    let path = stage.composition_path("base");
    let mut composition = stage.composition("base", "one");
    composition["spec"]["resources"][0]["patches"] = json!([
        {"fromFieldPath": "spec.txet", "toFieldPath": "data.text"},
        {"type": "ToCompositeFieldPath", "fromFieldPath": "data.text", "toFieldPath": "status.unknown"},
    ]);
    let warned = |answer: &Answer, words: &[&str]| -> Result<()> {
        ensure!(answer.code < 300, "{answer:?}");
        let all = answer.warnings.join("; ");
        words.iter().try_for_each(|word| {
            ensure!(all.contains(word), "{word:?} is not in: {all}");
            Ok(())
        })
    };
    let problems = [
        "spec.resources[main]",
        "the schema has no field \"txet\"; did you mean \"text\"?",
        "the schema has no field \"unknown\"",
    ];
    // As Crossplane has it: a warning, unless the annotation asks for more.
    warned(&stage.apply(&path, &composition).await?, &problems)?;
    let mode = |composition: &Value, mode: &str| {
        let mut composition = composition.clone();
        composition["metadata"]["annotations"] =
            json!({"crossplane.io/composition-schema-aware-validation-mode": mode});
        composition
    };
    for strict in ["strict", "loose"] {
        is_refused(&stage.apply(&path, &mode(&composition, strict)).await?, &problems)?;
    }
    is_refused(
        &stage.apply(&path, &mode(&composition, "harsh")).await?,
        &["\"harsh\" is none of"],
    )?;
    // A kind that nobody has defined.
    let mut unknown = stage.composition("base", "one");
    unknown["spec"]["resources"][0]["base"] = json!({"apiVersion": "nowhere.example.org/v1", "kind": "Box"});
    let words = ["no CustomResourceDefinition for the kind \"Box\""];
    warned(&stage.apply(&path, &unknown).await?, &words)?;
    warned(&stage.apply(&path, &mode(&unknown, "loose")).await?, &words)?;
    is_refused(&stage.apply(&path, &mode(&unknown, "strict")).await?, &words)?;
    // What reads from a resource is judged as patches are. A composite resource is one that has a schema.
    let mut reading = stage.composition("base", "one");
    reading["spec"]["resources"][0] = json!({
        "name": "inner", "base": stage.composite("inner", json!({})),
        "patches": [{"fromFieldPath": "metadata.nam", "toFieldPath": "spec.text"}],
        "readinessChecks": [
            {"type": "MatchString", "fieldPath": "status.nope", "matchString": "x"},
            {"type": "MatchInteger", "fieldPath": "spec.text", "matchInteger": 3},
        ],
        "connectionDetails": [{"name": "host", "type": "FromFieldPath", "fromFieldPath": "status.nowhere"}],
    });
    let problems = [
        "metadata.nam: the schema has no field \"nam\"",
        "the \"MatchString\" readiness check at index 0: fieldPath: status.nope: the schema has no field",
        "spec.text is a string, and the check wants an integer",
        "the connection detail \"host\": fromFieldPath: status.nowhere: the schema has no field",
    ];
    warned(&stage.apply(&path, &reading).await?, &problems)?;
    for strict in ["strict", "loose"] {
        is_refused(&stage.apply(&path, &mode(&reading, strict)).await?, &problems)?;
    }
    // Where nothing looks at a field there is nothing to be checked.
    if let Some(resource) = unknown["spec"]["resources"][0].as_object_mut() {
        resource.remove("patches");
    }
    for mode in [unknown.clone(), mode(&unknown, "loose")] {
        let answer = stage.apply(&path, &mode).await?;
        ensure!(answer.code < 300 && answer.warnings.is_empty(), "{answer:?}");
    }
    // What fits says nothing.
    let answer = stage
        .apply(&path, &mode(&stage.composition("base", "one"), "strict"))
        .await?;
    ensure!(answer.code < 300 && answer.warnings.is_empty(), "{answer:?}");
    stage.at_rest().await
}

#[tokio::test]
async fn a_definition_goes_as_soon_as_all_that_it_defines_is_gone_or_going() -> Result<()> {
    let claims = Claims::on(Stage::checked("LegacyCluster", json!({})).await?);
    claims.define(json!({})).await?;
    let stage = &claims.stage;
    stage.publish(&stage.composition("base", "one")).await?;
    let machinery = json!({"compositionRef": {"name": stage.called("base")}});
    stage.compose("free", machinery.clone()).await?;
    stage.says("free", "one").await?;
    let (raw, namespace) = (&stage.platform.raw, &stage.platform.namespace);
    let claim = claims.object("mine", machinery);
    stage.applied(&claims.path("mine"), &claim).await?;
    let own = format!("{GROUP}/compositeresourcedefinitions/xthings.{}", stage.group);
    eventually("the claim counts", || async {
        let answer = raw.delete(&own, &json!({})).await?;
        Ok(answer.code == 403
            && answer
                .message()
                .contains(&format!("Thing {namespace}/mine, XThing free")))
    })
    .await?;
    // Each is waited for as `kubectl delete` does, and not a moment longer: we may hear of it later than whoever deletes.
    stage.delete(&claims.path("mine")).await?;
    stage.gone(&claims.path("mine")).await?;
    let bound = async || -> Result<bool> {
        let items = raw.get(stage.path("").trim_end_matches('/')).await?.body["items"].clone();
        Ok(items.as_array().is_some_and(|items| items.len() > 1))
    };
    eventually("what was claimed is gone", || async { Ok(!bound().await?) }).await?;
    stage.delete(&stage.path("free")).await?;
    stage.gone(&stage.path("free")).await?;
    stage.delete(&own).await?;
    stage.gone(&own).await?;
    claims.stage.at_rest().await
}
