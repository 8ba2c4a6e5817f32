//! Where composite resources keep what belongs to composition.

use cambium_api::crossplane::{CompositeDeletePolicy, Scope, UpdatePolicy};
use cambium_compositions::{
    ClaimReference, Field, Layout, ResourceReference, SecretReference, composite_of, delete_policy,
};
use serde_json::{Value, json};

const BOTH: [Layout; 2] = [Layout::Legacy, Layout::V2];

/// A composite resource with everything in it.
fn composite(layout: Layout) -> Value {
    layout.patch([
        (Field::CompositionRef, json!({"name": "small"})),
        (Field::CompositionSelector, json!({"matchLabels": {"size": "s"}})),
        (Field::RevisionRef, json!({"name": "small-1234567"})),
        (Field::RevisionSelector, json!({"matchLabels": {}})),
        (Field::UpdatePolicy, json!("Manual")),
        (
            Field::ResourceRefs,
            json!([
                {"apiVersion": "v1", "kind": "ConfigMap", "name": "a", "namespace": "n"},
                {"apiVersion": "v1", "kind": "Secret"},
                {"name": "of no kind"},
            ]),
        ),
        (
            Field::ClaimRef,
            json!({"apiVersion": "w/v1", "kind": "Lake", "namespace": "n", "name": "c"}),
        ),
        (Field::ConnectionSecretRef, json!({"name": "s", "namespace": "n"})),
    ])
}

#[test]
fn the_scope_gives_the_layout() {
    let layouts = [Scope::LegacyCluster, Scope::Cluster, Scope::Namespaced].map(Layout::of);
    assert_eq!(layouts, [Layout::Legacy, Layout::V2, Layout::V2]);
}

#[test]
fn what_was_written_is_read() {
    for layout in BOTH {
        let composite = composite(layout);
        assert_eq!(layout.composition_ref(&composite), Some("small"));
        let selector = layout.composition_selector(&composite);
        assert_eq!(selector, Some([("size", "s")].into()));
        assert_eq!(layout.revision_ref(&composite), Some("small-1234567"));
        let selector = layout.revision_selector(&composite);
        assert_eq!(
            selector,
            Some([].into()),
            "a selector without labels selects everything"
        );
        assert_eq!(layout.update_policy(&composite), Some(UpdatePolicy::Manual));
        let named = ResourceReference {
            api_version: "v1",
            kind: "ConfigMap",
            name: Some("a"),
            namespace: Some("n"),
        };
        let unnamed = ResourceReference {
            kind: "Secret",
            name: None,
            namespace: None,
            ..named
        };
        assert_eq!(layout.resource_refs(&composite), [named, unnamed]);
    }
}

#[test]
fn claims_and_connection_secrets_are_legacy() {
    let legacy = composite(Layout::Legacy);
    let claim = ClaimReference {
        api_version: "w/v1",
        kind: "Lake",
        namespace: "n",
        name: "c",
    };
    assert_eq!(Layout::Legacy.claim_ref(&legacy), Some(claim));
    let secret = SecretReference {
        name: "s",
        namespace: Some("n"),
    };
    assert_eq!(Layout::Legacy.connection_secret_ref(&legacy), Some(secret));
    let smuggled = json!({"spec": {"crossplane": legacy["spec"]}});
    assert_eq!(Layout::V2.claim_ref(&smuggled), None);
    assert_eq!(Layout::V2.connection_secret_ref(&smuggled), None);
    let written = composite(Layout::V2);
    assert_eq!(written.pointer("/spec/crossplane/claimRef"), None);
    assert_eq!(
        written.pointer("/spec/crossplane/writeConnectionSecretToRef"),
        None
    );
}

#[test]
fn one_layout_does_not_read_the_other() {
    let [legacy, nested] = BOTH.map(composite);
    assert_eq!(Layout::V2.composition_ref(&legacy), None);
    assert_eq!(Layout::Legacy.composition_ref(&nested), None);
    assert_eq!(Layout::V2.resource_refs(&legacy), []);
}

#[test]
fn what_is_missing_null_or_misshapen_is_absent() {
    for layout in BOTH {
        let odd = layout.patch([
            (Field::CompositionRef, json!({"name": ""})),
            (Field::RevisionRef, json!(null)),
            (Field::CompositionSelector, json!({"matchLabels": "x"})),
            (Field::UpdatePolicy, json!("Sometimes")),
            (Field::ResourceRefs, json!({})),
        ]);
        for object in [
            odd,
            json!({}),
            json!({"spec": {}}),
            json!({"spec": {"crossplane": null}}),
            Value::Null,
        ] {
            assert_eq!(layout.composition_ref(&object), None);
            assert_eq!(layout.revision_ref(&object), None);
            assert_eq!(layout.get(&object, Field::RevisionRef), None);
            assert_eq!(layout.composition_selector(&object), None);
            assert_eq!(layout.revision_selector(&object), None);
            assert_eq!(layout.update_policy(&object), None);
            assert_eq!(layout.resource_refs(&object), []);
            assert_eq!(layout.policy_in_force(&object), None);
        }
    }
}

#[test]
fn a_patch_nests_and_can_take_away() {
    let fields = [
        (Field::RevisionRef, json!({"name": "a"})),
        (Field::CompositionRef, Value::Null),
    ];
    let machinery = json!({"compositionRevisionRef": {"name": "a"}, "compositionRef": null});
    assert_eq!(Layout::Legacy.patch(fields.clone()), json!({"spec": machinery}));
    assert_eq!(
        Layout::V2.patch(fields),
        json!({"spec": {"crossplane": machinery}})
    );
}

#[test]
fn the_policy_in_force_is_in_the_status() {
    for (layout, path) in [
        (Layout::Legacy, "/status/compositionUpdatePolicy"),
        (Layout::V2, "/status/crossplane/compositionUpdatePolicy"),
    ] {
        let patch = layout.policy_patch(UpdatePolicy::Manual);
        assert_eq!(patch.pointer(path), Some(&json!("Manual")));
        assert_eq!(layout.policy_in_force(&patch), Some(UpdatePolicy::Manual));
    }
}

#[test]
fn a_claim_names_its_composite_resource() {
    let reference = json!({"apiVersion": "w/v1", "kind": "XLake", "name": "x"});
    let claim = json!({"spec": {"resourceRef": reference, "compositeDeletePolicy": "Foreground",
        "writeConnectionSecretToRef": {"name": "s"}}});
    let composite = ResourceReference {
        api_version: "w/v1",
        kind: "XLake",
        name: Some("x"),
        namespace: None,
    };
    assert_eq!(composite_of(&claim), Some(composite));
    assert_eq!(delete_policy(&claim), Some(CompositeDeletePolicy::Foreground));
    let secret = SecretReference {
        name: "s",
        namespace: None,
    };
    assert_eq!(Layout::Legacy.connection_secret_ref(&claim), Some(secret));
    assert_eq!(
        (composite_of(&json!({})), delete_policy(&json!({}))),
        (None, None)
    );
}
