use super::*;
use crate::fairness::bootstrap;

fn rules() -> Rules {
    let objects = |levels: bool| -> Vec<Value> {
        let all = bootstrap::SUGGESTIONS.iter();
        all.filter(|one| one.is_level() == levels)
            .map(|one| one.object.clone())
            .collect()
    };
    Rules::read(&objects(false), &objects(true), 600)
}

fn path<'a>(path: &'a str) -> Action<'a> {
    Action {
        verb: "get",
        resource: None,
        path,
    }
}

fn on<'a>(
    verb: &'a str,
    group: &'a str,
    resource: &'a str,
    subresource: &'a str,
    namespace: &'a str,
) -> Action<'a> {
    Action {
        verb,
        resource: Some(ResourceAction {
            group,
            resource,
            subresource,
            namespace,
            name: "",
        }),
        path: "",
    }
}

#[test]
fn requests_go_where_kubernetes_sends_them() {
    let rules = rules();
    let account = |namespace: &str| {
        let (all, own) = (
            "system:serviceaccounts",
            format!("system:serviceaccounts:{namespace}"),
        );
        User::authenticated(&format!("system:serviceaccount:{namespace}:bot"), &[all, &own])
    };
    let node = User::authenticated("system:node:one", &["system:nodes"]);
    let manager = User::authenticated("system:kube-controller-manager", &[]);
    let somebody = User::authenticated("somebody", &[]);
    for (user, action, expected) in [
        (
            &User::master("admin"),
            on("get", "", "pods", "", "default"),
            ("exempt", "exempt"),
        ),
        (&User::anonymous(), path("/healthz"), ("probes", "exempt")),
        (&User::anonymous(), path("/livez/ping"), ("probes", "exempt")),
        (
            &User::anonymous(),
            path("/livezzz"),
            ("global-default", "global-default"),
        ),
        (
            &manager,
            on("update", "coordination.k8s.io", "leases", "", "kube-system"),
            ("system-leader-election", "leader-election"),
        ),
        (
            &manager,
            on("list", "", "pods", "", ""),
            ("kube-controller-manager", "workload-high"),
        ),
        (
            &account("kube-system"),
            on("list", "", "pods", "", ""),
            ("kube-system-service-accounts", "workload-high"),
        ),
        (
            &account("kube-system-2"),
            on("list", "", "pods", "", ""),
            ("service-accounts", "workload-low"),
        ),
        (
            &node,
            on("update", "", "nodes", "status", ""),
            ("system-node-high", "node-high"),
        ),
        (
            &node,
            on("get", "", "nodes", "proxy", ""),
            ("system-nodes", "system"),
        ),
        (
            &somebody,
            on("list", "apps", "deployments", "scale", "default"),
            ("global-default", "global-default"),
        ),
    ] {
        let flow = rules.classify(user, &action).unwrap();
        assert_eq!(
            (flow.name.as_str(), flow.level.name.as_str()),
            expected,
            "{user:?} {action:?}"
        );
    }
}

#[test]
fn shares_become_seats() {
    let rules = rules();
    let limits = |name: &str| {
        rules
            .levels
            .iter()
            .find(|level| level.name == name)
            .unwrap()
            .limits
    };
    assert_eq!(limits("exempt"), None);
    let low = limits("workload-low").unwrap();
    assert_eq!((low.nominal, low.lendable, low.borrowing), (245, 221, 600));
    assert_eq!(limits("catch-all").unwrap().queuing, None);
}

#[test]
fn flows_are_told_apart_as_their_schema_says() {
    let rules = rules();
    let (one, other) = (User::authenticated("one", &[]), User::authenticated("other", &[]));
    let action = on("list", "", "pods", "", "default");
    let flow = rules.classify(&one, &action).unwrap();
    assert_ne!(flow.hash(&one, &action), flow.hash(&other, &action));
    assert_eq!(
        flow.hash(&one, &action),
        flow.hash(&one, &on("get", "", "secrets", "", "other"))
    );
}
