//! What admission costs a write of a composite resource's spec: `cargo bench -p cambium-compositions`.

#![expect(clippy::unwrap_used, reason = "a benchmark fails by panicking")]

use cambium_compositions::admission::{Pins, check_composite};
use cambium_compositions::definition::{Definition, read};
use cambium_compositions::revision::{LabelEdits, Stored};
use cambium_compositions::{Catalogue, Live};
use divan::{Bencher, black_box};
use serde_json::{Value, json};
use std::sync::Arc;

fn main() {
    divan::main();
}

fn definition() -> Definition {
    let object = json!({
        "apiVersion": "apiextensions.crossplane.io/v1", "kind": "CompositeResourceDefinition",
        "metadata": {"name": "xdatabases.example.org"},
        "spec": {
            "group": "example.org", "names": {"kind": "XDatabase", "plural": "xdatabases"},
            "enforceCompositionUpdatePolicy": "Manual",
            "versions": [{"name": "v1", "served": true, "referenceable": true, "schema": {"openAPIV3Schema": {
                "type": "object", "properties": {"spec": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}}}],
        },
    });
    read(&serde_json::from_value(object).unwrap()).unwrap()
}

/// A composition with this many revisions.
fn catalogue(revisions: u64) -> Catalogue {
    let mut catalogue = Catalogue::default();
    let spec = json!({"compositeTypeRef": {"apiVersion": "example.org/v1", "kind": "XDatabase"}, "mode": "Resources", "resources": []});
    let composition = json!({"metadata": {"name": "base", "uid": "base"}, "spec": spec});
    catalogue.declare("base", Some(Live::read(&composition)));
    for number in 1..=revisions {
        let mut spec = spec.clone();
        spec["revision"] = json!(number);
        let object = json!({
            "metadata": {"name": format!("base-{number}"), "labels": {"crossplane.io/composition-name": "base"},
                "ownerReferences": [{"apiVersion": "apiextensions.crossplane.io/v1", "kind": "Composition",
                    "name": "base", "uid": "base", "controller": true}]},
            "spec": spec,
        });
        catalogue.put(Arc::new(Stored::read(&object, LabelEdits::Follow).unwrap()));
    }
    catalogue
}

/// A composite resource of about three kilobytes that moves its pin.
fn composite(revision: &str) -> Value {
    let references: Vec<Value> = (0..10)
        .map(|number| json!({"apiVersion": "example.org/v1", "kind": "Instance", "name": format!("orders-{number}-0123456789ab")}))
        .collect();
    json!({
        "apiVersion": "example.org/v1", "kind": "XDatabase",
        "metadata": {"name": "orders", "uid": "0d5ac5a5-0000-4000-8000-000000000000", "resourceVersion": "1234", "generation": 7,
            "labels": {"crossplane.io/composite": "orders"}, "finalizers": ["composite.apiextensions.crossplane.io"]},
        "spec": {"parameters": {"storageGB": 20, "region": "eu-west-1", "tags": {"team": "shop", "stage": "live"}},
            "compositionRef": {"name": "base"}, "compositionRevisionRef": {"name": revision},
            "compositionUpdatePolicy": "Manual", "resourceRefs": references},
        "status": {"conditions": [
            {"type": "Synced", "status": "True", "reason": "ReconcileSuccess", "lastTransitionTime": "2030-01-01T00:00:00Z"},
            {"type": "Ready", "status": "True", "reason": "Available", "lastTransitionTime": "2030-01-01T00:00:00Z"}]},
    })
}

/// Deciding: the policy that is enforced, and a pin to another revision.
#[divan::bench(args = [1, 1000])]
fn decide(bencher: Bencher<'_, '_>, revisions: u64) {
    let (definition, catalogue) = (definition(), catalogue(revisions));
    let (old, new) = (composite("base-2"), composite("base-1"));
    bencher.bench_local(|| {
        let refused = check_composite(
            black_box(&definition),
            &catalogue,
            Pins::Checked,
            Some(&old),
            black_box(&new),
        );
        assert!(refused.is_empty());
    });
}

/// Reading both objects of a review, which nobody who is asked can do without.
#[divan::bench]
fn read_both(bencher: Bencher<'_, '_>) {
    let texts = [composite("base-2").to_string(), composite("base-1").to_string()];
    bencher.bench_local(|| {
        texts
            .iter()
            .map(|text| serde_json::from_str::<Value>(black_box(text)).unwrap())
            .filter(Value::is_object)
            .count()
    });
}
