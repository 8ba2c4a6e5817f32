//! Namespaces, nodes, limits and secrets.

use serde_json::{Map, Value};

use super::fields::{inside, is_empty, object, set, text};
use super::pod::round_up;

pub(super) fn of_type(name: &str, fields: &mut Map<String, Value>) {
    match name {
        "Namespace" => name_label(fields),
        "NamespaceStatus" => set(fields, "phase", "Active"),
        "NodeStatus" => {
            for list in ["capacity", "allocatable"] {
                round_up(fields, list);
            }
            if let (true, Some(capacity)) = (is_empty(fields, "allocatable"), fields.get("capacity").cloned())
            {
                fields.insert("allocatable".to_owned(), capacity);
            }
        }
        "ResourceQuotaSpec" => round_up(fields, "hard"),
        "ResourceQuotaStatus" => {
            for list in ["hard", "used"] {
                round_up(fields, list);
            }
        }
        "LimitRangeItem" => limit_range_item(fields),
        "Secret" => set(fields, "type", "Opaque"),
        _ => {}
    }
}

/// Sets the label `kubernetes.io/metadata.name` of a namespace.
pub(super) fn name_label(fields: &mut Map<String, Value>) {
    let Some(metadata) = object(fields, "metadata") else {
        return;
    };
    let name = text(metadata, "name").to_owned();
    if let (false, Some(labels)) = (name.is_empty(), object(metadata, "labels")) {
        labels.insert("kubernetes.io/metadata.name".to_owned(), name.into());
    }
}

/// The default limit is the maximum; the default request is that limit, or else the minimum.
fn limit_range_item(fields: &mut Map<String, Value>) {
    for list in ["max", "min", "default", "defaultRequest", "maxLimitRequestRatio"] {
        round_up(fields, list);
    }
    if text(fields, "type") != "Container" {
        return;
    }
    for (from, to) in [
        ("max", "default"),
        ("default", "defaultRequest"),
        ("min", "defaultRequest"),
    ] {
        let Some(Value::Object(amounts)) = fields.get(from).cloned() else {
            continue;
        };
        if let Some(target) = object(fields, to) {
            for (name, amount) in amounts {
                target.entry(name).or_insert(amount);
            }
        }
    }
    for list in ["default", "defaultRequest"] {
        if inside(fields, list).is_some_and(|list| list.is_empty()) {
            fields.remove(list);
        }
    }
}
