//! `docs/reference/kinds.md`: every kind of ours with its fields, from the committed CRDs.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use serde_json::{Map, Value};

use super::{cell, check, notice};
use crate::documents::{files, root};

/// Where the CRDs are.
const CRDS: &str = "crates/api/crds";

/// The kinds, in the order in which a reader meets them.
const ORDER: [&str; 11] = [
    "Application",
    "ApplicationRevision",
    "ComponentDefinition",
    "TraitDefinition",
    "PolicyDefinition",
    "WorkflowStepDefinition",
    "DefinitionRevision",
    "CompositeResourceDefinition",
    "Composition",
    "CompositionRevision",
    "Function",
];

/// Fields that have at least so many fields below them are described once, and referred to where they are the same.
const SHARED: usize = 4;

#[test]
fn the_reference_of_kinds_is_that_of_the_crds() {
    check("kinds.md", &page());
}

fn page() -> String {
    let mut crds: Vec<Value> = files(Path::new(CRDS))
        .iter()
        .map(|file| serde_json::from_slice(&std::fs::read(root().join(file)).unwrap()).unwrap())
        .collect();
    let place = |crd: &Value| ORDER.iter().position(|kind| *kind == kind_of(crd));
    for crd in &crds {
        assert!(place(crd).is_some(), "{} is not in ORDER", kind_of(crd));
    }
    crds.sort_by_key(place);
    let mut text = format!(
        "# Kinds\n\n{}Every kind that Cambium installs, with its fields. `kubectl explain KIND.spec` prints the same. Fields of `metadata` are those of every object. \
         `[]` stands for the elements of a list, `{{}}` for the values of a map.\n\n| kind | group | short names | scope |\n|---|---|---|---|\n",
        notice(CRDS)
    );
    for crd in &crds {
        let (spec, kind) = (&crd["spec"], kind_of(crd));
        let short = code_list(&spec["names"]["shortNames"]);
        let scope = string(&spec["scope"]).to_lowercase();
        let anchor = kind.to_lowercase();
        let _ = writeln!(
            text,
            "| [{kind}](#{anchor}) | `{}` | {short} | {scope} |",
            string(&spec["group"])
        );
    }
    let mut printed = BTreeMap::new();
    for crd in &crds {
        describe(&mut text, crd, &mut printed);
    }
    text
}

/// Where each schema was described: by path and content.
type Printed = BTreeMap<(String, String), String>;

fn describe(text: &mut String, crd: &Value, printed: &mut Printed) {
    let (spec, kind) = (&crd["spec"], kind_of(crd));
    let versions = spec["versions"].as_array().unwrap();
    let first = &versions[0]["schema"]["openAPIV3Schema"];
    let _ = writeln!(text, "\n## {kind}\n\n{}\n", string(&first["description"]));
    let _ = writeln!(text, "| | |\n|---|---|");
    let plural = string(&spec["names"]["plural"]);
    let _ = writeln!(text, "| resource | `{plural}.{}` |", string(&spec["group"]));
    let served: Vec<String> = versions.iter().map(version).collect();
    let _ = writeln!(text, "| versions | {} |", served.join(", "));
    let _ = writeln!(
        text,
        "| categories | {} |",
        code_list(&spec["names"]["categories"])
    );
    let _ = writeln!(text, "| columns of `kubectl get` | {} |", columns(&versions[0]));
    let mut earlier: Vec<(&str, &Value)> = Vec::new();
    for one in versions {
        let (name, schema) = (string(&one["name"]), &one["schema"]["openAPIV3Schema"]);
        if versions.len() > 1 {
            let _ = writeln!(text, "\n### {kind} {name}");
        }
        if let Some((same, _)) = earlier.iter().find(|(_, known)| *known == schema) {
            let _ = writeln!(text, "\nThe fields are those of `{same}`.");
            continue;
        }
        earlier.push((name, schema));
        text.push_str("\n| field | type | description |\n|---|---|---|\n");
        let mut section = Section {
            rows: text,
            place: match versions.len() {
                1 => kind.to_owned(),
                _ => format!("{kind} {name}"),
            },
            printed,
        };
        section.fields(schema, "");
    }
}

fn version(version: &Value) -> String {
    let mut notes = Vec::new();
    if version["storage"] == true {
        notes.push("stored");
    }
    if version["served"] == false {
        notes.push("served when the conversion webhook is installed");
    }
    match notes.is_empty() {
        true => format!("`{}`", string(&version["name"])),
        false => format!("`{}` ({})", string(&version["name"]), notes.join(", ")),
    }
}

fn columns(version: &Value) -> String {
    let columns = version["additionalPrinterColumns"].as_array();
    let columns = columns.into_iter().flatten().map(|column| {
        let name = string(&column["name"]).to_uppercase();
        match column["priority"].as_i64().unwrap_or(0) {
            0 => name,
            _ => format!("{name} (with `-o wide`)"),
        }
    });
    columns.collect::<Vec<_>>().join(", ")
}

/// The table of one version.
struct Section<'a> {
    rows: &'a mut String,
    place: String,
    printed: &'a mut Printed,
}

