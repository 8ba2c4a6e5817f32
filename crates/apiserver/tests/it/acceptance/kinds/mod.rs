//! Our own kinds on a cluster: the CRDs, stored fields, and both versions of a definition.

mod pair;

use anyhow::Result;
use cambium_api::names::annotation::CONVERSION;
use cambium_convert::definition::convert;
use pair::{Kinds, definition, manifests, written};
use serde_json::{Value, json};

#[tokio::test]
async fn every_kind_is_established_under_its_names() -> Result<()> {
    let kinds = Kinds::start().await?;
    let list = kinds.raw.get("/apis/core.oam.dev/v1beta1").await?.body;
    let found = |plural: &str| {
        let mut resources = list["resources"].as_array().into_iter().flatten();
        resources
            .find(|one| one["name"] == plural)
            .cloned()
            .unwrap_or_default()
    };
    let expected = [
        (
            "componentdefinitions",
            "ComponentDefinition",
            json!(["compdef", "comp"]),
        ),
        (
            "traitdefinitions",
            "TraitDefinition",
            json!(["traitdef", "trait"]),
        ),
        (
            "policydefinitions",
            "PolicyDefinition",
            json!(["policydef", "def-policy"]),
        ),
        (
            "workflowstepdefinitions",
            "WorkflowStepDefinition",
            json!(["workflowstepdef", "workflowstep"]),
        ),
        ("definitionrevisions", "DefinitionRevision", json!(["defrev"])),
        ("applications", "Application", json!(["app", "velaapp"])),
        ("applicationrevisions", "ApplicationRevision", json!(["apprev"])),
    ];
    for (plural, kind, short) in expected {
        let one = found(plural);
        assert_eq!(
            (
                &one["kind"],
                &one["namespaced"],
                &one["shortNames"],
                &one["categories"]
            ),
            (&json!(kind), &json!(true), &short, &json!(["oam"])),
            "{plural}"
        );
        assert_eq!(
            found(&format!("{plural}/status"))["kind"],
            kind,
            "{plural} has a status of its own"
        );
    }
    Ok(())
}

#[tokio::test]
async fn manifests_apply_as_they_are_and_are_read_without_loss() -> Result<()> {
    let kinds = Kinds::start().await?;
    let namespace = kinds.cluster.namespace("kinds").await?;
    let all = manifests()?;
    assert!(all.len() >= 8, "{}", all.len());
    let mut problems = Vec::new();
    for manifest in all {
        let (kind, name) = (&manifest["kind"], &manifest["metadata"]["name"]);
        let answer = kinds.create(&namespace, &manifest).await?;
        if answer.code != 201 {
            problems.push(format!("{kind} {name}: {}", answer.message()));
            continue;
        }
        let read = kinds.get(&namespace, &manifest).await?;
        for part in ["/spec", "/metadata/annotations", "/metadata/labels"] {
            if read.pointer(part) != manifest.pointer(part) {
                problems.push(format!("{kind} {name}: {part} is not what it was"));
            }
        }
        if cambium_api::v1beta1::DefinitionType::of_kind(kind.as_str().unwrap_or_default()).is_some() {
            let shown = convert(read.clone(), "core.oam.dev/v2beta1")?;
            if convert(shown, "core.oam.dev/v1beta1")? != read {
                problems.push(format!("{kind} {name}: it does not come back from v2beta1"));
            }
        }
    }
    assert!(problems.is_empty(), "{problems:#?}");
    Ok(())
}

#[tokio::test]
async fn a_list_with_nothing_under_it_is_no_list() -> Result<()> {
    let kinds = Kinds::start().await?;
    let namespace = kinds.cluster.namespace("kinds").await?;
    let component = json!({"name": "a", "type": "b", "traits": null, "properties": null});
    let application = json!({"apiVersion": "core.oam.dev/v1beta1", "kind": "Application", "metadata": {"name": "nulls"},
        "spec": {"components": [component], "policies": null}});
    let made = kinds.create(&namespace, &application).await?;
    let expected = json!({"components": [{"name": "a", "type": "b", "properties": null}]});
    assert_eq!((made.code, &made.body["spec"]), (201, &expected), "{made:?}");
    Ok(())
}

