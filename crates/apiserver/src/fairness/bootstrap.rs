//! The mandatory and suggested flow schemas and priority levels, and their maintenance.

use std::sync::LazyLock;

use serde_json::{Value, json};

use super::{FLOW_SCHEMAS, PRIORITY_LEVELS};
use crate::bootstrap::{ObjectTemplate, TIME};
use crate::object;
use crate::server::Server;
use crate::store::Write;

/// Whether the spec of an object is reconciled with its bootstrap configuration.
const AUTO_UPDATE: &str = "apf.kubernetes.io/autoupdate-spec";
const API_VERSION: &str = "flowcontrol.apiserver.k8s.io/v1";
/// The field managers of the objects and of their status, as upstream.
const PRODUCER: &str = "api-priority-and-fairness-config-producer-v1";
pub(crate) const CONSUMER: &str = "api-priority-and-fairness-config-consumer-v1";

/// A bootstrap object.
pub(crate) struct Suggestion {
    pub(crate) object: Value,
    /// Mandatory objects are always restored; suggested ones can be taken over by setting the annotation to false.
    mandatory: bool,
}

/// The write that maintains a bootstrap object.
#[derive(Debug, PartialEq)]
pub(crate) enum Upkeep {
    Create(Value),
    /// The stored object with its spec restored.
    Update(Value),
}

impl Suggestion {
    /// Whether it is a PriorityLevelConfiguration, and not a FlowSchema.
    pub(crate) fn is_level(&self) -> bool {
        self.object["kind"] == "PriorityLevelConfiguration"
    }

    pub(crate) fn name(&self) -> &str {
        object::name(&self.object)
    }

    /// Its bucket.
    fn bucket(&self) -> &'static str {
        match self.is_level() {
            true => PRIORITY_LEVELS,
            false => FLOW_SCHEMAS,
        }
    }

    /// The write that the stored object needs, if any.
    pub(crate) fn upkeep(&self, stored: Option<&Value>) -> Option<Upkeep> {
        let Some(stored) = stored else {
            return Some(Upkeep::Create(self.object.clone()));
        };
        let follows = match object::annotation(stored, AUTO_UPDATE) {
            Some(value) => value == "true",
            // Without the annotation, a changed spec (generation above 1) means that an operator has taken the object over.
            None => object::generation(stored) == 1,
        };
        let annotated = object::annotation(stored, AUTO_UPDATE) == Some("true");
        if !(self.mandatory || follows) || (annotated && stored["spec"] == self.object["spec"]) {
            return None;
        }
        let mut wanted = stored.clone();
        wanted["spec"] = self.object["spec"].clone();
        wanted["metadata"]["annotations"][AUTO_UPDATE] = json!("true");
        Some(Upkeep::Update(wanted))
    }
}

/// All bootstrap objects.
pub(crate) static SUGGESTIONS: LazyLock<Vec<Suggestion>> = LazyLock::new(objects);

/// Templates of the bootstrap objects, with their initial status.
static TEMPLATES: LazyLock<Vec<ObjectTemplate>> = LazyLock::new(|| {
    let template = |suggestion: &Suggestion| {
        let mut object = suggestion.object.clone();
        let level = object::at(&object, "spec.priorityLevelConfiguration.name").and_then(Value::as_str);
        // Its level is one of them, too.
        let condition = level.and_then(|level| dangling(&object, level, true, TIME));
        let status_manager = condition.is_some().then_some(CONSUMER);
        object["status"] =
            condition.map_or_else(|| json!({}), |condition| json!({"conditions": [condition]}));
        object["metadata"]["generation"] = json!(1);
        ObjectTemplate::with_managed_fields(suggestion.bucket(), object, PRODUCER, status_manager)
    };
    SUGGESTIONS.iter().map(template).collect()
});

/// The writes that create missing objects.
pub(crate) fn missing(server: &Server) -> Vec<Write> {
    let missing = TEMPLATES.iter().filter(|template| !template.exists(server));
    missing.map(|template| template.write(server)).collect()
}

