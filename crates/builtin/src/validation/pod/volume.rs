//! Validation of pod volumes.

use std::collections::BTreeMap;

use serde_json::Value;

use super::super::at::At;
use super::super::rule::{self, Errors};
use super::super::storage;
use super::container::{descending, no_backsteps};
use super::environment;
use crate::quantity::Quantity;

/// Validates volumes; returns those with valid names.
pub(super) fn check(volumes: &At, errors: &mut Errors) -> BTreeMap<String, Value> {
    let mut known = BTreeMap::new();
    for volume in volumes.items() {
        let before = errors.len();
        source(&volume, errors);
        let name = volume.field("name");
        if rule::required(&name, errors) {
            let is_fine = cambium_schema::names::dns1123_label(name.text()).is_empty();
            rule::label_name(&name, errors);
            if is_fine && known.contains_key(name.text()) {
                rule::duplicate(&name, errors);
            }
        }
        if errors.len() == before {
            known.insert(name.text().to_owned(), volume.value.clone());
        }
    }
    known
}

fn source(volume: &At, errors: &mut Errors) {
    // The order in which upstream looks for them decides which one is too many.
    const ORDER: [&str; 9] = [
        "emptyDir",
        "hostPath",
        "gitRepo",
        "gcePersistentDisk",
        "awsElasticBlockStore",
        "secret",
        "nfs",
        "iscsi",
        "glusterfs",
    ];
    let mut kinds: Vec<&str> = volume
        .value
        .as_object()
        .into_iter()
        .flatten()
        .map(|(name, _)| name.as_str())
        .filter(|name| *name != "name")
        .collect();
    kinds.sort_by_key(|kind| {
        ORDER
            .iter()
            .position(|known| known == kind)
            .unwrap_or(ORDER.len())
    });
    for (index, kind) in kinds.iter().enumerate() {
        let at = volume.field(kind);
        match index {
            0 => of_kind(kind, &at, errors),
            _ => rule::forbidden(&at, "may not specify more than 1 volume type", errors),
        }
    }
}

fn of_kind(kind: &str, at: &At, errors: &mut Errors) {
    match kind {
        "emptyDir" => {
            let limit = at.field("sizeLimit");
            if Quantity::parse(limit.text()).is_ok_and(|limit| limit.is_negative()) {
                rule::forbidden(
                    &limit,
                    "SizeLimit field must be a valid resource quantity",
                    errors,
                );
            }
        }
        "hostPath" => host_path(at, errors),
        "secret" => {
            rule::required(&at.field("secretName"), errors);
            files(at, errors);
        }
        "configMap" => {
            rule::required(&at.field("name"), errors);
            files(at, errors);
        }
        "persistentVolumeClaim" => {
            rule::required(&at.field("claimName"), errors);
        }
        "nfs" => nfs(at, errors),
        "downwardAPI" => {
            mode(&at.field("defaultMode"), errors);
            downward_files(at, errors);
        }
        "projected" => {
            mode(&at.field("defaultMode"), errors);
            for source in at.field("sources").items() {
                projected(&source, errors);
            }
        }
        "csi" => {
            rule::required(&at.field("driver"), errors);
        }
        "ephemeral" => {
            let template = at.field("volumeClaimTemplate");
            match template.is_set() {
                true => storage::claim_spec(&template.field("spec"), errors),
                false => rule::required_because(&template, "", errors),
            }
        }
        _ => {}
    }
}

/// Validates a `hostPath`.
pub(in super::super) fn host_path(at: &At, errors: &mut Errors) {
    const TYPES: [&str; 8] = [
        "",
        "BlockDevice",
        "CharDevice",
        "Directory",
        "DirectoryOrCreate",
        "File",
        "FileOrCreate",
        "Socket",
    ];
    let path = at.field("path");
    if !rule::required(&path, errors) {
        return;
    }
    no_backsteps(&path, errors);
    rule::one_of_if_set(&at.field("type"), &TYPES, errors);
}

fn nfs(at: &At, errors: &mut Errors) {
    rule::required(&at.field("server"), errors);
    let path = at.field("path");
    rule::required(&path, errors);
    if !path.is_empty() && !path.text().starts_with('/') {
        rule::invalid(&path, "must be an absolute path", errors);
    }
}

fn files(at: &At, errors: &mut Errors) {
    mode(&at.field("defaultMode"), errors);
    for item in at.field("items").items() {
        rule::required(&item.field("key"), errors);
        let path = item.field("path");
        if rule::required(&path, errors) {
            non_reserved(&path, errors);
        }
        mode(&item.field("mode"), errors);
    }
}

fn downward_files(at: &At, errors: &mut Errors) {
    for item in at.field("items").items() {
        let path = item.field("path");
        if rule::required(&path, errors) {
            non_reserved(&path, errors);
        }
        let (field, resource) = (item.field("fieldRef"), item.field("resourceFieldRef"));
        if field.is_set() {
            environment::volume_field_reference(&field, errors);
        } else if resource.is_set() {
            rule::required(&resource.field("containerName"), errors);
            environment::resource_reference(&resource, errors);
        } else {
            rule::required_because(at, "one of fieldRef and resourceFieldRef is required", errors);
        }
        mode(&item.field("mode"), errors);
    }
}

fn projected(source: &At, errors: &mut Errors) {
    for kind in ["secret", "configMap"] {
        let at = source.field(kind);
        if at.is_set() {
            rule::required(&at.field("name"), errors);
            files(&at, errors);
        }
    }
    let downward = source.field("downwardAPI");
    if downward.is_set() {
        downward_files(&downward, errors);
    }
    let token = source.field("serviceAccountToken");
    if token.is_set() {
        let seconds = token.field("expirationSeconds");
        if seconds.integer().is_some_and(|seconds| seconds < 600) {
            rule::invalid(
                &seconds,
                "may not specify a duration less than 10 minutes",
                errors,
            );
        }
        let path = token.field("path");
        if rule::required(&path, errors) {
            non_reserved(&path, errors);
        }
    }
}

fn mode(at: &At, errors: &mut Errors) {
    if at.integer().is_some_and(|mode| !(0..=0o777).contains(&mode)) {
        rule::invalid(
            at,
            "must be a number between 0 and 0777 (octal), both inclusive",
            errors,
        );
    }
}

fn non_reserved(at: &At, errors: &mut Errors) {
    descending(at, errors);
    if at.text().starts_with("..") && !at.text().starts_with("../") {
        rule::invalid(at, "must not start with '..'", errors);
    }
}
