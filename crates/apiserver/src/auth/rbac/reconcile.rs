//! Reconciles the default roles and bindings with the stored ones at startup.

use std::sync::LazyLock;

use serde_json::{Value, json};

use super::policy::Standard;
use super::{Rule, cover, index, policy};
use crate::bootstrap::{ObjectTemplate, TIME, UID};
use crate::object;
use crate::server::Server;
use crate::store::{Draft, Expect, Write};

/// An object with this annotation set to `false` is not reconciled.
const AUTO_UPDATE: &str = "rbac.authorization.kubernetes.io/autoupdate";

/// The default objects, each with the template that creates it.
static STANDARD: LazyLock<Vec<(Standard, ObjectTemplate)>> = LazyLock::new(|| {
    let all = policy::all().into_iter();
    all.map(|standard| {
        let draft = Draft::from_json(&standard.stored(UID, TIME)).expect("a test reads the whole table");
        let template = ObjectTemplate::of(&standard.bucket(), &standard.key(), draft);
        (standard, template)
    })
    .collect()
});

/// The change to an existing object.
#[derive(Debug, PartialEq)]
enum Plan {
    Keep,
    /// Update it with missing rules, subjects, labels or annotations.
    Change(Value),
    /// Delete and create it: the `roleRef` of a binding is immutable.
    Replace,
}

/// The writes that create missing roles and bindings and update the others.
pub(crate) fn writes(server: &Server) -> Vec<Write> {
    let mut writes = Vec::new();
    for (standard, template) in &*STANDARD {
        if let Some(entry) = server.store.bucket(&template.bucket).get(&template.key) {
            let change = |put| Write {
                bucket: template.bucket.clone(),
                key: template.key.clone(),
                expect: Expect::Revision(entry.revision),
                put,
            };
            match plan(&entry.value(), &standard.wanted()) {
                Plan::Keep => continue,
                Plan::Change(changed) => {
                    writes.push(change(Some(Draft::new(&changed))));
                    continue;
                }
                Plan::Replace => writes.push(change(None)),
            }
        }
        writes.push(template.write(server));
    }
    writes
}

/// Compares an object with its default: additional rules and subjects stay, missing ones are added.
fn plan(existing: &Value, wanted: &Value) -> Plan {
    if object::annotation(existing, AUTO_UPDATE) == Some("false") {
        return Plan::Keep;
    }
    if existing.get("roleRef") != wanted.get("roleRef") {
        return Plan::Replace;
    }
    let mut changed = existing.clone();
    for field in ["annotations", "labels"] {
        let wanted = object::metadata(wanted).get(field).and_then(Value::as_object);
        for (key, value) in wanted.into_iter().flatten() {
            let place = object::metadata_mut(&mut changed).entry(field);
            let place = place.or_insert_with(|| json!({}));
            if place.get(key).is_none() {
                place[key] = value.clone();
            }
        }
    }
    let missing = cover::missing(&index::rules(existing), &index::rules(wanted));
    append(&mut changed, "rules", missing.iter().map(Rule::to_json).collect());
    let items = |object: &Value, path: &str| {
        let list = object::at(object, path).and_then(Value::as_array);
        list.cloned().unwrap_or_default()
    };
    let lacks = |path: &str| {
        let present = items(existing, path);
        let wanted = items(wanted, path).into_iter();
        wanted.filter(|item| !present.contains(item)).collect::<Vec<_>>()
    };
    append(&mut changed, "subjects", lacks("subjects"));
    match wanted.get("aggregationRule") {
        None => {
            changed.as_object_mut().map(|map| map.remove("aggregationRule"));
        }
        Some(_) => {
            let path = "aggregationRule.clusterRoleSelectors";
            let mut selectors = items(existing, path);
            selectors.extend(lacks(path));
            object::set_at(&mut changed, path, Value::Array(selectors));
        }
    }
    match changed == *existing {
        true => Plan::Keep,
        false => Plan::Change(changed),
    }
}

fn append(object: &mut Value, field: &str, items: Vec<Value>) {
    if items.is_empty() {
        return;
    }
    match object.get_mut(field).and_then(Value::as_array_mut) {
        Some(list) => list.extend(items),
        None => object[field] = Value::Array(items),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn role(rules: Value) -> Value {
        json!({"kind": "ClusterRole", "metadata": {"name": "r", "annotations": {AUTO_UPDATE: "true"}, "labels": {"a": "b"}},
            "rules": rules})
    }

    fn rule(verb: &str) -> Value {
        json!({"verbs": [verb], "apiGroups": [""], "resources": ["pods"]})
    }

    #[test]
    fn missing_rules_are_added_and_others_kept() {
        let wanted = role(json!([rule("get"), rule("list")]));
        assert_eq!(plan(&wanted, &wanted), Plan::Keep);
        let wider = role(json!([rule("*")]));
        assert_eq!(plan(&wider, &wanted), Plan::Keep);
        let other = role(json!([rule("delete"), rule("get")]));
        let expected = role(json!([rule("delete"), rule("get"), rule("list")]));
        assert_eq!(plan(&other, &wanted), Plan::Change(expected));
    }

    #[test]
    fn who_says_no_is_left_alone() {
        let wanted = role(json!([rule("get")]));
        let mut existing = role(json!([]));
        existing["metadata"]["annotations"][AUTO_UPDATE] = json!("false");
        assert_eq!(plan(&existing, &wanted), Plan::Keep);
    }

    #[test]
    fn labels_come_back_and_those_of_others_stay() {
        let wanted = role(json!([]));
        let mut existing = role(json!([]));
        existing["metadata"]["labels"] = json!({"c": "d"});
        let mut expected = existing.clone();
        expected["metadata"]["labels"] = json!({"a": "b", "c": "d"});
        assert_eq!(plan(&existing, &wanted), Plan::Change(expected));
    }

    #[test]
    fn a_binding_to_another_role_is_made_anew() {
        let binding = |role: &str, subjects: Value| json!({"kind": "ClusterRoleBinding", "metadata": {"name": "b"}, "roleRef": {"name": role}, "subjects": subjects});
        let wanted = binding("r", json!([{"name": "u"}]));
        assert_eq!(plan(&binding("other", json!([])), &wanted), Plan::Replace);
        let both = binding("r", json!([{"name": "v"}, {"name": "u"}]));
        assert_eq!(
            plan(&binding("r", json!([{"name": "v"}])), &wanted),
            Plan::Change(both)
        );
    }
}
