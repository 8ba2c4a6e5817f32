//! Pods and pod templates.

use serde_json::{Map, Value};

use super::fields::{inside, is_empty, object, objects, set, set_absent, set_zero, text};
use crate::quantity::Quantity;

pub(super) fn of_type(name: &str, fields: &mut Map<String, Value>) {
    match name {
        "Pod" => pod(fields),
        "PodSpec" => spec(fields),
        "Container" | "EphemeralContainer" => container(fields),
        "ResourceRequirements" | "VolumeResourceRequirements" => {
            for list in ["limits", "requests"] {
                round_up(fields, list);
            }
        }
        "Probe" => {
            set_zero(fields, "timeoutSeconds", 1);
            set_zero(fields, "periodSeconds", 10);
            set_zero(fields, "successThreshold", 1);
            set_zero(fields, "failureThreshold", 3);
        }
        "HTTPGetAction" => {
            set(fields, "path", "/");
            set(fields, "scheme", "HTTP");
        }
        "GRPCAction" => set_absent(fields, "service", ""),
        "ObjectFieldSelector" => set(fields, "apiVersion", "v1"),
        _ => {}
    }
}

/// Defaults of pods that templates do not have.
fn pod(fields: &mut Map<String, Value>) {
    let Some(spec) = object(fields, "spec") else {
        return;
    };
    for list in ["containers", "initContainers"] {
        for container in objects(spec, list) {
            if let Some(resources) = inside(container, "resources") {
                request_the_limits(resources);
            }
        }
    }
    if let Some(resources) = inside(spec, "resources") {
        request_the_limits(resources);
    }
    set_absent(spec, "enableServiceLinks", true);
    if spec.get("hostNetwork") == Some(&Value::Bool(true)) {
        for list in ["containers", "initContainers"] {
            for container in objects(spec, list) {
                for port in objects(container, "ports") {
                    let number = port.get("containerPort").cloned().unwrap_or_default();
                    if is_empty(port, "hostPort") {
                        port.insert("hostPort".to_owned(), number);
                    }
                }
            }
        }
    }
}

/// Requests default to limits.
fn request_the_limits(resources: &mut Map<String, Value>) {
    let Some(Value::Object(limits)) = resources.get("limits").cloned() else {
        return;
    };
    if let Some(requests) = object(resources, "requests") {
        for (name, limit) in limits {
            requests.entry(name).or_insert(limit);
        }
    }
}

fn spec(fields: &mut Map<String, Value>) {
    set(fields, "dnsPolicy", "ClusterFirst");
    set(fields, "restartPolicy", "Always");
    set(fields, "securityContext", Map::new());
    set_absent(fields, "terminationGracePeriodSeconds", 30);
    set(fields, "schedulerName", "default-scheduler");
    round_up(fields, "overhead");
    // An older name of the same field, which is still written.
    for (from, to) in [
        ("serviceAccount", "serviceAccountName"),
        ("serviceAccountName", "serviceAccount"),
    ] {
        let account = text(fields, from).to_owned();
        if !account.is_empty() && (from == "serviceAccountName" || is_empty(fields, to)) {
            fields.insert(to.to_owned(), account.into());
        }
    }
}

fn container(fields: &mut Map<String, Value>) {
    let policy = pull_policy(text(fields, "image"));
    set(fields, "imagePullPolicy", policy);
    set(fields, "terminationMessagePath", "/dev/termination-log");
    set(fields, "terminationMessagePolicy", "File");
}

/// The default `imagePullPolicy`: `Always` for `:latest`.
pub(super) fn pull_policy(image: &str) -> &'static str {
    match tag(image) {
        Some("latest") => "Always",
        _ => "IfNotPresent",
    }
}

/// The tag of an image; `latest` when neither tag nor digest is given, none when the reference is malformed.
fn tag(image: &str) -> Option<&str> {
    let (name, digest) = match image.split_once('@') {
        Some((name, digest)) => (name, Some(digest)),
        None => (image, None),
    };
    let last = name.rsplit('/').next().unwrap_or_default();
    let (repository, tag) = match last.rsplit_once(':') {
        Some((_, tag)) => (&name[..name.len() - tag.len() - 1], Some(tag)),
        None => (name, None),
    };
    let is_well_formed = !repository.is_empty()
        && repository
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"._-/:".contains(&byte))
        && !repository
            .rsplit('/')
            .next()
            .unwrap_or_default()
            .bytes()
            .any(|byte| byte.is_ascii_uppercase());
    match (tag, digest) {
        _ if !is_well_formed => None,
        (Some(tag), _) => Some(tag),
        (None, Some(_)) => None,
        (None, None) => Some("latest"),
    }
}

/// Rounds quantities up to thousandths.
pub(super) fn round_up(fields: &mut Map<String, Value>, list: &str) {
    let Some(amounts) = inside(fields, list) else {
        return;
    };
    for amount in amounts.values_mut() {
        if let Some(mut quantity) = amount.as_str().and_then(|text| Quantity::parse(text).ok()) {
            quantity.round_up_to_milli();
            *amount = Value::String(quantity.to_string());
        }
    }
}
