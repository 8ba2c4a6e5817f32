//! Decides which EndpointSlices mirror Endpoints.

use std::collections::BTreeMap;
use std::net::IpAddr;

use serde_json::{Map, Value, json};

use super::{MANAGED_BY, MANAGER, SERVICE_NAME};
use crate::object;

/// At most this many addresses of a subset are mirrored, as upstream.
const MOST: usize = 1000;
const SKIP: &str = "endpointslice.kubernetes.io/skip-mirror";
const LEADER: &str = "control-plane.alpha.kubernetes.io/leader";
/// Annotations that are not copied to slices.
const OWN_ANNOTATIONS: [&str; 2] = [
    "endpoints.kubernetes.io/last-change-trigger-time",
    "kubectl.kubernetes.io/last-applied-configuration",
];

/// Endpoints, their Service, and the slices that mirror them.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Observed {
    pub(super) endpoints: Option<Value>,
    pub(super) service: Option<Value>,
    pub(super) slices: Vec<Value>,
}

/// A write to an EndpointSlice.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Write {
    Create(Value),
    Update(Value),
    Delete(Value),
}

/// Decides what to write.
pub(super) fn plan(observed: &Observed) -> Vec<Write> {
    let mut desired = match observed.endpoints.as_ref().filter(|_| is_mirrored(observed)) {
        Some(endpoints) => slices(endpoints),
        None => BTreeMap::new(),
    };
    let mut writes = Vec::new();
    for slice in &observed.slices {
        let kind = slice["addressType"].as_str().unwrap_or_default();
        match desired.remove(&key(kind, &slice["ports"])) {
            Some(wanted) => writes.extend(changed(slice, &wanted).map(Write::Update)),
            None => writes.push(Write::Delete(slice.clone())),
        }
    }
    writes.extend(desired.into_values().map(Write::Create));
    writes
}

/// Whether Endpoints are mirrored: no `skip-mirror` label, no leader election record, and a Service without a selector.
fn is_mirrored(observed: &Observed) -> bool {
    let label = |endpoints: &Value| object::metadata(endpoints).get("labels")?.get(SKIP).cloned();
    let speaks = observed.endpoints.as_ref().is_some_and(|endpoints| {
        label(endpoints) != Some(json!("true")) && object::annotation(endpoints, LEADER).is_none()
    });
    let selector = |service: &Value| {
        object::at(service, "spec.selector")
            .and_then(Value::as_object)
            .is_some_and(|selector| !selector.is_empty())
    };
    speaks
        && observed
            .service
            .as_ref()
            .is_some_and(|service| !selector(service))
}

