//! Extracts a backend's part of the OpenAPI v2 document.

use std::collections::BTreeSet;

use bytes::Bytes;
use serde_json::{Map, Value, json};

use super::shape;

/// The sections with referenced items.
pub(super) const SHARED: [&str; 2] = ["definitions", "parameters"];

/// The group version kinds of a definition.
pub(super) const KINDS: &str = "x-kubernetes-group-version-kind";

/// A backend's paths with all referenced definitions and parameters, as JSON text.
#[derive(Debug, PartialEq)]
pub(crate) struct Part(Bytes);

impl Part {
    /// Extracts the paths of a group version from a backend's document; `None` if the document is malformed.
    pub(crate) fn read(document: &[u8], group: &str, version: &str) -> Option<Self> {
        let mut document: Value = serde_json::from_slice(document).ok()?;
        let Value::Object(paths) = document.get_mut("paths")?.take() else {
            return None;
        };
        let below = format!("/apis/{group}/{version}/");
        let kept = paths.into_iter().filter(|(path, _)| path.starts_with(&below));
        let mut part = with_needed(kept.collect(), &document)?;
        keep_kinds(&mut part, group, version);
        shape::is_readable(&part).then(|| Self(part.to_string().into()))
    }

    pub(super) fn tree(&self) -> Option<Value> {
        serde_json::from_slice(&self.0).ok()
    }
}

/// Paths with the transitive closure of their references; `None` if a reference dangles.
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

/// Restricts `x-kubernetes-group-version-kind` to the backend's own group version.
fn keep_kinds(part: &mut Value, group: &str, version: &str) {
    let is_own =
        |kind: &Value| kind["group"] == group && kind["version"] == version && kind["kind"].is_string();
    let definitions = part.get_mut("definitions").and_then(Value::as_object_mut);
    let definitions = definitions.into_iter().flat_map(Map::values_mut);
    for fields in definitions.filter_map(Value::as_object_mut) {
        let kinds = fields.get_mut(KINDS).and_then(Value::as_array_mut);
        let has_own = kinds.is_some_and(|kinds| {
            kinds.retain(is_own);
            !kinds.is_empty()
        });
        if !has_own {
            fields.remove(KINDS);
        }
    }
}

/// The section and name of a reference.
pub(super) fn target(reference: &str) -> Option<(&'static str, &str)> {
    let (section, name) = reference.strip_prefix("#/")?.split_once('/')?;
    let section = SHARED.into_iter().find(|shared| *shared == section)?;
    Some((section, name))
}

/// Collects all references in a value.
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
        let part = Part::read(document.to_string().as_bytes(), "a", "v1").unwrap();
        let mut expected = document.clone();
        expected["paths"]
            .as_object_mut()
            .unwrap()
            .remove("/apis/b/v1/others");
        for unneeded in ["Other", "Unused"] {
            expected["definitions"].as_object_mut().unwrap().remove(unneeded);
        }
        expected.as_object_mut().unwrap().remove("swagger");
        assert_eq!(part.tree(), Some(expected));
    }

    #[test]
    fn definitions_are_of_kinds_of_the_group_and_version_only() {
        let kind = |group: &str, version: &str, kind: &str| json!({"group": group, "version": version, "kind": kind});
        let kept = |kinds: Value| {
            let document = json!({
                "paths": {"/apis/a/v1/things": path("#/definitions/Thing")},
                "definitions": {"Thing": {"type": "object", KINDS: kinds}},
            });
            let part = Part::read(document.to_string().as_bytes(), "a", "v1").unwrap();
            part.tree().unwrap()["definitions"]["Thing"].get(KINDS).cloned()
        };
        let own = kind("a", "v1", "Thing");
        let others = json!([kind("", "v1", "Secret"), kind("a", "v2", "Thing"), "a/v1", {"group": "a"}]);
        let mut kinds = others.clone();
        kinds.as_array_mut().unwrap().push(own.clone());
        assert_eq!(kept(kinds), Some(json!([own])));
        assert_eq!(kept(others), None);
        assert_eq!(kept(own), None, "clients read a list");
    }

    #[test]
    fn a_document_may_be_as_deep_as_can_be_read() {
        let (mut deepest, mut levels) = (None, 0);
        loop {
            let inner = "{\"items\":".repeat(levels) + "{}" + &"}".repeat(levels);
            let schema = format!(r#"{{"description": "", "schema": {inner}}}"#);
            let document = format!(
                r#"{{"paths": {{"/apis/a/v1/b": {{"get": {{"responses": {{"200": {schema}}}}}}}}}}}"#
            );
            match Part::read(document.as_bytes(), "a", "v1") {
                Some(part) => deepest = Some(part),
                None => break,
            }
            levels += 1;
        }
        assert!(levels > 100, "{levels}");
        assert!(deepest.unwrap().tree().is_some());
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
            assert_eq!(Part::read(document.as_bytes(), "a", "v1"), None, "{document}");
        }
    }
}
