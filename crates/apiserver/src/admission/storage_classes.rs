//! A claim that names no StorageClass gets the one that is everybody's default.

use cambium_builtin::AdmissionPlugin;
use serde_json::{Value, json};

use super::{Attributes, Operation};
use crate::object;
use crate::server::Server;

/// What makes a class the default, by its present and its former name.
const DEFAULT: [&str; 2] = [
    "storageclass.kubernetes.io/is-default-class",
    "storageclass.beta.kubernetes.io/is-default-class",
];

/// Gives a new claim its class.
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

/// No class is also a wish, if it is said.
fn asks_for_class(claim: &Value) -> bool {
    object::annotation(claim, "volume.beta.kubernetes.io/storage-class").is_some()
        || object::at(claim, "spec.storageClassName").is_some_and(|name| !name.is_null())
}

/// The newest default; of those made in the same second, the first by name.
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
