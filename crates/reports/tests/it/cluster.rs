//! Objects as a cluster has them.

use cambium_api::names::finalizer;
use cambium_reports::{Inventory, Unreadable};
use serde_json::{Value, json};

/// An inventory of these objects, with all composite resources seen.
pub(crate) fn inventory(objects: &[Value]) -> Inventory {
    let mut inventory = Inventory::default();
    for object in objects {
        inventory.put(object).unwrap();
    }
    inventory.compositions.set_seen(XRD);
    inventory
}

/// The name of [`platform`].
pub(crate) const XRD: &str = "xstores.example.org";

/// What defines XStores and their claims, Stores.
pub(crate) fn platform() -> Value {
    json!({
        "apiVersion": "apiextensions.crossplane.io/v1", "kind": "CompositeResourceDefinition",
        "metadata": {"name": XRD, "uid": "xrd"},
        "spec": {"group": "example.org", "names": {"kind": "XStore", "plural": "xstores"},
            "claimNames": {"kind": "Store", "plural": "stores"},
            "versions": [{"name": "v1", "served": true, "referenceable": true,
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": {"type": "object"}}}}}]},
    })
}

fn composition_spec(text: &str) -> Value {
    json!({
        "compositeTypeRef": {"apiVersion": "example.org/v1", "kind": "XStore"}, "mode": "Resources",
        "resources": [{"name": "place", "base": {"apiVersion": "v1", "kind": "ConfigMap", "data": {"text": text}}}],
    })
}

/// The Composition `stores`, with a text of its own.
pub(crate) fn composition(text: &str) -> Value {
    json!({
        "apiVersion": "apiextensions.crossplane.io/v1", "kind": "Composition",
        "metadata": {"name": "stores", "uid": "stores"}, "spec": composition_spec(text),
    })
}

/// A revision of it, issued a long time ago.
pub(crate) fn composition_revision(number: u64, text: &str) -> Value {
    let mut spec = composition_spec(text);
    spec["revision"] = json!(number);
    json!({
        "apiVersion": "apiextensions.crossplane.io/v1", "kind": "CompositionRevision",
        "metadata": {
            "name": format!("stores-{text}"), "uid": format!("stores-{text}"),
            "creationTimestamp": "2026-01-01T00:00:00Z", "labels": {"crossplane.io/composition-name": "stores"},
            "ownerReferences": [{"apiVersion": "apiextensions.crossplane.io/v1", "kind": "Composition", "name": "stores",
                "uid": "stores", "controller": true}],
        },
        "spec": spec,
    })
}

/// A claim that is pinned to a revision.
pub(crate) fn pinned_claim(name: &str, revision: &str) -> Value {
    json!({
        "apiVersion": "example.org/v1", "kind": "Store", "metadata": {"name": name, "namespace": "team"},
        "spec": {"compositionRef": {"name": "stores"}, "compositionUpdatePolicy": "Manual",
            "compositionRevisionRef": {"name": revision}},
    })
}

/// A composite resource that uses a revision and follows.
pub(crate) fn composite(name: &str, revision: &str) -> Value {
    json!({
        "apiVersion": "example.org/v1", "kind": "XStore", "metadata": {"name": name},
        "spec": {"compositionRef": {"name": "stores"}, "compositionRevisionRef": {"name": revision}},
    })
}

/// The ComponentDefinition `web` at a version.
pub(crate) fn definition(version: &str) -> Value {
    json!({
        "apiVersion": "core.oam.dev/v1beta1", "kind": "ComponentDefinition",
        "metadata": {"name": "web", "namespace": "team", "uid": "web"}, "spec": definition_spec(version),
    })
}

fn definition_spec(version: &str) -> Value {
    json!({
        "version": version, "workload": {"definition": {"apiVersion": "v1", "kind": "ConfigMap"}},
        "schematic": {"cue": {"template": format!(
            "output: {{apiVersion: \"v1\", kind: \"ConfigMap\", data: version: \"{version}\"}}\nparameter: {{}}\n"
        )}},
    })
}

/// A revision of it.
pub(crate) fn definition_revision(number: u64, version: &str) -> Value {
    json!({
        "apiVersion": "core.oam.dev/v1beta1", "kind": "DefinitionRevision",
        "metadata": {"name": format!("web-v{version}"), "namespace": "team", "uid": format!("web-v{version}"),
            "creationTimestamp": "2026-01-01T00:00:00Z", "finalizers": [finalizer::IN_USE]},
        "spec": {"revision": number, "version": version, "definitionType": "Component", "definitionName": "web",
            "componentDefinition": {"metadata": {"name": "web"}, "spec": definition_spec(version)}},
    })
}

/// The Application `shop`, which was applied as one of its revisions.
pub(crate) fn application(uid: &str, current: &str) -> Value {
    let condition = |type_: &str| json!({"type": type_, "status": "True", "reason": "Available", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"});
    let conditions = ["Resolved", "Rendered", "Applied"].map(condition);
    json!({
        "apiVersion": "core.oam.dev/v1beta1", "kind": "Application",
        "metadata": {"name": "shop", "namespace": "team", "uid": uid},
        "spec": {"components": [{"name": "front", "type": "web@1.0.0"}]},
        "status": {"latestRevision": {"name": current, "revision": 1, "revisionHash": ""},
            "conditions": conditions},
    })
}

/// A revision of `shop`, owned by the Application with this identity.
pub(crate) fn application_revision(number: u64, owner: &str) -> Value {
    json!({
        "apiVersion": "core.oam.dev/v1beta1", "kind": "ApplicationRevision",
        "metadata": {"name": format!("shop-v{number}"), "namespace": "team", "uid": format!("shop-v{number}"),
            "labels": {"app.oam.dev/name": "shop"},
            "ownerReferences": [{"apiVersion": "core.oam.dev/v1beta1", "kind": "Application", "name": "shop", "uid": owner}]},
        "spec": {"revision": number, "application": {"metadata": {"name": "shop", "namespace": "team"}, "spec": {"number": number}},
            "definitions": [{"type": "Component", "reference": "web@1.0.0", "namespace": "team", "revision": "web-v1.0.0",
                "version": "1.0.0", "digest": ""}]},
    })
}

/// Puts an object, or says why it is left out.
pub(crate) fn put(inventory: &mut Inventory, object: &Value) -> Result<(), Unreadable> {
    inventory.put(object)
}
