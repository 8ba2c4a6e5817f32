//! What is refused before it is stored, and in which words: through the webhook that an API server calls.

use crate::platform::{Platform, application, auto_update, component, definition, saying};
use anyhow::{Context as _, Result, ensure};
use cambium_testing::eventually;
use serde_json::{Value, json};

/// A definition at v2beta1 with these versions, each of which says its own number.
fn versions(name: &str, versions: &[&str]) -> Value {
    let entries: Vec<Value> = versions
        .iter()
        .map(|version| {
            let mut spec = component(name, Some(version), version)["spec"].clone();
            spec["version"] = json!(version);
            spec
        })
        .collect();
    json!({
        "apiVersion": "core.oam.dev/v2beta1", "kind": "ComponentDefinition", "metadata": {"name": name},
        "spec": {"versions": entries},
    })
}

async fn is_refused(platform: &Platform, object: &Value, words: &[&str]) -> Result<()> {
    let refused = platform.refused(object).await?;
    for word in words {
        assert!(refused.contains(word), "{word:?} is not in: {refused}");
    }
    Ok(())
}

#[tokio::test]
async fn definitions_that_cannot_be_published_are_refused() -> Result<()> {
    let platform = Platform::with_admission().await?;
    for version in ["1.2.x", "latest", "v1.0.0", "1.02.3"] {
        is_refused(
            &platform,
            &component("a", Some(version), "x"),
            &["spec.version", "Not a valid version"],
        )
        .await?;
    }
    for kind in [
        "ComponentDefinition",
        "TraitDefinition",
        "PolicyDefinition",
        "WorkflowStepDefinition",
    ] {
        let mut both = definition(kind, "a", Some("1.0.0"), "parameter: {}\n");
        both["metadata"]["annotations"] = json!({"definitionrevision.oam.dev/name": "prod"});
        let words =
            format!("{kind} has both spec.version and revision name annotation. Only one can be present");
        is_refused(&platform, &both, &[&words]).await?;
    }
    let broken = definition(
        "ComponentDefinition",
        "a",
        Some("1.0.0"),
        "output: {\n\tkind: \"ConfigMap\"\n\tname: nowhere\n}\n",
    );
    is_refused(
        &platform,
        &broken,
        &["version \"1.0.0\"", "does not compile", "nowhere", "3:"],
    )
    .await?;
    let unreadable = definition("TraitDefinition", "t", None, "patch: {\n");
    is_refused(&platform, &unreadable, &["does not compile"]).await?;
    let step = definition("WorkflowStepDefinition", "s", Some("1.0.0"), "parameter: {{\n");
    is_refused(&platform, &step, &["version \"1.0.0\"", "does not compile"]).await?;
    let mut never = component("a", Some("1.0.0"), "x");
    never["spec"]["status"] = json!({"healthPolicy": "isHealthy: true"});
    is_refused(
        &platform,
        &never,
        &["version \"1.0.0\"", "the health policy has no isHealth"],
    )
    .await?;
    never["spec"] = json!({"version": "1.0.0", "schematic": {"helm": {"release": {}}}});
    is_refused(&platform, &never, &["schematic.helm is not rendered here"]).await?;

    is_refused(
        &platform,
        &versions("many", &["2", "2.0.0"]),
        &["spec.versions[1].version", "same version as \"2\""],
    )
    .await?;
    is_refused(&platform, &versions("many", &[]), &["spec.versions"]).await?;
    is_refused(
        &platform,
        &versions("many", &["1.0.0", "later"]),
        &["spec.versions[1].version", "Not a valid version"],
    )
    .await?;
    assert!(
        platform.names("componentdefinitions").await?.is_empty(),
        "nothing was stored"
    );
    Ok(())
}

