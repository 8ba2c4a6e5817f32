//! How long a composition takes to read and to render: `cargo bench -p cambium-compositions-render`.

use std::collections::BTreeMap;

use cambium_compositions_render::{Composition, desired};
use divan::Bencher;
use serde_json::{Value, json};

fn main() {
    divan::main();
}

/// Twenty resources with ten patches each, of the kinds that people write.
fn spec() -> Value {
    let patches = json!([
        {"fromFieldPath": "spec.parameters.region", "toFieldPath": "spec.forProvider.region"},
        {"fromFieldPath": "metadata.labels", "toFieldPath": "metadata.labels", "policy": {"mergeOptions": {"keepMapValues": true}}},
        {"fromFieldPath": "spec.parameters.size", "toFieldPath": "spec.forProvider.storage", "transforms": [
            {"type": "math", "math": {"multiply": 1024}}, {"type": "convert", "convert": {"toType": "string"}}]},
        {"fromFieldPath": "metadata.name", "toFieldPath": "spec.forProvider.name", "transforms": [{"type": "string", "string": {"fmt": "%s-db"}}]},
        {"fromFieldPath": "spec.parameters.tier", "toFieldPath": "spec.forProvider.class", "transforms": [
            {"type": "map", "map": {"small": "t3.small", "large": "m5.large"}}]},
        {"fromFieldPath": "spec.parameters.region", "toFieldPath": "spec.forProvider.zone", "transforms": [
            {"type": "match", "match": {"patterns": [{"type": "regexp", "regexp": "^eu-.*", "result": "eu-west-1a"}], "fallbackValue": "us-east-1a"}}]},
        {"type": "CombineFromComposite", "toFieldPath": "metadata.annotations['example.org/id']", "combine": {
            "variables": [{"fromFieldPath": "spec.parameters.region"}, {"fromFieldPath": "metadata.uid"}], "strategy": "string", "string": {"fmt": "%s-%s"}}},
        {"fromFieldPath": "spec.parameters.tags", "toFieldPath": "spec.forProvider.tags"},
        {"fromFieldPath": "spec.parameters.missing", "toFieldPath": "spec.forProvider.missing"},
        {"fromFieldPath": "spec.parameters.port", "toFieldPath": "spec.forProvider.rules[*].port"},
    ]);
    let resources: Vec<Value> = (0..20)
        .map(|number| {
            json!({
                "name": format!("resource-{number}"),
                "base": {"apiVersion": "example.org/v1", "kind": "Instance", "spec": {"forProvider": {
                    "engine": "postgres", "rules": [{"name": "a", "port": 0}, {"name": "b", "port": 0}], "backup": {"days": 7, "window": "03:00-04:00"}}}},
                "patches": patches,
            })
        })
        .collect();
    json!({"resources": resources})
}

fn composite() -> Value {
    json!({
        "apiVersion": "example.org/v1", "kind": "XDatabase",
        "metadata": {"name": "shop", "uid": "7b0c", "labels": {"crossplane.io/composite": "shop", "team": "a"}},
        "spec": {"parameters": {"region": "eu-west-1", "size": 20, "tier": "small", "port": 5432, "tags": {"a": "1", "b": "2", "c": "3"}}},
    })
}

#[divan::bench]
fn read_20_resources_with_200_patches(bencher: Bencher<'_, '_>) {
    let spec = spec();
    bencher.bench(|| Composition::read(&spec).expect("the spec is right"));
}

#[divan::bench]
fn render_20_resources_with_200_patches(bencher: Bencher<'_, '_>) {
    let composition = Composition::read(&spec()).expect("the spec is right");
    let composite = composite();
    let made = desired(&composition, &composite, &BTreeMap::new());
    let failed: Vec<_> = made
        .iter()
        .filter_map(|made| made.outcome.as_ref().err())
        .collect();
    assert!(failed.is_empty(), "{failed:?}");
    bencher.bench(|| desired(&composition, &composite, &BTreeMap::new()));
}
