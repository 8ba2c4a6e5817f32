//! The Crossplane kinds on a cluster: validation, and the CRDs that definitions define.

mod manifest;

use anyhow::Result;
use cambium_api::crossplane::{
    CompositeResourceDefinition, CompositionRevision, CompositionRevisionSpec, CompositionSpec,
};
use cambium_compositions::definition::{Definition, claim_crd, composite_crd, read};
use manifest::{Kinds, manifests, text};
use serde_json::{Value, json};

#[tokio::test]
async fn every_kind_is_established_under_its_names() -> Result<()> {
    let kinds = Kinds::start().await?;
    let expected = [
        (
            "apiextensions.crossplane.io/v1",
            "compositeresourcedefinitions",
            json!(["xrd", "xrds"]),
        ),
        (
            "apiextensions.crossplane.io/v2",
            "compositeresourcedefinitions",
            json!(["xrd", "xrds"]),
        ),
        ("apiextensions.crossplane.io/v1", "compositions", json!(["comp"])),
        (
            "apiextensions.crossplane.io/v1",
            "compositionrevisions",
            json!(["comprev"]),
        ),
        ("pkg.crossplane.io/v1", "functions", Value::Null),
        ("pkg.crossplane.io/v1beta1", "functions", Value::Null),
    ];
    for (version, plural, short) in expected {
        let list = kinds.raw.get(&format!("/apis/{version}")).await?.body;
        let resources = list["resources"].as_array().cloned().unwrap_or_default();
        let found = |name: &str| resources.iter().find(|one| one["name"] == name).cloned();
        let one = found(plural).unwrap();
        assert_eq!(
            (&one["namespaced"], &one["shortNames"], &one["categories"][0]),
            (&json!(false), &short, &json!("crossplane")),
            "{version} {plural}"
        );
        assert!(found(&format!("{plural}/status")).is_some(), "{version} {plural}");
    }
    Ok(())
}

#[tokio::test]
async fn manifests_for_either_version_of_crossplane_apply_as_they_are() -> Result<()> {
    let kinds = Kinds::start().await?;
    for file in ["v1.yaml", "v2.yaml"] {
        for manifest in manifests(file)? {
            let made = kinds.create(&manifest).await?;
            let who = format!("{file} {} {}", manifest["kind"], manifest["metadata"]["name"]);
            assert_eq!((made.code, made.message()), (201, ""), "{who}");
            let mut read = kinds.get(&manifest).await?["spec"].take();
            if manifest["kind"] == "CompositeResourceDefinition" {
                // The three that have a default.
                let defaults = [
                    "scope",
                    "defaultCompositionUpdatePolicy",
                    "defaultCompositeDeletePolicy",
                ];
                let spec = read.as_object_mut().unwrap();
                spec.retain(|name, _| {
                    !defaults.contains(&name.as_str()) || manifest["spec"].get(name).is_some()
                });
            }
            assert_eq!(read, manifest["spec"], "{who}");
        }
    }
    Ok(())
}

#[tokio::test]
async fn the_version_that_a_definition_is_written_at_decides_its_scope_once() -> Result<()> {
    let kinds = Kinds::start().await?;
    for (version, plural, scope) in [("v1", "xscopes", "LegacyCluster"), ("v2", "scopes", "Namespaced")] {
        let object = definition(version, plural);
        assert_eq!(kinds.create(&object).await?.code, 201);
        for read_at in ["v1", "v2"] {
            let read = kinds.get(&at(&object, read_at)).await?;
            assert_eq!(
                read["spec"]["scope"], scope,
                "written at {version}, read at {read_at}"
            );
        }
        let edit = json!({"spec": {"scope": "Cluster"}});
        let refused = kinds.merge(&object, &edit).await?;
        assert_eq!(refused.code, 422);
        assert!(
            refused.message().contains("spec.scope") && refused.message().contains("Value is immutable"),
            "{}",
            refused.message()
        );
        let other = if version == "v1" { "v2" } else { "v1" };
        let label = json!({"metadata": {"labels": {"edited": "elsewhere"}}});
        assert_eq!(kinds.merge(&at(&object, other), &label).await?.code, 200);
        assert_eq!(kinds.get(&object).await?["spec"]["scope"], scope);
    }
    Ok(())
}

