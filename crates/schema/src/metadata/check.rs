//! Validates coerced metadata.

use serde_json::{Map, Value};

use super::Malformed;
use super::shape::{Misfit, coerce};
use crate::field::{FieldError, FieldPath};
use crate::model::{Additional, Schema};
use crate::names;
use cambium_go_text::{json, prints};

/// Validates `apiVersion`, `kind` and `metadata` of every object embedded in `value`, but not of the root: see
/// [`validate_object`].
pub fn validate_embedded(schema: &Schema, value: &Value, at: &FieldPath) -> Vec<FieldError> {
    let mut errors = Vec::new();
    inside(schema, value, at, &mut errors);
    errors
}

fn inside(schema: &Schema, value: &Value, at: &FieldPath, errors: &mut Vec<FieldError>) {
    match value {
        Value::Object(fields) => {
            for (name, field) in fields
                .iter()
                .filter(|(_, field)| field.is_object() || field.is_array())
            {
                match (schema.property(name), &schema.additional) {
                    (Some(property), _) => node(&property.schema, field, &at.child(name), errors),
                    (None, Additional::Schema(child)) => node(child, field, &at.key(name), errors),
                    (None, _) => {}
                }
            }
        }
        Value::Array(items) => {
            let Some(schema) = &schema.items else { return };
            for (index, item) in items.iter().enumerate() {
                node(schema, item, &at.index(index), errors);
            }
        }
        _ => {}
    }
}

fn node(schema: &Schema, value: &Value, at: &FieldPath, errors: &mut Vec<FieldError>) {
    if let (true, Value::Object(object)) = (schema.embedded_resource, value) {
        errors.extend(validate_object(object, at));
    }
    inside(schema, value, at, errors);
}

/// Validates `apiVersion`, `kind` and `metadata` of an embedded object.
pub fn validate_object(object: &Map<String, Value>, at: &FieldPath) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for name in ["apiVersion", "kind"] {
        if !object.contains_key(name) {
            errors.push(FieldError::required(at.child(name), ""));
        }
    }
    for (name, value) in object {
        let complaint = match (name.as_str(), value) {
            ("apiVersion" | "kind", Value::String(text)) if text.is_empty() => {
                Some("must not be empty".to_owned())
            }
            ("apiVersion", Value::String(text)) if text.matches('/').count() > 1 => {
                Some(format!("unexpected GroupVersion string: {text}"))
            }
            ("kind", Value::String(text)) => match names::dns1035_label(&text.to_lowercase()) {
                complaints if complaints.is_empty() => None,
                complaints => Some(format!(
                    "may have mixed case, but should otherwise match: {}",
                    complaints.join(",")
                )),
            },
            ("apiVersion", Value::String(_)) => None,
            ("apiVersion" | "kind", _) => Some("must be a string".to_owned()),
            ("metadata", metadata) => {
                errors.extend(validate_metadata(metadata, &at.child("metadata")));
                None
            }
            _ => None,
        };
        errors.extend(complaint.map(|complaint| FieldError::invalid(at.child(name), value, complaint)));
    }
    errors
}

fn validate_metadata(metadata: &Value, at: &FieldPath) -> Vec<FieldError> {
    let mut shaped = metadata.clone();
    if let Err(Misfit(detail)) = coerce(&mut shaped, Malformed::Refuse, "", &mut Vec::new()) {
        return vec![FieldError::invalid(at.clone(), metadata, detail)];
    }
    let mut report = Report { errors: Vec::new() };
    let text = |name: &str| {
        shaped
            .get(name)
            .and_then(Value::as_str)
            .filter(|text| !text.is_empty())
    };
    if let Some(name) = text("generateName") {
        report.invalid(&at.child("generateName"), name, names::path_segment_prefix(name));
    }
    if let Some(name) = text("name") {
        report.invalid(&at.child("name"), name, names::path_segment(name));
    }
    if let Some(namespace) = text("namespace") {
        report.invalid(&at.child("namespace"), namespace, names::dns1123_label(namespace));
    }
    if let Some(generation) = shaped
        .get("generation")
        .filter(|number| number.as_i64().is_some_and(|number| number < 0))
    {
        let detail = "must be greater than or equal to 0";
        report
            .errors
            .push(FieldError::invalid(at.child("generation"), generation, detail));
    }
    report.labels(&shaped["labels"], &at.child("labels"));
    report.annotations(&shaped["annotations"], &at.child("annotations"));
    report.owners(&shaped["ownerReferences"], &at.child("ownerReferences"));
    report.finalizers(&shaped["finalizers"], &at.child("finalizers"));
    report.managed_fields(&shaped["managedFields"], &at.child("managedFields"));
    report.errors
}

struct Report {
    errors: Vec<FieldError>,
}

impl Report {
    fn invalid(&mut self, at: &FieldPath, text: &str, complaints: impl IntoIterator<Item = String>) {
        let error = |complaint| FieldError::invalid(at.clone(), &Value::from(text), complaint);
        self.errors.extend(complaints.into_iter().map(error));
    }