#[tokio::test]
async fn a_definition_is_seen_at_both_versions() -> Result<()> {
    let kinds = Kinds::start().await?;
    let namespace = kinds.cluster.namespace("kinds").await?;
    let versions = json!([
        {"version": "2", "schematic": {"cue": {"template": "two"}}, "new": [1, {"a": null}]},
        {"version": "3.4", "schematic": {"cue": {"template": "three"}}},
        {"version": "1.0.0", "schematic": {"cue": {"template": "one"}}},
    ]);
    let object = definition("v2beta1", "web", json!({"versions": versions}));
    let made = kinds.create(&namespace, &object).await?;
    assert_eq!(
        (made.code, &made.body["spec"]["versions"]),
        (201, &versions),
        "{made:?}"
    );
    let stored = kinds.at("v1beta1", &namespace, "web").await?;
    assert_eq!(stored["spec"], versions[1], "the highest version");
    let read = kinds.at("v2beta1", &namespace, "web").await?;
    assert_eq!(read["spec"]["versions"], versions);
    assert_eq!(
        read["metadata"]["annotations"],
        Value::Null,
        "what conversion carries is not seen here"
    );
    Ok(())
}

#[tokio::test]
async fn an_edit_through_one_version_is_seen_in_the_other() -> Result<()> {
    let kinds = Kinds::start().await?;
    let namespace = kinds.cluster.namespace("kinds").await?;
    let versions =
        json!([{"version": "1.0.0", "podSpecPath": "one"}, {"version": "2.0.0", "podSpecPath": "two"}]);
    kinds
        .create(
            &namespace,
            &definition("v2beta1", "web", json!({"versions": versions})),
        )
        .await?;
    let label = json!({"metadata": {"labels": {"a": "b"}}});
    for version in ["v1beta1", "v2beta1"] {
        let patched = kinds.patch(version, &namespace, "web", &label).await?;
        assert_eq!(patched.code, 200, "{patched:?}");
    }
    assert_eq!(
        kinds.at("v2beta1", &namespace, "web").await?["spec"]["versions"],
        versions
    );
    kinds
        .patch(
            "v1beta1",
            &namespace,
            "web",
            &json!({"spec": {"podSpecPath": "new"}}),
        )
        .await?;
    let read = kinds.at("v2beta1", &namespace, "web").await?;
    let expected =
        json!([{"version": "1.0.0", "podSpecPath": "one"}, {"version": "2.0.0", "podSpecPath": "new"}]);
    assert_eq!(
        read["spec"]["versions"], expected,
        "the edit counts, the others stay"
    );

    let native = definition("v1beta1", "old", json!({"podSpecPath": "one"}));
    kinds.create(&namespace, &native).await?;
    let shown = kinds.at("v2beta1", &namespace, "old").await?;
    assert_eq!(
        shown["spec"],
        json!({"versions": [{"version": "0.0.0-legacy", "podSpecPath": "one"}]})
    );
    let patched = kinds.patch("v2beta1", &namespace, "old", &label).await?;
    assert_eq!(patched.code, 200, "{patched:?}");
    let stored = kinds.at("v1beta1", &namespace, "old").await?;
    assert_eq!(
        (&stored["spec"], &stored["metadata"]["annotations"]),
        (&native["spec"], &Value::Null)
    );
    Ok(())
}