#[tokio::test]
async fn what_was_published_cannot_be_changed() -> Result<()> {
    let platform = Platform::with_admission().await?;
    platform
        .publish_object(&versions("a", &["1.0.0", "1.1.0"]))
        .await?;
    let mut changed = versions("a", &["1.0.0", "1.1.0"]);
    changed["spec"]["versions"][0]["schematic"] = component("a", None, "other")["spec"]["schematic"].clone();
    is_refused(
        &platform,
        &changed,
        &[
            "a 1.0.0 is published with digest sha256:",
            "publish the change under a new version",
        ],
    )
    .await?;

    let mut named = component("named", None, "first");
    named["metadata"]["annotations"] = json!({"definitionrevision.oam.dev/name": "prod"});
    platform.publish_object(&named).await?;
    named["spec"]["schematic"] = component("named", None, "second")["spec"]["schematic"].clone();
    is_refused(
        &platform,
        &named,
        &["the definition's spec is different with existing definitionRevision's spec"],
    )
    .await?;

    // Nor can a revision be edited, though its metadata can.
    let revision = format!(
        "/apis/core.oam.dev/v1beta1/namespaces/{}/definitionrevisions/a-v1.0.0",
        platform.namespace
    );
    let edit = json!({"spec": {"componentDefinition": {"spec": {"smuggled": true}}}});
    let refused = platform.raw.patch("merge", &revision, &edit).await?;
    assert!(
        refused.message().contains("a revision is what was published"),
        "{refused:?}"
    );
    let label = json!({"metadata": {"labels": {"looked-at": "yes"}}});
    assert_eq!(platform.raw.patch("merge", &revision, &label).await?.code, 200);
    Ok(())
}

#[tokio::test]
async fn a_version_in_use_stays_in_the_list() -> Result<()> {
    let platform = Platform::with_admission().await?;
    platform
        .publish_object(&versions("a", &["1.0.0", "1.1.0", "2.0.0"]))
        .await?;
    platform.deploy("shop", "a@1.0.0", json!({})).await?;
    platform.runs("shop-main", "1.0.0").await?;
    let user = format!("Application {}/shop", platform.namespace);
    is_refused(
        &platform,
        &versions("a", &["1.1.0", "2.0.0"]),
        &["version \"1.0.0\" cannot be removed", &user],
    )
    .await?;
    // One that nobody uses may go, and one may be added.
    platform
        .publish_object(&versions("a", &["1.0.0", "2.0.0", "2.1.0"]))
        .await?;
    platform.deploy("new", "a@2", json!({})).await?;
    platform.runs("new-main", "2.1.0").await
}

#[tokio::test]
async fn an_object_is_edited_at_the_version_it_was_written_at() -> Result<()> {
    let platform = Platform::with_admission().await?;
    platform.publish("old", "1.0.0").await?;
    platform
        .publish_object(&versions("new", &["1.0.0", "1.1.0"]))
        .await?;
    let at = |version: &str, name: &str| {
        format!(
            "/apis/core.oam.dev/{version}/namespaces/{}/componentdefinitions/{name}",
            platform.namespace
        )
    };
    let schematic = component("x", None, "other")["spec"]["schematic"].clone();
    let refused = platform
        .raw
        .patch(
            "merge",
            &at("v2beta1", "old"),
            &json!({"spec": {"versions": [{"version": "1.0.0", "schematic": schematic}]}}),
        )
        .await?;
    let words = "it was written at core.oam.dev/v1beta1 and cannot be edited at core.oam.dev/v2beta1";
    assert!(refused.message().contains(words), "{refused:?}");
    let refused = platform
        .raw
        .patch(
            "merge",
            &at("v1beta1", "new"),
            &json!({"spec": {"schematic": schematic}}),
        )
        .await?;
    let words = "it was written at core.oam.dev/v2beta1 and cannot be edited at core.oam.dev/v1beta1";
    assert!(refused.message().contains(words), "{refused:?}");
    // Labels and finalizers are nobody's content.
    for (version, name) in [
        ("v2beta1", "old"),
        ("v1beta1", "new"),
        ("v1beta1", "old"),
        ("v2beta1", "new"),
    ] {
        for change in [
            json!({"metadata": {"labels": {"seen-at": version}}}),
            json!({"metadata": {"finalizers": ["example.com/wait"]}}),
            json!({"metadata": {"finalizers": null}}),
        ] {
            let answer = platform.raw.patch("merge", &at(version, name), &change).await?;
            assert_eq!(answer.code, 200, "{name} at {version}: {answer:?}");
        }
        // Another manager, which applies no spec at all.
        let noted = json!({
            "apiVersion": format!("core.oam.dev/{version}"), "kind": "ComponentDefinition",
            "metadata": {"name": name, "annotations": {"example.com/noted-at": version}},
        });
        let path = format!("{}?fieldManager=noter&force=true", at(version, name));
        let answer = platform
            .raw
            .patch("application/apply-patch+yaml", &path, &noted)
            .await?;
        assert_eq!(answer.code, 200, "{name} at {version}: {answer:?}");
    }
    // Their owners go on.
    platform.publish("old", "1.1.0").await?;
    platform
        .publish_object(&versions("new", &["1.1.0", "1.2.0"]))
        .await?;
    platform.idle().await?;
    let names = platform.names("definitionrevisions").await?;
    for name in ["old-v1.1.0", "new-v1.2.0"] {
        assert!(names.iter().any(|known| known == name), "{names:?}");
    }
    Ok(())
}