#[tokio::test]
async fn bad_definitions_are_refused_with_the_path_of_the_field() -> Result<()> {
    let kinds = Kinds::start().await?;
    let claim = json!({"kind": "Bad", "plural": "bads"});
    let one = |referenceable: bool| json!({"name": "v1", "served": true, "referenceable": referenceable});
    let table = [
        (
            "/metadata/name",
            json!("bad"),
            "metadata.name must be <spec.names.plural>.<spec.group>",
        ),
        ("/spec/group", Value::Null, "spec.group: Required value"),
        ("/spec/names/kind", json!(1), "spec.names.kind"),
        ("/spec/names/singular", json!("XBad"), "spec.names.singular"),
        (
            "/spec/scope",
            json!("World"),
            "spec.scope: Unsupported value: \"World\"",
        ),
        (
            "/spec/defaultCompositionUpdatePolicy",
            json!("Never"),
            "spec.defaultCompositionUpdatePolicy: Unsupported value",
        ),
        (
            "/spec/enforceCompositionUpdatePolicy",
            json!("Never"),
            "spec.enforceCompositionUpdatePolicy: Unsupported value",
        ),
        (
            "/spec/defaultCompositeDeletePolicy",
            json!("Never"),
            "spec.defaultCompositeDeletePolicy: Unsupported value",
        ),
        (
            "/spec/defaultCompositionRef",
            json!({}),
            "spec.defaultCompositionRef.name: Required value",
        ),
        (
            "/spec/versions",
            json!([one(false)]),
            "exactly one version must be referenceable",
        ),
        (
            "/spec/versions",
            json!([one(true), one(true)]),
            "exactly one version must be referenceable",
        ),
        (
            "/spec/versions",
            json!([{"name": "v1"}]),
            "spec.versions[0].referenceable: Required value",
        ),
        (
            "/spec/conversion",
            json!({"strategy": "Webhook"}),
            "Webhook configuration is required",
        ),
        (
            "/spec/claimNames",
            claim,
            "Only LegacyCluster composite resources can offer claims",
        ),
        (
            "/spec/connectionSecretKeys",
            json!(["a"]),
            "Only LegacyCluster composite resources support connection secrets",
        ),
    ];
    for (path, value, expected) in table {
        let refused = kinds
            .create(&with(definition("v2", "xbads"), path, value))
            .await?;
        assert_eq!(refused.code, 422, "{path} {refused:?}");
        assert!(
            refused.message().contains(expected),
            "{path}: {}",
            refused.message()
        );
    }
    Ok(())
}

#[tokio::test]
async fn bad_compositions_are_refused_with_the_path_of_the_field() -> Result<()> {
    let kinds = Kinds::start().await?;
    let step = json!({"step": "a", "functionRef": {"name": "f"}});
    let many: Vec<Value> = (0..100)
        .map(|at| json!({"step": format!("s{at}"), "functionRef": {"name": "f"}}))
        .collect();
    let credential = json!({"step": "a", "functionRef": {"name": "f"}, "credentials": [{"name": "c", "source": "Secret"}]});
    let required = json!({"requirementName": "r", "apiVersion": "v1", "kind": "K", "name": "n", "matchLabels": {"a": "b"}});
    let required =
        json!({"step": "a", "functionRef": {"name": "f"}, "requirements": {"requiredResources": [required]}});
    let base = json!({"apiVersion": "v1", "kind": "K"});
    let patched = |patch: Value| json!([{"base": base, "patches": [patch]}]);
    let transformed = |transform: Value| patched(json!({"transforms": [transform]}));
    let table = [
        (
            "compositeTypeRef",
            json!({"kind": "X"}),
            "spec.compositeTypeRef.apiVersion: Required value",
        ),
        ("mode", json!("Magic"), "spec.mode: Unsupported value: \"Magic\""),
        (
            "mode",
            json!("Pipeline"),
            "an array of pipeline steps is required in Pipeline mode",
        ),
        ("pipeline", json!([]), "spec.pipeline: Invalid value"),
        (
            "pipeline",
            json!([step, step]),
            "spec.pipeline[1]: Duplicate value",
        ),
        (
            "pipeline",
            json!(many),
            "spec.pipeline: Too many: 100: must have at most 99 items",
        ),
        (
            "pipeline",
            json!([{"step": "a"}]),
            "spec.pipeline[0].functionRef: Required value",
        ),
        (
            "pipeline",
            json!([credential]),
            "the Secret source requires a secretRef",
        ),
        (
            "pipeline",
            json!([required]),
            "name and matchLabels are mutually exclusive",
        ),
        (
            "resources",
            json!([{"name": "a"}]),
            "spec.resources[0].base: Required value",
        ),
        (
            "resources",
            json!([{"base": {"kind": "K"}}]),
            "spec.resources[0].base.apiVersion: Required value",
        ),
        (
            "resources",
            patched(json!({"type": "Magic"})),
            "spec.resources[0].patches[0].type: Unsupported value",
        ),
        (
            "resources",
            transformed(json!({"type": "magic"})),
            "spec.resources[0].patches[0].transforms[0].type: Unsupported value",
        ),
        (
            "resources",
            transformed(json!({"type": "math", "math": {"multiply": "2"}})),
            "spec.resources[0].patches[0].transforms[0].math.multiply",
        ),
        (
            "resources",
            json!([{"base": base, "readinessChecks": [{"type": "Maybe"}]}]),
            "spec.resources[0].readinessChecks[0].type: Unsupported value",
        ),
        (
            "patchSets",
            json!([{"name": "a"}]),
            "spec.patchSets[0].patches: Required value",
        ),
    ];
    for (field, value, expected) in table {
        let refused = kinds
            .create(&with(composition("bad"), &format!("/spec/{field}"), value))
            .await?;
        assert_eq!(refused.code, 422, "{field} {refused:?}");
        assert!(
            refused.message().contains(expected),
            "{field}: {}",
            refused.message()
        );
    }
    Ok(())
}