#[tokio::test]
async fn each_may_apply_versions_of_its_own() -> Result<()> {
    let kinds = Kinds::start().await?;
    let namespace = kinds.cluster.namespace("kinds").await?;
    let one = definition(
        "v2beta1",
        "web",
        json!({"versions": [{"version": "1.0.0", "podSpecPath": "one"}]}),
    );
    let two = definition(
        "v2beta1",
        "web",
        json!({"versions": [{"version": "1.1.0", "podSpecPath": "two"}]}),
    );
    for (manager, object) in [("first", &one), ("second", &two)] {
        let applied = kinds.apply(&namespace, manager, object).await?;
        assert!([200, 201].contains(&applied.code), "{applied:?}");
    }
    let read = kinds.at("v2beta1", &namespace, "web").await?;
    let expected =
        json!([{"version": "1.0.0", "podSpecPath": "one"}, {"version": "1.1.0", "podSpecPath": "two"}]);
    assert_eq!(
        read["spec"]["versions"], expected,
        "two who publish do not disturb each other"
    );
    let status = json!({"status": {"highestVersion": "1.1.0", "consumers": 2, "versionSummary": "1.1.0, 1.0.0",
        "versions": [{"version": "1.1.0", "digest": "sha256:0", "revision": "web-v1.1.0", "state": "Published", "consumers": 2}]}});
    // Where it was written: a manager at the other version would keep what others no longer apply.
    let path = format!("{}/status", written("v2beta1", &namespace, "web"));
    let patched = kinds.raw.patch("merge", &path, &status).await?;
    assert_eq!(patched.code, 200, "{patched:?}");
    let read = kinds.at("v1beta1", &namespace, "web").await?;
    assert_eq!(
        (&read["status"], &read["spec"]),
        (&status["status"], &expected[1])
    );
    let read = kinds.at("v2beta1", &namespace, "web").await?;
    assert_eq!(
        (&read["status"], &read["spec"]["versions"]),
        (&status["status"], &expected)
    );
    let gone = kinds
        .apply(&namespace, "second", &definition("v2beta1", "web", json!({})))
        .await?;
    assert_eq!(gone.code, 200, "{gone:?}");
    assert_eq!(
        gone.body["spec"]["versions"], one["spec"]["versions"],
        "what is no longer applied goes"
    );
    Ok(())
}

#[tokio::test]
async fn the_same_version_twice_and_too_many_versions_are_refused() -> Result<()> {
    let kinds = Kinds::start().await?;
    let namespace = kinds.cluster.namespace("kinds").await?;
    let twice = json!({"versions": [{"version": "1"}, {"version": "1"}]});
    let answer = kinds
        .create(&namespace, &definition("v2beta1", "twice", twice))
        .await?;
    assert_eq!(answer.code, 422, "{answer:?}");
    assert!(
        answer.body["message"].to_string().contains("Duplicate value"),
        "{answer:?}"
    );
    // Digits that do not repeat, so that they do not pack.
    let mut state = 1u64;
    let mut noise = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        format!("{state:016x}")
    };
    let large: Vec<Value> = (0..80)
        .map(|number| json!({"version": format!("{number}"), "podSpecPath": (0..500).map(|_| noise()).collect::<String>()}))
        .collect();
    let answer = kinds
        .create(
            &namespace,
            &definition("v2beta1", "large", json!({"versions": large})),
        )
        .await?;
    assert!(answer.code >= 400, "{}", answer.code);
    assert!(
        answer.body["message"]
            .to_string()
            .contains("remove versions that nobody uses"),
        "{}",
        answer.body["message"]
    );
    assert!(
        !answer.body.to_string().contains(CONVERSION),
        "no need to know how it is carried"
    );
    Ok(())
}

