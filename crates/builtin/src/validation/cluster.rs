//! Validation of namespaces, LimitRanges, events, leases and classes.

use std::collections::BTreeSet;

use cambium_schema::names;
use serde_json::Value;

use super::at::At;
use super::pod::qualified_resource;
use super::rule::{self, Errors};
use crate::quantity::Quantity;

pub(super) fn namespace(new: &At, errors: &mut Errors) {
    let finalizers = new.field("spec").field("finalizers");
    for finalizer in finalizers.items() {
        let at = At {
            value: finalizer.value,
            path: finalizers.path.clone(),
        };
        rule::qualified(&at, errors);
        let name = finalizer.text();
        if !name.contains('/') && !matches!(name, "kubernetes" | "orphan" | "foregroundDeletion") {
            rule::invalid(
                &at,
                "name is neither a standard finalizer name nor is it fully qualified",
                errors,
            );
        }
    }
}

pub(super) fn event(new: &At, errors: &mut Errors) {
    let place = new.field("metadata").field("namespace");
    let about = new.field("involvedObject").field("namespace");
    // What is in no namespace is reported in the default one.
    let is_fine = about.text() == place.text() || about.is_empty() && place.text() == "default";
    if !is_fine {
        rule::invalid_as(
            &about,
            &Value::from(about.text()),
            "does not match event.namespace",
            errors,
        );
    }
}

pub(super) fn lease(new: &At, errors: &mut Errors) {
    let spec = new.field("spec");
    rule::above_zero(&spec.field("leaseDurationSeconds"), errors);
    rule::at_least_zero(&spec.field("leaseTransitions"), errors);
}

pub(super) fn priority_class(new: &At, old: Option<&At>, errors: &mut Errors) {
    let (name, value) = (new.field("metadata").field("name"), new.field("value"));
    if name.text().starts_with("system-") {
        if let Some(why) = unlike_system_class(new) {
            let detail = format!(
                "priority class names with 'system-' prefix are reserved for system use only. error: {why}"
            );
            rule::forbidden(&name, detail, errors);
        }
    } else if value.integer().is_some_and(|value| value > 1_000_000_000) {
        let detail = "maximum allowed value of a user defined priority is 1000000000";
        rule::forbidden(&value, detail, errors);
    }
    let preemption = new.field("preemptionPolicy");
    rule::one_of_if_set(&preemption, &["PreemptLowerPriority", "Never"], errors);
    let Some(old) = old else { return };
    if value.value != old.field("value").value {
        rule::forbidden(&value, "may not be changed in an update.", errors);
    }
    rule::immutable(&preemption, &old.field("preemptionPolicy"), errors);
}

/// How a PriorityClass differs from the system class of that name.
fn unlike_system_class(class: &At) -> Option<String> {
    let name = class.field("metadata").field("name").text();
    let value = match name {
        "system-node-critical" => 2_000_001_000,
        "system-cluster-critical" => 2_000_000_000,
        _ => return Some(format!("{name} is not a known system priority class")),
    };
    if class.field("value").integer().unwrap_or_default() != value {
        return Some(format!("value of {name} PriorityClass must be {value}"));
    }
    let is_default = class.field("globalDefault").is_true();
    is_default.then(|| format!("globalDefault of {name} PriorityClass must be false"))
}

pub(super) fn runtime_class(new: &At, old: Option<&At>, errors: &mut Errors) {
    let handler = new.field("handler");
    if let Some(old) = old {
        return rule::immutable(&handler, &old.field("handler"), errors);
    }
    if rule::required(&handler, errors) {
        rule::label_name(&handler, errors);
    }
}

pub(super) fn controller_revision(new: &At, old: Option<&At>, errors: &mut Errors) {
    rule::at_least_zero(&new.field("revision"), errors);
    let data = new.field("data");
    match old {
        Some(old) => rule::immutable(&data, &old.field("data"), errors),
        None if !data.is_set() => rule::required_because(&data, "data is mandatory", errors),
        None if !data.value.is_object() => {
            rule::required_because(&data, "data must be a valid JSON object", errors);
        }
        None => {}
    }
}

