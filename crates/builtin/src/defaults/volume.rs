//! The sources of volumes.

use serde_json::{Map, Value};

use super::fields::{set, set_absent, text};
use super::pod::pull_policy;

pub(super) fn of_type(name: &str, fields: &mut Map<String, Value>) {
    match name {
        "Volume" if fields.keys().all(|field| field == "name") => {
            fields.insert("emptyDir".to_owned(), Map::new().into());
        }
        "ImageVolumeSource" => {
            let policy = pull_policy(text(fields, "reference"));
            set(fields, "pullPolicy", policy);
        }
        "SecretVolumeSource"
        | "ConfigMapVolumeSource"
        | "DownwardAPIVolumeSource"
        | "ProjectedVolumeSource" => {
            set_absent(fields, "defaultMode", 0o644);
        }
        "ServiceAccountTokenProjection" => set_absent(fields, "expirationSeconds", 3600),
        "HostPathVolumeSource" => set_absent(fields, "type", ""),
        "AzureDiskVolumeSource" => set_absent(fields, "readOnly", false),
        _ => {}
    }
}
