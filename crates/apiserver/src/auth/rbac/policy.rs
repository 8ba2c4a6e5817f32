//! The bootstrap policy: default roles and bindings, from a table.
//!
//! Every server that starts in a test writes all of them, so they are formatted as JSON text without building trees.

use std::fmt::Write as _;

use serde_json::Value;

use super::GROUP;
use crate::object;

const TABLE: &str = include_str!("policy.txt");
/// The prefix of labels that aggregate a role into another.
const PART_OF: &str = "rbac.authorization.k8s.io/aggregate-to-";
const ANNOTATION: &str = "rbac.authorization.kubernetes.io/autoupdate";
const LABEL: &str = "kubernetes.io/bootstrapping";

/// A role or binding of the table. Nothing in it needs escaping in JSON.
pub(super) struct Standard {
    kind: &'static str,
    namespace: &'static str,
    name: &'static str,
    /// The roles that it is aggregated to.
    parts_of: Vec<&'static str>,
    /// The label that selects the roles it aggregates.
    sum_of: Option<&'static str>,
    /// `roleRef` of a binding: kind and name.
    role: Option<(&'static str, &'static str)>,
    /// Rules or subjects, as JSON.
    items: Vec<String>,
}

/// The whole table.
pub(super) fn all() -> Vec<Standard> {
    let lines = TABLE
        .lines()
        .filter(|line| !line.starts_with('#') && !line.is_empty());
    let mut all: Vec<Standard> = Vec::new();
    for line in lines {
        match (line.strip_prefix("  "), all.last_mut()) {
            (Some(content), Some(one)) => one.items.push(match one.role {
                Some(_) => subject(content),
                None => rule(content),
            }),
            _ => {
                let mut next = Standard::head(line);
                next.items = sum(&next, &all);
                all.push(next);
            }
        }
    }
    all
}

/// The rules of an aggregated role; the roles that it aggregates precede it in the table.
fn sum(role: &Standard, before: &[Standard]) -> Vec<String> {
    let Some(sum_of) = role.sum_of else {
        return Vec::new();
    };
    let mut parts: Vec<&Standard> = before
        .iter()
        .filter(|one| one.parts_of.contains(&sum_of))
        .collect();
    parts.sort_by_key(|one| one.name);
    let mut rules: Vec<String> = Vec::new();
    for rule in parts.iter().flat_map(|part| &part.items) {
        if !rules.contains(rule) {
            rules.push(rule.clone());
        }
    }
    rules
}

impl Standard {
    /// Parses the first line of an entry.
    fn head(line: &'static str) -> Self {
        let mut words = line.split(' ');
        let (kind, name) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let words: Vec<&str> = words.collect();
        let (namespace, name) = match kind {
            "Role" | "RoleBinding" => name.split_once('/').unwrap_or(("", name)),
            _ => ("", name),
        };
        let role = match words.as_slice() {
            ["of", role_kind, role] => Some((*role_kind, *role)),
            _ => None,
        };
        let (mut parts_of, mut sum_of) = (Vec::new(), None);
        for pair in words.chunks_exact(2) {
            match pair[0] {
                "for" => parts_of.push(pair[1]),
                _ => sum_of = Some(pair[1]),
            }
        }
        Self {
            kind,
            namespace,
            name,
            parts_of,
            sum_of: sum_of.filter(|_| role.is_none()),
            role,
            items: Vec::new(),
        }
    }

    /// Its bucket.
    pub(super) fn bucket(&self) -> String {
        format!("{GROUP}/{}s", self.kind.to_lowercase())
    }

    /// Its key in the bucket.
    pub(super) fn key(&self) -> String {
        object::key(self.namespace, self.name)
    }

    /// The object without UID and timestamps.
    pub(super) fn wanted(&self) -> Value {
        let text = self.text("", "", "");
        serde_json::from_str(&text).expect("a test reads the whole table")
    }