#[tokio::test]
async fn what_cannot_change_is_refused() -> Result<()> {
    let kinds = Kinds::start().await?;
    let object = with(
        definition("v1", "xfirms"),
        "/spec/enforcedCompositionRef",
        json!({"name": "a"}),
    );
    let object = with(
        object,
        "/spec/claimNames",
        json!({"kind": "Firm", "plural": "firms"}),
    );
    assert_eq!(kinds.create(&object).await?.code, 201);
    for (field, value) in [
        ("enforcedCompositionRef", json!({"name": "b"})),
        ("claimNames", json!({"plural": "others"})),
        ("names", json!({"kind": "XOther"})),
    ] {
        let refused = kinds.merge(&object, &json!({"spec": {field: value}})).await?;
        let message = refused.message();
        assert_eq!(refused.code, 422, "{field}");
        let place = format!("spec.{field}");
        assert!(
            message.contains(&place) && message.contains("Value is immutable"),
            "{message}"
        );
    }
    let object = composition("firm");
    assert_eq!(kinds.create(&object).await?.code, 201);
    let edit = json!({"spec": {"compositeTypeRef": {"kind": "Other"}}});
    let refused = kinds.merge(&object, &edit).await?;
    assert_eq!(refused.code, 422);
    assert!(
        refused.message().contains("spec.compositeTypeRef"),
        "{}",
        refused.message()
    );
    Ok(())
}

#[tokio::test]
async fn a_revision_is_the_spec_of_its_composition_and_a_number() -> Result<()> {
    let kinds = Kinds::start().await?;
    let mut number = 0;
    for file in ["v1.yaml", "v2.yaml"] {
        let all = manifests(file)?;
        let mut compositions = all.into_iter().filter(|one| one["kind"] == "Composition");
        let mut composition = compositions.next().unwrap();
        composition["spec"]["unknown"] = json!({"kept": [1, null, 2.5]});
        let spec: CompositionSpec = serde_json::from_value(composition["spec"].clone())?;
        number += 1;
        let revision = CompositionRevision::new(
            &format!("rev-{number}"),
            CompositionRevisionSpec::of(&spec, number),
        );
        let made = kinds.create(&serde_json::to_value(&revision)?).await?;
        assert_eq!(made.code, 201, "{made:?}");
        let read: CompositionRevision = serde_json::from_value(kinds.get(&json!(revision)).await?)?;
        assert_eq!(read.spec.revision(), Some(number));
        assert_eq!(json!(read.spec.composition()), composition["spec"]);
        let renumber = kinds
            .merge(&json!(revision), &json!({"spec": {"revision": 9}}))
            .await?;
        assert_eq!(renumber.code, 200, "{renumber:?}");
    }
    Ok(())
}