/// The condition `Dangling` of a flow schema; `None` when it is unchanged.
pub(crate) fn dangling(schema: &Value, level: &str, exists: bool, now: &str) -> Option<Value> {
    let (status, reason, why) = match exists {
        true => ("False", "Found", "and it exists"),
        false => ("True", "NotFound", "but there is no such object"),
    };
    let message =
        format!("This FlowSchema references the PriorityLevelConfiguration object named {level:?} {why}");
    let conditions = object::at(schema, "status.conditions").and_then(Value::as_array);
    let stored = conditions
        .into_iter()
        .flatten()
        .find(|condition| condition["type"] == "Dangling");
    let same = stored.is_some_and(|stored| {
        stored["status"] == status && stored["reason"] == reason && stored["message"] == message
    });
    (!same).then(|| {
        json!({"type": "Dangling", "status": status, "reason": reason, "message": message,
            "lastTransitionTime": now})
    })
}

/// The objects with defaults.
fn objects() -> Vec<Suggestion> {
    let queue = |shares: u32, lendable: u32, queues: u32, hand: u32| {
        let queuing = json!({"queues": queues, "handSize": hand, "queueLengthLimit": 50});
        limited(shares, lendable, json!({"type": "Queue", "queuing": queuing}))
    };
    let exempt = json!({"type": "Exempt", "exempt": {"nominalConcurrencyShares": 0, "lendablePercent": 0}});
    let everybody = || json!([group("system:unauthenticated"), group("system:authenticated")]);
    let system_accounts =
        || json!({"kind": "ServiceAccount", "serviceAccount": {"name": "*", "namespace": "kube-system"}});
    let manager = || user("system:kube-controller-manager");
    let scheduler = || user("system:kube-scheduler");
    let leases = |verbs: Value| on(verbs, "coordination.k8s.io", &["leases"], false);
    let node_rules = json!([{
        "subjects": [group("system:nodes")],
        "resourceRules": [on(json!(["*"]), "", &["nodes", "nodes/status"], true), leases(json!(["*"]))],
    }]);
    let election = json!([{
        "subjects": [manager(), scheduler(), system_accounts()],
        "resourceRules": [leases(json!(["get", "create", "update"]))],
    }]);
    let probes = json!([{
        "subjects": everybody(),
        "nonResourceRules": [{"verbs": ["get"], "nonResourceURLs": ["/healthz", "/readyz", "/livez"]}],
    }]);
    vec![
        mandatory(level("exempt", exempt)),
        mandatory(level("catch-all", limited(5, 0, json!({"type": "Reject"})))),
        suggested(level("system", queue(30, 33, 64, 6))),
        suggested(level("node-high", queue(40, 25, 64, 6))),
        suggested(level("leader-election", queue(10, 0, 16, 4))),
        suggested(level("workload-high", queue(40, 50, 128, 6))),
        suggested(level("workload-low", queue(100, 90, 128, 6))),
        suggested(level("global-default", queue(20, 50, 128, 6))),
        mandatory(flow(
            "exempt",
            "exempt",
            1,
            "",
            everything(json!([group("system:masters")])),
        )),
        mandatory(flow(
            "catch-all",
            "catch-all",
            10_000,
            "ByUser",
            everything(everybody()),
        )),
        suggested(flow("probes", "exempt", 2, "", probes)),
        suggested(flow(
            "system-leader-election",
            "leader-election",
            100,
            "ByUser",
            election,
        )),
        suggested(flow("system-node-high", "node-high", 400, "ByUser", node_rules)),
        suggested(flow(
            "system-nodes",
            "system",
            500,
            "ByUser",
            everything(json!([group("system:nodes")])),
        )),
        suggested(flow(
            "kube-controller-manager",
            "workload-high",
            800,
            "ByNamespace",
            everything(json!([manager()])),
        )),
        suggested(flow(
            "kube-scheduler",
            "workload-high",
            800,
            "ByNamespace",
            everything(json!([scheduler()])),
        )),
        suggested(flow(
            "kube-system-service-accounts",
            "workload-high",
            900,
            "ByNamespace",
            everything(json!([system_accounts()])),
        )),
        suggested(flow(
            "service-accounts",
            "workload-low",
            9000,
            "ByUser",
            everything(json!([group("system:serviceaccounts")])),
        )),
        suggested(flow(
            "global-default",
            "global-default",
            9900,
            "ByUser",
            everything(everybody()),
        )),
    ]
}

