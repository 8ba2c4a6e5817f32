//! HorizontalPodAutoscalers, of both versions.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::age::age;
use super::read::{NONE, UNKNOWN, UNSET, integer, list, name, scalar, text};
use crate::convert;

/// A v1 autoscaler: shown as the v2 one it is stored as.
pub(crate) fn horizontal_pod_autoscaler_v1(object: &Value, now: Timestamp) -> Vec<Value> {
    horizontal_pod_autoscaler(&convert::autoscaler::to_v2(object.clone()), now)
}

/// A v2 autoscaler.
pub(crate) fn horizontal_pod_autoscaler(object: &Value, now: Timestamp) -> Vec<Value> {
    let (spec, status) = (&object["spec"], &object["status"]);
    let target = &spec["scaleTargetRef"];
    let least = spec["minReplicas"]
        .as_i64()
        .map_or_else(|| UNSET.to_owned(), |number| number.to_string());
    vec![
        name(object),
        json!(format!("{}/{}", text(&target["kind"]), text(&target["name"]))),
        json!(metrics(list(&spec["metrics"]), list(&status["currentMetrics"]))),
        json!(least),
        json!(integer(&spec["maxReplicas"])),
        json!(integer(&status["currentReplicas"])),
        age(object, now),
    ]
}

fn metrics(specs: &[Value], statuses: &[Value]) -> String {
    let all: Vec<String> = specs
        .iter()
        .enumerate()
        .map(|(index, spec)| metric(spec, statuses.get(index).unwrap_or(&Value::Null)))
        .collect();
    match all.len() {
        0 => NONE.to_owned(),
        1 | 2 => all.join(", "),
        count => format!("{} + {} more...", all[..2].join(", "), count - 2),
    }
}

fn metric(spec: &Value, status: &Value) -> String {
    let field = match text(&spec["type"]) {
        "Resource" => "resource",
        "ContainerResource" => "containerResource",
        "External" => "external",
        "Object" => "object",
        "Pods" => "pods",
        _ => return "<unknown type>".to_owned(),
    };
    let (target, current) = (&spec[field]["target"], &status[field]["current"]);
    let average = !target["averageValue"].is_null();
    match field {
        "resource" | "containerResource" => {
            let sides = match average {
                true => format!(
                    "{}/{}",
                    current_quantity(current, &current["averageValue"]),
                    quantity(&target["averageValue"])
                ),
                false => format!("{}/{}", percent(current, UNKNOWN), percent(target, "<auto>")),
            };
            format!("{}: {sides}", text(&spec[field]["name"]))
        }
        "pods" => {
            let current = current_quantity(current, &current["averageValue"]);
            format!("{current}/{}", quantity(&target["averageValue"]))
        }
        _ if average => {
            let current = current_quantity(&current["averageValue"], &current["averageValue"]);
            format!("{current}/{} (avg)", quantity(&target["averageValue"]))
        }
        _ => format!(
            "{}/{}",
            current_quantity(current, &current["value"]),
            quantity(&target["value"])
        ),
    }
}

fn percent(side: &Value, otherwise: &str) -> String {
    side["averageUtilization"]
        .as_i64()
        .map_or(otherwise.to_owned(), |number| format!("{number}%"))
}

/// The value of a metric's status, if there is a status.
fn current_quantity(status: &Value, value: &Value) -> String {
    if status.is_null() {
        UNKNOWN.to_owned()
    } else {
        quantity(value)
    }
}

fn quantity(value: &Value) -> String {
    if value.is_null() {
        "<nil>".to_owned()
    } else {
        scalar(value)
    }
}
