//! The fields of a Service that decide over addresses and ports.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

/// The `spec` of a Service.
#[derive(Debug, Clone, Copy)]
pub(super) struct Spec<'a>(&'a Map<String, Value>);

impl<'a> Spec<'a> {
    pub(super) fn of(spec: &'a Map<String, Value>) -> Self {
        Self(spec)
    }

    /// A field; `None` where it is missing or null.
    pub(super) fn get(self, field: &str) -> Option<&'a Value> {
        self.0.get(field).filter(|value| !value.is_null())
    }

    pub(super) fn text(self, field: &str) -> &'a str {
        self.get(field).and_then(Value::as_str).unwrap_or_default()
    }

    pub(super) fn list(self, field: &str) -> &'a [Value] {
        let items = self.get(field).and_then(Value::as_array);
        items.map_or(&[], Vec::as_slice)
    }

    fn is_balanced(self) -> bool {
        self.text("type") == "LoadBalancer"
    }

    /// Whether its type has a `clusterIP`; `None` (headless) counts.
    pub(super) fn has_address(self) -> bool {
        self.text("type") != "ExternalName"
    }

    /// Whether its type may have node ports.
    pub(super) fn may_have_node_ports(self) -> bool {
        self.text("type") == "NodePort" || self.is_balanced()
    }

    /// Whether node ports are allocated for it by default.
    pub(super) fn gets_node_ports(self) -> bool {
        let declined = self.get("allocateLoadBalancerNodePorts") == Some(&Value::Bool(false));
        self.text("type") == "NodePort" || self.is_balanced() && !declined
    }

    pub(super) fn gets_health_port(self) -> bool {
        self.is_balanced() && self.text("externalTrafficPolicy") == "Local"
    }

    /// Whether it is exposed outside of the cluster.
    pub(super) fn is_exposed(self) -> bool {
        self.may_have_node_ports() || self.has_address() && !self.list("externalIPs").is_empty()
    }

    pub(super) fn may_have_balancer_fields(self) -> bool {
        self.is_balanced()
    }

    pub(super) fn is_headless(self) -> bool {
        self.text("clusterIP") == "None"
    }

    /// Its node ports.
    pub(super) fn node_ports(self) -> BTreeSet<u64> {
        self.list("ports")
            .iter()
            .filter_map(|port| number(port, "nodePort"))
            .collect()
    }

    /// Whether it needs no new allocation compared with `old`.
    pub(super) fn is_settled_since(self, old: Self) -> bool {
        let ports = self.node_ports().is_subset(&old.node_ports());
        let is_open = |port: &Value| number(port, "nodePort").is_none();
        let wants_ports = self.gets_node_ports() && self.list("ports").iter().any(is_open);
        let wants_health = self.gets_health_port() && !old.gets_health_port();
        !old.text("clusterIP").is_empty() && ports && !wants_ports && !wants_health
    }

    pub(super) fn health_port(self) -> Option<u64> {
        self.get("healthCheckNodePort")
            .and_then(Value::as_u64)
            .filter(|port| *port > 0)
    }
}

/// A port number; zero counts as unset.
pub(super) fn number(port: &Value, field: &str) -> Option<u64> {
    port.get(field)
        .and_then(Value::as_u64)
        .filter(|number| *number > 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn only_what_wants_something_new_is_looked_up() {
        let old =
            json!({"type": "NodePort", "clusterIP": "10.96.1.1", "ports": [{"port": 1, "nodePort": 30000}]});
        let check = |change: Value, settled: bool| {
            let mut new = old.clone();
            json_patch::merge(&mut new, &change);
            let [new, old] = [&new, &old].map(|spec| Spec::of(spec.as_object().unwrap()));
            assert_eq!(new.is_settled_since(old), settled, "{change}");
        };
        check(json!({}), true);
        check(json!({"selector": {"a": "b"}}), true);
        check(json!({"type": "ClusterIP", "ports": [{"port": 1}]}), true);
        check(json!({"ports": [{"port": 1}]}), false);
        check(json!({"ports": [{"port": 1, "nodePort": 30001}]}), false);
        check(
            json!({"type": "LoadBalancer", "externalTrafficPolicy": "Local"}),
            false,
        );
    }
}
