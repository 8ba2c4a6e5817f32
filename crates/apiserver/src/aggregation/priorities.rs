//! The order of groups in discovery: where two groups have a resource of the same name, clients take the first.

use std::cmp::Reverse;

use crate::discovery::priority;

/// Upstream's group priorities of built-in groups.
const GROUPS: [(&str, i64); 22] = [
    ("apiregistration.k8s.io", 20_000),
    ("", 18_000),
    ("apps", 17_800),
    ("events.k8s.io", 17_750),
    ("authentication.k8s.io", 17_700),
    ("authorization.k8s.io", 17_600),
    ("autoscaling", 17_500),
    ("batch", 17_400),
    ("certificates.k8s.io", 17_300),
    ("networking.k8s.io", 17_200),
    ("policy", 17_100),
    ("rbac.authorization.k8s.io", 17_000),
    ("storage.k8s.io", 16_800),
    ("admissionregistration.k8s.io", 16_700),
    ("apiextensions.k8s.io", 16_700),
    ("scheduling.k8s.io", 16_600),
    ("coordination.k8s.io", 16_500),
    ("node.k8s.io", 16_300),
    ("discovery.k8s.io", 16_200),
    ("resource.k8s.io", 16_200),
    ("flowcontrol.apiserver.k8s.io", 16_100),
    ("internal.apiserver.k8s.io", 16_000),
];

/// `groupPriorityMinimum` and `versionPriority`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Priority {
    pub(crate) group: i64,
    pub(crate) version: i64,
}

/// The priority of a local group version; those of CRDs come last.
pub(crate) fn of(group: &str, version: &str) -> Priority {
    let Some((_, number)) = GROUPS.iter().find(|(name, _)| *name == group) else {
        return Priority {
            group: 1000,
            version: 100,
        };
    };
    let version = match (group, version) {
        ("", _) => 1,
        ("autoscaling", "v2") => 30,
        ("flowcontrol.apiserver.k8s.io" | "resource.k8s.io", "v1") => 21,
        _ => 15,
    };
    Priority {
        group: *number,
        version,
    }
}

/// The sort key of groups in discovery: priority, then name.
pub(crate) fn order(group: &str, minimum: i64) -> (Reverse<i64>, String) {
    let own = GROUPS
        .iter()
        .find(|(name, _)| *name == group)
        .map_or(1000, |(_, number)| *number);
    (Reverse(own.max(minimum)), group.to_owned())
}

/// The sort key of versions in a group: priority, then Kubernetes' version order.
pub(crate) fn version_order(version: &str, number: i64) -> impl Ord + use<> {
    Reverse((number, priority(version)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_of_the_server_come_before_those_of_crds() {
        let mut groups = [
            "zoo.example.com",
            "batch",
            "apps",
            "aaa.example.com",
            "apiregistration.k8s.io",
        ];
        groups.sort_by_key(|group| order(group, 0));
        assert_eq!(
            groups,
            [
                "apiregistration.k8s.io",
                "apps",
                "batch",
                "aaa.example.com",
                "zoo.example.com"
            ]
        );
    }

    #[test]
    fn the_larger_number_wins_among_versions() {
        let mut versions = [("v1", 15), ("v2", 30), ("v3beta1", 15)];
        versions.sort_by_key(|(version, number)| version_order(version, *number));
        assert_eq!(versions.map(|(version, _)| version), ["v2", "v1", "v3beta1"]);
    }
}