#[tokio::test]
async fn applications_that_could_only_fail_are_refused() -> Result<()> {
    let platform = Platform::with_admission().await?;
    platform.publish("a", "1.2.3").await?;
    platform
        .publish_object(&component("legacy", None, "first"))
        .await?;
    let shop = |reference: &str, annotations: Value| application("shop", annotations, &[("main", reference)]);
    let none = || json!({});
    let cases: Vec<(Value, Vec<&str>)> = vec![
        (shop("a@>1.2", none()), vec!["components[shop-main]", "range"]),
        (shop("a@^1", none()), vec!["range"]),
        (shop("a@1.x", none()), vec!["a@1"]),
        (shop("a@latest", none()), vec!["components[shop-main]"]),
        (shop("a@@1", none()), vec!["components[shop-main]"]),
        (shop("@1", none()), vec!["components[shop-main]"]),
        (shop("a@1.2.2", none()), vec!["1.2.2", "1.2.3"]),
        (shop("a@2", none()), vec!["components[shop-main]", "2"]),
        (
            shop("nobody", none()),
            vec!["no ComponentDefinition \"nobody\"", "vela-system"],
        ),
        (shop("legacy@v7", none()), vec!["components[shop-main]"]),
        (shop("a@1", auto_update("false")), vec!["components[shop-main]"]),
        (
            shop("a@1", auto_update("maybe")),
            vec!["app.oam.dev/autoUpdate is \"maybe\""],
        ),
        (
            shop(
                "a@1",
                json!({"app.oam.dev/autoUpdate": "true", "app.oam.dev/publishVersion": "x"}),
            ),
            vec!["Application has both autoUpdate and publishVersion annotations. Only one can be present"],
        ),
        (
            shop("a@1", json!({"app.oam.dev/lock": "{"})),
            vec!["app.oam.dev/lock"],
        ),
        (
            shop(
                "a@1",
                json!({"app.oam.dev/lock": "{\"component\":{\"a@1.2\":{\"digest\":\"sha256:00\"}}}"}),
            ),
            vec!["app.oam.dev/lock"],
        ),
    ];
    for (object, words) in &cases {
        is_refused(&platform, object, words).await?;
    }
    let mut wrong = saying("shop", "a@1", "");
    wrong["spec"]["components"][0]["properties"] = json!({"text": 7});
    let place = "spec.components[0].properties.text: ";
    is_refused(
        &platform,
        &wrong,
        &["shop-main", place, "text must be a string, not 7"],
    )
    .await?;
    let needs = "output: {apiVersion: \"v1\", kind: \"ConfigMap\", data: {a: parameter.given, b: parameter.deep.must}}\n\
        parameter: {given: *\"x\" | string, deep: {must: string, may?: string}, other?: int}\n";
    platform
        .publish_object(&definition("ComponentDefinition", "needy", Some("1.0.0"), needs))
        .await?;
    let needy = application("shop", none(), &[("first", "a@1"), ("main", "needy@1")]);
    let place = "spec.components[1].properties.deep.must: must is required (string)";
    is_refused(&platform, &needy, &["shop-main", place]).await?;
    let mut twice = application("shop", none(), &[("main", "a"), ("main", "a")]);
    is_refused(
        &platform,
        &twice,
        &["spec.components[1].name", "two components \"shop-main\""],
    )
    .await?;
    twice["spec"]["components"][0]["name"] = json!("");
    is_refused(&platform, &twice, &["spec.components[0].name", "needs a name"]).await?;
    let long = application(&"n".repeat(64), none(), &[("main", "a")]);
    is_refused(&platform, &long, &["64 characters"]).await?;
    assert!(
        platform.names("applications").await?.is_empty(),
        "nothing was stored"
    );
    Ok(())
}

