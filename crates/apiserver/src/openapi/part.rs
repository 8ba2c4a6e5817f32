//! What of a backend's document belongs into the one of everything.

use std::collections::BTreeSet;

use bytes::Bytes;
use serde_json::{Map, Value, json};

use super::shape;

/// Where a document keeps what is referred to by name.
pub(super) const SHARED: [&str; 2] = ["definitions", "parameters"];

/// Paths of a backend with everything that they need: a document of OpenAPI v2, kept as text.
#[derive(Debug, PartialEq)]
pub(crate) struct Part(Bytes);

impl Part {
    /// Reads a backend's document, and keeps what is below a path. `None` if clients could not read it.
    pub(crate) fn read(document: &[u8], below: &str) -> Option<Self> {
        let mut document: Value = serde_json::from_slice(document).ok()?;
        let Value::Object(paths) = document.get_mut("paths")?.take() else {
            return None;
        };
        let kept = paths.into_iter().filter(|(path, _)| path.starts_with(below));
        let part = with_needed(kept.collect(), &document)?;
        shape::is_readable(&part).then(|| Self(part.to_string().into()))
    }

    pub(super) fn tree(&self) -> Value {
        serde_json::from_slice(&self.0).expect("the text was made from a tree")
    }
}

/// Paths, and what they refer to in a document, be it by way of others. `None` if a reference leads nowhere.
pub(super) fn with_needed(paths: Map<String, Value>, document: &Value) -> Option<Value> {
    let paths = Value::Object(paths);
    let mut open = BTreeSet::new();
    references(&paths, &mut open);
    let mut part = json!({"paths": paths});
    while let Some(reference) = open.pop_first() {
        let (section, name) = target(&reference)?;
        if part[section].get(name).is_some() {
            continue;
        }
        let needed = document.get(section)?.get(name)?;
        references(needed, &mut open);
        part[section][name] = needed.clone();
    }
    Some(part)
}

/// `definitions` and a name, of a reference.
pub(super) fn target(reference: &str) -> Option<(&'static str, &str)> {
    let (section, name) = reference.strip_prefix("#/")?.split_once('/')?;
    let section = SHARED.into_iter().find(|shared| *shared == section)?;
    Some((section, name))
}

/// Collects every reference inside of a value.
fn references(value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| references(item, found)),
        Value::Object(fields) => {
            // A field may be called so, too; then it is no text.
            if let Some(Value::String(reference)) = fields.get("$ref") {
                found.insert(reference.clone());
            }
            fields.values().for_each(|field| references(field, found));
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(reference: &str) -> Value {
        json!({"get": {"responses": {"200": {"description": "OK", "schema": {"$ref": reference}}}}})
    }

    #[test]
    fn only_what_is_below_the_path_is_kept_and_what_it_needs() {
        let document = json!({
            "swagger": "2.0",
            "paths": {"/apis/a/v1/things": path("#/definitions/Thing"), "/apis/b/v1/others": path("#/definitions/Other")},
            "definitions": {
                "Thing": {"type": "object", "properties": {"inner": {"$ref": "#/definitions/Inner"}}},
                "Inner": {"type": "object", "properties": {"again": {"$ref": "#/definitions/Inner"}}},
                "Other": {"type": "object"}, "Unused": {"type": "object"},
            },
        });
        let part = Part::read(document.to_string().as_bytes(), "/apis/a/v1/").unwrap();
        let mut expected = document.clone();
        expected["paths"]
            .as_object_mut()
            .unwrap()
            .remove("/apis/b/v1/others");
        for unneeded in ["Other", "Unused"] {
            expected["definitions"].as_object_mut().unwrap().remove(unneeded);
        }
        expected.as_object_mut().unwrap().remove("swagger");
        assert_eq!(part.tree(), expected);
    }

    #[test]
    fn what_clients_could_not_read_is_not_taken() {
        let lost = json!({"paths": {"/apis/a/v1/things": path("#/definitions/Lost")}});
        let strange = json!({"paths": {"/apis/a/v1/things": 5}});
        for document in [
            "nonsense".to_owned(),
            "[]".to_owned(),
            lost.to_string(),
            strange.to_string(),
        ] {
            assert_eq!(Part::read(document.as_bytes(), "/apis/a/v1/"), None, "{document}");
        }
    }
}
