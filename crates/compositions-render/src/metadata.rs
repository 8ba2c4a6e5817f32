//! The metadata of composed resources: labels, annotations, controller reference.

use serde_json::{Map, Value, json};

/// The label that names the composite resource; names of composed resources start with its value.
pub const COMPOSITE_LABEL: &str = "crossplane.io/composite";
/// The label that names the claim.
pub const CLAIM_NAME_LABEL: &str = "crossplane.io/claim-name";
/// The label that names the namespace of the claim.
pub const CLAIM_NAMESPACE_LABEL: &str = "crossplane.io/claim-namespace";
/// The annotation that names the template a resource was made from.
pub const RESOURCE_NAME_ANNOTATION: &str = "crossplane.io/composition-resource-name";

/// A text below `metadata`; empty if there is none.
pub(crate) fn text<'a>(object: &'a Value, field: &str) -> &'a str {
    object
        .get("metadata")
        .and_then(|metadata| metadata.get(field))
        .and_then(Value::as_str)
        .unwrap_or_default()
}

pub(crate) fn label<'a>(object: &'a Value, key: &str) -> &'a str {
    let labels = object.get("metadata").and_then(|metadata| metadata.get("labels"));
    labels
        .and_then(|labels| labels.get(key))
        .and_then(Value::as_str)
        .unwrap_or_default()
}

/// Sets a text below `metadata`, or takes it away if it is empty.
pub(crate) fn set_text(object: &mut Value, field: &str, value: &str) {
    let Some(metadata) = section(object, "metadata") else {
        return;
    };
    if value.is_empty() {
        metadata.remove(field);
    } else {
        metadata.insert(field.to_owned(), value.into());
    }
    if metadata.is_empty()
        && let Value::Object(fields) = object
    {
        fields.remove("metadata");
    }
}

/// `apiVersion` and `kind` as Go prints them together.
pub(crate) fn kind_text(object: &Value) -> String {
    let field = |name: &str| object.get(name).and_then(Value::as_str).unwrap_or_default();
    let (group, version) = field("apiVersion")
        .split_once('/')
        .unwrap_or(("", field("apiVersion")));
    format!("{group}/{version}, Kind={}", field("kind"))
}

/// Marks a composed resource with the composite resource it belongs to.
pub(crate) fn mark(composed: &mut Value, composite: &Value, prefix: &str, name: Option<&str>) {
    let Some(metadata) = section(composed, "metadata") else {
        return;
    };
    metadata.insert("generateName".to_owned(), format!("{prefix}-").into());
    if let Some(name) = name
        && let Some(annotations) = subsection(metadata, "annotations")
    {
        annotations.insert(RESOURCE_NAME_ANNOTATION.to_owned(), name.into());
    }
    if let Some(labels) = subsection(metadata, "labels") {
        labels.insert(COMPOSITE_LABEL.to_owned(), prefix.into());
        for key in [CLAIM_NAME_LABEL, CLAIM_NAMESPACE_LABEL] {
            labels.insert(key.to_owned(), label(composite, key).into());
        }
    }
}

/// The reference that makes the composite resource the controller of what it composes.
pub(crate) fn controller_reference(composite: &Value) -> Value {
    json!({
        "apiVersion": composite.get("apiVersion"),
        "kind": composite.get("kind"),
        "name": text(composite, "name"),
        "uid": text(composite, "uid"),
        "controller": true,
        "blockOwnerDeletion": true,
    })
}

/// Adds the controller reference, next to other owners that a template may name.
pub(crate) fn own(composed: &mut Value, composite: &Value) -> Result<(), String> {
    let reference = controller_reference(composite);
    let name = text(composed, "name").to_owned();
    let Some(metadata) = section(composed, "metadata") else {
        return Ok(());
    };
    let owners = metadata
        .entry("ownerReferences")
        .or_insert_with(|| Value::Array(Vec::new()));
    let Value::Array(owners) = owners else {
        *owners = Value::Array(vec![reference]);
        return Ok(());
    };
    let same = |owner: &Value| owner.get("uid") == reference.get("uid");
    let controller = owners
        .iter()
        .find(|owner| owner.get("controller") == Some(&Value::Bool(true)));
    if let Some(other) = controller.filter(|owner| !same(owner)) {
        let field = |name: &str| {
            other
                .get(name)
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_owned()
        };
        return Err(format!(
            "{name} is already controlled by {} {} (UID {})",
            field("kind"),
            field("name"),
            field("uid")
        ));
    }
    match owners.iter_mut().find(|owner| same(owner)) {
        Some(owner) => *owner = reference,
        None => owners.push(reference),
    }
    Ok(())
}

fn section<'a>(object: &'a mut Value, name: &str) -> Option<&'a mut Map<String, Value>> {
    subsection(object.as_object_mut()?, name)
}

/// The object below a field; what is there instead of an object gives way to one.
fn subsection<'a>(fields: &'a mut Map<String, Value>, name: &str) -> Option<&'a mut Map<String, Value>> {
    let field = fields.entry(name).or_insert_with(|| Value::Object(Map::new()));
    if !field.is_object() {
        *field = Value::Object(Map::new());
    }
    field.as_object_mut()
}
