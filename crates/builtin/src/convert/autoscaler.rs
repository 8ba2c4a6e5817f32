//! HorizontalPodAutoscalers: `autoscaling/v2` is stored; v1 has a field for CPU utilization and carries
//! other metrics, behavior and conditions in annotations.

use serde_json::{Map, Value, json};

use super::rename;

const METRICS: &str = "autoscaling.alpha.kubernetes.io/metrics";
const CURRENT_METRICS: &str = "autoscaling.alpha.kubernetes.io/current-metrics";
const CONDITIONS: &str = "autoscaling.alpha.kubernetes.io/conditions";
const BEHAVIOR: &str = "autoscaling.alpha.kubernetes.io/behavior";
/// Annotations of former versions, which nothing writes any more.
const TOLERANCES: [&str; 2] = [
    "autoscaling.alpha.kubernetes.io/scale-down-tolerance",
    "autoscaling.alpha.kubernetes.io/scale-up-tolerance",
];
/// The implied metric of v1 when no metric is set.
const DEFAULT_CPU_UTILIZATION: i64 = 80;

/// From v1 to v2.
pub(crate) fn to_v2(mut object: Value) -> Value {
    let carried = take_annotations(&mut object);
    let list = |annotation: &str| match carried.get(annotation).map(parse) {
        Some(Some(Value::Array(items))) => Some(items),
        _ => None,
    };
    if let Some(spec) = object.get_mut("spec").and_then(Value::as_object_mut) {
        let mut metrics: Vec<Value> = list(METRICS)
            .into_iter()
            .flatten()
            .map(|item| spread(item, &TARGET))
            .collect();
        if let Some(percent) = spec.remove("targetCPUUtilizationPercentage") {
            metrics.push(cpu_metric(percent));
        }
        if metrics.is_empty() {
            metrics.push(cpu_metric(json!(DEFAULT_CPU_UTILIZATION)));
        }
        spec.insert("metrics".to_owned(), Value::Array(metrics));
        if let Some(Some(behavior @ Value::Object(_))) = carried.get(BEHAVIOR).map(parse) {
            let behavior = with_keys(behavior, lower_first);
            if behavior != json!({}) {
                spec.insert("behavior".to_owned(), behavior);
            }
        }
    }
    let current = list(CURRENT_METRICS);
    let conditions = list(CONDITIONS);
    if object["status"].is_object() || current.is_some() || conditions.is_some() {
        let status = object_at(&mut object, "status");
        let percent = status.remove("currentCPUUtilizationPercentage");
        let metrics = match (current, percent) {
            (Some(items), _) => Some(items.into_iter().map(|item| spread(item, &CURRENT)).collect()),
            (None, Some(percent)) => Some(vec![json!({
                "type": "Resource",
                "resource": { "name": "cpu", "current": { "averageUtilization": percent } },
            })]),
            (None, None) => None,
        };
        if let Some(metrics) = metrics {
            status.insert("currentMetrics".to_owned(), Value::Array(metrics));
        }
        if let Some(conditions) = conditions {
            status.insert("conditions".to_owned(), Value::Array(conditions));
        }
    }
    set_version(&mut object, "autoscaling/v2");
    object
}

/// From v2 to v1.
pub(crate) fn to_v1(mut object: Value) -> Value {
    take_annotations(&mut object);
    let mut carried = Map::new();
    if let Some(spec) = object.get_mut("spec").and_then(Value::as_object_mut) {
        let metrics = spec.remove("metrics");
        let (cpu, others): (Vec<Value>, Vec<Value>) = items(metrics).partition(is_cpu_utilization);
        if let Some(metric) = cpu.first() {
            let percent = metric["resource"]["target"]["averageUtilization"].clone();
            spec.insert("targetCPUUtilizationPercentage".to_owned(), percent);
        }
        let others: Vec<Value> = others.into_iter().map(|item| gather(item, &TARGET)).collect();
        carry(&mut carried, METRICS, Value::Array(others));
        if let Some(behavior) = spec.remove("behavior") {
            carry(&mut carried, BEHAVIOR, with_keys(behavior, upper_first));
        }
    }
    if let Some(status) = object.get_mut("status").and_then(Value::as_object_mut) {
        let metrics: Vec<Value> = items(status.remove("currentMetrics")).collect();
        let cpu = metrics.iter().rfind(|metric| {
            metric["resource"]["name"] == "cpu"
                && !metric["resource"]["current"]["averageUtilization"].is_null()
        });
        if let Some(metric) = cpu {
            let percent = metric["resource"]["current"]["averageUtilization"].clone();
            status.insert("currentCPUUtilizationPercentage".to_owned(), percent);
        }
        let metrics: Vec<Value> = metrics.into_iter().map(|item| gather(item, &CURRENT)).collect();
        carry(&mut carried, CURRENT_METRICS, Value::Array(metrics));
        carry(
            &mut carried,
            CONDITIONS,
            Value::Array(items(status.remove("conditions")).collect()),
        );
    }
    if !carried.is_empty() {
        object_at(object_value(&mut object, "metadata"), "annotations").extend(carried);
    }
    set_version(&mut object, "autoscaling/v1");
    object
}

