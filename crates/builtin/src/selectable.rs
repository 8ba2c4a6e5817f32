//! The values of fields for field selectors.

use serde_json::Value;

use crate::resource::Resource;

impl Resource {
    /// The value of a selectable field as text; `None` when the field is not selectable.
    ///
    /// A missing field has the text of its zero value: `spec.nodeName=` selects unscheduled pods.
    pub fn selectable_value(&self, object: &Value, field: &str) -> Option<String> {
        let metadata = field == "metadata.name" || field == "metadata.namespace";
        if !metadata && !self.selectable_fields.contains(&field) {
            return None;
        }
        Some(match (self.kind, field) {
            ("Event", "source") => match at(object, "source.component") {
                component if component.is_empty() => at(object, "reportingComponent"),
                component => component,
            },
            ("Job", "status.successful") => or_zero(at(object, "status.succeeded")),
            ("ReplicationController", "status.replicas") => or_zero(at(object, field)),
            ("Pod", "spec.hostNetwork") | ("Node", "spec.unschedulable") => match at(object, field) {
                absent if absent.is_empty() => "false".to_owned(),
                value => value,
            },
            ("Pod", "status.podIP") => match at(object, field) {
                absent if absent.is_empty() => object["status"]["podIPs"][0]["ip"]
                    .as_str()
                    .unwrap_or_default()
                    .to_owned(),
                ip => ip,
            },
            ("Pod", "status.podIPs") => {
                let ips = object["status"]["podIPs"].as_array().into_iter().flatten();
                ips.filter_map(|ip| ip["ip"].as_str())
                    .collect::<Vec<_>>()
                    .join(",")
            }
            _ => at(object, field),
        })
    }
}

fn at(object: &Value, path: &str) -> String {
    match path.split('.').fold(object, |value, field| &value[field]) {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

fn or_zero(text: String) -> String {
    if text.is_empty() { "0".to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    #[test]
    fn absent_fields_have_the_text_of_their_zero() {
        let pods = crate::find("", "v1", "pods").unwrap();
        let jobs = crate::find("batch", "v1", "jobs").unwrap();
        let pod =
            json!({ "metadata": { "name": "p" }, "status": { "podIPs": [{ "ip": "1" }, { "ip": "2" }] } });
        for (row, object, field, expected) in [
            (pods, &pod, "metadata.name", Some("p")),
            (pods, &pod, "spec.nodeName", Some("")),
            (pods, &pod, "spec.hostNetwork", Some("false")),
            (pods, &pod, "status.podIPs", Some("1,2")),
            (pods, &pod, "status.podIP", Some("1")),
            (pods, &pod, "spec.priority", None),
            (jobs, &json!({}), "status.successful", Some("0")),
            (
                jobs,
                &json!({ "status": { "succeeded": 3 } }),
                "status.successful",
                Some("3"),
            ),
        ] {
            assert_eq!(
                row.selectable_value(object, field).as_deref(),
                expected,
                "{field}"
            );
        }
    }
}
