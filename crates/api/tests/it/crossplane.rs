//! The kinds of compositions keep what they are given.

use cambium_api::crossplane::{
    CompositeResourceDefinition, Composition, CompositionRevision, CompositionRevisionSpec, CompositionSpec,
    Function, Mode, Scope, TypeReference, UpdatePolicy,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

fn round_trip<Kind: Serialize + DeserializeOwned>(object: &Value) {
    let read: Kind = serde_json::from_value(object.clone()).unwrap();
    assert_eq!(json!(read), *object);
}

#[test]
fn definitions_keep_fields_that_we_do_not_know() {
    let version = json!({"name": "v1", "served": true, "referenceable": true, "new": 1,
        "schema": {"openAPIV3Schema": {"type": "object", "x-new": true}, "new": 2}, "subresources": {"new": 3}});
    round_trip::<CompositeResourceDefinition>(&json!({
        "apiVersion": "apiextensions.crossplane.io/v1", "kind": "CompositeResourceDefinition",
        "metadata": {"name": "xlakes.water.example.org"},
        "spec": {
            "group": "water.example.org", "scope": "LegacyCluster", "new": {"a": null},
            "names": {"kind": "XLake", "plural": "xlakes", "new": 4},
            "claimNames": {"kind": "Lake", "plural": "lakes", "shortNames": []},
            "connectionSecretKeys": [], "enforceCompositionUpdatePolicy": "Manual",
            "defaultCompositionRevisionSelector": {"matchLabels": {"channel": "stable"}},
            "metadata": {"labels": {}, "new": 5},
            "versions": [version],
        },
        "status": {"new": 6, "controllers": {"compositeResourceType": {"apiVersion": "water.example.org/v1", "kind": "XLake"}}},
    }));
    round_trip::<Function>(&json!({
        "apiVersion": "pkg.crossplane.io/v1", "kind": "Function", "metadata": {"name": "f"},
        "spec": {"package": "registry.example.org/f:v1", "packagePullPolicy": "Always", "endpoint": "localhost:9443"},
    }));
}

/// What no struct in between could lose: empty lists, nulls, numbers of both kinds, unknown fields.
fn spec() -> Value {
    json!({
        "compositeTypeRef": {"apiVersion": "water.example.org/v1", "kind": "XLake", "new": true},
        "patchSets": [], "mode": "Resources", "new": [null, 1, 1.0, 0.1, 9_007_199_254_740_993_i64],
        "resources": [{"base": {"apiVersion": "v1", "kind": "ConfigMap", "data": {}}, "patches": []}],
    })
}

#[test]
fn a_revision_holds_the_spec_of_its_composition() {
    let composition = json!({"apiVersion": "apiextensions.crossplane.io/v1", "kind": "Composition",
        "metadata": {"name": "lakes"}, "spec": spec()});
    round_trip::<Composition>(&composition);
    let composition: Composition = serde_json::from_value(composition).unwrap();
    let revision = CompositionRevision::new("lakes-1", CompositionRevisionSpec::of(&composition.spec, 3));
    round_trip::<CompositionRevision>(&json!(revision));
    assert_eq!(json!(revision)["spec"]["revision"], 3);
    assert_eq!(revision.spec.revision(), Some(3));
    assert_eq!(revision.spec.composition(), composition.spec);
    assert_eq!(json!(revision.spec.composition()).to_string(), spec().to_string());
    let kind = TypeReference {
        api_version: "water.example.org/v1".into(),
        kind: "XLake".into(),
    };
    assert_eq!(revision.spec.composite_type(), Some(kind.clone()));
    assert_eq!(composition.spec.composite_type(), Some(kind));
}

#[test]
fn a_mode_that_is_not_given_is_what_is_there() {
    let table = [
        (json!({}), Some(Mode::Resources)),
        (json!({"resources": []}), Some(Mode::Resources)),
        (json!({"pipeline": []}), Some(Mode::Pipeline)),
        (json!({"pipeline": [], "resources": []}), Some(Mode::Resources)),
        (json!({"mode": "Pipeline", "resources": []}), Some(Mode::Pipeline)),
        (
            json!({"mode": "Resources", "pipeline": []}),
            Some(Mode::Resources),
        ),
        (json!({"mode": "Magic"}), None),
    ];
    for (spec, expected) in table {
        let spec: CompositionSpec = serde_json::from_value(spec).unwrap();
        assert_eq!(spec.mode(), expected, "{spec:?}");
        assert_eq!(CompositionRevisionSpec::of(&spec, 1).mode(), expected);
    }
}

#[test]
fn words_mean_what_they_say() {
    for policy in [UpdatePolicy::Automatic, UpdatePolicy::Manual] {
        assert_eq!(UpdatePolicy::of(policy.as_str()), Some(policy));
        assert_eq!(json!(policy), policy.as_str());
    }
    assert_eq!(UpdatePolicy::of("automatic"), None);
    assert_eq!(Scope::default_at("v1"), Scope::LegacyCluster);
    assert_eq!(Scope::default_at("v2"), Scope::Namespaced);
}
