//! Webhook configurations.

use std::collections::BTreeSet;

use cambium_schema::{FieldError, names};
use serde_json::Value;

use super::at::At;
use super::rule::{self, Errors};
use super::selector;

pub(super) fn check(new: &At, errors: &mut Errors) {
    let mut seen = BTreeSet::new();
    for webhook in new.field("webhooks").items() {
        self::webhook(&webhook, errors);
        let name = webhook.field("name");
        if !name.is_empty() && !seen.insert(name.text()) {
            rule::duplicate(&name, errors);
        }
    }
}

fn webhook(at: &At, errors: &mut Errors) {
    fully_qualified(&at.field("name"), errors);
    for hook_rule in at.field("rules").items() {
        self::rules(&hook_rule, errors);
    }
    rule::one_of_if_set(&at.field("failurePolicy"), &["Fail", "Ignore"], errors);
    rule::one_of_if_set(&at.field("matchPolicy"), &["Equivalent", "Exact"], errors);
    let effects = at.field("sideEffects");
    match effects.is_set() {
        true => rule::one_of(&effects, &["None", "NoneOnDryRun"], errors),
        false => rule::required_because(&effects, "must specify one of None, NoneOnDryRun", errors),
    }
    let timeout = at.field("timeoutSeconds");
    if timeout
        .integer()
        .is_some_and(|seconds| !(1..=30).contains(&seconds))
    {
        rule::invalid(
            &timeout,
            "the timeout value must be between 1 and 30 seconds",
            errors,
        );
    }
    selector::check(&at.field("namespaceSelector"), errors);
    selector::check(&at.field("objectSelector"), errors);
    review_versions(&at.field("admissionReviewVersions"), errors);
    client(&at.field("clientConfig"), errors);
    rule::one_of_if_set(&at.field("reinvocationPolicy"), &["IfNeeded", "Never"], errors);
    for condition in at.field("matchConditions").items() {
        let (name, expression) = (condition.field("name"), condition.field("expression"));
        rule::required(&expression, errors);
        if rule::required(&name, errors) {
            rule::qualified(&name, errors);
        }
    }
}

fn fully_qualified(at: &At, errors: &mut Errors) {
    if !rule::required(at, errors) {
        return;
    }
    let complaints = names::dns1123_subdomain(at.text());
    if !complaints.is_empty() {
        return rule::complain(at, complaints, errors);
    }
    if at.text().split('.').count() < 3 {
        rule::invalid(
            at,
            "should be a domain with at least three segments separated by dots",
            errors,
        );
    }
}

fn review_versions(at: &At, errors: &mut Errors) {
    if at.is_empty() {
        return rule::required_because(at, "must specify one of v1, v1beta1", errors);
    }
    let (mut seen, mut is_known) = (BTreeSet::new(), false);
    for version in at.items() {
        if !seen.insert(version.text()) {
            rule::invalid(&version, "duplicate version", errors);
            continue;
        }
        rule::complain(&version, names::dns1035_label(version.text()), errors);
        is_known |= matches!(version.text(), "v1" | "v1beta1");
    }
    if !is_known {
        rule::invalid(at, "must include at least one of v1, v1beta1", errors);
    }
}

/// Validates the rules of a webhook or policy.
pub(super) fn rules(at: &At, errors: &mut Errors) {
    let operations = at.field("operations");
    rule::required(&operations, errors);
    alone(
        &operations,
        "if '*' is present, must not specify other operations",
        errors,
    );
    for operation in operations.items() {
        let known = ["*", "CONNECT", "CREATE", "DELETE", "UPDATE"];
        rule::one_of(&operation, &known, errors);
    }
    let (groups, versions) = (at.field("apiGroups"), at.field("apiVersions"));
    rule::required(&groups, errors);
    alone(
        &groups,
        "if '*' is present, must not specify other API groups",
        errors,
    );
    rule::required(&versions, errors);
    alone(
        &versions,
        "if '*' is present, must not specify other API versions",
        errors,
    );
    for version in versions.items() {
        if version.text().is_empty() {
            rule::required(&version, errors);
        }
    }
    resources(&at.field("resources"), errors);
    rule::one_of_if_set(&at.field("scope"), &["*", "Cluster", "Namespaced"], errors);
}