#[tokio::test]
async fn a_workflow_is_warned_of_and_accepted() -> Result<()> {
    let platform = Platform::with_admission().await?;
    platform.publish("a", "1.0.0").await?;
    platform
        .publish_object(&definition(
            "WorkflowStepDefinition",
            "s",
            Some("1.0.0"),
            "parameter: {}\n",
        ))
        .await?;
    let mut shop = application("shop", json!({}), &[("main", "a")]);
    shop["spec"]["workflow"] = json!({"steps": [{"name": "one", "type": "s@1"}]});
    let answer = platform.apply(&shop).await?;
    assert!(answer.code < 300, "{answer:?}");
    assert!(
        answer.warnings.iter().any(|warning| warning.contains("workflow")),
        "{:?}",
        answer.warnings
    );
    Ok(())
}

#[tokio::test]
async fn what_became_wrong_afterwards_can_still_be_labelled_and_let_go() -> Result<()> {
    let platform = Platform::with_admission().await?;
    platform.publish("a", "1.0.0").await?;
    let mut shop = application("shop", json!({}), &[("main", "a@1")]);
    shop["metadata"]["finalizers"] = json!(["example.com/wait"]);
    platform.deploy_object(&shop).await?;
    platform.runs("shop-main", "1.0.0").await?;
    // An edit that is wrong does not come through, one that leaves the wish alone does.
    shop["spec"]["components"][0]["type"] = json!("a@9");
    platform.refused(&shop).await?;
    let label = json!({"metadata": {"labels": {"looked-at": "yes"}}});
    platform.edit("applications", "shop", &label).await?;
    platform.delete("applications", "shop").await?;
    eventually("it waits for somebody else", || async {
        Ok(platform.application("shop").await?["metadata"]["finalizers"] == json!(["example.com/wait"]))
    })
    .await?;
    platform
        .edit("applications", "shop", &json!({"metadata": {"finalizers": null}}))
        .await?;
    eventually("it is gone", || async {
        Ok(platform.application("shop").await?["code"] == 404)
    })
    .await
}

#[tokio::test]
async fn a_dry_run_is_checked_and_leaves_nothing() -> Result<()> {
    let platform = Platform::with_admission().await?;
    platform.publish("a", "1.0.0").await?;
    let path = format!(
        "/apis/core.oam.dev/v1beta1/namespaces/{}/applications?dryRun=All",
        platform.namespace
    );
    let good = application("shop", json!({}), &[("main", "a@1")]);
    assert_eq!(platform.raw.post(&path, &good).await?.code, 201);
    let bad = application("shop", json!({}), &[("main", "a@2")]);
    assert!(platform.raw.post(&path, &bad).await?.code >= 400);
    assert!(platform.names("applications").await?.is_empty());
    Ok(())
}

