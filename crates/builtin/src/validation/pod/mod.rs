//! Pods and pod templates.

mod container;
mod environment;
mod probe;
mod resize;
mod resources;
mod scheduling;
mod security;
mod update;
mod volume;

use std::collections::BTreeMap;

use serde_json::Value;

use super::at::At;
use super::rule::{self, Errors};

pub(super) use self::resources::{integer_resource, qualified_resource};
pub(super) use self::scheduling::node_selector;
pub(super) use self::volume::host_path;

/// Checks a pod.
pub(super) fn check(new: &Value, old: Option<&Value>, errors: &mut Errors) {
    let at = At::root(new);
    let spec = at.field("spec");
    spec_of(&spec, Home::Pod, errors);
    match old {
        None => {
            let ephemeral = spec.field("ephemeralContainers");
            if !ephemeral.is_empty() {
                rule::forbidden(&ephemeral, "cannot be set on create", errors);
            }
        }
        Some(old) => update::check(&at, &At::root(old), errors),
    }
}

/// Checks a pod that is resized.
pub(super) fn resize(new: &Value, old: &Value, errors: &mut Errors) {
    resize::check(new, old, errors);
}

/// Checks the template of a pod.
pub(super) fn template(at: &At, claims: &[&str], errors: &mut Errors) {
    let metadata = at.field("metadata");
    let labels = At {
        value: metadata.field("labels").value,
        path: at.path.child("labels"),
    };
    rule::labels(&labels, errors);
    let annotations = At {
        value: metadata.field("annotations").value,
        path: at.path.child("annotations"),
    };
    for (key, _) in annotations.entries() {
        for complaint in cambium_schema::names::qualified_name(&key.to_lowercase()) {
            rule::invalid_as(&annotations, &Value::from(key), complaint, errors);
        }
    }
    let spec = at.field("spec");
    spec_of(&spec, Home::Template(claims), errors);
    let ephemeral = spec.field("ephemeralContainers");
    if !ephemeral.is_empty() {
        rule::forbidden(
            &ephemeral,
            "ephemeral containers not allowed in pod template",
            errors,
        );
    }
}

/// The context of a pod spec.
enum Home<'c> {
    Pod,
    /// A template, with the names of volume claim templates.
    Template(&'c [&'c str]),
}

fn spec_of(spec: &At, home: Home, errors: &mut Errors) {
    let mut volumes: BTreeMap<String, Value> = volume::check(&spec.field("volumes"), errors);
    if let Home::Template(claims) = home {
        volumes.extend(claims.iter().map(|name| ((*name).to_owned(), Value::Null)));
    }
    container::check(spec, &volumes, errors);
    rule::one_of(
        &spec.field("restartPolicy"),
        &["Always", "OnFailure", "Never"],
        errors,
    );
    dns(spec, errors);
    scheduling::check(spec, errors);
    security::of_pod(spec, errors);
    for name in [
        "serviceAccountName",
        "nodeName",
        "priorityClassName",
        "runtimeClassName",
    ] {
        rule::subdomain_if_set(&spec.field(name), errors);
    }
    for name in ["hostname", "subdomain"] {
        let at = spec.field(name);
        if !at.is_empty() {
            rule::label_name(&at, errors);
        }
    }
    let deadline = spec.field("activeDeadlineSeconds");
    if deadline
        .integer()
        .is_some_and(|seconds| !(1..=i64::from(i32::MAX)).contains(&seconds))
    {
        rule::invalid(&deadline, "must be between 1 and 2147483647, inclusive", errors);
    }
    for alias in spec.field("hostAliases").items() {
        rule::address(&alias.field("ip"), errors);
        for hostname in alias.field("hostnames").items() {
            rule::subdomain(&hostname, errors);
        }
    }
    for gate in spec.field("readinessGates").items() {
        rule::qualified(&gate.field("conditionType"), errors);
    }
    for gate in spec.field("schedulingGates").items() {
        let name = At {
            value: gate.field("name").value,
            path: gate.path,
        };
        rule::qualified(&name, errors);
    }
    let os = spec.field("os");
    if os.is_set() {
        match os.field("name").text() {
            "linux" | "windows" => {}
            "" => rule::required_because(&os.field("name"), "cannot be empty", errors),
            _ => {
                let name = At {
                    value: os.field("name").value,
                    path: os.path,
                };
                rule::one_of(&name, &["linux", "windows"], errors);
            }
        }
    }
}

fn dns(spec: &At, errors: &mut Errors) {
    let policy = spec.field("dnsPolicy");
    rule::one_of(
        &policy,
        &["ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"],
        errors,
    );
    let config = spec.field("dnsConfig");
    if policy.text() == "None" {
        if !config.is_set() {
            rule::required_because(
                &config,
                "must provide `dnsConfig` when `dnsPolicy` is None",
                errors,
            );
        } else if config.field("nameservers").is_empty() {
            rule::required_because(
                &config.field("nameservers"),
                "must provide at least one DNS nameserver when `dnsPolicy` is None",
                errors,
            );
        }
    }
    for server in config.field("nameservers").items() {
        rule::address(&server, errors);
    }
}