#[tokio::test]
async fn kubectl_get_answers_the_questions_that_people_have() -> Result<()> {
    let kinds = Kinds::start().await?;
    let object = definition("v2", "shown");
    kinds.create(&object).await?;
    let row = kinds.row(&object).await?;
    let headings: Vec<&str> = row.iter().map(|(heading, _)| heading.as_str()).collect();
    assert_eq!(headings, ["Name", "ESTABLISHED", "OFFERED"]);

    let object = composition("shown");
    kinds.create(&object).await?;
    let row = kinds.row(&object).await?;
    assert_eq!(
        row[1..3],
        [
            ("XR-KIND".to_owned(), json!("XLake")),
            ("XR-APIVERSION".to_owned(), json!("water.example.org/v1")),
        ]
    );

    let mut revision = with(composition("shown-1"), "/kind", json!("CompositionRevision"));
    revision["spec"]["revision"] = json!(7);
    revision["metadata"]["labels"] = json!({"crossplane.io/composition-name": "shown"});
    kinds.create(&revision).await?;
    let path = "/apis/apiextensions.crossplane.io/v1/compositionrevisions/shown-1/status";
    let status = json!({"status": {"current": true, "consumers": 2, "inUseBy": "XLake/a, XLake/b"}});
    assert_eq!(kinds.raw.patch("merge", path, &status).await?.code, 200);
    let row = kinds.row(&revision).await?;
    let expected = [
        ("Name", json!("shown-1")),
        ("REVISION", json!("7")),
        ("COMPOSITION", json!("shown")),
        ("XR-KIND", json!("XLake")),
        ("CURRENT", json!(true)),
        ("IN-USE-BY", json!("XLake/a, XLake/b")),
        ("XR-APIVERSION (wide)", json!("water.example.org/v1")),
        ("UNUSED-SINCE (wide)", Value::Null),
    ];
    assert_eq!(row, expected.map(|(heading, cell)| (heading.to_owned(), cell)));
    Ok(())
}

#[tokio::test]
async fn a_legacy_definition_becomes_an_xr_and_a_claim() -> Result<()> {
    let kinds = Kinds::start().await?;
    let namespace = kinds.cluster.namespace("claims").await?;
    let definition = meaning("v1.yaml");
    kinds.install(&composite_crd(&definition)).await?;
    kinds.install(&claim_crd(&definition).unwrap()).await?;

    let composite = json!({"apiVersion": "water.example.org/v1", "kind": "XLake", "metadata": {"name": "deep"}, "spec": {
        "depth": 3, "compositionRef": {"name": "lakes-small"}, "compositionRevisionRef": {"name": "lakes-small-1"},
        "resourceRefs": [{"apiVersion": "v1", "kind": "ConfigMap", "name": "a", "namespace": "b"}],
        "claimRef": {"apiVersion": "water.example.org/v1", "kind": "Lake", "namespace": "n", "name": "deep"},
        "writeConnectionSecretToRef": {"name": "s", "namespace": "n"}}});
    let made = kinds.create(&composite).await?;
    assert_eq!((made.code, made.message()), (201, ""));
    assert_eq!(
        made.body["spec"]["compositionUpdatePolicy"], "Manual",
        "the default"
    );
    let row = kinds.row(&composite).await?;
    let headings: Vec<&str> = row.iter().map(|(heading, _)| heading.as_str()).collect();
    let expected = [
        "Name",
        "DEPTH",
        "SYNCED",
        "READY",
        "COMPOSITION",
        "COMPOSITIONREVISION (wide)",
    ];
    assert_eq!(headings, expected);
    assert_eq!(
        (&row[4].1, &row[5].1),
        (&json!("lakes-small"), &json!("lakes-small-1"))
    );

    let claim = json!({"apiVersion": "water.example.org/v1", "kind": "Lake", "metadata": {"name": "deep", "namespace": namespace},
        "spec": {"depth": 3, "compositionSelector": {"matchLabels": {"size": "small"}}, "writeConnectionSecretToRef": {"name": "s"},
            "resourceRef": {"apiVersion": "water.example.org/v1", "kind": "XLake", "name": "deep"}}});
    let made = kinds.create(&claim).await?;
    assert_eq!((made.code, made.message()), (201, ""));
    assert_eq!(
        made.body["spec"]["compositeDeletePolicy"], "Foreground",
        "the default"
    );
    assert_eq!(made.body["spec"].get("compositionUpdatePolicy"), None);
    let row = kinds.row(&claim).await?;
    let headings: Vec<&str> = row.iter().map(|(heading, _)| heading.as_str()).collect();
    assert_eq!(
        headings,
        ["Name", "DEPTH", "SYNCED", "READY", "CONNECTION-SECRET"]
    );

    let path = format!("/apis/water.example.org/v1/namespaces/{namespace}/lakes/deep/status");
    let condition = json!({"type": "Ready", "status": "True", "reason": "Available", "lastTransitionTime": "2026-01-01T00:00:00Z"});
    let status = json!({"status": {"conditions": [condition], "level": 2, "compositionUpdatePolicy": "Manual", "unknown": 1}});
    let written = kinds.raw.patch("merge", &path, &status).await?.body;
    assert_eq!(written["status"]["compositionUpdatePolicy"], "Manual");
    assert_eq!(
        (&written["status"]["level"], written["status"].get("unknown")),
        (&json!(2), None)
    );
    assert_eq!(kinds.row(&claim).await?[3].1, "True");
    Ok(())
}

