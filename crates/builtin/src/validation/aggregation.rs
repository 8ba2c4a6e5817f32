//! API services.

use cambium_schema::names;

use super::at::At;
use super::rule::{self, Errors};

pub(super) fn api_service(new: &At, errors: &mut Errors) {
    let (name, spec) = (new.field("metadata").field("name"), new.field("spec"));
    let (group, version) = (spec.field("group"), spec.field("version"));
    let required = format!("{}.{}", version.text(), group.text());
    if name.text() != required {
        let detail = format!("must be `spec.version+\".\"+spec.group`: {required:?}");
        rule::invalid(&name, detail, errors);
    }
    if group.is_empty() && version.text() != "v1" {
        let detail = "only v1 may have an empty group and it better be legacy kube";
        rule::required_because(&group, detail, errors);
    }
    rule::subdomain_if_set(&group, errors);
    rule::complain(&version, names::dns1035_label(version.text()), errors);
    for (field, most) in [("groupPriorityMinimum", 20_000), ("versionPriority", 1000)] {
        let at = spec.field(field);
        if !(1..=most).contains(&at.integer().unwrap_or_default()) {
            rule::invalid(&at, format!("must be positive and less than {most}"), errors);
        }
    }
    let (service, bundle, insecure) = (
        spec.field("service"),
        spec.field("caBundle"),
        spec.field("insecureSkipTLSVerify"),
    );
    if !service.is_set() {
        if !bundle.is_empty() {
            // Base64 as it is: four characters for three bytes.
            let text = bundle.text();
            let bytes = text.len() / 4 * 3 - text.bytes().rev().take_while(|byte| *byte == b'=').count();
            let shown = format!("\"{bytes} bytes\"");
            rule::invalid_shown(
                &bundle,
                shown,
                "local APIServices may not have a caBundle",
                errors,
            );
        }
        if insecure.is_true() {
            rule::invalid(
                &insecure,
                "local APIServices may not have insecureSkipTLSVerify",
                errors,
            );
        }
        return;
    }
    rule::required(&service.field("namespace"), errors);
    rule::required(&service.field("name"), errors);
    let port = service.field("port");
    if port.is_set() && !(1..=65_535).contains(&port.integer().unwrap_or_default()) {
        rule::invalid(
            &port,
            "port is not valid: must be between 1 and 65535, inclusive",
            errors,
        );
    }
    if insecure.is_true() && !bundle.is_empty() {
        rule::invalid(&insecure, "may not be true if caBundle is present", errors);
    }
}
