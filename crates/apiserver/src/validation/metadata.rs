//! Validation of `metadata`.

use cambium_builtin::NameRule;
use cambium_schema::{FieldError, FieldPath, names};
use serde_json::{Value, json};

use crate::object;

const ANNOTATIONS_LIMIT: usize = 256 << 10;

/// Validates `metadata` of a new object.
pub(crate) fn validate_new(object: &Value, namespaced: bool, rule: NameRule) -> Vec<FieldError> {
    let path = FieldPath::new("metadata");
    let mut errors = Vec::new();
    let prefix = object::meta_text(object, "generateName");
    if !prefix.is_empty() {
        let problems = rule.check(&as_prefix(prefix)).into_iter();
        errors.extend(
            problems.map(|problem| FieldError::invalid(path.child("generateName"), &json!(prefix), problem)),
        );
    }
    match object::name(object) {
        "" => errors.push(FieldError::required(
            path.child("name"),
            "name or generateName is required",
        )),
        name => {
            let problems = rule.check(name).into_iter();
            errors.extend(
                problems.map(|problem| FieldError::invalid(path.child("name"), &json!(name), problem)),
            );
        }
    }
    match (namespaced, object::namespace(object)) {
        (true, "") => errors.push(FieldError::required(path.child("namespace"), "")),
        (true, namespace) => {
            let problems = names::dns1123_label(namespace).into_iter();
            let field = path.child("namespace");
            errors.extend(
                problems.map(|problem| FieldError::invalid(field.clone(), &json!(namespace), problem)),
            );
        }
        (false, "") => {}
        (false, _) => errors.push(FieldError::forbidden(
            path.child("namespace"),
            "not allowed on this type",
        )),
    }
    errors.extend(validate_common(object, &path));
    errors
}

/// A `generateName` prefix in the form in which it is validated as a name: it may end in a dash.
fn as_prefix(prefix: &str) -> String {
    match prefix.strip_suffix('-') {
        Some(rest) if !rest.is_empty() => format!(
            "{}a",
            &rest[..rest.len() - rest.chars().next_back().map_or(0, char::len_utf8)]
        ),
        _ => prefix.to_owned(),
    }
}

/// Validates an update of `metadata`.
pub(crate) fn validate_update(new: &Value, old: &Value) -> Vec<FieldError> {
    let path = FieldPath::new("metadata");
    let mut errors = Vec::new();
    if object::is_deleting(old) {
        let before = object::finalizers(old);
        let mut added: Vec<_> = object::finalizers(new)
            .into_iter()
            .filter(|one| !before.contains(one))
            .collect();
        added.sort_unstable();
        if !added.is_empty() {
            let list = added
                .iter()
                .map(|one| format!("{one:?}"))
                .collect::<Vec<_>>()
                .join(", ");
            let why = format!(
                "no new finalizers can be added if the object is being deleted, found new finalizers []string{{{list}}}"
            );
            errors.push(FieldError::forbidden(path.child("finalizers"), why));
        }
    }
    for field in [
        "name",
        "namespace",
        "uid",
        "creationTimestamp",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
    ] {
        let (now, before) = (object::metadata(new).get(field), object::metadata(old).get(field));
        if now != before {
            let value = now.cloned().unwrap_or(Value::Null);
            errors.push(FieldError::invalid(
                path.child(field),
                &value,
                "field is immutable",
            ));
        }
    }
    errors.extend(validate_common(new, &path));
    errors
}

fn validate_common(object: &Value, path: &FieldPath) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let generation = object::generation(object);
    if generation < 0 {
        let why = "must be greater than or equal to 0";
        errors.push(FieldError::invalid(
            path.child("generation"),
            &json!(generation),
            why,
        ));
    }
    let labels = object::metadata(object).get("labels");
    errors.extend(validate_labels(labels, &path.child("labels")));
    errors.extend(validate_annotations(object, &path.child("annotations")));
    errors.extend(validate_owners(object, &path.child("ownerReferences")));
    errors.extend(validate_finalizers(object, &path.child("finalizers")));
    errors
}