#[tokio::test]
async fn a_namespaced_definition_becomes_an_xr_with_its_machinery_apart() -> Result<()> {
    let kinds = Kinds::start().await?;
    let namespace = kinds.cluster.namespace("ponds").await?;
    let definition = meaning("v2.yaml");
    assert!(claim_crd(&definition).is_none());
    kinds.install(&composite_crd(&definition)).await?;
    let named = |name: &str, crossplane: Value| {
        json!({"apiVersion": "water.example.org/v1", "kind": "Pond", "metadata": {"name": name, "namespace": namespace},
            "spec": {"fish": 2, "crossplane": crossplane}})
    };
    let composite = named("green", json!({"compositionRef": {"name": "ponds"}}));
    let made = kinds.create(&composite).await?;
    assert_eq!((made.code, made.message()), (201, ""));
    let machinery = json!({"compositionRef": {"name": "ponds"}, "compositionUpdatePolicy": "Automatic"});
    assert_eq!(made.body["spec"]["crossplane"], machinery);
    assert_eq!(
        kinds.row(&composite).await?[3],
        ("COMPOSITION".to_owned(), json!("ponds"))
    );
    let path = format!("/apis/water.example.org/v1/namespaces/{namespace}/ponds/green/scale");
    assert_eq!(kinds.raw.get(&path).await?.body["spec"]["replicas"], 2);

    let long = kinds.create(&named(&"a".repeat(64), json!({}))).await?;
    assert_eq!(long.code, 422, "{long:?}");
    assert!(long.message().contains("metadata.name"), "{}", long.message());
    let policy = kinds
        .create(&named("a", json!({"compositionUpdatePolicy": "Never"})))
        .await?;
    assert!(
        policy
            .message()
            .contains("spec.crossplane.compositionUpdatePolicy: Unsupported value"),
        "{}",
        policy.message()
    );
    let mut flat = named("b", json!({}));
    flat["spec"]["compositionRef"] = json!({"name": "ponds"});
    let refused = kinds.create(&flat).await?;
    assert_eq!(refused.code, 400, "the place of 1.x: {refused:?}");
    assert!(
        refused.message().contains("spec.compositionRef"),
        "{}",
        refused.message()
    );
    Ok(())
}

/// The definition in a manifest file, not stored yet.
fn meaning(file: &str) -> Definition {
    let manifest = manifests(file).unwrap().swap_remove(0);
    let source: CompositeResourceDefinition = serde_json::from_value(manifest).unwrap();
    read(&source).unwrap()
}

fn definition(version: &str, plural: &str) -> Value {
    json!({"apiVersion": format!("apiextensions.crossplane.io/{version}"), "kind": "CompositeResourceDefinition",
        "metadata": {"name": format!("{plural}.water.example.org")},
        "spec": {"group": "water.example.org", "names": {"kind": "Some", "plural": plural},
            "versions": [{"name": "v1", "served": true, "referenceable": true, "schema": {"openAPIV3Schema": {"type": "object"}}}]}})
}

fn composition(name: &str) -> Value {
    json!({"apiVersion": "apiextensions.crossplane.io/v1", "kind": "Composition", "metadata": {"name": name},
        "spec": {"compositeTypeRef": {"apiVersion": "water.example.org/v1", "kind": "XLake"}}})
}

/// The same object at another version.
fn at(object: &Value, version: &str) -> Value {
    let group = text(&object["apiVersion"]).split('/').next().unwrap();
    with(object.clone(), "/apiVersion", json!(format!("{group}/{version}")))
}

fn with(mut object: Value, path: &str, value: Value) -> Value {
    let (parent, field) = path.rsplit_once('/').unwrap();
    object.pointer_mut(parent).unwrap()[field] = value;
    object
}
