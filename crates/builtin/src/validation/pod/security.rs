//! Validation of security contexts.

use serde_json::Value;

use super::super::at::At;
use super::super::rule::{self, Errors};
use super::super::selector::json_text;

pub(super) fn of_pod(spec: &At, errors: &mut Errors) {
    let at = spec.field("securityContext");
    for name in ["fsGroup", "runAsUser", "runAsGroup"] {
        id(&at.field(name), errors);
    }
    for group in at.field("supplementalGroups").items() {
        id(&group, errors);
    }
    if spec.field("shareProcessNamespace").is_true() && spec.field("hostPID").is_true() {
        let detail = "ShareProcessNamespace and HostPID cannot both be enabled";
        rule::invalid_as(
            &at.field("shareProcessNamespace"),
            &Value::Bool(true),
            detail,
            errors,
        );
    }
    rule::one_of_if_set(
        &at.field("fsGroupChangePolicy"),
        &["Always", "OnRootMismatch"],
        errors,
    );
    let mut names = std::collections::BTreeSet::new();
    for sysctl in at.field("sysctls").items() {
        let name = sysctl.field("name");
        if name.is_empty() {
            rule::required(&name, errors);
        } else if !is_sysctl(name.text()) {
            let detail = "must have at most 253 characters and match regex \
                          ^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$";
            rule::invalid(&name, detail, errors);
        } else if !names.insert(name.text()) {
            rule::duplicate(&name, errors);
        }
    }
    seccomp(&at.field("seccompProfile"), errors);
}

pub(super) fn of_container(at: &At, errors: &mut Errors) {
    if !at.is_set() {
        return;
    }
    for name in ["runAsUser", "runAsGroup"] {
        id(&at.field(name), errors);
    }
    rule::one_of_if_set(&at.field("procMount"), &["Default", "Unmasked"], errors);
    seccomp(&at.field("seccompProfile"), errors);
    if at.field("allowPrivilegeEscalation").value != &Value::Bool(false) {
        return;
    }
    let is_admin = at
        .field("capabilities")
        .field("add")
        .items()
        .any(|capability| capability.text() == "CAP_SYS_ADMIN");
    if at.field("privileged").is_true() {
        let detail = "cannot set `allowPrivilegeEscalation` to false and `privileged` to true";
        rule::invalid_shown(at, shown(at), detail, errors);
    }
    if is_admin {
        let detail = "cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN";
        rule::invalid_shown(at, shown(at), detail, errors);
    }
}

/// A container's security context as upstream prints its internal type.
fn shown(at: &At) -> String {
    let part = |name: &str| json_text(at.field(name).value);
    let capabilities = at.field("capabilities");
    let capabilities = match capabilities.is_set() {
        true => format!(
            "{{\"Add\":{},\"Drop\":{}}}",
            json_text(capabilities.field("add").value),
            json_text(capabilities.field("drop").value)
        ),
        false => "null".to_owned(),
    };
    format!(
        "{{\"Capabilities\":{capabilities},\"Privileged\":{},\"SELinuxOptions\":null,\"WindowsOptions\":null,\
         \"RunAsUser\":{},\"RunAsGroup\":{},\"RunAsNonRoot\":{},\"ReadOnlyRootFilesystem\":{},\
         \"AllowPrivilegeEscalation\":{},\"ProcMount\":{},\"SeccompProfile\":null,\"AppArmorProfile\":null}}",
        part("privileged"),
        part("runAsUser"),
        part("runAsGroup"),
        part("runAsNonRoot"),
        part("readOnlyRootFilesystem"),
        part("allowPrivilegeEscalation"),
        part("procMount"),
    )
}

fn id(at: &At, errors: &mut Errors) {
    if at
        .integer()
        .is_some_and(|id| !(0..=i64::from(i32::MAX)).contains(&id))
    {
        rule::invalid(at, "must be between 0 and 2147483647, inclusive", errors);
    }
}

fn seccomp(at: &At, errors: &mut Errors) {
    if !at.is_set() {
        return;
    }
    let (kind, profile) = (at.field("type"), at.field("localhostProfile"));
    match kind.text() {
        "" => rule::required_because(&kind, "type is required when seccompProfile is set", errors),
        _ => rule::one_of(&kind, &["Localhost", "RuntimeDefault", "Unconfined"], errors),
    }
    match (kind.text(), profile.is_set()) {
        ("Localhost", false) => {
            rule::required_because(&profile, "must be set when seccomp type is Localhost", errors);
        }
        ("Localhost", true) => super::container::descending(&profile, errors),
        (_, true) => rule::invalid(&profile, "can only be set when seccomp type is Localhost", errors),
        _ => {}
    }
}

fn is_sysctl(name: &str) -> bool {
    let is_part = |part: &str| {
        let is_end =
            |byte: Option<u8>| byte.is_some_and(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
        is_end(part.bytes().next())
            && is_end(part.bytes().last())
            && part
                .bytes()
                .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-_".contains(&byte))
    };
    name.len() <= 253 && name.split(['.', '/']).all(is_part)
}