    fn labels(&mut self, labels: &Value, at: &FieldPath) {
        for (key, value) in texts(labels) {
            self.invalid(at, key, names::qualified_name(key));
            self.invalid(at, value, names::label_value(value));
        }
    }

    fn annotations(&mut self, annotations: &Value, at: &FieldPath) {
        const LIMIT: usize = 256 << 10;
        for (key, _) in texts(annotations) {
            self.invalid(at, key, names::qualified_name(&key.to_lowercase()));
        }
        if texts(annotations)
            .map(|(key, value)| key.len() + value.len())
            .sum::<usize>()
            > LIMIT
        {
            self.errors.push(FieldError::too_long(at.clone(), LIMIT));
        }
    }

    fn owners(&mut self, owners: &Value, at: &FieldPath) {
        let mut controller: Option<String> = None;
        for owner in items(owners) {
            let text = |name: &str| owner[name].as_str().unwrap_or_default();
            let api_version = text("apiVersion");
            if api_version.split('/').next_back().is_none_or(str::is_empty) {
                self.invalid(
                    &at.child("apiVersion"),
                    api_version,
                    ["version must not be empty".to_owned()],
                );
            }
            for name in ["kind", "name", "uid"] {
                if text(name).is_empty() {
                    self.invalid(&at.child(name), "", ["must not be empty".to_owned()]);
                }
            }
            if (api_version, text("kind")) == ("v1", "Event") {
                let detail = "/v1, Kind=Event is disallowed from being an owner";
                let shown = owner_text(owner);
                self.errors.push(FieldError {
                    shown,
                    ..FieldError::invalid(at.clone(), owner, detail)
                });
            }
            if owner["controller"] == true {
                let current = format!("{}/{}", text("kind"), text("name"));
                match &controller {
                    Some(first) => {
                        let detail = format!(
                            "Only one reference can have Controller set to true. Found \"true\" in references for \
                             {first} and {current}"
                        );
                        let all: Vec<_> = items(owners).map(owner_text).collect();
                        let shown = format!("[{}]", all.join(","));
                        self.errors.push(FieldError {
                            shown,
                            ..FieldError::invalid(at.clone(), owners, detail)
                        });
                    }
                    None => controller = Some(current),
                }
            }
        }
    }

    fn finalizers(&mut self, finalizers: &Value, at: &FieldPath) {
        for finalizer in items(finalizers).filter_map(Value::as_str) {
            self.invalid(at, finalizer, names::qualified_name(finalizer));
        }
        let has = |name: &str| items(finalizers).any(|finalizer| finalizer == name);
        if has("orphan") && has("foregroundDeletion") {
            let detail = "finalizer orphan and foregroundDeletion cannot be both set";
            self.errors
                .push(FieldError::invalid(at.clone(), finalizers, detail));
        }
    }

    fn managed_fields(&mut self, entries: &Value, at: &FieldPath) {
        for (index, entry) in items(entries).enumerate() {
            let at = at.index(index);
            let text = |name: &str| entry[name].as_str().unwrap_or_default();
            if !matches!(text("operation"), "Apply" | "Update") {
                self.invalid(
                    &at.child("operation"),
                    text("operation"),
                    ["must be `Apply` or `Update`".to_owned()],
                );
            }
            if !matches!(text("fieldsType"), "" | "FieldsV1") {
                self.invalid(
                    &at.child("fieldsType"),
                    text("fieldsType"),
                    ["must be `FieldsV1`".to_owned()],
                );
            }
            let manager = text("manager");
            if manager.len() > 128 {
                self.errors.push(FieldError::too_long(at.child("manager"), 128));
            }
            for (index, character) in manager
                .char_indices()
                .filter(|(_, character)| !prints(*character))
            {
                let detail = format!(
                    "invalid character U+{:04X} (at position {index})",
                    u32::from(character)
                );
                self.invalid(&at.child("manager"), manager, [detail]);
            }
            if text("subresource").len() > 256 {
                self.errors
                    .push(FieldError::too_long(at.child("subresource"), 256));
            }
        }
    }
}

/// An owner reference as JSON, its fields in the order of the Go type.
fn owner_text(owner: &Value) -> String {
    const FIELDS: [&str; 6] = [
        "apiVersion",
        "kind",
        "name",
        "uid",
        "controller",
        "blockOwnerDeletion",
    ];
    let field = |name: &&str| Some(format!("\"{name}\":{}", json(owner.get(*name)?)));
    format!(
        "{{{}}}",
        FIELDS.iter().filter_map(field).collect::<Vec<_>>().join(",")
    )
}

fn texts(map: &Value) -> impl Iterator<Item = (&str, &str)> {
    map.as_object()
        .into_iter()
        .flatten()
        .map(|(key, value)| (key.as_str(), value.as_str().unwrap_or_default()))
}

fn items(list: &Value) -> impl Iterator<Item = &Value> {
    list.as_array().into_iter().flatten()
}
