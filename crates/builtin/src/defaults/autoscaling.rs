//! Horizontal pod autoscalers.

use serde_json::{Map, Value, json};

use super::fields::{inside, is_empty, object, set_absent};

pub(super) fn of_type(version: &str, name: &str, fields: &mut Map<String, Value>) {
    if name != "HorizontalPodAutoscalerSpec" {
        return;
    }
    set_absent(fields, "minReplicas", 1);
    // Only `autoscaling/v2` has a list of metrics.
    if version != "v2" {
        return;
    }
    if is_empty(fields, "metrics") {
        let metrics = json!([{"type": "Resource", "resource": {
            "name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80}}}]);
        fields.insert("metrics".to_owned(), metrics);
    }
    if let Some(behavior) = inside(fields, "behavior") {
        behave(behavior);
    }
}

fn behave(behavior: &mut Map<String, Value>) {
    if let Some(up) = object(behavior, "scaleUp") {
        set_absent(up, "stabilizationWindowSeconds", 0);
        set_absent(up, "selectPolicy", "Max");
        if !up.contains_key("policies") {
            let policies = json!([
                {"type": "Pods", "value": 4, "periodSeconds": 15},
                {"type": "Percent", "value": 100, "periodSeconds": 15},
            ]);
            up.insert("policies".to_owned(), policies);
        }
    }
    if let Some(down) = object(behavior, "scaleDown") {
        set_absent(down, "selectPolicy", "Max");
        if !down.contains_key("policies") {
            let policies = json!([{"type": "Percent", "value": 100, "periodSeconds": 15}]);
            down.insert("policies".to_owned(), policies);
        }
    }
}
