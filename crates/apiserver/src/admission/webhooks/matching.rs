//! Does a webhook want a request, and in which version?

use cambium_expression::conditions::{ConditionInput, Conditions, Matched};
use serde_json::{Value, json};

use super::hooks::{Hook, Rule};
use super::review;
use crate::admission::Attributes;
use crate::server::Server;
use crate::status::{Result, Status};

/// A request as a webhook wants to see it.
pub(super) struct Invocation {
    pub(super) group: String,
    pub(super) version: String,
    pub(super) resource: String,
    pub(super) kind: String,
    /// Whether that is another version than the request's own.
    pub(super) converted: bool,
}

/// How a webhook wants to see a request; `None` when it does not.
pub(super) fn wants(
    server: &Server,
    attributes: &Attributes<'_>,
    hook: &Hook,
    object: Option<&Value>,
) -> Result<Option<Invocation>> {
    let Some(invocation) = by_rules(server, attributes, hook) else {
        return Ok(None);
    };
    if !in_namespace(server, attributes, hook, object) {
        return Ok(None);
    }
    let selected =
        |value: Option<&Value>| value.is_some_and(|value| hook.object_selector.matches_object(value));
    if !hook.object_selector.is_empty() && !selected(object) && !selected(attributes.old) {
        return Ok(None);
    }
    match &hook.conditions {
        Some(conditions) => meets(server, attributes, hook, conditions, object, invocation),
        None => Ok(Some(invocation)),
    }
}

/// The webhook's own conditions, in CEL.
fn meets(
    server: &Server,
    attributes: &Attributes<'_>,
    hook: &Hook,
    conditions: &Conditions,
    object: Option<&Value>,
    invocation: Invocation,
) -> Result<Option<Invocation>> {
    let request = review::request(attributes, &invocation, "", None, None);
    let namespace = server
        .store
        .bucket(&server.namespaces)
        .get(attributes.namespace)
        .map(|entry| entry.value());
    let input = ConditionInput {
        object,
        old_object: attributes.old,
        request: Some(&request),
        namespace: namespace.as_ref().filter(|_| attributes.resource.namespaced),
    };
    match conditions.matches(&input) {
        Matched::Yes => Ok(Some(invocation)),
        Matched::No(_) => Ok(None),
        Matched::Unknown(_) if !hook.fails_closed => Ok(None),
        Matched::Unknown(why) => {
            let resource = attributes.resource;
            Err(Status::forbidden(
                &resource.group,
                &resource.plural,
                attributes.name,
                &why.join(", "),
            ))
        }
    }
}

fn by_rules(server: &Server, attributes: &Attributes<'_>, hook: &Hook) -> Option<Invocation> {
    let resource = attributes.resource;
    let wants = |group: &str, version: &str, plural: &str| {
        hook.rules
            .iter()
            .any(|rule| matches(rule, attributes, group, version, plural))
    };
    let own = wants(&resource.group, &resource.version, &resource.plural);
    if own {
        return Some(Invocation {
            group: resource.group.to_string(),
            version: resource.version.to_string(),
            resource: resource.plural.to_string(),
            kind: resource.kind.to_string(),
            converted: false,
        });
    }
    if !hook.equivalent {
        return None;
    }
    // The same objects under another version's name.
    let registry = server.registry();
    let other = registry.all().find(|other| {
        other.bucket == resource.bucket && wants(&other.group, &other.version, &other.plural)
    })?;
    Some(Invocation {
        group: other.group.to_string(),
        version: other.version.to_string(),
        resource: other.plural.to_string(),
        kind: other.kind.to_string(),
        converted: true,
    })
}

fn matches(rule: &Rule, attributes: &Attributes<'_>, group: &str, version: &str, plural: &str) -> bool {
    let any = |list: &[String], value: &str| list.iter().any(|one| one == "*" || one == value);
    let scope = match rule.scope.as_str() {
        "Namespaced" => attributes.resource.namespaced,
        "Cluster" => !attributes.resource.namespaced,
        _ => true,
    };
    let resource = |pattern: &String| {
        let (wanted, sub) = pattern.split_once('/').unwrap_or((pattern, ""));
        let resource = wanted == "*" || wanted == plural;
        let all = pattern == "*/*";
        all || resource && (sub == attributes.subresource || sub == "*" && pattern.contains('/'))
    };
    scope
        && any(&rule.operations, attributes.operation.name())
        && any(&rule.groups, group)
        && any(&rule.versions, version)
        && rule.resources.iter().any(resource)
}

fn in_namespace(server: &Server, attributes: &Attributes<'_>, hook: &Hook, object: Option<&Value>) -> bool {
    if hook.namespace_selector.is_empty() {
        return true;
    }
    let resource = attributes.resource;
    let is_namespace = resource.group.is_empty() && &*resource.plural == "namespaces";
    let labels = match (is_namespace, resource.namespaced) {
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
    hook.namespace_selector.matches_object(&labels)
}
