//! The marker at v2beta1 of an object that was written at v1beta1.

use serde_json::{Map, Value, json};

use super::carrier::Carrier;
use super::{LEGACY_VERSION, annotation};

/// Says, at v2beta1, that the object was written at v1beta1.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Marker {
    /// Whether the version was given by us.
    pub(super) legacy: bool,
    /// The value of our annotation at v1beta1, where a user wrote one.
    pub(super) annotation: Option<String>,
}

impl Marker {
    /// As an annotation.
    pub(super) fn write(self) -> String {
        let mut fields = Map::new();
        fields.insert("from".to_owned(), json!("v1beta1"));
        if self.legacy {
            fields.insert("version".to_owned(), json!(LEGACY_VERSION));
        }
        if let Some(annotation) = self.annotation {
            fields.insert("annotation".to_owned(), Value::String(annotation));
        }
        Value::Object(fields).to_string()
    }

    /// From an annotation, if it is one of ours.
    pub(super) fn read(text: &str) -> Option<Self> {
        let Value::Object(mut fields) = serde_json::from_str(text).ok()? else {
            return None;
        };
        if fields.get("from") != Some(&json!("v1beta1")) {
            return None;
        }
        let legacy = match fields.get("version") {
            None => false,
            Some(version) if version == LEGACY_VERSION => true,
            Some(_) => return None,
        };
        let annotation = match fields.remove("annotation") {
            None => None,
            // One that would be read as something else again cannot have been there.
            Some(Value::String(text)) if Carrier::read(&text).is_none() => Some(text),
            Some(_) => return None,
        };
        Some(Self { legacy, annotation })
    }

    /// The marker of a v2beta1 object that v1beta1 can say as it is: one version, and nothing beside it.
    pub(super) fn of(object: &Map<String, Value>) -> Option<Self> {
        let marker = Self::read(annotation::get(object)?)?;
        let spec = object.get("spec")?.as_object()?;
        let [Value::Object(entry)] = spec.get("versions")?.as_array()?.as_slice() else {
            return None;
        };
        (spec.len() == 1 && entry.contains_key("version")).then_some(marker)
    }
}
