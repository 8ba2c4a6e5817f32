//! Merges OpenAPI v2 documents of backends into ours.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::part::{KINDS, SHARED, target, with_needed};

/// At most this many different definitions may share a name; each is compared with a backend's.
const MEANINGS: usize = 9;

/// New names of definitions and parameters, by section and name.
type Renames = BTreeMap<(&'static str, String), String>;

/// Adds a backend's part to a document. Existing paths are kept; a definition whose name is taken by a different one is
/// renamed, and a part with too many conflicts is left out.
pub(super) fn add(document: &mut Value, part: &Value) {
    let is_new = |path: &&String| document["paths"].get(path.as_str()).is_none();
    let paths = part["paths"].as_object().into_iter().flatten();
    let paths: Map<String, Value> = paths
        .filter(|(path, _)| is_new(path))
        .map(|(path, item)| (path.clone(), item.clone()))
        .collect();
    if paths.is_empty() {
        return;
    }
    let Some(mut part) = with_needed(paths, part) else {
        return;
    };
    let Some(renames) = renames(document, &part) else {
        return;
    };
    rename_references(&mut part, &renames);
    for section in SHARED {
        for (name, value) in taken(&mut part, section) {
            let name = renames.get(&(section, name.clone())).cloned().unwrap_or(name);
            match document[section].get_mut(&name) {
                Some(existing) => merge_kinds(existing, &value),
                None => document[section][name] = value,
            }
        }
    }
    for (path, item) in taken(&mut part, "paths") {
        document["paths"][path] = item;
    }
}

fn taken(part: &mut Value, section: &str) -> Map<String, Value> {
    match part.get_mut(section).map(Value::take) {
        Some(Value::Object(map)) => map,
        _ => Map::new(),
    }
}

/// The definitions to rename because the document has different ones of the same name; `None` if there are too many.
fn renames(document: &Value, part: &Value) -> Option<Renames> {
    let mut renames = Renames::new();
    for section in SHARED {
        let mut given = BTreeSet::new();
        for (name, value) in part[section].as_object().into_iter().flatten() {
            let existing = document[section].get(name);
            if existing.is_none_or(|existing| means_the_same(existing, value)) {
                continue;
            }
            let is_free = |candidate: &String| match document[section].get(candidate) {
                // Another backend has added it already.
                Some(existing) => means_the_same(existing, value),
                None => part[section].get(candidate).is_none() && !given.contains(candidate),
            };
            let mut candidates = (2..=MEANINGS).map(|number| format!("{name}_v{number}"));
            let free = candidates.find(is_free)?;
            given.insert(free.clone());
            renames.insert((section, name.clone()), free);
        }
    }
    Some(renames)
}

/// Whether two definitions are equal apart from their `x-kubernetes-group-version-kind`.
fn means_the_same(one: &Value, other: &Value) -> bool {
    let (Value::Object(one), Value::Object(other)) = (one, other) else {
        return one == other;
    };
    let others = other.iter().filter(|(name, _)| *name != KINDS);
    let mut ones = one.iter().filter(|(name, _)| *name != KINDS);
    ones.clone().count() == others.count() && ones.all(|(name, value)| other.get(name) == Some(value))
}

fn rename_references(value: &mut Value, renames: &Renames) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| rename_references(item, renames)),
        Value::Object(fields) => {
            if let Some(Value::String(reference)) = fields.get_mut("$ref")
                && let Some((section, name)) = target(reference)
                && let Some(renamed) = renames.get(&(section, name.to_owned()))
            {
                *reference = format!("#/{section}/{renamed}");
            }
            fields
                .values_mut()
                .for_each(|field| rename_references(field, renames));
        }
        _ => {}
    }
}

