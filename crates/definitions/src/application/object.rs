//! The objects that an Application made, and how to tell its owner.

use cambium_api::names::{FIELD_MANAGER, label};
use cambium_api::v1beta1::AppliedResource;
use cambium_objects::Object;
use serde_json::Value;

/// The longest value that a label may have.
pub(crate) const LONGEST_LABEL: usize = 63;

/// Which object was applied.
pub(super) fn applied_object(applied: &AppliedResource) -> Object {
    Object {
        api_version: applied.api_version.clone(),
        kind: applied.kind.clone(),
        namespace: applied.namespace.clone().unwrap_or_default(),
        name: applied.name.clone(),
    }
}

/// Whether a live object was made by this application: its labels say so.
pub fn is_made_by(live: &Value, namespace: &str, application: &str) -> bool {
    let labels = &live["metadata"]["labels"];
    labels[label::APPLICATION] == application && labels[label::APPLICATION_NAMESPACE] == namespace
}

/// Whether we have applied a live object, as far as that can be seen: caches leave managed fields out.
pub(super) fn is_applied_by_us(live: &Value) -> bool {
    let managers = live["metadata"]["managedFields"].as_array();
    managers
        .into_iter()
        .flatten()
        .any(|entry| entry["manager"] == FIELD_MANAGER && entry["operation"] == "Apply")
}
