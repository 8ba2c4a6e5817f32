//! One rule of a role.

use serde_json::{Map, Value, json};

use crate::auth::Action;

/// A PolicyRule: verbs on resources, or verbs on non-resource URLs. `*` matches all.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Rule {
    /// Verbs.
    pub verbs: Vec<String>,
    /// API groups.
    pub groups: Vec<String>,
    /// Resources: `pods`, `pods/log`, `*/scale`.
    pub resources: Vec<String>,
    /// Resource names; all objects when empty.
    pub names: Vec<String>,
    /// Non-resource URLs; a trailing `*` matches any suffix.
    pub urls: Vec<String>,
}

impl Rule {
    /// Parses a PolicyRule.
    pub(crate) fn from_json(rule: &Value) -> Self {
        let texts = |field: &str| {
            let list = rule.get(field).and_then(Value::as_array).into_iter().flatten();
            list.filter_map(Value::as_str).map(str::to_owned).collect()
        };
        Self {
            verbs: texts("verbs"),
            groups: texts("apiGroups"),
            resources: texts("resources"),
            names: texts("resourceNames"),
            urls: texts("nonResourceURLs"),
        }
    }

    /// The rule as a PolicyRule; empty lists are omitted.
    pub(crate) fn to_json(&self) -> Value {
        let mut map = Map::new();
        let fields = [
            ("verbs", &self.verbs),
            ("apiGroups", &self.groups),
            ("resources", &self.resources),
            ("resourceNames", &self.names),
            ("nonResourceURLs", &self.urls),
        ];
        for (field, list) in fields {
            if !list.is_empty() {
                map.insert(field.to_owned(), json!(list));
            }
        }
        Value::Object(map)
    }

    /// Whether it allows an action.
    pub(crate) fn allows(&self, action: &Action<'_>) -> bool {
        if !has(&self.verbs, action.verb) {
            return false;
        }
        let Some(resource) = &action.resource else {
            return self.urls.iter().any(|url| covers_path(url, action.path));
        };
        has(&self.groups, resource.group)
            && self
                .resources
                .iter()
                .any(|one| is_resource(one, resource.resource, resource.subresource))
            && (self.names.is_empty() || self.names.iter().any(|name| name == resource.name))
    }
}

fn has(list: &[String], wanted: &str) -> bool {
    list.iter().any(|one| one == wanted || one == "*")
}

fn is_resource(rule: &str, resource: &str, subresource: &str) -> bool {
    if rule == "*" {
        return true;
    }
    if subresource.is_empty() {
        return rule == resource;
    }
    rule.split_once('/')
        .is_some_and(|(owner, part)| part == subresource && (owner == resource || owner == "*"))
}

/// Whether a URL pattern covers another path or pattern.
pub(super) fn covers_path(rule: &str, path: &str) -> bool {
    rule == path || rule.ends_with('*') && path.starts_with(rule.trim_end_matches('*'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::auth::ResourceAction;

    fn rule(groups: &[&str], resources: &[&str], names: &[&str]) -> Rule {
        let owned = |list: &[&str]| list.iter().map(ToString::to_string).collect();
        Rule {
            verbs: owned(&["get", "list"]),
            groups: owned(groups),
            resources: owned(resources),
            names: owned(names),
            urls: vec![],
        }
    }

    fn allows(rule: &Rule, verb: &str, group: &str, resource: &str, name: &str) -> bool {
        let (resource, subresource) = resource.split_once('/').unwrap_or((resource, ""));
        let resource = ResourceAction {
            group,
            resource,
            subresource,
            name,
            namespace: "",
        };
        rule.allows(&Action::on(verb, resource))
    }

    #[test]
    fn a_rule_names_groups_resources_subresources_and_objects() {
        let pods = rule(&[""], &["pods", "pods/log"], &[]);
        assert!(allows(&pods, "get", "", "pods", "a"));
        assert!(allows(&pods, "get", "", "pods/log", "a"));
        assert!(!allows(&pods, "get", "", "pods/exec", "a"));
        assert!(!allows(&pods, "delete", "", "pods", "a"));
        assert!(!allows(&pods, "get", "apps", "pods", "a"));

        let scales = rule(&["*"], &["*/scale"], &[]);
        assert!(allows(&scales, "get", "apps", "deployments/scale", "a"));
        assert!(!allows(&scales, "get", "apps", "deployments", "a"));
        assert!(!allows(&scales, "get", "apps", "deployments/status", "a"));

        let named = rule(&[""], &["*"], &["a"]);
        assert!(allows(&named, "get", "", "secrets", "a"));
        assert!(!allows(&named, "get", "", "secrets", "b"));
        assert!(!allows(&named, "list", "", "secrets", ""), "a list has no name");
    }

    #[test]
    fn a_rule_names_paths() {
        let rule = Rule {
            verbs: vec!["get".to_owned()],
            urls: vec!["/healthz".to_owned(), "/apis/*".to_owned()],
            ..Rule::default()
        };
        let allows = |path| {
            rule.allows(&Action {
                verb: "get",
                resource: None,
                path,
            })
        };
        assert!(allows("/healthz") && allows("/apis/apps") && allows("/apis/"));
        assert!(!allows("/healthz/x") && !allows("/apis"));
        let pods = ResourceAction {
            resource: "pods",
            ..ResourceAction::default()
        };
        assert!(
            !rule.allows(&Action::on("get", pods)),
            "a rule about paths is not about resources"
        );
    }
}
