//! The containers of a pod.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::super::at::At;
use super::super::rule::{self, Errors};
use super::{environment, probe, resources, security};

pub(super) fn check(spec: &At, volumes: &BTreeMap<String, Value>, errors: &mut Errors) {
    let containers = spec.field("containers");
    if containers.is_empty() {
        return errors.push(cambium_schema::FieldError::required(containers.path, ""));
    }
    let mut names = BTreeSet::new();
    for container in containers.items() {
        of_any_sort(&container, volumes, errors);
        unique_name(&container, &mut names, errors);
        probe::lifecycle(&container.field("lifecycle"), errors);
        probe::check(&container, errors);
        rule::one_of_if_set(
            &container.field("restartPolicy"),
            &["Always", "Never", "OnFailure"],
            errors,
        );
    }
    host_ports(&containers, errors);
    for container in spec.field("initContainers").items() {
        of_any_sort(&container, volumes, errors);
        unique_name(&container, &mut names, errors);
        init(&container, errors);
        host_ports_within(&container, errors);
    }
    for container in spec.field("ephemeralContainers").items() {
        of_any_sort(&container, volumes, errors);
        unique_name(&container, &mut names, errors);
        let target = container.field("targetContainerName");
        let is_known = || {
            containers
                .items()
                .any(|other| other.field("name").value == target.value)
        };
        if !target.is_empty() && !is_known() {
            errors.push(cambium_schema::FieldError::not_found(target.path, target.value));
        }
    }
}

fn unique_name<'v>(container: &At<'v>, names: &mut BTreeSet<&'v str>, errors: &mut Errors) {
    let name = container.field("name");
    if !name.is_empty() && !names.insert(name.text()) {
        rule::duplicate(&name, errors);
    }
}

fn init(container: &At, errors: &mut Errors) {
    let policy = container.field("restartPolicy");
    rule::one_of_if_set(&policy, &["Always", "Never", "OnFailure"], errors);
    if policy.text() == "Always" {
        probe::lifecycle(&container.field("lifecycle"), errors);
        return probe::check(container, errors);
    }
    for name in ["lifecycle", "livenessProbe", "readinessProbe", "startupProbe"] {
        let at = container.field(name);
        if at.is_set() {
            rule::forbidden(
                &at,
                "may not be set for init containers without restartPolicy=Always",
                errors,
            );
        }
    }
}

fn of_any_sort(container: &At, volumes: &BTreeMap<String, Value>, errors: &mut Errors) {
    let name = container.field("name");
    if rule::required(&name, errors) {
        rule::label_name(&name, errors);
    }
    let image = container.field("image");
    if rule::required(&image, errors) && image.text() != image.text().trim() {
        rule::invalid(&image, "must not have leading or trailing whitespace", errors);
    }
    rule::one_of(
        &container.field("terminationMessagePolicy"),
        &["File", "FallbackToLogsOnError"],
        errors,
    );
    ports(&container.field("ports"), errors);
    environment::check(container, errors);
    mounts(container, volumes, errors);
    rule::one_of(
        &container.field("imagePullPolicy"),
        &["Always", "IfNotPresent", "Never"],
        errors,
    );
    resources::of_container(&container.field("resources"), errors);
    security::of_container(&container.field("securityContext"), errors);
}

fn ports(ports: &At, errors: &mut Errors) {
    let mut names = BTreeSet::new();
    for port in ports.items() {
        let name = port.field("name");
        if !name.is_empty() {
            let complaints = rule::port_name(name.text());
            if complaints.is_empty() && !names.insert(name.text()) {
                rule::duplicate(&name, errors);
            }
            rule::complain(&name, complaints, errors);
        }
        let number = port.field("containerPort");
        match number.integer() {
            None | Some(0) => rule::required_because(&number, "", errors),
            Some(_) => rule::port_number(&number, errors),
        }
        let host = port.field("hostPort");
        if host.integer().is_some_and(|number| number != 0) {
            rule::port_number(&host, errors);
        }
        let protocol = port.field("protocol");
        if rule::required(&protocol, errors) {
            rule::one_of(&protocol, &["SCTP", "TCP", "UDP"], errors);
        }
    }
}

fn host_ports(containers: &At, errors: &mut Errors) {
    let mut taken = BTreeSet::new();
    for container in containers.items() {
        claim_host_ports(&container, &mut taken, errors);
    }
}

fn host_ports_within(container: &At, errors: &mut Errors) {
    claim_host_ports(container, &mut BTreeSet::new(), errors);
}

fn claim_host_ports(container: &At, taken: &mut BTreeSet<String>, errors: &mut Errors) {
    for port in container.field("ports").items() {
        let host = port.field("hostPort");
        let Some(number) = host.integer().filter(|number| *number != 0) else {
            continue;
        };
        let name = format!(
            "{}/{}/{number}",
            port.field("protocol").text(),
            port.field("hostIP").text()
        );
        if !taken.insert(name.clone()) {
            errors.push(cambium_schema::FieldError::duplicate(host.path, &json!(name)));
        }
    }
}

fn mounts(container: &At, volumes: &BTreeMap<String, Value>, errors: &mut Errors) {
    let all = container.field("volumeMounts");
    let mut paths = BTreeSet::new();
    for mount in all.items() {
        let (name, path) = (mount.field("name"), mount.field("mountPath"));
        rule::required(&name, errors);
        if !volumes.contains_key(name.text()) {
            errors.push(cambium_schema::FieldError::not_found(
                name.path.clone(),
                &Value::from(name.text()),
            ));
        }
        if rule::required(&path, errors) && !paths.insert(path.text()) {
            rule::invalid(&path, "must be unique", errors);
        }
        let (sub, expression) = (mount.field("subPath"), mount.field("subPathExpr"));
        if !sub.is_empty() {
            let blamed = At {
                value: sub.value,
                path: all.path.child("subPath"),
            };
            descending(&blamed, errors);
        }
        if !expression.is_empty() {
            if !sub.is_empty() {
                rule::invalid(
                    &expression,
                    "subPathExpr and subPath are mutually exclusive",
                    errors,
                );
            }
            let blamed = At {
                value: expression.value,
                path: all.path.child("subPathExpr"),
            };
            descending(&blamed, errors);
        }
        let propagation = At {
            value: mount.field("mountPropagation").value,
            path: all.path.child("mountPropagation"),
        };
        rule::one_of_if_set(
            &propagation,
            &["Bidirectional", "HostToContainer", "None"],
            errors,
        );
        let is_privileged = container.field("securityContext").field("privileged").is_true();
        if propagation.text() == "Bidirectional" && !is_privileged {
            rule::forbidden(
                &propagation,
                "Bidirectional mount propagation is available only to privileged containers",
                errors,
            );
        }
    }
    for device in container.field("volumeDevices").items() {
        let (name, path) = (device.field("name"), device.field("devicePath"));
        rule::required(&name, errors);
        rule::required(&path, errors);
        if !volumes.contains_key(name.text()) {
            errors.push(cambium_schema::FieldError::not_found(
                name.path.clone(),
                &Value::from(name.text()),
            ));
        }
    }
}

/// Requires a relative path without `..`.
pub(super) fn descending(at: &At, errors: &mut Errors) {
    if at.text().starts_with('/') {
        rule::invalid(at, "must be a relative path", errors);
    }
    no_backsteps(at, errors);
}

pub(super) fn no_backsteps(at: &At, errors: &mut Errors) {
    if at.text().split('/').any(|part| part == "..") {
        rule::invalid(at, "must not contain '..'", errors);
    }
}
