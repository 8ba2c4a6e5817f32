//! Horizontal pod autoscalers.

use cambium_schema::FieldError;

use super::at::At;
use super::rule::{self, Errors};
use crate::quantity::Quantity;

const SOURCES: [(&str, &str); 5] = [
    ("ContainerResource", "containerResource"),
    ("External", "external"),
    ("Object", "object"),
    ("Pods", "pods"),
    ("Resource", "resource"),
];

pub(super) fn check(new: &At, errors: &mut Errors) {
    let spec = new.field("spec");
    let (least, most) = (spec.field("minReplicas"), spec.field("maxReplicas"));
    let (minimum, maximum) = (least.integer().unwrap_or(1), most.integer().unwrap_or_default());
    if minimum < 1 {
        rule::invalid(&least, "must be greater than or equal to 1", errors);
    }
    if maximum < 1 {
        rule::required_because(&most, "must be set and greater than 0", errors);
    }
    if maximum < minimum {
        rule::invalid(&most, "must be greater than or equal to `minReplicas`", errors);
    }
    reference(&spec.field("scaleTargetRef"), errors);
    if spec.field("scaleTargetRef").field("apiVersion").is_empty() {
        let at = spec.field("scaleTargetRef").field("apiVersion");
        rule::invalid_as(
            &at,
            &serde_json::json!(""),
            "apiVersion must specify API group",
            errors,
        );
    }
    let metrics = spec.field("metrics");
    for metric in metrics.items() {
        self::metric(&metric, errors);
    }
    let counts_outside = |metric: At| matches!(metric.field("type").text(), "Object" | "External");
    if least.integer() == Some(0) && !metrics.items().any(counts_outside) {
        let detail =
            "must specify at least one Object or External metric to support scaling to zero replicas";
        rule::forbidden(&metrics, detail, errors);
    }
    for direction in ["scaleUp", "scaleDown"] {
        let rules = spec.field("behavior").field(direction);
        if rules.is_set() {
            scaling_rules(&rules, errors);
        }
    }
}

fn reference(at: &At, errors: &mut Errors) {
    for name in ["kind", "name"] {
        let part = at.field(name);
        if rule::required(&part, errors) {
            rule::complain(&part, cambium_schema::names::path_segment(part.text()), errors);
        }
    }
}

fn metric(at: &At, errors: &mut Errors) {
    let kind = at.field("type");
    let types = SOURCES.map(|(name, _)| name);
    if kind.is_empty() {
        rule::required_because(&kind, "must specify a metric source type", errors);
    } else if !types.contains(&kind.text()) {
        // Upstream reports it twice: for the type, and for the missing source of that type.
        for _ in 0..2 {
            rule::one_of(&kind, &types, errors);
        }
    }
    for (name, field) in SOURCES {
        let source = at.field(field);
        if name == kind.text() && !source.is_set() {
            rule::required_because(
                &source,
                "must populate information for the given metric source",
                errors,
            );
        } else if name != kind.text() && source.is_set() {
            rule::forbidden(&source, "must populate the given metric source only", errors);
        }
        if source.is_set() {
            self::source(name, &source, errors);
        }
    }
}

fn source(kind: &str, at: &At, errors: &mut Errors) {
    let target = at.field("target");
    match kind {
        "Resource" | "ContainerResource" => {
            if kind == "ContainerResource" && at.field("container").is_empty() {
                rule::required_because(&at.field("container"), "must specify a container", errors);
            }
            if at.field("name").is_empty() {
                rule::required_because(&at.field("name"), "must specify a resource name", errors);
            }
            self::target(&target, errors);
            let (utilization, value) = (target.field("averageUtilization"), target.field("averageValue"));
            if !utilization.is_set() && !value.is_set() {
                let detail = "must set either a target raw value or a target utilization";
                rule::required_because(&utilization, detail, errors);
            }
            if utilization.is_set() && value.is_set() {
                let detail = "may not set both a target raw value and a target utilization";
                rule::forbidden(&value, detail, errors);
            }
        }
        "Pods" => {
            metric_name(at, errors);
            self::target(&target, errors);
            let value = target.field("averageValue");
            if !value.is_set() {
                rule::required_because(&value, "must specify a positive target averageValue", errors);
            }
        }
        _ => {
            let detail = match kind {
                "Object" => {
                    reference(&at.field("describedObject"), errors);
                    "must set either a target value or averageValue"
                }
                _ => "must set either a target value for metric or a per-pod target",
            };
            metric_name(at, errors);
            self::target(&target, errors);
            let (value, average) = (target.field("value"), target.field("averageValue"));
            if !value.is_set() && !average.is_set() {
                rule::required_because(&average, detail, errors);
            }
        }
    }
}

fn metric_name(at: &At, errors: &mut Errors) {
    let name = at.field("metric").field("name");
    if name.is_empty() {
        rule::required_because(&name, "must specify a metric name", errors);
    }
}

fn target(at: &At, errors: &mut Errors) {
    let kind = at.field("type");
    if kind.is_empty() {
        rule::required_because(&kind, "must specify a metric target type", errors);
    }
    if !matches!(kind.text(), "Utilization" | "Value" | "AverageValue") {
        rule::invalid(
            &kind,
            "must be either Utilization, Value, or AverageValue",
            errors,
        );
    }
    for name in ["value", "averageValue"] {
        let value = at.field(name);
        if Quantity::parse(value.text()).is_ok_and(|amount| amount.is_negative() || amount.is_zero()) {
            rule::invalid(&value, "must be positive", errors);
        }
    }
    let utilization = at.field("averageUtilization");
    if utilization.integer().is_some_and(|percent| percent < 1) {
        rule::invalid(&utilization, "must be greater than 0", errors);
    }
}

fn scaling_rules(at: &At, errors: &mut Errors) {
    let window = at.field("stabilizationWindowSeconds");
    match window.integer() {
        Some(seconds) if seconds < 0 => {
            rule::invalid(&window, "must be greater than or equal to zero", errors);
        }
        Some(seconds) if seconds > 3600 => {
            rule::invalid(&window, "must be less than or equal to 3600", errors);
        }
        _ => {}
    }
    rule::one_of_if_set(&at.field("selectPolicy"), &["Disabled", "Max", "Min"], errors);
    let policies = at.field("policies");
    if policies.is_empty() {
        errors.push(FieldError::required(
            policies.path.clone(),
            "must specify at least one Policy",
        ));
    }
    for policy in policies.items() {
        rule::one_of(&policy.field("type"), &["Percent", "Pods"], errors);
        let (value, period) = (policy.field("value"), policy.field("periodSeconds"));
        if value.integer().unwrap_or_default() <= 0 {
            rule::invalid(&value, "must be greater than zero", errors);
        }
        match period.integer().unwrap_or_default() {
            ..=0 => rule::invalid(&period, "must be greater than zero", errors),
            1801.. => rule::invalid(&period, "must be less than or equal to 1800", errors),
            _ => {}
        }
    }
}
