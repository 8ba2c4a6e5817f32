//! Validation of resource requirements.

use cambium_schema::names;
use serde_json::Value;

use super::super::at::At;
use super::super::rule::{self, Errors};
use crate::quantity::Quantity;

pub(super) fn of_container(at: &At, errors: &mut Errors) {
    let (limits, requests) = (at.field("limits"), at.field("requests"));
    let (mut is_huge, mut is_usual) = (false, false);
    for (name, limit) in limits.entries() {
        amount(name, &limit, errors);
        is_huge |= name.starts_with("hugepages-");
        is_usual |= matches!(name, "cpu" | "memory");
    }
    for (name, request) in requests.entries() {
        amount(name, &request, errors);
        is_huge |= name.starts_with("hugepages-");
        is_usual |= matches!(name, "cpu" | "memory");
        let is_fixed = !is_overcommitable(name);
        let Some(limit) = limits.value.get(name).and_then(Value::as_str) else {
            if is_fixed {
                rule::required_because(
                    &limits,
                    "Limit must be set for non overcommitable resources",
                    errors,
                );
            }
            continue;
        };
        let (Ok(wanted), Ok(most)) = (Quantity::parse(request.text()), Quantity::parse(limit)) else {
            continue;
        };
        if is_fixed && wanted != most {
            let detail = format!("must be equal to {name} limit of {limit}");
            rule::invalid_as(&requests, request.value, detail, errors);
        } else if !is_fixed && wanted > most {
            let detail = format!("must be less than or equal to {name} limit of {limit}");
            rule::invalid_as(&requests, request.value, detail, errors);
        }
    }
    if is_huge && !is_usual {
        rule::forbidden(at, "HugePages require cpu or memory", errors);
    }
}

fn amount(name: &str, at: &At, errors: &mut Errors) {
    qualified_resource(name, at, errors);
    let is_known = matches!(name, "cpu" | "memory" | "ephemeral-storage") || name.starts_with("hugepages-");
    if !name.contains('/') && !is_known {
        rule::invalid_as(
            at,
            &Value::from(name),
            "must be a standard resource for containers",
            errors,
        );
    }
    let Ok(quantity) = Quantity::parse(at.text()) else {
        return;
    };
    if quantity.is_negative() {
        rule::invalid(at, "must be greater than or equal to 0", errors);
    }
    if !is_known && name.contains('/') && !quantity.is_whole() {
        rule::invalid(at, "must be an integer", errors);
    }
    let page = name
        .strip_prefix("hugepages-")
        .and_then(|size| Quantity::parse(size).ok());
    if let Some(page) = page
        && !quantity.is_multiple_of(&page)
    {
        let detail = format!("{} is not positive integer multiple of {name}", at.text());
        rule::invalid(at, detail, errors);
    }
}

/// Validates a resource name: a standard or a domain-qualified one.
pub(in super::super) fn qualified_resource(name: &str, at: &At, errors: &mut Errors) {
    let complaints = names::qualified_name(name);
    let is_wrong = !complaints.is_empty();
    for complaint in complaints {
        rule::invalid_as(at, &Value::from(name), complaint, errors);
    }
    if !is_wrong && !name.contains('/') && !is_standard(name) {
        let detail = "must be a standard resource type or fully qualified";
        rule::invalid_as(at, &Value::from(name), detail, errors);
    }
}

/// Whether quantities of a resource must be integers.
pub(in super::super) fn integer_resource(name: &str) -> bool {
    const COUNTED: [&str; 9] = [
        "pods",
        "services",
        "replicationcontrollers",
        "resourcequotas",
        "secrets",
        "configmaps",
        "persistentvolumeclaims",
        "services.nodeports",
        "services.loadbalancers",
    ];
    COUNTED.contains(&name) || name.starts_with("count/")
}

fn is_standard(name: &str) -> bool {
    let base = name
        .strip_prefix("requests.")
        .or(name.strip_prefix("limits."))
        .unwrap_or(name);
    matches!(base, "cpu" | "memory" | "ephemeral-storage")
        || matches!(name, "storage" | "requests.storage")
        || base.starts_with("hugepages-")
        || integer_resource(name)
}

fn is_overcommitable(name: &str) -> bool {
    let is_native = !name.contains('/')
        || name
            .split('/')
            .next()
            .is_some_and(|domain| domain.ends_with("kubernetes.io"));
    is_native && !name.starts_with("hugepages-")
}