fn alone(at: &At, detail: &str, errors: &mut Errors) {
    if at.items().count() > 1 && at.items().any(|item| item.text() == "*") {
        rule::invalid(at, detail, errors);
    }
}

fn resources(at: &At, errors: &mut Errors) {
    if at.is_empty() {
        return rule::required_because(at, "", errors);
    }
    let all: Vec<&str> = at.items().map(|resource| resource.text()).collect();
    if all.contains(&"*/*") && all.len() > 1 {
        return rule::invalid(
            at,
            "if '*/*' is present, must not specify other resources",
            errors,
        );
    }
    if all.contains(&"*")
        && all
            .iter()
            .any(|resource| *resource != "*" && !resource.contains('/'))
    {
        let detail = "if '*' is present, must not specify other resources without subresources";
        rule::invalid(at, detail, errors);
    }
    for resource in at.items() {
        let Some((kind, sub)) = resource.text().split_once('/') else {
            if resource.text().is_empty() {
                rule::required(&resource, errors);
            }
            continue;
        };
        if sub != "*" && all.iter().any(|other| *other == format!("{kind}/*")) {
            let detail = format!("if '{kind}/*' is present, must not specify {}", resource.text());
            rule::invalid(&resource, detail, errors);
        }
        if kind != "*" && all.iter().any(|other| *other == format!("*/{sub}")) {
            let detail = format!("if '*/{sub}' is present, must not specify {}", resource.text());
            rule::invalid(&resource, detail, errors);
        }
    }
}

fn client(at: &At, errors: &mut Errors) {
    let (url, service) = (at.field("url"), at.field("service"));
    match (url.is_set(), service.is_set()) {
        (true, false) => self::url(&url, errors),
        (false, true) => self::service(&service, errors),
        _ => rule::required_because(at, "exactly one of url or service is required", errors),
    }
}

fn url(at: &At, errors: &mut Errors) {
    const FORM: &str = "; desired format: https://host[/path]";
    let (scheme, rest) = at.text().split_once(':').unwrap_or(("", at.text()));
    let (rest, fragment) = rest.split_once('#').unwrap_or((rest, ""));
    let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
    let authority = rest
        .strip_prefix("//")
        .unwrap_or_default()
        .split('/')
        .next()
        .unwrap_or_default();
    let (user, host) = authority.rsplit_once('@').unwrap_or(("", authority));
    let mut complain = |value: &str, detail: String| {
        errors.push(FieldError::invalid(at.path.clone(), &Value::from(value), detail));
    };
    if scheme != "https" {
        complain(scheme, format!("'https' is the only allowed URL scheme{FORM}"));
    }
    if host.is_empty() {
        complain(host, format!("host must be specified{FORM}"));
    }
    if !user.is_empty() {
        complain(user, "user information is not permitted in the URL".to_owned());
    }
    if !fragment.is_empty() {
        complain(fragment, "fragments are not permitted in the URL".to_owned());
    }
    if !query.is_empty() {
        complain(query, "query parameters are not permitted in the URL".to_owned());
    }
}

fn service(at: &At, errors: &mut Errors) {
    rule::required(&at.field("name"), errors);
    rule::required(&at.field("namespace"), errors);
    let (port, path) = (at.field("port"), at.field("path"));
    if port.integer().is_some_and(|port| !(1..=65_535).contains(&port)) {
        rule::invalid(
            &port,
            "port is not valid: must be between 1 and 65535, inclusive",
            errors,
        );
    }
    let text = path.text();
    if !path.is_set() || text == "/" || text.is_empty() {
        return;
    }
    if text == "//" {
        return rule::invalid(&path, "segment[0] may not be empty", errors);
    }
    if !text.starts_with('/') {
        rule::invalid(&path, "must start with a '/'", errors);
    }
    let trimmed = text.strip_suffix('/').unwrap_or(text);
    let segments = trimmed
        .strip_prefix('/')
        .unwrap_or_else(|| trimmed.get(1..).unwrap_or_default())
        .split('/');
    for (index, segment) in segments.enumerate() {
        if segment.is_empty() {
            rule::invalid(&path, format!("segment[{index}] may not be empty"), errors);
            continue;
        }
        for complaint in names::dns1123_subdomain(segment) {
            rule::invalid(&path, format!("segment[{index}]: {complaint}"), errors);
        }
    }
}