/// The key of a slice: address type and ports.
fn key(kind: &str, ports: &Value) -> String {
    let field = |port: &Value, name: &str| match &port[name] {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let fields = ["name", "port", "protocol", "appProtocol"];
    let mut ports: Vec<String> = ports
        .as_array()
        .into_iter()
        .flatten()
        .map(|port| fields.map(|name| field(port, name)).join(":"))
        .collect();
    ports.sort();
    format!("{kind} {}", ports.join(" "))
}

fn slices(endpoints: &Value) -> BTreeMap<String, Value> {
    let mut slices: BTreeMap<String, Value> = BTreeMap::new();
    for subset in list(&endpoints["subsets"]) {
        let ports = ports(&subset["ports"]);
        let ready = list(&subset["addresses"]).iter().map(|address| (address, true));
        let waiting = list(&subset["notReadyAddresses"])
            .iter()
            .map(|address| (address, false));
        for (address, ready) in ready.chain(waiting).take(MOST) {
            let Some((kind, endpoint)) = endpoint(address, ready) else {
                continue;
            };
            let slice = slices
                .entry(key(kind, &ports))
                .or_insert_with(|| empty(endpoints, kind, &ports));
            if let Some(list) = slice["endpoints"].as_array_mut()
                && !list.iter().any(|one| one["addresses"] == endpoint["addresses"])
            {
                list.push(endpoint);
            }
        }
    }
    slices
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn ports(ports: &Value) -> Value {
    let port = |port: &Value| {
        let mut mirrored = json!({"name": port["name"].as_str().unwrap_or_default(), "port": port["port"],
            "protocol": port["protocol"].as_str().unwrap_or("TCP")});
        if let Some(protocol) = port.get("appProtocol") {
            mirrored["appProtocol"] = protocol.clone();
        }
        mirrored
    };
    list(ports).iter().map(port).collect()
}

fn endpoint(address: &Value, ready: bool) -> Option<(&'static str, Value)> {
    let ip: IpAddr = address["ip"].as_str()?.parse().ok()?;
    let kind = if ip.is_ipv4() { "IPv4" } else { "IPv6" };
    let mut endpoint = json!({"addresses": [ip.to_string()], "conditions": {"ready": ready}});
    for field in ["targetRef", "nodeName", "hostname"] {
        let value = address
            .get(field)
            .filter(|value| !value.is_null() && **value != "");
        if let Some(value) = value {
            endpoint[field] = value.clone();
        }
    }
    Some((kind, endpoint))
}

fn empty(endpoints: &Value, kind: &str, ports: &Value) -> Value {
    let name = object::name(endpoints);
    let map = |field: &str| {
        let map = object::metadata(endpoints).get(field).and_then(Value::as_object);
        map.cloned().unwrap_or_default()
    };
    let mut labels = map("labels");
    labels.insert(SERVICE_NAME.to_owned(), json!(name));
    labels.insert(MANAGED_BY.to_owned(), json!(MANAGER));
    let annotations: Map<String, Value> = map("annotations")
        .into_iter()
        .filter(|(name, _)| !OWN_ANNOTATIONS.contains(&name.as_str()))
        .collect();
    json!({
        "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice",
        "metadata": {
            "generateName": format!("{name}-"), "namespace": object::namespace(endpoints),
            "labels": labels, "annotations": annotations,
            "ownerReferences": [{"apiVersion": "v1", "kind": "Endpoints", "name": name,
                "uid": object::meta_text(endpoints, "uid"), "controller": true, "blockOwnerDeletion": true}],
        },
        "addressType": kind, "ports": ports, "endpoints": [],
    })
}

/// The updated slice; `None` if it is unchanged.
fn changed(slice: &Value, wanted: &Value) -> Option<Value> {
    let mut next = slice.clone();
    next["endpoints"] = wanted["endpoints"].clone();
    for field in ["labels", "annotations", "ownerReferences"] {
        let value = &wanted["metadata"][field];
        let metadata = object::metadata_mut(&mut next);
        match value.as_object().is_some_and(Map::is_empty) {
            true => metadata.remove(field),
            false => metadata.insert(field.to_owned(), value.clone()),
        };
    }
    (next != *slice).then_some(next)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn observed(subsets: Value) -> Observed {
        Observed {
            endpoints: Some(
                json!({"metadata": {"name": "e", "namespace": "n", "uid": "u", "labels": {"a": "b"},
                "annotations": {"kept": "yes", OWN_ANNOTATIONS[1]: "{}"}}, "subsets": subsets}),
            ),
            service: Some(json!({"spec": {"ports": [{"port": 80}]}})),
            slices: vec![],
        }
    }

    fn one(address: &str) -> Value {
        json!([{"addresses": [{"ip": address}], "ports": [{"port": 80, "protocol": "TCP"}]}])
    }

    #[test]
    fn a_slice_says_what_the_endpoints_say() {
        let writes = plan(&observed(one("10.1.2.3")));
        let [Write::Create(slice)] = writes.as_slice() else {
            panic!("{writes:?}")
        };
        assert_eq!(
            slice["metadata"]["labels"],
            json!({"a": "b", SERVICE_NAME: "e", MANAGED_BY: MANAGER})
        );
        assert_eq!(slice["metadata"]["annotations"], json!({"kept": "yes"}));
        assert_eq!(slice["metadata"]["generateName"], "e-");
        assert_eq!(
            slice["endpoints"],
            json!([{"addresses": ["10.1.2.3"], "conditions": {"ready": true}}])
        );
        assert_eq!(
            slice["ports"],
            json!([{"name": "", "port": 80, "protocol": "TCP"}])
        );
    }

    #[test]
    fn slices_follow_and_go() {
        let mut observed = observed(one("10.1.2.3"));
        let Some(Write::Create(slice)) = plan(&observed).pop() else {
            panic!("a slice is made")
        };
        observed.slices = vec![slice.clone()];
        assert_eq!(plan(&observed), []);
        observed.endpoints.as_mut().unwrap()["subsets"] = one("10.2.3.4");
        let mut moved = slice.clone();
        moved["endpoints"][0]["addresses"] = json!(["10.2.3.4"]);
        assert_eq!(plan(&observed), [Write::Update(moved)]);
        observed.endpoints = None;
        assert_eq!(plan(&observed), [Write::Delete(slice)]);
    }

    #[test]
    fn what_has_a_selector_or_wants_no_mirror_has_none() {
        let mut selecting = observed(one("10.1.2.3"));
        selecting.service = Some(json!({"spec": {"selector": {"a": "b"}}}));
        assert_eq!(plan(&selecting), []);
        let mut shy = observed(one("10.1.2.3"));
        shy.endpoints.as_mut().unwrap()["metadata"]["labels"][SKIP] = json!("true");
        assert_eq!(plan(&shy), []);
        let mut alone = observed(one("10.1.2.3"));
        alone.service = None;
        assert_eq!(plan(&alone), []);
    }

    #[test]
    fn kinds_of_addresses_and_ports_are_kept_apart() {
        let subsets = json!([
            {"addresses": [{"ip": "10.0.0.1"}, {"ip": "fd00::1"}], "notReadyAddresses": [{"ip": "10.0.0.2"}], "ports": [{"port": 1}]},
            {"addresses": [{"ip": "10.0.0.1"}], "ports": [{"port": 2}]},
            {"addresses": [{"ip": "10.0.0.9"}], "ports": [{"port": 1}]},
        ]);
        let writes = plan(&observed(subsets));
        let counts: Vec<usize> = writes
            .iter()
            .map(|write| match write {
                Write::Create(slice) => list(&slice["endpoints"]).len(),
                _ => 0,
            })
            .collect();
        assert_eq!(counts, [3, 1, 1], "{writes:?}");
    }
}
