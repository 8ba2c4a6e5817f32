//! The environment of a container.

use cambium_schema::{FieldError, names};
use serde_json::Value;

use super::super::at::At;
use super::super::rule::{self, Errors};

const FIELDS: [&str; 9] = [
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.serviceAccountName",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
];
const VOLUME_FIELDS: [&str; 5] = [
    "metadata.annotations",
    "metadata.labels",
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
];
const OTHER_FIELDS: [&str; 5] = [
    "spec.restartPolicy",
    "spec.schedulerName",
    "spec.hostNetwork",
    "status.phase",
    "status.nominatedNodeName",
];
const RESOURCES: [&str; 6] = [
    "limits.cpu",
    "limits.ephemeral-storage",
    "limits.memory",
    "requests.cpu",
    "requests.ephemeral-storage",
    "requests.memory",
];

pub(super) fn check(container: &At, errors: &mut Errors) {
    for variable in container.field("env").items() {
        let name = variable.field("name");
        if rule::required(&name, errors) {
            rule::complain(&name, variable_name(name.text()), errors);
        }
        let from = variable.field("valueFrom");
        if from.is_set() {
            value_from(&from, !variable.field("value").is_empty(), errors);
        }
    }
    let all = container.field("envFrom");
    for source in all.items() {
        let prefix = source.field("prefix");
        if !prefix.is_empty() {
            rule::complain(&prefix, variable_name(prefix.text()), errors);
        }
        let mut given = 0;
        for kind in ["configMapRef", "secretRef"] {
            let reference = source.field(kind);
            if reference.is_set() {
                given += 1;
                let name = reference.field("name");
                if rule::required(&name, errors) {
                    rule::subdomain(&name, errors);
                }
            }
        }
        match given {
            0 => rule::invalid_as(
                &all,
                &Value::from(""),
                "must specify one of: `configMapRef` or `secretRef`",
                errors,
            ),
            1 => {}
            _ => rule::invalid_as(
                &all,
                &Value::from(""),
                "may not have more than one field specified at a time",
                errors,
            ),
        }
    }
}

fn value_from(from: &At, has_value: bool, errors: &mut Errors) {
    let mut given = 0;
    if from.field("fieldRef").is_set() {
        given += 1;
        field_reference(&from.field("fieldRef"), &FIELDS, errors);
    }
    if from.field("resourceFieldRef").is_set() {
        given += 1;
        resource_reference(&from.field("resourceFieldRef"), errors);
    }
    for kind in ["configMapKeyRef", "secretKeyRef"] {
        let reference = from.field(kind);
        if !reference.is_set() {
            continue;
        }
        given += 1;
        let (name, key) = (reference.field("name"), reference.field("key"));
        let empty = Value::from("");
        for complaint in names::dns1123_subdomain(name.text()) {
            let value = if name.is_set() { name.value } else { &empty };
            rule::invalid_as(&name, value, complaint, errors);
        }
        if rule::required(&key, errors) {
            rule::complain(&key, rule::config_key(key.text()), errors);
        }
    }
    given += usize::from(from.field("fileKeyRef").is_set());
    let blank = Value::from("");
    match given {
        0 => rule::invalid_as(
            from,
            &blank,
            "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`",
            errors,
        ),
        _ if has_value => {
            rule::invalid_as(
                from,
                &blank,
                "may not be specified when `value` is not empty",
                errors,
            );
        }
        1 => {}
        _ => rule::invalid_as(
            from,
            &blank,
            "may not have more than one field specified at a time",
            errors,
        ),
    }
}

/// Validates a `fieldRef` to one of the supported fields.
pub(super) fn field_reference(at: &At, supported: &[&str], errors: &mut Errors) {
    let (version, path) = (at.field("apiVersion"), at.field("fieldPath"));
    if !rule::required(&version, errors) || !rule::required(&path, errors) {
        return;
    }
    let subscript = path
        .text()
        .strip_suffix("']")
        .and_then(|text| text.split_once("['"));
    if let Some((field, key)) = subscript {
        return match field {
            "metadata.annotations" | "metadata.labels" => {
                for complaint in names::qualified_name(key) {
                    rule::invalid_as(at, &Value::from(key), complaint, errors);
                }
            }
            _ => rule::invalid_as(at, &Value::from(field), "does not support subscript", errors),
        };
    }
    let is_convertible = FIELDS.contains(&path.text())
        || OTHER_FIELDS.contains(&path.text())
        || VOLUME_FIELDS.contains(&path.text());
    if version.text() != "v1" {
        let detail = format!(
            "error converting fieldPath: unsupported pod version: {}",
            version.text()
        );
        rule::invalid(&path, detail, errors);
    } else if !is_convertible {
        let detail = format!(
            "error converting fieldPath: field label not supported: {}",
            path.text()
        );
        rule::invalid(&path, detail, errors);
    } else {
        rule::one_of(&path, supported, errors);
    }
}

/// Validates a `fieldRef` of a volume.
pub(super) fn volume_field_reference(at: &At, errors: &mut Errors) {
    field_reference(at, &VOLUME_FIELDS, errors);
}

pub(super) fn resource_reference(at: &At, errors: &mut Errors) {
    let resource = at.field("resource");
    if !rule::required(&resource, errors) {
        return;
    }
    let text = resource.text();
    let is_huge = text.starts_with("limits.hugepages-") || text.starts_with("requests.hugepages-");
    if !RESOURCES.contains(&text) && !is_huge {
        errors.push(FieldError::not_supported(
            resource.path,
            resource.value,
            &RESOURCES,
        ));
    }
}

fn variable_name(name: &str) -> Vec<String> {
    let is_allowed = |byte: u8| (b' '..=b'~').contains(&byte) && byte != b'=';
    match name.bytes().all(is_allowed) {
        true => Vec::new(),
        false => vec![
            "a valid environment variable name must consist only of printable ASCII characters other than '='".to_owned(),
        ],
    }
}
