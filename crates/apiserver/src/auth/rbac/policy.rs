//! The roles and bindings that every cluster has, read from a table.

use serde_json::{Map, Value, json};

use super::{GROUP, Rule, aggregate};
use crate::object;

const TABLE: &str = include_str!("policy.txt");
/// What the labels that put a role into an aggregated one begin with.
const PART_OF: &str = "rbac.authorization.k8s.io/aggregate-to-";

/// The objects of the table: all but what only a server can say (uid, time).
pub(super) fn objects() -> Vec<Value> {
    let lines = TABLE
        .lines()
        .filter(|line| !line.starts_with('#') && !line.is_empty());
    let mut objects: Vec<Value> = Vec::new();
    for line in lines {
        match (line.strip_prefix("  "), objects.last_mut()) {
            (Some(content), Some(object)) => add(object, content),
            _ => {
                sum_up(&mut objects);
                objects.push(head(line));
            }
        }
    }
    sum_up(&mut objects);
    objects
}

/// An object by the first line about it.
fn head(line: &str) -> Value {
    let mut words = line.split(' ');
    let (kind, name) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let words: Vec<&str> = words.collect();
    let (namespace, name) = match kind {
        "Role" | "RoleBinding" => name.split_once('/').unwrap_or(("", name)),
        _ => ("", name),
    };
    let mut metadata = json!({
        "name": name,
        "annotations": {"rbac.authorization.kubernetes.io/autoupdate": "true"},
        "labels": {"kubernetes.io/bootstrapping": "rbac-defaults"},
    });
    if !namespace.is_empty() {
        metadata["namespace"] = json!(namespace);
    }
    let mut object = json!({"apiVersion": format!("{GROUP}/v1"), "kind": kind});
    match words.as_slice() {
        ["of", role_kind, role] => {
            object["roleRef"] = json!({"apiGroup": GROUP, "kind": role_kind, "name": role});
        }
        parts => {
            for pair in parts.chunks(2) {
                let label = format!("{PART_OF}{}", pair.last().unwrap_or(&""));
                match pair.first() {
                    Some(&"for") => metadata["labels"][label] = json!("true"),
                    _ => {
                        let selector = json!({"matchLabels": {label: "true"}});
                        object["aggregationRule"] = json!({"clusterRoleSelectors": [selector]});
                    }
                }
            }
        }
    }
    object["metadata"] = metadata;
    object
}

/// Adds a rule to a role, or a subject to a binding.
fn add(object: &mut Value, content: &str) {
    let is_binding = object.get("roleRef").is_some();
    let (field, item) = match is_binding {
        true => ("subjects", subject(content)),
        false => ("rules", rule(content).to_json()),
    };
    let map = object.as_object_mut();
    let list = map.map(|map| map.entry(field).or_insert_with(|| json!([])));
    if let Some(list) = list.and_then(Value::as_array_mut) {
        list.push(item);
    }
}

fn rule(content: &str) -> Rule {
    let list = |text: Option<&str>| text.unwrap_or_default().split(',').map(str::to_owned).collect();
    let mut words = content.split(' ');
    let verbs = list(words.next());
    let groups = words.next().unwrap_or_default();
    let what = list(words.next());
    if groups == "urls" {
        return Rule {
            verbs,
            urls: what,
            ..Rule::default()
        };
    }
    let named = |group: &str| {
        if group == "core" {
            String::new()
        } else {
            group.to_owned()
        }
    };
    Rule {
        verbs,
        groups: groups.split(',').map(named).collect(),
        resources: what,
        names: words.nth(1).map(|names| list(Some(names))).unwrap_or_default(),
        urls: vec![],
    }
}

fn subject(content: &str) -> Value {
    let (kind, name) = content.split_once(' ').unwrap_or((content, ""));
    match name.split_once('/') {
        Some((namespace, name)) => json!({"kind": kind, "name": name, "namespace": namespace}),
        None => json!({"apiGroup": GROUP, "kind": kind, "name": name}),
    }
}

