//! Objects in a cluster: which one, whose, and whether it is as it should be.

use cambium_api::names::{FIELD_MANAGER, label};
use cambium_api::v1beta1::AppliedResource;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fmt;

/// How many characters a label's value may have.
pub(crate) const LONGEST_LABEL: usize = 63;

/// Which object.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Object {
    /// Group and version.
    pub api_version: String,
    /// The kind.
    pub kind: String,
    /// Its namespace; empty if its kind has none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub namespace: String,
    /// Its name.
    pub name: String,
}

impl Object {
    /// Which object a manifest is.
    pub fn of(manifest: &Value) -> Self {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let metadata = &manifest["metadata"];
        Self {
            api_version: text(&manifest["apiVersion"]),
            kind: text(&manifest["kind"]),
            namespace: text(&metadata["namespace"]),
            name: text(&metadata["name"]),
        }
    }

    /// The group of its kind.
    pub fn group(&self) -> &str {
        self.api_version.split_once('/').map_or("", |(group, _)| group)
    }

    /// Whether it is the same object, at whatever version it is read.
    pub fn is(&self, other: &Self) -> bool {
        (self.group(), &self.kind, &self.namespace, &self.name)
            == (other.group(), &other.kind, &other.namespace, &other.name)
    }
}

impl From<&AppliedResource> for Object {
    fn from(applied: &AppliedResource) -> Self {
        Self {
            api_version: applied.api_version.clone(),
            kind: applied.kind.clone(),
            namespace: applied.namespace.clone().unwrap_or_default(),
            name: applied.name.clone(),
        }
    }
}

impl fmt::Display for Object {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            kind,
            namespace,
            name,
            ..
        } = self;
        match namespace.is_empty() {
            true => write!(formatter, "{kind} {name}"),
            false => write!(formatter, "{kind} {namespace}/{name}"),
        }
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

/// Whether everything that is wanted is there. What others added is theirs.
pub fn is_within(wanted: &Value, live: &Value) -> bool {
    match (wanted, live) {
        (Value::Object(wanted), Value::Object(live)) => {
            wanted.iter().all(|(name, value)| match live.get(name) {
                Some(live) => is_within(value, live),
                None => value.is_null() || value.as_object().is_some_and(serde_json::Map::is_empty),
            })
        }
        (Value::Array(wanted), Value::Array(live)) => {
            wanted.len() == live.len()
                && wanted
                    .iter()
                    .zip(live)
                    .all(|(wanted, live)| is_within(wanted, live))
        }
        (Value::Number(wanted), Value::Number(live)) => {
            wanted == live
                || wanted
                    .as_f64()
                    .zip(live.as_f64())
                    .is_some_and(|(left, right)| left == right)
        }
        _ => wanted == live,
    }
}
