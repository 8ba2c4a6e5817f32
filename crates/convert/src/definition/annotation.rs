//! The annotation that carries what the other API version cannot express.

use cambium_api::names::annotation::CONVERSION;
use serde_json::{Map, Value};

use crate::ConvertError;

/// Refuses metadata that has no place for annotations, and an annotation of ours that is no text.
pub(super) fn check(object: &Map<String, Value>) -> Result<(), ConvertError> {
    let wrong = |path: String, expected| Err(ConvertError::InvalidMetadata { path, expected });
    match object.get("metadata") {
        None | Some(Value::Null) => Ok(()),
        Some(Value::Object(metadata)) => match metadata.get("annotations") {
            None | Some(Value::Null) => Ok(()),
            Some(Value::Object(annotations)) => match annotations.get(CONVERSION) {
                None | Some(Value::String(_)) => Ok(()),
                Some(_) => wrong(format!("metadata.annotations[{CONVERSION}]"), "a string"),
            },
            Some(_) => wrong("metadata.annotations".to_owned(), "an object"),
        },
        Some(_) => wrong("metadata".to_owned(), "an object"),
    }
}

/// The value of the annotation.
pub(super) fn get(object: &Map<String, Value>) -> Option<&str> {
    object
        .get("metadata")?
        .get("annotations")?
        .get(CONVERSION)?
        .as_str()
}

/// Writes the annotation, or removes it and what was there for its sake.
pub(super) fn set(object: &mut Map<String, Value>, text: Option<String>) {
    let metadata = object_at(object, "metadata");
    match text {
        Some(text) => {
            object_at(metadata, "annotations").insert(CONVERSION.to_owned(), Value::String(text));
        }
        None => {
            let Some(Value::Object(annotations)) = metadata.get_mut("annotations") else {
                return;
            };
            annotations.remove(CONVERSION);
            if annotations.is_empty() {
                metadata.remove("annotations");
            }
        }
    }
}

/// The object in a field, made if it is not there.
pub(super) fn object_at<'a>(parent: &'a mut Map<String, Value>, field: &str) -> &'a mut Map<String, Value> {
    let value = parent.entry(field).or_insert(Value::Null);
    if !value.is_object() {
        *value = Value::Object(Map::new());
    }
    value.as_object_mut().expect("it has just been made one")
}