impl Section<'_> {
    /// Writes a row for each field of a schema, and for those below it.
    fn fields(&mut self, schema: &Value, path: &str) {
        let none = Map::new();
        let required: Vec<&str> = match schema["required"].as_array() {
            Some(names) => names.iter().map(string).collect(),
            None => Vec::new(),
        };
        for (name, field) in schema["properties"].as_object().unwrap_or(&none) {
            let path = match path {
                "" => name.clone(),
                path => format!("{path}.{name}"),
            };
            let mut notes = vec![sentence(string(&field["description"]))];
            if required.contains(&name.as_str()) {
                notes.insert(0, "**Required.**".to_owned());
            }
            notes.extend(limits(field));
            notes.extend(limits(&field["items"]));
            let key = (path.clone(), without_description(field));
            let earlier = match count(field) {
                few if few < SHARED => None,
                _ => self
                    .printed
                    .get(&key)
                    .filter(|place| **place != self.place)
                    .cloned(),
            };
            if let Some(earlier) = &earlier {
                let anchor = earlier.to_lowercase().replace(' ', "-");
                notes.push(format!(
                    "The fields below it are those of [{earlier}](#{anchor})."
                ));
            }
            notes.retain(|note| !note.is_empty());
            let _ = writeln!(
                self.rows,
                "| `{path}` | {} | {} |",
                type_of(field),
                cell(&notes.join(" "))
            );
            if earlier.is_none() {
                self.printed.insert(key, self.place.clone());
                self.below(field, &path);
            }
        }
    }

    /// The fields of an object, of the elements of a list or of the values of a map.
    fn below(&mut self, field: &Value, path: &str) {
        self.fields(field, path);
        if field["items"].is_object() {
            self.below(&field["items"], &format!("{path}[]"));
        }
        if field["additionalProperties"].is_object() {
            self.below(&field["additionalProperties"], &format!("{path}{{}}"));
        }
    }
}

/// How many fields there are below one.
fn count(field: &Value) -> usize {
    if !field.is_object() {
        return 0;
    }
    let properties = field["properties"].as_object();
    let properties: usize = properties.map_or(0, |properties| {
        properties.values().map(|one| 1 + count(one)).sum()
    });
    properties + count(&field["items"]) + count(&field["additionalProperties"])
}

fn without_description(field: &Value) -> String {
    let mut field = field.clone();
    if let Some(field) = field.as_object_mut() {
        field.remove("description");
    }
    field.to_string()
}

fn type_of(field: &Value) -> String {
    match string(&field["type"]) {
        "array" => format!("list of {}", type_of(&field["items"])),
        "object" if field["additionalProperties"].is_object() => {
            format!("map of {}", type_of(&field["additionalProperties"]))
        }
        "object" if field["properties"].is_null() => "any object".to_owned(),
        "" => "any".to_owned(),
        other => match string(&field["format"]) {
            "date-time" => "time".to_owned(),
            _ => other.to_owned(),
        },
    }
}

/// Default, values and limits of a field.
fn limits(field: &Value) -> Vec<String> {
    let mut notes = Vec::new();
    if !field.is_object() {
        return notes;
    }
    if let Some(values) = field["enum"].as_array() {
        let values: Vec<String> = values
            .iter()
            .filter(|value| !value.is_null())
            .map(|value| format!("`{}`", plain(value)))
            .collect();
        notes.push(format!("One of {}.", values.join(", ")));
    }
    if !field["default"].is_null() {
        notes.push(format!("Default: `{}`.", plain(&field["default"])));
    }
    for (name, text) in [
        ("minItems", "At least"),
        ("maxItems", "At most"),
        ("minLength", "At least"),
        ("maxLength", "At most"),
    ] {
        if let Some(limit) = field[name].as_u64() {
            let unit = match (name.ends_with("Items"), limit) {
                (true, 1) => "element",
                (true, _) => "elements",
                (false, 1) => "character",
                (false, _) => "characters",
            };
            notes.push(format!("{text} {limit} {unit}."));
        }
    }
    if let Some(keys) = field["x-kubernetes-list-map-keys"].as_array() {
        let keys: Vec<&str> = keys.iter().map(string).collect();
        notes.push(format!("Merged by `{}`.", keys.join("`, `")));
    }
    for rule in field["x-kubernetes-validations"].as_array().into_iter().flatten() {
        let message = match string(&rule["message"]) {
            "" => format!("`{}`", string(&rule["rule"])),
            message => message.to_owned(),
        };
        notes.push(format!("Rule: {}", sentence(&message)));
    }
    notes
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn sentence(text: &str) -> String {
    match text.is_empty() || text.ends_with(['.', ':', '`']) {
        true => text.to_owned(),
        false => format!("{text}."),
    }
}

fn code_list(names: &Value) -> String {
    let names = names.as_array().into_iter().flatten();
    let names: Vec<String> = names.map(|name| format!("`{}`", string(name))).collect();
    names.join(", ")
}

fn kind_of(crd: &Value) -> &str {
    string(&crd["spec"]["names"]["kind"])
}

fn string(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
