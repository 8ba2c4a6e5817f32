//! Validation of probes and lifecycle hooks.

use serde_json::Value;

use super::super::at::At;
use super::super::rule::{self, Errors};

pub(super) fn check(container: &At, errors: &mut Errors) {
    for name in ["livenessProbe", "readinessProbe", "startupProbe"] {
        let probe = container.field(name);
        if !probe.is_set() {
            continue;
        }
        handler(&probe, errors);
        for field in [
            "initialDelaySeconds",
            "timeoutSeconds",
            "periodSeconds",
            "successThreshold",
            "failureThreshold",
        ] {
            rule::at_least_zero(&probe.field(field), errors);
        }
        let own_grace = probe.field("terminationGracePeriodSeconds");
        if name == "readinessProbe" {
            if own_grace.is_set() {
                rule::invalid(&own_grace, "must not be set for readinessProbes", errors);
            }
            continue;
        }
        if own_grace.integer().is_some_and(|seconds| seconds <= 0) {
            rule::invalid(&own_grace, "must be greater than 0", errors);
        }
        let threshold = probe.field("successThreshold");
        if threshold.integer() != Some(1) {
            rule::invalid(&threshold, "must be 1", errors);
        }
    }
}

pub(super) fn lifecycle(at: &At, errors: &mut Errors) {
    for name in ["postStart", "preStop"] {
        let hook = at.field(name);
        if hook.is_set() {
            handler(&hook, errors);
        }
    }
}

fn handler(at: &At, errors: &mut Errors) {
    let mut given = 0;
    for kind in ["exec", "httpGet", "tcpSocket", "grpc", "sleep"] {
        let action = at.field(kind);
        if !action.is_set() {
            continue;
        }
        given += 1;
        if given > 1 {
            rule::forbidden(&action, "may not specify more than 1 handler type", errors);
            continue;
        }
        match kind {
            "exec" => {
                rule::required(&action.field("command"), errors);
            }
            "httpGet" => http(&action, errors),
            "tcpSocket" => rule::port(&action.field("port"), errors),
            "grpc" => rule::port_number(&action.field("port"), errors),
            _ => {}
        }
    }
    if given == 0 {
        rule::required_because(at, "must specify a handler type", errors);
    }
}

fn http(at: &At, errors: &mut Errors) {
    rule::required(&at.field("path"), errors);
    rule::port(&at.field("port"), errors);
    rule::one_of(&at.field("scheme"), &["HTTP", "HTTPS"], errors);
    let headers = at.field("httpHeaders");
    for header in headers.items() {
        let name = header.field("name").text();
        let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
        if name.is_empty() || !name.bytes().all(is_allowed) {
            rule::invalid_as(
                &headers,
                &Value::from(name),
                "a valid HTTP header must consist of alphanumeric characters or '-' (e.g. 'X-Header-Name', regex used \
                 for validation is '[-A-Za-z0-9]+')",
                errors,
            );
        }
    }
}
