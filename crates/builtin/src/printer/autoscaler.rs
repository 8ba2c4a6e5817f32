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
    let (field, named) = match text(&spec["type"]) {
        "Resource" => ("resource", true),
        "ContainerResource" => ("containerResource", true),
        "External" => ("external", false),
        "Object" => ("object", false),
        "Pods" => ("pods", false),
        _ => return "<unknown type>".to_owned(),
    };
    let (target, current) = (&spec[field]["target"], &status[field]["current"]);
    let average = !target["averageValue"].is_null();
    if named {
        let resource = text(&spec[field]["name"]);
        return match average {
            true => format!(
                "{resource}: {}/{}",
                value(current, "averageValue"),
                scalar(&target["averageValue"])
            ),
            false => {
                let percent = |side: &Value, otherwise: &str| {
                    side["averageUtilization"]
                        .as_i64()
                        .map_or(otherwise.to_owned(), |number| format!("{number}%"))
                };
                format!(
                    "{resource}: {}/{}",
                    percent(current, UNKNOWN),
                    percent(target, "<auto>")
                )
            }
        };
    }
    match (field, average) {
        ("pods", _) => format!(
            "{}/{}",
            value(current, "averageValue"),
            value(target, "averageValue")
        ),
        (_, true) => format!(
            "{}/{} (avg)",
            value(current, "averageValue"),
            scalar(&target["averageValue"])
        ),
        (_, false) => format!("{}/{}", value(current, "value"), value(target, "value")),
    }
}

fn value(side: &Value, field: &str) -> String {
    if side[field].is_null() {
        UNKNOWN.to_owned()
    } else {
        scalar(&side[field])
    }
}
