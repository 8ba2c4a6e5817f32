//! Labels and label selectors as text.

use serde_json::Value;

use super::read::{NONE, joined, list, text};

/// `a=b,c=d`, or `<none>`.
pub(super) fn labels(map: &Value) -> String {
    or_none(equalities(map).join(","))
}

/// A LabelSelector in the syntax of kubectl's `-l`; empty if it is absent or selects everything.
pub(super) fn label_selector(selector: &Value) -> Option<String> {
    let mut requirements: Vec<(String, String)> = Vec::new();
    for equality in equalities(&selector["matchLabels"]) {
        let key = equality.split('=').next().unwrap_or_default().to_owned();
        requirements.push((key, equality));
    }
    for expression in list(&selector["matchExpressions"]) {
        let key = text(&expression["key"]);
        let mut values: Vec<&str> = list(&expression["values"]).iter().map(text).collect();
        values.sort_unstable();
        let values = values.join(",");
        let requirement = match text(&expression["operator"]) {
            "In" => format!("{key} in ({values})"),
            "NotIn" => format!("{key} notin ({values})"),
            "Exists" => key.to_owned(),
            "DoesNotExist" => format!("!{key}"),
            _ => return None,
        };
        requirements.push((key.to_owned(), requirement));
    }
    requirements.sort_by(|a, b| a.0.cmp(&b.0));
    Some(
        requirements
            .into_iter()
            .map(|(_, requirement)| requirement)
            .collect::<Vec<_>>()
            .join(","),
    )
}

/// As [`label_selector`], with a placeholder for an empty one.
pub(super) fn label_selector_cell(selector: &Value) -> String {
    label_selector(selector).map_or_else(|| "<error>".to_owned(), or_none)
}

/// Names and images of containers.
pub(super) fn containers(pod_spec: &Value) -> (String, String) {
    let containers = list(&pod_spec["containers"]);
    let column = |field: &str| {
        joined(
            &containers
                .iter()
                .map(|container| container[field].clone())
                .collect(),
            ",",
        )
    };
    (column("name"), column("image"))
}

fn equalities(map: &Value) -> Vec<String> {
    let mut pairs: Vec<String> = map
        .as_object()
        .into_iter()
        .flatten()
        .map(|(key, value)| format!("{key}={}", text(value)))
        .collect();
    pairs.sort_unstable();
    pairs
}

fn or_none(text: String) -> String {
    if text.is_empty() { NONE.to_owned() } else { text }
}