/// Merges the `x-kubernetes-group-version-kind` of equal definitions.
fn merge_kinds(existing: &mut Value, other: &Value) {
    let text = |kind: &Value, field: &str| kind[field].as_str().unwrap_or_default().to_owned();
    let sorted_by = |kind: &Value| {
        let [group, version, name] = ["group", "version", "kind"].map(|field| text(kind, field));
        format!("{group}/{version}.{name}")
    };
    let kinds = |of: &Value| of[KINDS].as_array().cloned().unwrap_or_default();
    let more = kinds(other);
    if more.is_empty() {
        return;
    }
    let all = more.into_iter().chain(kinds(existing));
    let all: BTreeMap<String, Value> = all.map(|kind| (sorted_by(&kind), kind)).collect();
    existing[KINDS] = all.into_values().collect();
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn path(name: &str) -> Value {
        let schema = json!({"$ref": format!("#/definitions/{name}")});
        json!({"get": {"responses": {"200": {"description": "OK", "schema": schema}}}})
    }

    fn document() -> Value {
        json!({"paths": {"/api/v1/pods": path("Meta")},
            "definitions": {"Meta": {"type": "object"}, "Pod": {"type": "object"}}})
    }

    #[test]
    fn another_meaning_gets_another_name_and_references_follow() {
        let mut whole = document();
        let meta = json!({"type": "object", "description": "more"});
        let part = json!({
            "paths": {"/apis/a/v1/things": path("Thing"), "/api/v1/pods": path("Pod")},
            "definitions": {"Thing": {"properties": {"meta": {"$ref": "#/definitions/Meta"}}}, "Meta": meta},
        });
        add(&mut whole, &part);
        assert_eq!(
            whole["paths"]["/api/v1/pods"],
            path("Meta"),
            "what is there stays"
        );
        assert_eq!(whole["paths"]["/apis/a/v1/things"], path("Thing"));
        let thing = json!({"properties": {"meta": {"$ref": "#/definitions/Meta_v2"}}});
        assert_eq!(
            whole["definitions"],
            json!({"Meta": {"type": "object"}, "Meta_v2": meta, "Pod": {"type": "object"}, "Thing": thing})
        );
        // Equal definitions share the new name; different ones get another.
        for (group, meta, expected) in [
            ("b", meta, "Meta_v2"),
            ("c", json!({"type": "string"}), "Meta_v3"),
        ] {
            let part =
                json!({"paths": {format!("/apis/{group}"): path("Meta")}, "definitions": {"Meta": meta}});
            add(&mut whole, &part);
            assert_eq!(whole["paths"][format!("/apis/{group}")], path(expected));
            assert_eq!(whole["definitions"][expected], meta);
        }
    }

    #[test]
    fn what_means_the_same_is_there_once_for_the_kinds_of_both() {
        let kind = |group: &str| json!({"group": group, "version": "v1", "kind": "DeleteOptions"});
        let options = |group: &str| json!({"type": "object", KINDS: [kind(group)]});
        let mut whole = json!({"paths": {}, "definitions": {"Options": options("b")}});
        let part = json!({"paths": {"/apis/a": path("Options")}, "definitions": {"Options": options("a")}});
        add(&mut whole, &part);
        assert_eq!(
            whole["definitions"],
            json!({"Options": {"type": "object", KINDS: [kind("a"), kind("b")]}})
        );
    }

    #[test]
    fn only_kinds_may_differ() {
        let options = json!({"type": "object", "format": "a", KINDS: []});
        for same in [
            json!({"type": "object", "format": "a"}),
            json!({"type": "object", "format": "a", KINDS: [1]}),
        ] {
            assert!(
                means_the_same(&options, &same) && means_the_same(&same, &options),
                "{same}"
            );
        }
        for other in [
            json!({"type": "object"}),
            json!({"type": "object", "format": "b"}),
            json!({"type": "object", "title": "a"}),
        ] {
            assert!(
                !means_the_same(&options, &other) && !means_the_same(&other, &options),
                "{other}"
            );
        }
    }

    #[test]
    fn a_part_whose_names_have_too_many_meanings_is_left_out() {
        let mut whole = document();
        for number in 2..=MEANINGS {
            whole["definitions"][format!("Meta_v{number}")] = json!({"maxLength": number});
        }
        let before = whole.clone();
        let part = |meta: &Value| json!({"paths": {"/apis/a": path("Meta")}, "definitions": {"Meta": meta}});
        add(&mut whole, &part(&json!({"type": "string"})));
        assert_eq!(whole, before);
        add(&mut whole, &part(&json!({"maxLength": MEANINGS})));
        assert_eq!(
            whole["paths"]["/apis/a"],
            path(&format!("Meta_v{MEANINGS}")),
            "one of them is meant"
        );
    }

    #[test]
    fn shared_parameters_are_renamed_like_definitions() {
        let mut whole = json!({"paths": {}, "parameters": {"p": {"name": "p", "in": "query"}}});
        let part = json!({"paths": {"/apis/a": {"parameters": [{"$ref": "#/parameters/p"}]}},
            "parameters": {"p": {"name": "p", "in": "path"}}});
        add(&mut whole, &part);
        assert_eq!(
            whole["paths"]["/apis/a"]["parameters"],
            json!([{"$ref": "#/parameters/p_v2"}])
        );
        assert_eq!(whole["parameters"]["p_v2"], json!({"name": "p", "in": "path"}));
    }
}