/// The v2 names of metric sources (or statuses), and the v1 names of their fields.
struct Side {
    /// The v2 field that holds the values.
    field: &'static str,
    /// Source, v2 field of the values, v1 field of the source.
    values: &'static [(&'static str, &'static str, &'static str)],
}

const TARGET: Side = Side {
    field: "target",
    values: &[
        ("resource", "averageUtilization", "targetAverageUtilization"),
        ("resource", "averageValue", "targetAverageValue"),
        (
            "containerResource",
            "averageUtilization",
            "targetAverageUtilization",
        ),
        ("containerResource", "averageValue", "targetAverageValue"),
        ("pods", "averageValue", "targetAverageValue"),
        ("object", "value", "targetValue"),
        ("object", "averageValue", "averageValue"),
        ("external", "value", "targetValue"),
        ("external", "averageValue", "targetAverageValue"),
    ],
};

const CURRENT: Side = Side {
    field: "current",
    values: &[
        ("resource", "averageUtilization", "currentAverageUtilization"),
        ("resource", "averageValue", "currentAverageValue"),
        (
            "containerResource",
            "averageUtilization",
            "currentAverageUtilization",
        ),
        ("containerResource", "averageValue", "currentAverageValue"),
        ("pods", "averageValue", "currentAverageValue"),
        ("object", "value", "currentValue"),
        ("object", "averageValue", "averageValue"),
        ("external", "value", "currentValue"),
        ("external", "averageValue", "currentAverageValue"),
    ],
};

const SOURCES: [&str; 5] = ["resource", "containerResource", "pods", "object", "external"];

/// Converts a metric of a v1 annotation to v2.
fn spread(mut metric: Value, side: &Side) -> Value {
    for source in SOURCES {
        let Some(map) = metric.get_mut(source).and_then(Value::as_object_mut) else {
            continue;
        };
        if source == "object" {
            rename(map, "target", "describedObject");
        }
        let mut values = Map::new();
        for (_, new, old) in side.values.iter().filter(|(of, ..)| *of == source) {
            if let Some(value) = map.remove(*old) {
                values.insert((*new).to_owned(), value);
            }
        }
        if side.field == "target" {
            let average = values.contains_key("averageValue");
            // v1 cannot leave an object's value out, so a zero beside an average means nothing.
            if source == "object" && average && values.get("value").is_some_and(|value| value == "0") {
                values.remove("value");
            }
            let kind = match () {
                () if values.contains_key("averageUtilization") => "Utilization",
                () if source == "object" && average => "AverageValue",
                () if values.contains_key("value") => "Value",
                () => "AverageValue",
            };
            values.insert("type".to_owned(), json!(kind));
        }
        map.insert(side.field.to_owned(), Value::Object(values));
        let mut identifier = Map::new();
        for (new, old) in [
            ("name", "metricName"),
            ("selector", "selector"),
            ("selector", "metricSelector"),
        ] {
            if let Some(value) = map.remove(old) {
                identifier.insert(new.to_owned(), value);
            }
        }
        if !identifier.is_empty() {
            map.insert("metric".to_owned(), Value::Object(identifier));
        }
    }
    metric
}

/// Converts a v2 metric to the form of v1 annotations.
fn gather(mut metric: Value, side: &Side) -> Value {
    for source in SOURCES {
        let Some(map) = metric.get_mut(source).and_then(Value::as_object_mut) else {
            continue;
        };
        let values = map.remove(side.field).unwrap_or_default();
        if source == "object" {
            rename(map, "describedObject", "target");
        }
        for (_, new, old) in side.values.iter().filter(|(of, ..)| *of == source) {
            if let Some(value) = values.get(new).filter(|value| !value.is_null()) {
                map.insert((*old).to_owned(), value.clone());
            }
        }
        if let Some(Value::Object(mut identifier)) = map.remove("metric") {
            let selector = if source == "external" {
                "metricSelector"
            } else {
                "selector"
            };
            rename(&mut identifier, "name", "metricName");
            rename(&mut identifier, "selector", selector);
            map.extend(identifier);
        }
    }
    metric
}

fn cpu_metric(percent: Value) -> Value {
    let target = json!({ "type": "Utilization", "averageUtilization": percent });
    json!({ "type": "Resource", "resource": { "name": "cpu", "target": target } })
}

fn is_cpu_utilization(metric: &Value) -> bool {
    metric["type"] == "Resource"
        && metric["resource"]["name"] == "cpu"
        && !metric["resource"]["target"]["averageUtilization"].is_null()
}

/// Removes the conversion annotations and returns them.
fn take_annotations(object: &mut Value) -> Map<String, Value> {
    let mut carried = Map::new();
    let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) else {
        return carried;
    };
    let Some(annotations) = metadata.get_mut("annotations").and_then(Value::as_object_mut) else {
        return carried;
    };
    for key in [METRICS, CURRENT_METRICS, CONDITIONS, BEHAVIOR]
        .into_iter()
        .chain(TOLERANCES)
    {
        if let Some(value) = annotations.remove(key) {
            carried.insert(key.to_owned(), value);
        }
    }
    if annotations.is_empty() && !carried.is_empty() {
        metadata.remove("annotations");
    }
    carried
}