#[tokio::test]
async fn a_definition_and_its_application_may_be_applied_in_one_go() -> Result<()> {
    let platform = Platform::with_admission().await?;
    for round in 0..5 {
        let (name, shop) = (format!("a{round}"), format!("shop{round}"));
        platform
            .accepted(&component(&name, Some("1.0.0"), "1.0.0"))
            .await?;
        let reference = format!("{name}@1");
        platform
            .accepted(&application(&shop, json!({}), &[("main", &reference)]))
            .await
            .context("the gate waits a moment")?;
        platform.runs(&format!("{shop}-main"), "1.0.0").await?;
    }
    Ok(())
}

#[tokio::test]
async fn no_version_is_lost_through_the_api_version_that_cannot_show_it() -> Result<()> {
    let platform = Platform::with_admission().await?;
    let at = |version: &str, name: &str| {
        format!(
            "/apis/core.oam.dev/{version}/namespaces/{}/componentdefinitions/{name}",
            platform.namespace
        )
    };
    let stripped = |mut object: Value| {
        let metadata = object["metadata"].as_object_mut()?;
        metadata.remove("annotations");
        Some(object)
    };
    platform
        .publish_object(&versions("cast", &["1.0.0", "1.5.0", "2.0.0"]))
        .await?;
    platform.deploy("shop", "cast@1.0.0", json!({})).await?;
    platform.runs("shop-main", "1.0.0").await?;
    platform.publish_object(&component("leg", None, "first")).await?;
    platform.publish("pt", "2.0.0").await?;

    // What is read at the other version, and written back without the annotation that holds the rest.
    for (version, name, other) in [("v1beta1", "cast", "v2beta1"), ("v2beta1", "leg", "v1beta1")] {
        let shown = platform.raw.get(&at(version, name)).await?.body;
        let answer = platform
            .raw
            .put(&at(version, name), &stripped(shown).context("an object")?)
            .await?;
        let words = format!("kubectl edit componentdefinitions.{other}.core.oam.dev");
        assert!(answer.message().contains(&words), "{answer:?}");
    }
    let nothing = json!({"metadata": {"annotations": {"definition.oam.dev/conversion": null}}});
    let answer = platform
        .raw
        .patch("merge", &at("v1beta1", "cast"), &nothing)
        .await?;
    assert!(answer.code >= 400, "{answer:?}");

    // What was meant for v1beta1, and sent to the version that kubectl prefers.
    let next = component("pt", Some("2.1.0"), "2.1.0")["spec"].clone();
    let answer = platform
        .raw
        .patch("merge", &at("v2beta1", "pt"), &json!({"spec": next}))
        .await?;
    let words = "kubectl edit componentdefinitions.v1beta1.core.oam.dev";
    assert!(answer.message().contains(words), "{answer:?}");
    let mut shown = platform.raw.get(&at("v2beta1", "pt")).await?.body;
    shown["spec"]["versions"]
        .as_array_mut()
        .context("a list")?
        .push(component("pt", Some("1.0.0"), "1.0.0")["spec"].clone());
    let answer = platform.raw.put(&at("v2beta1", "pt"), &shown).await?;
    assert!(answer.message().contains(words), "{answer:?}");

    // Their owners go on as before.
    platform.publish("pt", "2.1.0").await?;
    platform
        .publish_object(&versions("cast", &["1.0.0", "2.0.0", "2.1.0"]))
        .await?;
    platform.publish_object(&component("leg", None, "second")).await?;
    platform.deploy("old", "leg@v2", json!({})).await?;
    platform.runs("old-main", "second").await
}

/// A component definition whose ConfigMap takes one parameter, which must be given.
fn taking(version: &str, parameter: &str) -> Value {
    let template = format!(
        "output: {{apiVersion: \"v1\", kind: \"ConfigMap\", data: {{version: \"{version}\", text: parameter.{parameter}}}}}\n\
         parameter: {{{parameter}: string}}\n"
    );
    definition("ComponentDefinition", "api", Some(version), &template)
}

