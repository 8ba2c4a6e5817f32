//! Objects of a cluster: identity, controller, and whether a live object matches a manifest.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fmt;

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

    /// Its API version and kind.
    pub fn kind(&self) -> (String, String) {
        (self.api_version.clone(), self.kind.clone())
    }

    /// The group of its kind.
    pub fn group(&self) -> &str {
        self.api_version.split_once('/').map_or("", |(group, _)| group)
    }

    /// Whether both are the same object, read at the same or at another API version.
    pub fn is(&self, other: &Self) -> bool {
        (self.group(), &self.kind, &self.namespace, &self.name)
            == (other.group(), &other.kind, &other.namespace, &other.name)
    }
}

impl fmt::Display for Object {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.namespace.as_str() {
            "" => write!(formatter, "{} {}", self.kind, self.name),
            namespace => write!(formatter, "{} {namespace}/{}", self.kind, self.name),
        }
    }
}

/// The UID and the display name of an object's controller.
pub fn controller_of(object: &Value) -> Option<(&str, String)> {
    let owners = object["metadata"]["ownerReferences"].as_array()?;
    let owner = owners.iter().find(|owner| owner["controller"] == true)?;
    let text = |field: &str| owner[field].as_str().unwrap_or_default();
    Some((text("uid"), format!("{} {}", text("kind"), text("name"))))
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
