//! Services, endpoints, ingresses and other network kinds.

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::age::age;
use super::read::{NONE, first_three, integer, joined, list, name, set_or, text, text_or};
use super::selector::{label_selector_cell, labels};

pub(crate) fn service(object: &Value, now: Timestamp) -> Vec<Value> {
    let spec = &object["spec"];
    let ports: Vec<String> = list(&spec["ports"]).iter().map(service_port).collect();
    let ports = if ports.is_empty() {
        NONE.to_owned()
    } else {
        ports.join(",")
    };
    vec![
        name(object),
        json!(text(&spec["type"])),
        json!(set_or(&spec["clusterIPs"][0], NONE)),
        json!(external_ip(object)),
        json!(ports),
        age(object, now),
        json!(labels(&spec["selector"])),
    ]
}

pub(crate) fn ingress(object: &Value, now: Timestamp) -> Vec<Value> {
    let spec = &object["spec"];
    let ports = if list(&spec["tls"]).is_empty() {
        "80"
    } else {
        "80, 443"
    };
    vec![
        name(object),
        json!(set_or(&spec["ingressClassName"], NONE)),
        json!(hosts(list(&spec["rules"]))),
        json!(load_balancer(object).join(",")),
        json!(ports),
        age(object, now),
    ]
}

pub(crate) fn ip_address(object: &Value, _now: Timestamp) -> Vec<Value> {
    let parent = &object["spec"]["parentRef"];
    let place = match (text(&parent["resource"]), text(&parent["group"])) {
        (resource, "") => resource.to_lowercase(),
        (resource, group) => format!("{resource}.{group}").to_lowercase(),
    };
    let parent = match (parent, text(&parent["namespace"])) {
        (Value::Null, _) => NONE.to_owned(),
        (parent, "") => format!("{place}/{}", text(&parent["name"])),
        (parent, namespace) => format!("{place}/{namespace}/{}", text(&parent["name"])),
    };
    vec![name(object), json!(parent)]
}

pub(crate) fn service_cidr(object: &Value, now: Timestamp) -> Vec<Value> {
    vec![
        name(object),
        json!(joined(&object["spec"]["cidrs"], ",")),
        age(object, now),
    ]
}

pub(crate) fn ingress_class(object: &Value, now: Timestamp) -> Vec<Value> {
    let default = object["metadata"]["annotations"]["ingressclass.kubernetes.io/is-default-class"] == "true";
    let parameters = match &object["spec"]["parameters"] {
        Value::Null => NONE.to_owned(),
        parameters => {
            let group = parameters["apiGroup"]
                .as_str()
                .map(|group| format!(".{group}"))
                .unwrap_or_default();
            format!(
                "{}{group}/{}",
                text(&parameters["kind"]),
                text(&parameters["name"])
            )
        }
    };
    vec![
        json!(format!(
            "{}{}",
            text(&object["metadata"]["name"]),
            if default { " (default)" } else { "" }
        )),
        json!(text(&object["spec"]["controller"])),
        json!(parameters),
        age(object, now),
    ]
}

pub(crate) fn network_policy(object: &Value, now: Timestamp) -> Vec<Value> {
    vec![
        name(object),
        json!(label_selector_cell(&object["spec"]["podSelector"])),
        age(object, now),
    ]
}

pub(crate) fn endpoints(object: &Value, now: Timestamp) -> Vec<Value> {
    let mut all = Vec::new();
    for subset in list(&object["subsets"]) {
        let addresses = || {
            list(&subset["addresses"])
                .iter()
                .map(|address| text(&address["ip"]))
        };
        let ports = list(&subset["ports"]);
        if ports.is_empty() {
            all.extend(addresses().map(str::to_owned));
        }
        for port in ports {
            all.extend(addresses().map(|address| host_port(address, integer(&port["port"]))));
        }
    }
    // Subsets without addresses are not the same as no subsets.
    let text = match all.is_empty() && !list(&object["subsets"]).is_empty() {
        true => String::new(),
        false => first_three(&all),
    };
    vec![name(object), json!(text), age(object, now)]
}

pub(crate) fn endpoint_slice(object: &Value, now: Timestamp) -> Vec<Value> {
    let port = |port: &Value| match port["port"].as_i64() {
        Some(number) => number.to_string(),
        None => set_or(&port["name"], "*").to_owned(),
    };
    let ports: Vec<String> = list(&object["ports"]).iter().map(port).collect();
    let endpoints = list(&object["endpoints"]).iter();
    let addresses: Vec<String> = endpoints
        .flat_map(|endpoint| list(&endpoint["addresses"]))
        .map(|address| text(address).to_owned())
        .collect();
    let unset = |items: &[String]| {
        if items.is_empty() {
            "<unset>".to_owned()
        } else {
            first_three(items)
        }
    };
    vec![
        name(object),
        json!(text(&object["addressType"])),
        json!(unset(&ports)),
        json!(unset(&addresses)),
        age(object, now),
    ]
}

fn service_port(port: &Value) -> String {
    let (number, protocol) = (integer(&port["port"]), text(&port["protocol"]));
    match integer(&port["nodePort"]) {
        node_port @ 1.. => format!("{number}:{node_port}/{protocol}"),
        _ => format!("{number}/{protocol}"),
    }
}

fn external_ip(object: &Value) -> String {
    let spec = &object["spec"];
    let external = joined(&spec["externalIPs"], ",");
    match text(&spec["type"]) {
        "ClusterIP" | "NodePort" if external.is_empty() => NONE.to_owned(),
        "ClusterIP" | "NodePort" => external,
        "LoadBalancer" => {
            let mut all: Vec<String> = load_balancer(object).into_iter().map(str::to_owned).collect();
            all.extend((!external.is_empty()).then_some(external));
            if all.is_empty() {
                "<pending>".to_owned()
            } else {
                all.join(",")
            }
        }
        "ExternalName" => text(&spec["externalName"]).to_owned(),
        _ => "<unknown>".to_owned(),
    }
}

/// Addresses of the load balancer, sorted and without duplicates.
fn load_balancer(object: &Value) -> Vec<&str> {
    let ingress = list(&object["status"]["loadBalancer"]["ingress"]).iter();
    let addresses: BTreeSet<&str> = ingress
        .map(|point| text_or(&point["ip"], text(&point["hostname"])))
        .filter(|text| !text.is_empty())
        .collect();
    addresses.into_iter().collect()
}

/// The first three host names; rules without a host count as not shown.
fn hosts(rules: &[Value]) -> String {
    let mut shown: Vec<&str> = Vec::new();
    let mut more = false;
    for rule in rules {
        more |= shown.len() == 3;
        let host = text(&rule["host"]);
        if !more && !host.is_empty() {
            shown.push(host);
        }
    }
    match (shown.is_empty(), more) {
        (true, _) => "*".to_owned(),
        (false, false) => shown.join(","),
        (false, true) => format!("{} + {} more...", shown.join(","), rules.len() - 3),
    }
}

fn host_port(host: &str, port: i64) -> String {
    if host.contains(':') {
        format!("[{host}]:{port}")
    } else {
        format!("{host}:{port}")
    }
}