#[tokio::test]
async fn a_publish_that_followers_cannot_take_warns_and_leaves_them_running() -> Result<()> {
    let platform = Platform::with_admission().await?;
    platform.publish_object(&taking("1.0.0", "image")).await?;
    let names = ["one", "two"];
    for name in names {
        let mut app = application(name, json!({}), &[("main", "api@1")]);
        app["spec"]["components"][0]["properties"] = json!({"image": "x"});
        platform.deploy_object(&app).await?;
        platform.runs(&format!("{name}-main"), "1.0.0").await?;
        platform.condition(name, "Ready", "True").await?;
    }
    let next = taking("1.0.1", "img");
    let dry = format!(
        "{}/api?fieldManager=test&force=true&dryRun=All",
        platform.path("componentdefinitions")
    );
    let dry = platform
        .raw
        .patch("application/apply-patch+yaml", &dry, &next)
        .await?;
    let applied = platform.apply(&next).await?;
    for answer in [dry, applied] {
        assert!(answer.code < 300, "{}", answer.body);
        let warning = answer.warnings.join("\n");
        assert!(
            warning.contains("api 1.0.1 cannot be rendered for 2 of 2 followers: ")
                && warning.contains("/one (")
                && warning.contains("properties.img")
                && warning.contains("they stay at what they run"),
            "{warning}"
        );
    }
    for name in names {
        let upgraded = platform.condition(name, "Upgraded", "False").await?;
        assert_eq!(upgraded["reason"], "UpgradeFailed", "{upgraded}");
        let ready = platform.condition(name, "Ready", "True").await?;
        assert_eq!(ready["reason"], "Available", "{ready}");
        let reference = platform.application(name).await?["status"]["references"][0].clone();
        assert_eq!(reference["version"], "1.0.1", "{reference}");
        assert_eq!(reference["running"]["version"], "1.0.0", "{reference}");
        platform.runs(&format!("{name}-main"), "1.0.0").await?;
    }
    let events = format!("/api/v1/namespaces/{}/events", platform.namespace);
    eventually("the failed upgrade is told, and no upgrade", || async {
        let events = platform.raw.get(&events).await?.body;
        let reasons: Vec<&str> = events["items"]
            .as_array()
            .into_iter()
            .flatten()
            .filter(|event| event["involvedObject"]["kind"] == "Application")
            .filter_map(|event| event["reason"].as_str())
            .collect();
        anyhow::ensure!(!reasons.contains(&"Upgraded"), "{reasons:?}");
        Ok(reasons
            .iter()
            .filter(|reason| **reason == "UpgradeFailed")
            .count()
            == 2)
    })
    .await
}

#[tokio::test]
async fn misspelt_fields_are_refused_and_misspelt_properties_are_told() -> Result<()> {
    let platform = Platform::with_admission().await?;
    platform.publish("a", "1.0.0").await?;
    for (place, field) in [
        ("/spec", "policy"),
        ("/spec/components/0", "replicas"),
        ("/spec/components/0", "trait"),
    ] {
        let mut shop = application("shop", json!({}), &[("main", "a")]);
        shop.pointer_mut(place).context("a place")?[field] = json!([]);
        let path = format!("{}?fieldValidation=Strict", platform.path("applications"));
        let answer = platform.raw.post(&path, &shop).await?;
        assert_eq!(answer.code, 400, "{}", answer.body);
        assert!(answer.message().contains("unknown field"), "{}", answer.message());
    }
    let mut shop = application("shop", json!({}), &[("main", "a")]);
    shop["spec"]["components"][0]["properties"] = json!({"txet": "x"});
    let answer = platform.apply(&shop).await?;
    assert!(answer.code < 300, "{}", answer.body);
    assert_eq!(
        answer.warnings,
        ["components[shop-main].properties.txet: no parameter has this name; did you mean \"text\"?"]
    );
    Ok(())
}

