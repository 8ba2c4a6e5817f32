//! Defaults of device requests (`resource.k8s.io`).

use serde_json::{Map, Value};

use super::fields::{set, set_zero, text};

pub(super) fn of_type(name: &str, fields: &mut Map<String, Value>) {
    if matches!(name, "ExactDeviceRequest" | "DeviceSubRequest") {
        set(fields, "allocationMode", "ExactCount");
        if text(fields, "allocationMode") == "ExactCount" {
            set_zero(fields, "count", 1);
        }
    }
}
