//! Matches requests against the rules and selectors of webhooks and policies, with `matchPolicy: Equivalent`.

use cambium_builtin::AdmissionPlugin;
use serde_json::{Value, json};

use super::Attributes;
use crate::registry::Served;
use crate::selector::LabelSelector;
use crate::server::Server;
use crate::status::Result;
use crate::{convert, object};

/// The match criteria of a webhook, a policy or a binding.
pub(super) struct Criteria {
    rules: Vec<Rule>,
    excluded: Vec<Rule>,
    equivalent: bool,
    namespace_selector: LabelSelector,
    object_selector: LabelSelector,
}

/// A rule: operations on resources.
struct Rule {
    operations: Vec<String>,
    groups: Vec<String>,
    versions: Vec<String>,
    resources: Vec<String>,
    scope: String,
    /// `resourceNames`; empty for all objects.
    names: Vec<String>,
}

/// The group, version and resource at which a webhook or policy receives a request.
#[derive(Clone)]
pub(super) struct Invocation {
    pub(super) group: String,
    pub(super) version: String,
    pub(super) resource: String,
    pub(super) kind: String,
    /// Whether the objects must be converted, as it is not the request's own version.
    pub(super) converted: bool,
}

impl Criteria {
    /// The criteria of a webhook, which without rules matches nothing.
    pub(super) fn of_webhook(hook: &Value) -> Self {
        Self::read(hook, "rules")
    }

    /// The criteria of a policy or a binding, which without rules matches everything.
    pub(super) fn of_policy(resources: &Value) -> Self {
        let mut criteria = Self::read(resources, "resourceRules");
        if criteria.rules.is_empty() {
            criteria.rules.push(Rule::everything());
        }
        criteria
    }

    fn read(value: &Value, rules: &str) -> Self {
        let selector = |field: &str| {
            value
                .get(field)
                .and_then(LabelSelector::from_json)
                .unwrap_or_default()
        };
        let list = |field: &str| {
            let list = value.get(field).and_then(Value::as_array);
            list.into_iter().flatten().map(Rule::read).collect()
        };
        Self {
            rules: list(rules),
            excluded: list("excludeResourceRules"),
            equivalent: value.get("matchPolicy").and_then(Value::as_str) != Some("Exact"),
            namespace_selector: selector("namespaceSelector"),
            object_selector: selector("objectSelector"),
        }
    }

    /// The version at which a matching request is sent; `None` if the request does not match.
    pub(super) fn find(
        &self,
        server: &Server,
        attributes: &Attributes<'_>,
        object: Option<&Value>,
    ) -> Option<Invocation> {
        if self.by_rules(server, attributes, &self.excluded).is_some() {
            return None;
        }
        let invocation = self.by_rules(server, attributes, &self.rules)?;
        let wanted = self.in_namespace(server, attributes, object) && self.selects_object(attributes, object);
        wanted.then_some(invocation)
    }

    fn by_rules(&self, server: &Server, attributes: &Attributes<'_>, rules: &[Rule]) -> Option<Invocation> {
        let resource = attributes.resource;
        let wants = |other: &Served| rules.iter().any(|rule| rule.matches(attributes, other));
        if wants(resource) {
            return Some(Invocation::of(resource, false));
        }
        if !self.equivalent || rules.is_empty() {
            return None;
        }
        // The same objects under another version's name.
        let registry = server.registry();
        let other = registry
            .all()
            .find(|other| other.bucket == resource.bucket && wants(other))?;
        Some(Invocation::of(other, true))
    }

    fn selects_object(&self, attributes: &Attributes<'_>, object: Option<&Value>) -> bool {
        let selected =
            |value: Option<&Value>| value.is_some_and(|value| self.object_selector.matches_object(value));
        self.object_selector.is_empty() || selected(object) || selected(attributes.old)
    }

    fn in_namespace(&self, server: &Server, attributes: &Attributes<'_>, object: Option<&Value>) -> bool {
        if self.namespace_selector.is_empty() {
            return true;
        }
        let is_namespace = attributes.concerns(AdmissionPlugin::NamespaceLifecycle);
        let labels = match (is_namespace, attributes.resource.namespaced) {
            // A namespace is selected by its own labels.
            (true, _) => object.or(attributes.old).cloned().unwrap_or_else(|| json!({})),
            (false, false) => return true,
            (false, true) => {
                let bucket = server.store.bucket(&server.namespaces);
                bucket
                    .get(attributes.namespace)
                    .map_or_else(|| json!({}), |entry| entry.value())
            }
        };
        self.namespace_selector.matches_object(&labels)
    }
}

impl Rule {
    fn read(rule: &Value) -> Self {
        Self {
            operations: texts(rule, "operations"),
            groups: texts(rule, "apiGroups"),
            versions: texts(rule, "apiVersions"),
            resources: texts(rule, "resources"),
            scope: rule
                .get("scope")
                .and_then(Value::as_str)
                .unwrap_or("*")
                .to_owned(),
            names: texts(rule, "resourceNames"),
        }
    }

    fn everything() -> Self {
        let any = || vec!["*".to_owned()];
        Self {
            operations: any(),
            groups: any(),
            versions: any(),
            resources: vec!["*/*".to_owned()],
            scope: "*".to_owned(),
            names: Vec::new(),
        }
    }

    fn matches(&self, attributes: &Attributes<'_>, other: &Served) -> bool {
        let any = |list: &[String], value: &str| list.iter().any(|one| one == "*" || one == value);
        let scope = match self.scope.as_str() {
            "Namespaced" => attributes.resource.namespaced,
            "Cluster" => !attributes.resource.namespaced,
            _ => true,
        };
        let resource = |pattern: &String| {
            let (wanted, sub) = pattern.split_once('/').unwrap_or((pattern, ""));
            let resource = wanted == "*" || *wanted == *other.plural;
            let all = pattern == "*/*";
            all || resource && (sub == attributes.subresource || sub == "*" && pattern.contains('/'))
        };
        scope
            && any(&self.operations, attributes.operation.name())
            && any(&self.groups, &other.group)
            && any(&self.versions, &other.version)
            && self.resources.iter().any(resource)
            && (self.names.is_empty() || self.names.iter().any(|name| name == attributes.name))
    }
}

impl Invocation {
    fn of(resource: &Served, converted: bool) -> Self {
        Self {
            group: resource.group.to_string(),
            version: resource.version.to_string(),
            resource: resource.plural.to_string(),
            kind: resource.kind.to_string(),
            converted,
        }
    }

    /// Converts an object of the request to the version of the invocation.
    pub(super) async fn see(
        &self,
        server: &Server,
        resource: &Served,
        object: Option<&Value>,
    ) -> Result<Option<Value>> {
        match (object, self.converted) {
            (None, _) => Ok(None),
            (Some(object), false) => Ok(Some(object.clone())),
            (Some(object), true) => {
                let version = object::api_version(&self.group, &self.version);
                convert::between(server, resource, object.clone(), &version)
                    .await
                    .map(Some)
            }
        }
    }

    /// Converts an object of the invocation back to the request's version.
    pub(super) async fn take_back(&self, server: &Server, resource: &Served, object: Value) -> Result<Value> {
        match self.converted {
            false => Ok(object),
            true => convert::between(server, resource, object, &resource.api_version).await,
        }
    }
}

/// The strings of a list field.
pub(super) fn texts(value: &Value, field: &str) -> Vec<String> {
    let list = value.get(field).and_then(Value::as_array).into_iter().flatten();
    list.filter_map(Value::as_str).map(str::to_owned).collect()
}