#[tokio::test]
async fn a_revision_in_use_is_not_deleted_and_its_users_are_named() -> Result<()> {
    let platform = Platform::with_admission().await?;
    platform.publish("a", "1.0.0").await?;
    platform.publish("a", "1.0.1").await?;
    platform.deploy("shop", "a@1.0.0", json!({})).await?;
    platform.runs("shop-main", "1.0.0").await?;
    platform.idle().await?;
    let answer = platform.delete("definitionrevisions", "a-v1.0.0").await?;
    assert!(answer.code >= 400, "{}", answer.body);
    let message = answer.message();
    assert!(
        message.contains("a-v1.0.0 is in use by Application") && message.contains("/shop"),
        "{message}"
    );
    let revision = platform.get("definitionrevisions", "a-v1.0.0").await?;
    assert!(revision["metadata"]["deletionTimestamp"].is_null());
    Ok(())
}

#[tokio::test]
async fn a_restored_application_is_accepted_before_its_definitions_and_deployed_after_them() -> Result<()> {
    let platform = Platform::with_admission().await?;
    let marked = json!({"app.oam.dev/restored": "true"});
    let shop = application("shop", marked, &[("main", "later@1")]);
    let refused = platform
        .refused(&application("new", json!({}), &[("main", "later@1")]))
        .await?;
    assert!(refused.contains("no ComponentDefinition \"later\""), "{refused}");
    let answer = platform.apply(&shop).await?;
    assert!(answer.code < 300, "{}", answer.body);
    assert!(
        answer
            .warnings
            .join("")
            .contains("no ComponentDefinition \"later\"")
    );
    platform.condition("shop", "Resolved", "False").await?;
    platform.publish("later", "1.0.0").await?;
    platform.runs("shop-main", "1.0.0").await
}

#[tokio::test]
async fn a_template_that_is_too_expensive_is_refused_while_others_are_answered() -> Result<()> {
    let platform = Platform::with_admission().await?;
    let template = "import \"list\"\n_n: list.Range(0, 500, 1)\n\
        output: {apiVersion: \"v1\", kind: \"ConfigMap\", data: {for i in _n for j in _n for k in _n {\"\\(i)-\\(j)-\\(k)\": \"x\"}}}";
    let greedy = definition("ComponentDefinition", "greedy", Some("1.0.1"), template);
    let other = component("a", Some("1.0.0"), "1.0.0");
    let (refused, accepted) = tokio::join!(platform.refused(&greedy), platform.accepted(&other));
    accepted?;
    let refused = refused?;
    ensure!(refused.contains("the template is too expensive"), "{refused}");
    ensure!(refused.contains("greedy:3:"), "{refused}");
    Ok(())
}

#[tokio::test]
async fn what_a_finalizer_protects_can_be_deleted_while_nobody_answers() -> Result<()> {
    let mut platform = Platform::with_admission().await?;
    platform.publish("bad", "1.0.0").await?;
    platform.publish("used", "1.0.0").await?;
    platform.deploy("shop", "used@1.0.0", json!({})).await?;
    platform.runs("shop-main", "1.0.0").await?;
    platform.condition("shop", "Ready", "True").await?;
    platform.idle().await?;
    platform.stop_manager().await;
    platform.stop_webhooks().await;
    let answer = platform.apply(&component("bad", Some("1.0.1"), "1.0.1")).await?;
    assert_eq!(
        answer.code, 500,
        "writes wait for somebody who checks them: {answer:?}"
    );
    for name in ["bad", "used"] {
        let answer = platform.delete("componentdefinitions", name).await?;
        assert_eq!(answer.code, 200, "{answer:?}");
    }
    // What is in use is kept by its finalizer.
    let answer = platform.delete("definitionrevisions", "used-v1.0.0").await?;
    assert!(answer.code < 300, "{answer:?}");
    let kept = platform.get("definitionrevisions", "used-v1.0.0").await?;
    assert_eq!(kept["spec"]["revision"], 1, "{kept}");
    let answer = platform.delete("applications", "shop").await?;
    assert_eq!(answer.code, 200, "{answer:?}");
    let kept = platform.application("shop").await?;
    assert!(kept["metadata"]["deletionTimestamp"].is_string(), "{kept}");
    assert_eq!(
        platform.config_map("shop-main").await?["data"]["version"],
        "1.0.0"
    );
    Ok(())
}
