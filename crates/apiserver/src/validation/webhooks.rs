//! Validation of `clientConfig` and `matchConditions` of webhooks.

use cambium_cel::conditions::check_condition;
use cambium_cel::policies::Params;
use cambium_schema::{FieldError, FieldPath, names};
use serde_json::{Value, json};

/// Validates the `matchConditions` of webhooks.
pub(crate) fn conditions(configuration: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let list = |value: &Value, field: &str| {
        value
            .get(field)
            .and_then(Value::as_array)
            .cloned()
            .unwrap_or_default()
    };
    for (index, hook) in list(configuration, "webhooks").iter().enumerate() {
        let path = FieldPath::new("webhooks").index(index).child("matchConditions");
        for (index, condition) in list(hook, "matchConditions").iter().enumerate() {
            let source = condition
                .get("expression")
                .and_then(Value::as_str)
                .unwrap_or_default();
            errors.extend(check_condition(
                source,
                Params::Absent,
                &path.index(index).child("expression"),
            ));
        }
    }
    errors
}

const FORM: &str = "; desired format: https://host[/path]";

/// Validates the URL of a webhook.
pub(crate) fn url(path: &FieldPath, url: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let mut refuse =
        |value: &str, why: String| errors.push(FieldError::invalid(path.clone(), &json!(value), why));
    let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
    if scheme != "https" {
        refuse(scheme, format!("'https' is the only allowed URL scheme{FORM}"));
    }
    let (rest, fragment) = rest.split_once('#').unwrap_or((rest, ""));
    let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
    let authority = rest.split('/').next().unwrap_or_default();
    let (user, host) = authority.rsplit_once('@').unwrap_or(("", authority));
    if host.is_empty() {
        refuse(host, format!("host must be specified{FORM}"));
    }
    if !user.is_empty() {
        refuse(user, "user information is not permitted in the URL".to_owned());
    }
    if !fragment.is_empty() {
        refuse(fragment, "fragments are not permitted in the URL".to_owned());
    }
    if !query.is_empty() {
        refuse(query, "query parameters are not permitted in the URL".to_owned());
    }
    errors
}

/// Validates the Service reference of a webhook.
pub(crate) fn service(path: &FieldPath, service: &Value) -> Vec<FieldError> {
    let text = |field: &str| service.get(field).and_then(Value::as_str).unwrap_or_default();
    let mut errors = Vec::new();
    for field in ["name", "namespace"]
        .into_iter()
        .filter(|field| text(field).is_empty())
    {
        errors.push(FieldError::required(path.child(field), ""));
    }
    let port = service.get("port").and_then(Value::as_i64).unwrap_or(443);
    if !(1..=65535).contains(&port) {
        let why = "port is not valid: must be between 1 and 65535, inclusive";
        errors.push(FieldError::invalid(path.child("port"), &json!(port), why));
    }
    let place = text("path");
    if place.is_empty() || place == "/" {
        return errors;
    }
    let mut refuse = |why: String| errors.push(FieldError::invalid(path.child("path"), &json!(place), why));
    if !place.starts_with('/') {
        refuse("must start with a '/'".to_owned());
    }
    let steps = place.strip_prefix('/').unwrap_or(place);
    for (index, step) in steps.strip_suffix('/').unwrap_or(steps).split('/').enumerate() {
        if step.is_empty() {
            refuse(format!("segment[{index}] may not be empty"));
        } else {
            names::dns1123_subdomain(step)
                .into_iter()
                .for_each(|why| refuse(format!("segment[{index}]: {why}")));
        }
    }
    errors
}
