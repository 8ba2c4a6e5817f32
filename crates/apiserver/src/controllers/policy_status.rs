//! Type checks the expressions of ValidatingAdmissionPolicies against the kinds that they match.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use cambium_cel::policies::TypeCheck;
use cambium_schema::{Child, JsonType, PatchStrategy, Property, Schema};
use serde_json::{Value, json};

use super::work_queue::{self, Controller, Step, WorkQueue};
use crate::loopback::Loopback;
use crate::object::{self, items, text};
use crate::registry::{Origin, Registry, Served};
use crate::server::Server;
use crate::store::Event;

const POLICIES: &str = "admissionregistration.k8s.io/validatingadmissionpolicies";
/// The field manager, as upstream.
const MANAGER: &str = "validatingadmissionpolicy-status";
/// At most this many kinds are checked, as upstream.
const MOST_KINDS: usize = 10;

/// Starts the controller.
pub(super) fn start(server: &Arc<Server>) {
    let (known, feed) = (server.store.revision(), server.store.feed());
    let mut queue = WorkQueue::new();
    for entry in server.store.bucket(&POLICIES.into()).list("").0 {
        queue.add(entry.key.clone());
    }
    let controller = Policies {
        server: server.clone(),
        client: server
            .loopback("validatingadmissionpolicy-status-controller")
            .with_agent(super::MANAGER),
    };
    tokio::spawn(work_queue::run(server.clone(), feed, known, controller, queue));
}

struct Policies {
    server: Arc<Server>,
    client: Loopback,
}

impl Controller for Policies {
    /// A policy.
    type Key = Arc<str>;

    fn handle_event(&mut self, event: &Event, queue: &mut WorkQueue<Arc<str>>) {
        if &*event.bucket == POLICIES {
            queue.add(event.entry.key.clone());
        }
    }

    fn decide(&mut self, name: &Arc<str>, _: &mut WorkQueue<Arc<str>>) -> Step {
        let Some(entry) = self.server.store.bucket(&POLICIES.into()).get(name) else {
            return Step::idle();
        };
        let policy = entry.value();
        let generation = object::generation(&policy);
        let observed = object::at(&policy, "status.observedGeneration").and_then(Value::as_i64);
        if generation <= observed.unwrap_or_default() {
            return Step::idle();
        }
        let warnings = warnings(&policy["spec"], &self.server.registry());
        let mut checked = json!({});
        if !warnings.is_empty() {
            checked["expressionWarnings"] = json!(warnings);
        }
        let status = json!({
            "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy", "metadata": {"name": &**name},
            "status": {"observedGeneration": generation, "typeChecking": checked},
        });
        let (client, path) = (
            self.client.clone(),
            format!("/apis/{POLICIES}/{name}/status").replacen("k8s.io/", "k8s.io/v1/", 1),
        );
        Step::act(async move { client.apply(&path, MANAGER, &status).await.map(|_| ()) })
    }
}

/// The `expressionWarnings` of a policy.
fn warnings(spec: &Value, registry: &Registry) -> Vec<Value> {
    let checks = checks(spec, registry);
    let mut warnings = Vec::new();
    for (index, validation) in items(spec, "validations").iter().enumerate() {
        for field in ["expression", "messageExpression"] {
            let source = text(validation, field);
            if source.is_empty() {
                continue;
            }
            let problems: Vec<String> = checks
                .iter()
                .filter_map(|(kind, check)| Some(format!("{kind}: {}\n", check.check(source)?)))
                .collect();
            if !problems.is_empty() {
                let place = format!("spec.validations[{index}].{field}");
                warnings.push(json!({"fieldRef": place, "warning": problems.join("\n")}));
            }
        }
    }
    warnings
}

/// A type check for each kind that the policy names.
fn checks(spec: &Value, registry: &Registry) -> Vec<(String, TypeCheck)> {
    let params = spec.get("paramKind").map(|kind| {
        let (group, version) = match text(kind, "apiVersion").split_once('/') {
            Some(group_version) => group_version,
            None => ("", text(kind, "apiVersion")),
        };
        registry.find_kind(group, version, text(kind, "kind"))
    });
    let params = params.map(|found| found.map(|resource| (resource.kind.clone(), shape(resource))));
    let check = |resource: Arc<Served>| {
        let schema = shape(&resource);
        let mut check = TypeCheck::new((&resource.kind, &schema));
        if let Some(params) = &params {
            let params = params.as_ref().map(|(kind, schema)| (&**kind, &**schema));
            check = check.with_params(params);
        }
        for variable in items(spec, "variables") {
            check.add_variable(text(variable, "name"), text(variable, "expression"));
        }
        let kind = format!("{}/{}, Kind={}", resource.group, resource.version, resource.kind);
        (kind, check)
    };
    kinds(spec, registry).into_iter().map(check).collect()
}