fn mandatory(object: Value) -> Suggestion {
    Suggestion {
        object,
        mandatory: true,
    }
}

fn suggested(object: Value) -> Suggestion {
    Suggestion {
        object,
        mandatory: false,
    }
}

fn level(name: &str, spec: Value) -> Value {
    json!({"apiVersion": API_VERSION, "kind": "PriorityLevelConfiguration",
        "metadata": {"name": name, "annotations": {AUTO_UPDATE: "true"}}, "spec": spec})
}

fn limited(shares: u32, lendable: u32, response: Value) -> Value {
    json!({"type": "Limited", "limited":
        {"nominalConcurrencyShares": shares, "lendablePercent": lendable, "limitResponse": response}})
}

fn flow(name: &str, level: &str, precedence: u32, distinguisher: &str, rules: Value) -> Value {
    let mut spec = json!({"priorityLevelConfiguration": {"name": level}, "matchingPrecedence": precedence, "rules": rules});
    if !distinguisher.is_empty() {
        spec["distinguisherMethod"] = json!({"type": distinguisher});
    }
    json!({"apiVersion": API_VERSION, "kind": "FlowSchema",
        "metadata": {"name": name, "annotations": {AUTO_UPDATE: "true"}}, "spec": spec})
}

fn group(name: &str) -> Value {
    json!({"kind": "Group", "group": {"name": name}})
}

fn user(name: &str) -> Value {
    json!({"kind": "User", "user": {"name": name}})
}

fn on(verbs: Value, group: &str, resources: &[&str], cluster_scope: bool) -> Value {
    let mut rule = json!({"verbs": verbs, "apiGroups": [group], "resources": resources, "namespaces": ["*"]});
    if cluster_scope {
        rule["clusterScope"] = json!(true);
    }
    rule
}

fn everything(subjects: Value) -> Value {
    json!([{
        "subjects": subjects,
        "resourceRules": [on(json!(["*"]), "*", &["*"], true)],
        "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}],
    }])
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: &str = "2026-01-02T03:04:05Z";

    fn find(name: &str) -> Suggestion {
        objects()
            .into_iter()
            .find(|one| one.name() == name && !one.is_level())
            .unwrap()
    }

    #[test]
    fn what_is_as_it_should_be_is_left_alone() {
        for suggestion in objects() {
            assert_eq!(suggestion.upkeep(Some(&suggestion.object)), None);
            assert!(matches!(suggestion.upkeep(None), Some(Upkeep::Create(_))));
        }
    }

    #[test]
    fn suggestions_can_be_taken_over_and_mandatory_objects_cannot() {
        for (name, annotation, kept) in [
            ("probes", json!("false"), true),
            ("probes", json!("true"), false),
            ("probes", Value::Null, true),
            ("catch-all", json!("false"), false),
        ] {
            let suggestion = find(name);
            let mut stored = suggestion.object.clone();
            stored["spec"]["matchingPrecedence"] = json!(77);
            stored["metadata"]["annotations"][AUTO_UPDATE] = annotation.clone();
            stored["metadata"]["generation"] = json!(2);
            let upkeep = suggestion.upkeep(Some(&stored));
            assert_eq!(upkeep.is_none(), kept, "{name} {annotation}");
            if let Some(Upkeep::Update(wanted)) = upkeep {
                assert_eq!(wanted["spec"], suggestion.object["spec"]);
            }
        }
    }

    #[test]
    fn a_flow_schema_says_whether_its_level_exists() {
        let mut schema = json!({"spec": {"priorityLevelConfiguration": {"name": "mine"}}});
        let missing = dangling(&schema, "mine", false, NOW).unwrap();
        assert_eq!(missing["status"], "True");
        schema["status"] = json!({"conditions": [missing]});
        assert_eq!(dangling(&schema, "mine", false, NOW), None);
        let found = dangling(&schema, "mine", true, NOW).unwrap();
        assert_eq!(
            (&found["status"], &found["reason"]),
            (&json!("False"), &json!("Found"))
        );
    }
}
