//! `DefaultStorageClass`: a claim without a StorageClass gets the default one.

use cambium_builtin::AdmissionPlugin;
use serde_json::{Value, json};

use super::{Attributes, Operation};
use crate::object;
use crate::server::Server;

/// Annotations that mark the default class: the current one and the beta one.
const DEFAULT: [&str; 2] = [
    "storageclass.kubernetes.io/is-default-class",
    "storageclass.beta.kubernetes.io/is-default-class",
];

/// Sets the default StorageClass on a new claim.
pub(super) fn fill_in(server: &Server, attributes: &Attributes<'_>, claim: &mut Value) {
    let concerned = attributes.concerns(AdmissionPlugin::DefaultStorageClass)
        && attributes.subresource.is_empty()
        && attributes.operation == Operation::Create;
    if !concerned || asks_for_class(claim) {
        return;
    }
    let entries = server
        .store
        .bucket(&"storage.k8s.io/storageclasses".into())
        .list("")
        .0;
    let classes: Vec<Value> = entries.iter().map(|entry| entry.value()).collect();
    if let Some(name) = default_of(&classes) {
        claim["spec"]["storageClassName"] = json!(name);
    }
}

/// Whether the claim sets a class; an explicit empty one asks for none.
fn asks_for_class(claim: &Value) -> bool {
    object::annotation(claim, "volume.beta.kubernetes.io/storage-class").is_some()
        || object::at(claim, "spec.storageClassName").is_some_and(|name| !name.is_null())
}

/// The newest default class; of those created in the same second, the first by name, as upstream.
fn default_of(classes: &[Value]) -> Option<&str> {
    let defaults = classes.iter().filter(|class| {
        DEFAULT
            .iter()
            .any(|name| object::annotation(class, name) == Some("true"))
    });
    defaults
        .min_by(|one, other| {
            let created = |class| object::meta_text(class, "creationTimestamp");
            created(*other)
                .cmp(created(*one))
                .then_with(|| object::name(one).cmp(object::name(other)))
        })
        .map(object::name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_default_is_taken() {
        let class = |name: &str, created: &str, default: &str| json!({"metadata": {"name": name, "creationTimestamp": created, "annotations": {DEFAULT[0]: default}}});
        let classes = [
            class("old", "2024-01-01T00:00:00Z", "true"),
            class("new-b", "2025-01-01T00:00:00Z", "true"),
            class("new-a", "2025-01-01T00:00:00Z", "true"),
            class("newest", "2026-01-01T00:00:00Z", "false"),
        ];
        assert_eq!(default_of(&classes), Some("new-a"));
        assert_eq!(default_of(&classes[3..]), None);
        assert!(asks_for_class(&json!({"spec": {"storageClassName": ""}})));
        assert!(!asks_for_class(&json!({"spec": {}})));
    }
}