    /// The object as it is first stored, with room for a resource version.
    pub(super) fn stored(&self, uid: &str, time: &str) -> String {
        let before_labels = format!(r#""creationTimestamp":"{time}","#);
        let mut before_name = self.managed_fields(time);
        before_name.push(',');
        let last = format!(r#","uid":"{uid}","resourceVersion":"""#);
        self.text(&before_labels, &before_name, &last)
    }

    /// The object as JSON, with the given text between the fields of its metadata, which are in alphabetical order.
    fn text(&self, before_labels: &str, before_name: &str, last: &str) -> String {
        let mut text = String::with_capacity(1024);
        let (kind, name) = (self.kind, self.name);
        let mut add = |part: std::fmt::Arguments<'_>| {
            // Writing into a string cannot fail.
            let _ = text.write_fmt(part);
        };
        add(format_args!(
            r#"{{"apiVersion":"{GROUP}/v1","kind":"{kind}","metadata":{{"annotations":{{"{ANNOTATION}":"true"}},{before_labels}"labels":{{"{LABEL}":"rbac-defaults""#
        ));
        for part in &self.parts_of {
            add(format_args!(r#","{PART_OF}{part}":"true""#));
        }
        add(format_args!(r#"}},{before_name}"name":"{name}""#));
        if !self.namespace.is_empty() {
            add(format_args!(r#","namespace":"{}""#, self.namespace));
        }
        add(format_args!("{last}}}"));
        if let Some(parts) = self.sum_of {
            add(format_args!(
                r#","aggregationRule":{{"clusterRoleSelectors":[{{"matchLabels":{{"{PART_OF}{parts}":"true"}}}}]}}"#
            ));
        }
        if let Some((kind, name)) = self.role {
            add(format_args!(
                r#","roleRef":{{"apiGroup":"{GROUP}","kind":"{kind}","name":"{name}"}}"#
            ));
        }
        if self.has_items() {
            add(format_args!(
                r#","{}":[{}]"#,
                self.items_field(),
                self.items.join(",")
            ));
        }
        text.push('}');
        text
    }

    fn items_field(&self) -> &'static str {
        match self.role {
            Some(_) => "subjects",
            None => "rules",
        }
    }

    fn has_items(&self) -> bool {
        !self.items.is_empty() || self.sum_of.is_some()
    }

    /// Its initial managed fields.
    fn managed_fields(&self, time: &str) -> String {
        let entry = |manager: &str, operation: &str, fields: &str| {
            format!(
                r#"{{"apiVersion":"{GROUP}/v1","fieldsType":"FieldsV1","fieldsV1":{{{fields}}},"manager":"{manager}","operation":"{operation}","time":"{time}"}}"#
            )
        };
        let mut labels = String::new();
        for part in &self.parts_of {
            let _ = write!(labels, r#","f:{PART_OF}{part}":{{}}"#);
        }
        let mut fields = format!(
            r#""f:metadata":{{"f:annotations":{{".":{{}},"f:{ANNOTATION}":{{}}}},"f:labels":{{".":{{}},"f:{LABEL}":{{}}{labels}}}}}"#
        );
        if self.role.is_some() {
            fields.push_str(r#","f:roleRef":{}"#);
        }
        if self.sum_of.is_some() {
            fields.insert_str(0, r#""f:aggregationRule":{".":{},"f:clusterRoleSelectors":{}},"#);
            let summed = entry("clusterrole-aggregation-controller", "Apply", r#""f:rules":{}"#);
            let own = entry("kube-apiserver", "Update", &fields);
            return format!(r#""managedFields":[{summed},{own}]"#);
        }
        if self.has_items() {
            let _ = write!(fields, r#","f:{}":{{}}"#, self.items_field());
        }
        format!(
            r#""managedFields":[{}]"#,
            entry("kube-apiserver", "Update", &fields)
        )
    }
}

/// A rule as JSON.
fn rule(content: &str) -> String {
    let mut words = content.split(' ');
    let verbs = list(words.next().unwrap_or_default());
    let groups = words.next().unwrap_or_default();
    let what = list(words.next().unwrap_or_default());
    if groups == "urls" {
        return format!(r#"{{"nonResourceURLs":{what},"verbs":{verbs}}}"#);
    }
    let groups = list(groups).replace(r#""core""#, r#""""#);
    match words.nth(1).map(list) {
        Some(names) => {
            format!(r#"{{"apiGroups":{groups},"resourceNames":{names},"resources":{what},"verbs":{verbs}}}"#)
        }
        None => format!(r#"{{"apiGroups":{groups},"resources":{what},"verbs":{verbs}}}"#),
    }
}

/// A comma-separated list as JSON.
fn list(words: &str) -> String {
    format!(r#"["{}"]"#, words.replace(',', r#"",""#))
}

/// A subject as JSON.
fn subject(content: &str) -> String {
    let (kind, name) = content.split_once(' ').unwrap_or((content, ""));
    match name.split_once('/') {
        Some((namespace, name)) => {
            format!(r#"{{"kind":"{kind}","name":"{name}","namespace":"{namespace}"}}"#)
        }
        None => format!(r#"{{"apiGroup":"{GROUP}","kind":"{kind}","name":"{name}"}}"#),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    use crate::store::Draft;

    fn objects() -> Vec<Value> {
        all().iter().map(Standard::wanted).collect()
    }

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

    #[test]
    fn what_is_stored_is_what_is_wanted_and_says_whose_it_is() {
        for one in all() {
            let text = one.stored("u", "2026-01-02T03:04:05Z");
            let mut stored = Draft::from_json(&text)
                .expect("JSON with room for a revision")
                .seal("k".into(), 7)
                .value();
            let metadata = object::metadata_mut(&mut stored);
            let mut metadata = |field: &str| metadata.remove(field).unwrap_or_default();
            assert_eq!(
                (
                    metadata("uid"),
                    metadata("creationTimestamp"),
                    metadata("resourceVersion")
                ),
                (json!("u"), json!("2026-01-02T03:04:05Z"), json!("7"))
            );
            let managers = metadata("managedFields");
            assert_eq!(stored, one.wanted());
            // Each part besides the name is owned once.
            let fields = |index: usize| {
                managers[index]["fieldsV1"]
                    .as_object()
                    .cloned()
                    .unwrap_or_default()
            };
            let mut owned: Vec<String> = fields(0)
                .into_iter()
                .chain(fields(1))
                .map(|(name, _)| name)
                .collect();
            owned.sort();
            let said = stored
                .as_object()
                .into_iter()
                .flatten()
                .map(|(name, _)| format!("f:{name}"));
            let said: Vec<String> = said
                .filter(|name| name != "f:apiVersion" && name != "f:kind")
                .collect();
            assert_eq!(owned, said, "{}", one.name);
        }
    }
}