/// Validates labels.
pub(crate) fn validate_labels(labels: Option<&Value>, path: &FieldPath) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for (key, value) in labels.and_then(Value::as_object).into_iter().flatten() {
        let problems = names::qualified_name(key).into_iter();
        errors.extend(problems.map(|problem| FieldError::invalid(path.clone(), &json!(key), problem)));
        let problems = names::label_value(value.as_str().unwrap_or_default()).into_iter();
        errors.extend(problems.map(|problem| FieldError::invalid(path.clone(), value, problem)));
    }
    errors
}

fn validate_annotations(object: &Value, path: &FieldPath) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let mut size = 0;
    let annotations = object::metadata(object)
        .get("annotations")
        .and_then(Value::as_object);
    for (key, value) in annotations.into_iter().flatten() {
        let problems = names::qualified_name(&key.to_lowercase()).into_iter();
        errors.extend(problems.map(|problem| FieldError::invalid(path.clone(), &json!(key), problem)));
        size += key.len() + value.as_str().map_or(0, str::len);
    }
    if size > ANNOTATIONS_LIMIT {
        errors.push(FieldError::too_long(path.clone(), ANNOTATIONS_LIMIT));
    }
    errors
}

fn validate_owners(object: &Value, path: &FieldPath) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let mut controller: Option<String> = None;
    let owners = object::metadata(object)
        .get("ownerReferences")
        .and_then(Value::as_array);
    for owner in owners.into_iter().flatten() {
        let text = |field: &str| owner.get(field).and_then(Value::as_str).unwrap_or_default();
        let version = match text("apiVersion").split('/').collect::<Vec<_>>().as_slice() {
            [version] | [_, version] => *version,
            _ => "",
        };
        if version.is_empty() {
            let value = json!(text("apiVersion"));
            errors.push(FieldError::invalid(
                path.child("apiVersion"),
                &value,
                "version must not be empty",
            ));
        }
        for field in ["kind", "name", "uid"]
            .into_iter()
            .filter(|field| text(field).is_empty())
        {
            errors.push(FieldError::invalid(
                path.child(field),
                &json!(""),
                "must not be empty",
            ));
        }
        if (text("apiVersion"), text("kind")) == ("v1", "Event") {
            errors.push(FieldError::invalid(
                path.clone(),
                owner,
                "/v1, Kind=Event is disallowed from being an owner",
            ));
        }
        if owner.get("controller").and_then(Value::as_bool) == Some(true) {
            let this = format!("{}/{}", text("kind"), text("name"));
            if let Some(first) = &controller {
                let why = format!(
                    "Only one reference can have Controller set to true. Found \"true\" in references for {first} and {this}"
                );
                let all = object::metadata(object)
                    .get("ownerReferences")
                    .cloned()
                    .unwrap_or_default();
                errors.push(FieldError::invalid(path.clone(), &all, why));
            }
            controller.get_or_insert(this);
        }
    }
    errors
}

/// Finalizers of built-in kinds must be domain-qualified or one of the standard ones.
pub(crate) fn validate_builtin_finalizers(object: &Value) -> Vec<FieldError> {
    let path = FieldPath::new("metadata").child("finalizers");
    let standard = ["orphan", "foregroundDeletion", "kubernetes"];
    let finalizers = object::finalizers(object).into_iter().enumerate();
    finalizers
        .filter(|(_, one)| !one.contains('/') && !standard.contains(one))
        .map(|(index, one)| {
            let why = "name is neither a standard finalizer name nor is it fully qualified";
            FieldError::invalid(path.index(index), &json!(one), why)
        })
        .collect()
}

fn validate_finalizers(object: &Value, path: &FieldPath) -> Vec<FieldError> {
    let finalizers = object::finalizers(object);
    let mut errors = Vec::new();
    for finalizer in &finalizers {
        let problems = names::qualified_name(finalizer).into_iter();
        errors.extend(problems.map(|problem| FieldError::invalid(path.clone(), &json!(finalizer), problem)));
    }
    if finalizers.contains(&"orphan") && finalizers.contains(&"foregroundDeletion") {
        errors.push(FieldError::invalid(
            path.clone(),
            &json!(finalizers),
            "finalizer orphan and foregroundDeletion cannot be both set",
        ));
    }
    errors
}
