//! The flow schemas and priority levels that every cluster has, and how they are kept.

use serde_json::{Value, json};

use crate::object;

/// Says whether an object follows the server's own idea of it.
const AUTO_UPDATE: &str = "apf.kubernetes.io/autoupdate-spec";
const API_VERSION: &str = "flowcontrol.apiserver.k8s.io/v1";

/// An object that should be there.
pub(crate) struct Suggestion {
    pub(crate) object: Value,
    /// It cannot be changed or missing; others can be changed by whoever takes them over.
    mandatory: bool,
}

/// What to do about a suggestion.
#[derive(Debug, PartialEq)]
pub(crate) enum Upkeep {
    Create(Value),
    /// The stored object with the spec that it should have.
    Update(Value),
}

impl Suggestion {
    /// Whether it is a PriorityLevelConfiguration; else it is a FlowSchema.
    pub(crate) fn is_level(&self) -> bool {
        self.object["kind"] == "PriorityLevelConfiguration"
    }

    pub(crate) fn name(&self) -> &str {
        object::name(&self.object)
    }

    /// What has to be done, given what is stored.
    pub(crate) fn upkeep(&self, stored: Option<&Value>) -> Option<Upkeep> {
        let Some(stored) = stored else {
            return Some(Upkeep::Create(self.object.clone()));
        };
        let follows = match object::annotation(stored, AUTO_UPDATE) {
            Some(value) => value == "true",
            // Nobody has said; whoever has changed the spec has taken it over.
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

/// All of them, as they are stored: with the defaults filled in.
pub(crate) fn objects() -> Vec<Suggestion> {
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
}