pub(super) fn limit_range(new: &At, errors: &mut Errors) {
    let mut types = BTreeSet::new();
    for item in new.field("spec").field("limits").items() {
        let kind = item.field("type");
        let complaints = names::qualified_name(kind.text());
        let is_standard = matches!(kind.text(), "Pod" | "Container" | "PersistentVolumeClaim");
        if !complaints.is_empty() {
            rule::complain(&kind, complaints, errors);
        } else if !is_standard && !kind.text().contains('/') {
            rule::invalid(&kind, "must be a standard limit type or fully qualified", errors);
        }
        if !types.insert(kind.text()) {
            rule::duplicate(&kind, errors);
        }
        limit_range_item(&item, kind.text(), errors);
    }
}

fn limit_range_item(item: &At, kind: &str, errors: &mut Errors) {
    let lists = ["max", "min", "default", "defaultRequest", "maxLimitRequestRatio"];
    let mut resources = BTreeSet::new();
    for list in lists {
        let at = item.field(list);
        if kind == "Pod" && matches!(list, "default" | "defaultRequest") {
            if !at.is_empty() {
                rule::forbidden(&at, "may not be specified when `type` is 'Pod'", errors);
            }
            continue;
        }
        for (name, amount) in at.entries() {
            resources.insert(name);
            qualified_resource(name, &amount, errors);
            let is_of_pods =
                matches!(name, "cpu" | "memory" | "ephemeral-storage") || name.starts_with("hugepages-");
            if matches!(kind, "Pod" | "Container") && !name.contains('/') && !is_of_pods {
                let detail = "must be a standard resource for containers";
                rule::invalid_as(&amount, &Value::from(name), detail, errors);
            }
        }
    }
    if kind == "PersistentVolumeClaim"
        && !item.field("min").field("storage").is_set()
        && !item.field("max").field("storage").is_set()
    {
        let detail = "either minimum or maximum storage value is required, but neither was provided";
        rule::required_because(&item.field("limits"), detail, errors);
    }
    for name in resources {
        order(item, name, errors);
    }
}

/// min <= defaultRequest <= default <= max, and a ratio of one or more.
fn order(item: &At, name: &str, errors: &mut Errors) {
    let at = |list: &str| At {
        value: item.field(list).field(name).value,
        path: item.field(list).path.key(name),
    };
    let (min, max, request, limit) = (at("min"), at("max"), at("defaultRequest"), at("default"));
    let mut is_above = |low: &At, high: &At, blamed: (&At, &At), words: (&str, &str)| {
        let (Ok(least), Ok(most)) = (Quantity::parse(low.text()), Quantity::parse(high.text())) else {
            return;
        };
        if least > most {
            let detail = format!(
                "{} value {} is greater than {} value {}",
                words.0,
                low.text(),
                words.1,
                high.text()
            );
            rule::invalid_as(blamed.0, blamed.1.value, detail, errors);
        }
    };
    is_above(&min, &max, (&min, &min), ("min", "max"));
    is_above(&min, &request, (&request, &request), ("min", "default request"));
    is_above(&request, &max, (&request, &request), ("default request", "max"));
    is_above(
        &request,
        &limit,
        (&request, &request),
        ("default request", "default limit"),
    );
    is_above(&min, &limit, (&limit, &min), ("min", "default"));
    is_above(&limit, &max, (&limit, &max), ("default", "max"));
    let ratio = at("maxLimitRequestRatio");
    if let (Ok(amount), Ok(one)) = (Quantity::parse(ratio.text()), Quantity::parse("1"))
        && amount < one
    {
        rule::invalid(&ratio, format!("ratio {} is less than 1", ratio.text()), errors);
    }
}
