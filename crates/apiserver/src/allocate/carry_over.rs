//! Carries allocated values over an update of a Service, and drops those that belong to the old type.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::spec::{Spec, number};
use crate::object;

/// Removes fields of the old type that the client left unchanged. Fields that it changed stay, for validation to refuse.
pub(super) fn leave_behind(new: &mut Map<String, Value>, old: Spec<'_>) {
    let wanted = Spec::of(new);
    let ends = |has| before_and_now(has, old, wanted) == (true, false);
    let same = |field: &str| wanted.get(field) == old.get(field);
    let mut gone: Vec<&str> = vec![];
    if ends(Spec::has_address) {
        if same("clusterIP") && same("clusterIPs") {
            gone.extend(["clusterIP", "clusterIPs"]);
        }
        gone.extend(["ipFamilies", "ipFamilyPolicy", "internalTrafficPolicy"]);
    }
    if ends(Spec::gets_health_port) {
        gone.push("healthCheckNodePort");
    }
    if ends(Spec::is_exposed) {
        gone.push("externalTrafficPolicy");
    }
    if ends(Spec::may_have_balancer_fields) {
        gone.extend(["allocateLoadBalancerNodePorts", "loadBalancerClass"]);
    }
    gone.retain(|field| same(field));
    let ports_end = ends(Spec::gets_node_ports) && wanted.node_ports().is_subset(&old.node_ports());
    for field in gone {
        new.remove(field);
    }
    let ports = ports_mut(new).filter_map(Value::as_object_mut);
    for port in ports.filter(|_| ports_end) {
        port.remove("nodePort");
    }
}

/// Fills in allocated values that the client omits.
pub(super) fn keep(new: &mut Map<String, Value>, old: Spec<'_>) {
    let wanted = Spec::of(new);
    let stays = |has| before_and_now(has, old, wanted) == (true, true);
    let mut kept: Vec<&str> = vec![];
    if stays(Spec::has_address) {
        if wanted.text("clusterIP").is_empty() {
            kept.push("clusterIP");
        }
        let same = wanted.text("clusterIP").is_empty() || wanted.get("clusterIP") == old.get("clusterIP");
        if same && wanted.list("clusterIPs").is_empty() {
            kept.push("clusterIPs");
        }
        let families = ["ipFamilies", "ipFamilyPolicy"].into_iter();
        kept.extend(families.filter(|field| wanted.get(field).is_none()));
    }
    if stays(Spec::gets_health_port) && wanted.health_port().is_none() {
        kept.push("healthCheckNodePort");
    }
    let ports_stay = stays(Spec::gets_node_ports);
    let mut used = &wanted.node_ports() & &old.node_ports();
    for field in kept {
        if let Some(value) = old.get(field) {
            new.insert(field.to_owned(), value.clone());
        }
    }
    let known: BTreeMap<&str, u64> = old
        .list("ports")
        .iter()
        .filter_map(|port| Some((object::text(port, "name"), number(port, "nodePort")?)))
        .collect();
    for port in ports_mut(new).filter(|_| ports_stay) {
        let is_given = number(port, "nodePort").is_some();
        let before = known.get(object::text(port, "name")).copied();
        if let Some(before) = before.filter(|before| !is_given && used.insert(*before)) {
            port["nodePort"] = json!(before);
        }
    }
}

/// Makes `clusterIP` the first of `clusterIPs`, whichever of the two the client has set.
pub(super) fn agree_on_address(new: &mut Map<String, Value>, old: Option<Spec<'_>>) {
    let wanted = Spec::of(new);
    let address = wanted.text("clusterIP").to_owned();
    let before = old.map_or("", |old| old.text("clusterIP"));
    let untouched = old.is_some_and(|old| wanted.list("clusterIPs") == old.list("clusterIPs"));
    let stale = address != before && untouched;
    if !address.is_empty() && (stale || wanted.list("clusterIPs").is_empty()) {
        new.insert("clusterIPs".to_owned(), json!([address]));
    }
    if address.is_empty() && stale {
        new.remove("clusterIPs");
    }
}