/// The kinds that a policy matches without wildcards.
fn kinds(spec: &Value, registry: &Registry) -> Vec<Arc<Served>> {
    let mut found = BTreeMap::new();
    for rule in items(&spec["matchConstraints"], "resourceRules") {
        let list = |field: &str| {
            let mut list: Vec<&str> = items(rule, field).iter().filter_map(Value::as_str).collect();
            list.sort_unstable();
            list
        };
        let (groups, versions) = (list("apiGroups"), list("apiVersions"));
        let resources = list("resources");
        if [&groups, &versions]
            .into_iter()
            .flatten()
            .any(|name| name.contains('*'))
        {
            continue;
        }
        let mut count = 0;
        for group in &groups {
            for version in &versions {
                for name in resources.iter().filter(|name| !name.contains(['*', '/'])) {
                    let Some(resource) = registry.find(group, version, name) else {
                        continue;
                    };
                    let key = [&resource.group, &resource.version, &resource.kind].map(Arc::clone);
                    found.insert(key, resource.clone());
                    count += 1;
                    if count == MOST_KINDS {
                        return found.into_values().collect();
                    }
                }
            }
        }
    }
    found.into_values().collect()
}

/// The schema of a kind with full object metadata.
fn shape(resource: &Served) -> Cow<'_, Schema> {
    if let Origin::Builtin(row) = &resource.origin {
        return Cow::Borrowed(row.schema);
    }
    static TEXT: Schema = Schema::of(JsonType::String);
    let any = cambium_builtin::find("", "v1", "configmaps").and_then(|row| row.schema.property("metadata"));
    let mut schema = resource.schema().clone();
    let mut properties: Vec<Property> = schema.properties.into_owned();
    properties.retain(|property| !matches!(&*property.name, "apiVersion" | "kind" | "metadata"));
    properties.extend(any.cloned());
    properties.extend(["apiVersion", "kind"].map(|name| Property {
        name: Cow::Borrowed(name),
        schema: Child::Static(&TEXT),
        required: false,
        number: 0,
        patch: PatchStrategy::Replace,
        patch_merge_key: "",
    }));
    properties.sort_by(|a, b| a.name.cmp(&b.name));
    schema.properties = Cow::Owned(properties);
    Cow::Owned(schema)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions_are_checked_for_each_kind_that_is_named() {
        let registry = Registry::builtin();
        let spec = json!({
            "paramKind": {"apiVersion": "v1", "kind": "ConfigMap"},
            "matchConstraints": {"resourceRules": [{"apiGroups": ["apps"], "apiVersions": ["v1"],
                "resources": ["statefulsets", "deployments", "deployments/scale", "nothing"]}]},
            "variables": [{"name": "n", "expression": "object.spec.replicas"}],
            "validations": [
                {"expression": "variables.n > 1 && params.data['x'] == 'y'"},
                {"expression": "variables.n > '1'", "messageExpression": "'a' + object.spec.serviceName"},
            ],
        });
        let overload = "ERROR: <input>:1:13: found no matching overload for '_>_' applied to '(int, string)'\n | \
                        variables.n > '1'\n | ............^\n";
        assert_eq!(
            warnings(&spec, &registry),
            [
                json!({"fieldRef": "spec.validations[1].expression", "warning": format!(
                    "apps/v1, Kind=Deployment: {overload}\napps/v1, Kind=StatefulSet: {overload}")}),
                json!({"fieldRef": "spec.validations[1].messageExpression", "warning":
                    "apps/v1, Kind=Deployment: ERROR: <input>:1:18: undefined field 'serviceName'\n | 'a' + \
                     object.spec.serviceName\n | .................^\n"}),
            ]
        );
    }

    #[test]
    fn kinds_that_are_not_named_are_not_checked() {
        let registry = Registry::builtin();
        let rules = |rules: Value| json!({"matchConstraints": {"resourceRules": [rules]}});
        let names = |spec: Value| -> Vec<String> {
            let kinds = kinds(&spec, &registry);
            kinds.iter().map(|resource| resource.kind.to_string()).collect()
        };
        assert!(
            names(rules(
                json!({"apiGroups": ["*"], "apiVersions": ["v1"], "resources": ["pods"]})
            ))
            .is_empty()
        );
        assert!(
            names(rules(
                json!({"apiGroups": [""], "apiVersions": ["v1"], "resources": ["*", "pods/*"]})
            ))
            .is_empty()
        );
        assert_eq!(
            names(rules(
                json!({"apiGroups": ["", "apps"], "apiVersions": ["v1"], "resources": ["pods", "deployments"]})
            )),
            ["Pod", "Deployment"]
        );
    }
}