#[tokio::test]
async fn before_the_webhook_is_up_v1beta1_alone_is_served() -> Result<()> {
    let cluster = cambium_testing::TestCluster::start().await?;
    let (raw, group) = (cluster.raw(), format!("{}.example.com", cluster.unique("kinds")));
    let crd = cambium_api::crds::definitions().into_iter().next();
    let mut crd = serde_json::to_value(crd)?;
    crd["metadata"]["name"] = json!(format!("componentdefinitions.{group}"));
    crd["spec"]["group"] = json!(group);
    let made = raw.post(pair::CRDS, &crd).await?;
    assert_eq!(made.code, 201, "{made:?}");
    cambium_testing::eventually("v1beta1 is served", || async {
        Ok(raw
            .get(&format!("/apis/{group}/v1beta1/componentdefinitions"))
            .await?
            .code
            == 200)
    })
    .await?;
    let path = format!("{}/componentdefinitions.{group}", pair::CRDS);
    let read = raw.get(&path).await?.body;
    let condition = |kind: &str| {
        let conditions = read["status"]["conditions"].as_array().into_iter().flatten();
        conditions
            .filter(|one| one["type"] == kind)
            .map(|one| one["status"].clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(condition("Established"), [json!("True")], "{read}");
    assert!(condition("NonStructuralSchema").is_empty(), "{read}");
    assert_eq!(
        raw.get(&format!("/apis/{group}/v2beta1/componentdefinitions"))
            .await?
            .code,
        404
    );
    Ok(())
}

#[tokio::test]
async fn what_is_applied_at_v1beta1_and_no_longer_applied_goes() -> Result<()> {
    let kinds = Kinds::start().await?;
    let namespace = kinds.cluster.namespace("kinds").await?;
    let with = definition(
        "v1beta1",
        "old",
        json!({"podSpecPath": "a", "revisionLabel": "b"}),
    );
    let without = definition("v1beta1", "old", json!({"podSpecPath": "c"}));
    kinds.apply(&namespace, "author", &with).await?;
    let label = json!({"metadata": {"labels": {"a": "b"}}});
    assert_eq!(kinds.patch("v2beta1", &namespace, "old", &label).await?.code, 200);
    let applied = kinds.apply(&namespace, "author", &without).await?;
    assert_eq!(
        (applied.code, &applied.body["spec"]),
        (200, &without["spec"]),
        "{applied:?}"
    );
    assert_eq!(applied.body["metadata"]["labels"], label["metadata"]["labels"]);
    Ok(())
}

#[tokio::test]
async fn tables_answer_the_first_question() -> Result<()> {
    let kinds = Kinds::start().await?;
    let namespace = kinds.cluster.namespace("kinds").await?;
    let object = |kind: &str, spec: Value| {
        json!({"apiVersion": "core.oam.dev/v1beta1", "kind": kind, "metadata": {"name": "one", "labels":
            {"app.oam.dev/name": "shop", "app.oam.dev/app-revision-hash": "0f1e2d3c4b5a"}}, "spec": spec})
    };
    let revision = json!({"definitionName": "web", "version": "1.2.3", "revision": 7, "revisionHash": "0f1e2d3c4b5a",
        "digest": "sha256:0f1e2d3c4b5a", "definitionType": "Component"});
    let definition_status =
        json!({"highestVersion": "1.2.3", "versionSummary": "1.2.3, 1.2.2", "consumers": 2});
    let cases = [
        (
            object("ComponentDefinition", json!({})),
            definition_status.clone(),
            json!([
                ["Name", "Version", "Versions", "Consumers"],
                ["one", "1.2.3", "1.2.3, 1.2.2", 2]
            ]),
        ),
        (
            object("WorkflowStepDefinition", json!({})),
            definition_status,
            json!([
                ["Name", "Version", "Versions", "Consumers"],
                ["one", "1.2.3", "1.2.3, 1.2.2", 2]
            ]),
        ),
        (
            object("DefinitionRevision", revision),
            json!({"inUseBy": "default/shop"}),
            json!([
                ["Name", "Definition", "Version", "Revision", "Digest", "In Use By"],
                ["one", "web", "1.2.3", 7, "0f1e2d3c4b5a", "default/shop"]
            ]),
        ),
        (
            object("Application", json!({"components": []})),
            json!({
                "status": "running", "healthy": "2/2", "resolved": "web=webservice@1.2.3, db=postgres@4.5.6",
                "conditions": [{"type": "Ready", "status": "True", "reason": "Available", "lastTransitionTime": "2026-01-02T03:04:05Z"}],
            }),
            json!([
                ["Name", "Ready", "Reason", "Healthy", "Components"],
                [
                    "one",
                    "True",
                    "Available",
                    "2/2",
                    "web=webservice@1.2.3, db=postgres@4.5.6"
                ]
            ]),
        ),
        (
            object("ApplicationRevision", json!({"revision": 3})),
            json!({"succeeded": true}),
            json!([
                ["Name", "Application", "Revision", "Digest"],
                ["one", "shop", 3, "0f1e2d3c4b5a"]
            ]),
        ),
    ];
    for (object, status, expected) in cases {
        assert_eq!(kinds.create(&namespace, &object).await?.code, 201);
        let plural = format!("{}s", object["kind"].as_str().unwrap_or_default().to_lowercase());
        let path = format!("/apis/core.oam.dev/v1beta1/namespaces/{namespace}/{plural}/one/status");
        let patched = kinds
            .raw
            .patch("merge", &path, &json!({"status": status}))
            .await?;
        assert_eq!(patched.code, 200, "{patched:?}");
        assert_eq!(
            json!(kinds.table("v1beta1", &namespace, &plural).await?),
            expected
        );
        if plural.ends_with("definitions") {
            assert_eq!(
                json!(kinds.table("v2beta1", &namespace, &plural).await?),
                expected
            );
        }
    }
    Ok(())
}