fn before_and_now<'a>(has: fn(Spec<'a>) -> bool, old: Spec<'a>, new: Spec<'a>) -> (bool, bool) {
    (has(old), has(new))
}

fn ports_mut(spec: &mut Map<String, Value>) -> impl Iterator<Item = &mut Value> {
    let ports = spec.get_mut("ports").and_then(Value::as_array_mut);
    ports.into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn updated(old: &Value, change: &Value) -> Value {
        let mut new = old.clone();
        json_patch::merge(&mut new, change);
        let mut new = new.as_object().cloned().unwrap();
        let old = Spec::of(old.as_object().unwrap());
        leave_behind(&mut new, old);
        keep(&mut new, old);
        agree_on_address(&mut new, Some(old));
        Value::Object(new)
    }

    fn balanced() -> Value {
        json!({
            "type": "LoadBalancer", "clusterIP": "10.96.1.1", "clusterIPs": ["10.96.1.1"],
            "ipFamilies": ["IPv4"], "ipFamilyPolicy": "SingleStack", "internalTrafficPolicy": "Cluster",
            "externalTrafficPolicy": "Local", "healthCheckNodePort": 31000,
            "allocateLoadBalancerNodePorts": true, "loadBalancerClass": "a.b/c",
            "ports": [{"port": 80, "nodePort": 30080}],
        })
    }

    #[test]
    fn what_belonged_to_the_old_type_goes() {
        let external = json!({"type": "ExternalName", "ports": [{"port": 80}]});
        assert_eq!(updated(&balanced(), &json!({"type": "ExternalName"})), external);
        let plain = json!({
            "type": "ClusterIP", "clusterIP": "10.96.1.1", "clusterIPs": ["10.96.1.1"], "ipFamilies": ["IPv4"],
            "ipFamilyPolicy": "SingleStack", "internalTrafficPolicy": "Cluster", "ports": [{"port": 80}],
        });
        assert_eq!(updated(&balanced(), &json!({"type": "ClusterIP"})), plain);
        let node_port = updated(&balanced(), &json!({"type": "NodePort"}));
        assert_eq!(node_port["ports"], balanced()["ports"]);
        assert_eq!(node_port["externalTrafficPolicy"], "Local");
        assert_eq!(node_port.get("healthCheckNodePort"), None);
        assert_eq!(node_port.get("loadBalancerClass"), None);
    }

    #[test]
    fn what_the_client_changed_is_left_to_be_refused() {
        let change = json!({"type": "ClusterIP", "ports": [{"port": 80, "nodePort": 30081}], "loadBalancerClass": "x/y"});
        let new = updated(&balanced(), &change);
        assert_eq!(new["ports"][0]["nodePort"], 30081);
        assert_eq!(new["loadBalancerClass"], "x/y");
    }

    #[test]
    fn what_is_not_mentioned_is_kept() {
        let change = json!({
            "clusterIP": null, "clusterIPs": null, "ipFamilies": null, "healthCheckNodePort": null,
            "ports": [{"port": 81}, {"name": "other", "port": 82}],
        });
        let mut kept = balanced();
        kept["ports"] = json!([{"port": 81, "nodePort": 30080}, {"name": "other", "port": 82}]);
        assert_eq!(updated(&balanced(), &change), kept);
        // Taken over by another port, it is no longer there to be kept.
        let change = json!({"ports": [{"port": 81}, {"name": "other", "port": 82, "nodePort": 30080}]});
        assert_eq!(updated(&balanced(), &change)["ports"][0], json!({"port": 81}));
    }

    #[test]
    fn the_two_address_fields_follow_each_other() {
        let changed = updated(&balanced(), &json!({"clusterIP": "10.96.2.2"}));
        assert_eq!(changed["clusterIPs"], json!(["10.96.2.2"]));
        let mut new = json!({"clusterIP": "None"}).as_object().cloned().unwrap();
        agree_on_address(&mut new, None);
        assert_eq!(new["clusterIPs"], json!(["None"]));
    }
}
