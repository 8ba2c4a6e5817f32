//! Ingresses and their classes.

use std::net::IpAddr;
use std::str::FromStr;

use cambium_schema::names;
use serde_json::Value;

use super::at::At;
use super::rule::{self, Errors};

pub(super) fn check(new: &At, errors: &mut Errors) {
    let spec = new.field("spec");
    let (backend, rules) = (spec.field("defaultBackend"), spec.field("rules"));
    if rules.is_empty() && !backend.is_set() {
        let detail = "either `defaultBackend` or `rules` must be specified";
        rule::invalid_as(&spec, &Value::Null, detail, errors);
    }
    if backend.is_set() {
        self::backend(&backend, errors);
    }
    for ingress_rule in rules.items() {
        host(&ingress_rule.field("host"), errors);
        let http = ingress_rule.field("http");
        let paths = http.field("paths");
        if http.is_set() && paths.is_empty() {
            rule::required_because(&paths, "", errors);
        }
        for path in paths.items() {
            self::path(&path, errors);
        }
    }
    for tls in spec.field("tls").items() {
        for name in tls.field("hosts").items() {
            dns_name(&name, errors);
        }
        rule::subdomain_if_set(&tls.field("secretName"), errors);
    }
    let class = spec.field("ingressClassName");
    if class.is_set() {
        rule::subdomain(&class, errors);
    }
}

fn host(at: &At, errors: &mut Errors) {
    if at.is_empty() {
        return;
    }
    match IpAddr::from_str(at.text()) {
        Ok(_) => rule::invalid(at, "must be a DNS name, not an IP address", errors),
        Err(_) => dns_name(at, errors),
    }
}

fn dns_name(at: &At, errors: &mut Errors) {
    let Some(rest) = at.text().strip_prefix('*') else {
        return rule::subdomain(at, errors);
    };
    let is_fine = rest
        .strip_prefix('.')
        .is_some_and(|rest| names::dns1123_subdomain(rest).is_empty());
    if !is_fine {
        rule::invalid(
            at,
            "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist \
             of lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character (e.g. \
             '*.example.com', regex used for validation is \
             '\\*\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
            errors,
        );
    }
}

fn path(at: &At, errors: &mut Errors) {
    let (kind, path) = (at.field("pathType"), at.field("path"));
    match kind.text() {
        "" => return rule::required_because(&kind, "pathType must be specified", errors),
        "Exact" | "Prefix" => {
            let text = path.text();
            let shown = Value::from(text);
            if !text.starts_with('/') {
                rule::invalid_as(&path, &shown, "must be an absolute path", errors);
            }
            for part in ["//", "/./", "/../", "%2f", "%2F"] {
                if text.contains(part) {
                    rule::invalid_as(&path, &shown, format!("must not contain '{part}'"), errors);
                }
            }
            for end in ["/..", "/."] {
                if text.ends_with(end) {
                    rule::invalid_as(&path, &shown, format!("cannot end with '{end}'"), errors);
                }
            }
        }
        "ImplementationSpecific" => {
            if !path.is_empty() && !path.text().starts_with('/') {
                rule::invalid(&path, "must be an absolute path", errors);
            }
        }
        _ => rule::one_of(&kind, &["Exact", "ImplementationSpecific", "Prefix"], errors),
    }
    backend(&at.field("backend"), errors);
}

fn backend(at: &At, errors: &mut Errors) {
    let (service, resource) = (at.field("service"), at.field("resource"));
    let blank = Value::from("");
    match (service.is_set(), resource.is_set()) {
        (true, true) => rule::invalid_as(
            at,
            &blank,
            "cannot set both resource and service backends",
            errors,
        ),
        (false, false) => rule::invalid_as(at, &blank, "resource or service backend is required", errors),
        (false, true) => {
            rule::required(&resource.field("kind"), errors);
            rule::required(&resource.field("name"), errors);
        }
        (true, false) => {
            let name = service.field("name");
            if rule::required(&name, errors) {
                rule::complain(&name, names::dns1123_label(name.text()), errors);
            }
            let port = service.field("port");
            let (number, name) = (port.field("number"), port.field("name"));
            let has_number = number.integer().is_some_and(|number| number != 0);
            match (has_number, !name.is_empty()) {
                (true, true) => {
                    rule::invalid_as(at, &blank, "cannot set both port name & port number", errors)
                }
                (false, false) => rule::required_because(at, "port name or number is required", errors),
                (true, false) => rule::port_number(&number, errors),
                (false, true) => rule::complain(&name, rule::port_name(name.text()), errors),
            }
        }
    }
}

pub(super) fn class(new: &At, old: Option<&At>, errors: &mut Errors) {
    let spec = new.field("spec");
    let controller = spec.field("controller");
    if let Some(old) = old {
        rule::immutable(&controller, &old.field("spec").field("controller"), errors);
    }
    if rule::required(&controller, errors) {
        rule::domain_path(&controller, errors);
    }
    let parameters = spec.field("parameters");
    if !parameters.is_set() {
        return;
    }
    rule::required(&parameters.field("kind"), errors);
    rule::required(&parameters.field("name"), errors);
    let (scope, namespace) = (parameters.field("scope"), parameters.field("namespace"));
    rule::one_of(&scope, &["Cluster", "Namespace"], errors);
    match (scope.text(), namespace.is_empty()) {
        ("Namespace", true) => {
            rule::required_because(&namespace, "`parameters.scope` is set to 'Namespace'", errors);
        }
        ("Cluster", false) => rule::forbidden(&namespace, "`parameters.scope` is set to 'Cluster'", errors),
        _ => {}
    }
}