fn carry(carried: &mut Map<String, Value>, annotation: &str, value: Value) {
    let empty = value.is_null() || value.as_array().is_some_and(Vec::is_empty);
    if !empty {
        carried.insert(annotation.to_owned(), json!(value.to_string()));
    }
}

fn parse(annotation: &Value) -> Option<Value> {
    serde_json::from_str(annotation.as_str()?).ok()
}

fn items(list: Option<Value>) -> impl Iterator<Item = Value> {
    match list {
        Some(Value::Array(items)) => items.into_iter(),
        _ => Vec::new().into_iter(),
    }
}

fn object_value<'a>(object: &'a mut Value, field: &str) -> &'a mut Value {
    if !object[field].is_object() {
        object[field] = json!({});
    }
    &mut object[field]
}

fn object_at<'a>(object: &'a mut Value, field: &str) -> &'a mut Map<String, Value> {
    object_value(object, field)
        .as_object_mut()
        .expect("it was just made an object")
}

fn set_version(object: &mut Value, version: &str) {
    if let Some(map) = object.as_object_mut() {
        map.insert("apiVersion".to_owned(), json!(version));
    }
}

/// Upstream serializes `behavior` with the field names of its internal Go type, which are capitalized.
fn with_keys(value: Value, change: fn(char) -> char) -> Value {
    match value {
        Value::Array(items) => items.into_iter().map(|item| with_keys(item, change)).collect(),
        Value::Object(map) => map
            .into_iter()
            // Go writes its nil pointers.
            .filter(|(_, value)| !value.is_null())
            .map(|(key, value)| {
                let mut letters = key.chars();
                let key: String = letters.next().map(change).into_iter().chain(letters).collect();
                (key, with_keys(value, change))
            })
            .collect(),
        other => other,
    }
}

fn upper_first(letter: char) -> char {
    letter.to_ascii_uppercase()
}

fn lower_first(letter: char) -> char {
    letter.to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn v2() -> Value {
        let selector = json!({ "matchLabels": { "a": "b" } });
        json!({
            "apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler",
            "metadata": { "name": "web", "annotations": { "mine": "stays" } },
            "spec": {
                "scaleTargetRef": { "kind": "Deployment", "name": "web" }, "minReplicas": 1, "maxReplicas": 3,
                "metrics": [
                    { "type": "Resource", "resource": {
                        "name": "memory", "target": { "type": "AverageValue", "averageValue": "1Gi" } } },
                    { "type": "Pods", "pods": {
                        "metric": { "name": "rps", "selector": selector },
                        "target": { "type": "AverageValue", "averageValue": "10" } } },
                    { "type": "Object", "object": {
                        "describedObject": { "kind": "Ingress", "name": "i" }, "metric": { "name": "rps" },
                        "target": { "type": "Value", "value": "2k" } } },
                    { "type": "External", "external": {
                        "metric": { "name": "queue", "selector": selector },
                        "target": { "type": "AverageValue", "averageValue": "30" } } },
                    { "type": "Resource", "resource": {
                        "name": "cpu", "target": { "type": "Utilization", "averageUtilization": 70 } } },
                ],
                "behavior": { "scaleUp": { "policies": [{ "type": "Pods", "value": 4, "periodSeconds": 60 }] } },
            },
            "status": {
                "currentReplicas": 2,
                "currentMetrics": [{ "type": "Resource", "resource": {
                    "name": "cpu", "current": { "averageUtilization": 40, "averageValue": "100m" } } }],
                "conditions": [{ "type": "AbleToScale", "status": "True" }],
            },
        })
    }

    #[test]
    fn an_autoscaler_survives_the_way_there_and_back() {
        let v1 = to_v1(v2());
        assert_eq!(v1["spec"]["targetCPUUtilizationPercentage"], 70);
        assert_eq!(v1["spec"]["metrics"], Value::Null);
        assert_eq!(v1["status"]["currentCPUUtilizationPercentage"], 40);
        let behavior = v1["metadata"]["annotations"][BEHAVIOR].as_str().unwrap();
        assert!(behavior.contains(r#""ScaleUp""#), "{behavior}");
        assert_eq!(to_v2(v1), v2());
    }

    #[test]
    fn v1_without_a_target_means_eighty_percent_of_cpu() {
        let v1 = json!({ "apiVersion": "autoscaling/v1", "spec": { "maxReplicas": 3 } });
        let metric = &to_v2(v1)["spec"]["metrics"][0];
        assert_eq!(metric["resource"]["target"]["averageUtilization"], 80);
    }

    #[test]
    fn an_annotation_that_is_not_json_is_dropped() {
        let v1 = json!({ "metadata": { "annotations": { METRICS: "{" } }, "spec": {} });
        let v2 = to_v2(v1);
        assert_eq!(v2["metadata"], json!({}));
        assert_eq!(v2["spec"]["metrics"].as_array().unwrap().len(), 1);
    }
}