/// Gives an aggregated role its rules: what it is made of stands before it.
fn sum_up(objects: &mut [Value]) {
    let Some((last, before)) = objects.split_last_mut() else {
        return;
    };
    if last.get("aggregationRule").is_none() {
        return;
    }
    let mut roles: Vec<Value> = before
        .iter()
        .filter(|one| one["kind"] == "ClusterRole")
        .cloned()
        .collect();
    roles.sort_by(|one, other| object::name(one).cmp(object::name(other)));
    if let Some(rules) = aggregate(last, &roles) {
        last["rules"] = Value::Array(rules);
    }
}

/// Who owns the fields of such an object from its first moment.
pub(super) fn managed_fields(object: &Value, time: &str) -> Value {
    let owned = |value: Option<&Value>| {
        let mut fields = Map::from_iter([(".".to_owned(), json!({}))]);
        for key in value
            .and_then(Value::as_object)
            .into_iter()
            .flatten()
            .map(|(key, _)| key)
        {
            fields.insert(format!("f:{key}"), json!({}));
        }
        Value::Object(fields)
    };
    let metadata = object::metadata(object);
    let mut fields = json!({"f:metadata": {
        "f:annotations": owned(metadata.get("annotations")),
        "f:labels": owned(metadata.get("labels")),
    }});
    let aggregated = object.get("aggregationRule");
    if aggregated.is_some() {
        fields["f:aggregationRule"] = owned(aggregated);
    }
    for (field, name) in [
        ("rules", "f:rules"),
        ("roleRef", "f:roleRef"),
        ("subjects", "f:subjects"),
    ] {
        if object.get(field).is_some() && !(field == "rules" && aggregated.is_some()) {
            fields[name] = json!({});
        }
    }
    let entry = |manager: &str, operation: &str, fields: Value| {
        json!({"apiVersion": format!("{GROUP}/v1"), "fieldsType": "FieldsV1", "fieldsV1": fields,
            "manager": manager, "operation": operation, "time": time})
    };
    let mut entries = vec![entry("kube-apiserver", "Update", fields)];
    if aggregated.is_some() {
        let rules = json!({"f:rules": {}});
        entries.insert(0, entry("clusterrole-aggregation-controller", "Apply", rules));
    }
    Value::Array(entries)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named<'a>(objects: &'a [Value], kind: &str, name: &str) -> &'a Value {
        let found = objects
            .iter()
            .find(|one| one["kind"] == kind && object::name(one) == name);
        found.expect(name)
    }

    #[test]
    fn the_table_is_read_to_its_end() {
        let objects = objects();
        let count = |kind: &str| objects.iter().filter(|one| one["kind"] == kind).count();
        assert_eq!(
            [
                count("ClusterRole"),
                count("Role"),
                count("ClusterRoleBinding"),
                count("RoleBinding")
            ],
            [69, 7, 50, 7]
        );
        assert_eq!(
            named(&objects, "ClusterRole", "cluster-admin")["rules"],
            json!([{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}, {"verbs": ["*"], "nonResourceURLs": ["*"]}])
        );
        assert_eq!(
            named(&objects, "RoleBinding", "system:controller:token-cleaner")["subjects"],
            json!([{"kind": "ServiceAccount", "name": "token-cleaner", "namespace": "kube-system"}])
        );
        let reader = named(&objects, "Role", "extension-apiserver-authentication-reader");
        assert_eq!(object::namespace(reader), "kube-system");
        assert_eq!(
            reader["rules"][0]["resourceNames"],
            json!(["extension-apiserver-authentication"])
        );
        assert_eq!(reader["rules"][0]["apiGroups"], json!([""]));
    }

    #[test]
    fn aggregated_roles_have_the_rules_of_their_parts() {
        let objects = objects();
        let rules = |name: &str| {
            named(&objects, "ClusterRole", name)["rules"]
                .as_array()
                .map_or(0, Vec::len)
        };
        assert_eq!(rules("view"), rules("system:aggregate-to-view"));
        assert_eq!(rules("edit"), rules("system:aggregate-to-edit") + rules("view"));
        assert_eq!(rules("admin"), rules("system:aggregate-to-admin") + rules("edit"));
    }

    #[test]
    fn every_binding_has_its_role() {
        let objects = objects();
        for binding in objects.iter().filter(|one| one.get("roleRef").is_some()) {
            let kind = binding["roleRef"]["kind"].as_str().unwrap_or_default();
            named(
                &objects,
                kind,
                binding["roleRef"]["name"].as_str().unwrap_or_default(),
            );
        }
    }
}
