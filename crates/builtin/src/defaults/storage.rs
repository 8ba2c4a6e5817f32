//! Defaults of volumes, claims, StorageClasses, and PriorityClasses.

use serde_json::{Map, Value, json};

use super::fields::{is_empty, object, set, set_absent};

pub(super) fn of_type(name: &str, fields: &mut Map<String, Value>) {
    match name {
        "PersistentVolume" | "PersistentVolumeClaim" => {
            if let Some(status) = object(fields, "status") {
                set(status, "phase", "Pending");
            }
        }
        "PersistentVolumeSpec" => {
            set(fields, "persistentVolumeReclaimPolicy", "Retain");
            set_absent(fields, "volumeMode", "Filesystem");
        }
        "PersistentVolumeClaimSpec" => set_absent(fields, "volumeMode", "Filesystem"),
        "StorageClass" => {
            set_absent(fields, "reclaimPolicy", "Delete");
            set_absent(fields, "volumeBindingMode", "Immediate");
        }
        "CSIDriverSpec" => {
            set_absent(fields, "attachRequired", true);
            set_absent(fields, "fsGroupPolicy", "ReadWriteOnceWithFSType");
            for flag in [
                "podInfoOnMount",
                "storageCapacity",
                "requiresRepublish",
                "seLinuxMount",
            ] {
                set_absent(fields, flag, false);
            }
            if is_empty(fields, "volumeLifecycleModes") {
                fields.insert("volumeLifecycleModes".to_owned(), json!(["Persistent"]));
            }
        }
        "PriorityClass" => set_absent(fields, "preemptionPolicy", "PreemptLowerPriority"),
        _ => {}
    }
}
