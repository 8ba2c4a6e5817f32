//! Services, their endpoints, ingresses and policies.

use serde_json::{Map, Value, json};

use super::fields::{inside, is_empty, object, objects, set, set_absent, text};

pub(super) fn of_core_type(name: &str, fields: &mut Map<String, Value>) {
    match name {
        "ServiceSpec" => service(fields),
        "Service" => load_balancer_mode(fields),
        "EndpointPort" => set(fields, "protocol", "TCP"),
        _ => {}
    }
}

pub(super) fn of_type(name: &str, fields: &mut Map<String, Value>) {
    match name {
        "EndpointPort" => {
            set_absent(fields, "name", "");
            set(fields, "protocol", "TCP");
        }
        "NetworkPolicyPort" => set(fields, "protocol", "TCP"),
        "NetworkPolicySpec" if is_empty(fields, "policyTypes") => {
            let types = match is_empty(fields, "egress") {
                true => json!(["Ingress"]),
                false => json!(["Ingress", "Egress"]),
            };
            fields.insert("policyTypes".to_owned(), types);
        }
        "IngressClassSpec" => {
            if let Some(parameters) = inside(fields, "parameters") {
                set_absent(parameters, "scope", "Cluster");
            }
        }
        _ => {}
    }
}

fn service(spec: &mut Map<String, Value>) {
    set(spec, "sessionAffinity", "None");
    match text(spec, "sessionAffinity") {
        "None" => {
            spec.remove("sessionAffinityConfig");
        }
        "ClientIP" => {
            let client = object(spec, "sessionAffinityConfig").and_then(|config| object(config, "clientIP"));
            if let Some(client) = client {
                set_absent(client, "timeoutSeconds", 10_800);
            }
        }
        _ => {}
    }
    set(spec, "type", "ClusterIP");
    for port in objects(spec, "ports") {
        let number = port.get("port").cloned().unwrap_or_default();
        if is_empty(port, "targetPort") {
            port.insert("targetPort".to_owned(), number);
        }
    }
    let service_type = text(spec, "type").to_owned();
    let is_external = matches!(&*service_type, "LoadBalancer" | "NodePort")
        || service_type == "ClusterIP" && !is_empty(spec, "externalIPs");
    if is_external {
        set(spec, "externalTrafficPolicy", "Cluster");
    }
    if matches!(&*service_type, "NodePort" | "LoadBalancer" | "ClusterIP") {
        set_absent(spec, "internalTrafficPolicy", "Cluster");
    }
    if service_type == "LoadBalancer" {
        set_absent(spec, "allocateLoadBalancerNodePorts", true);
    }
}

fn load_balancer_mode(fields: &mut Map<String, Value>) {
    let is_balanced = inside(fields, "spec").is_some_and(|spec| text(spec, "type") == "LoadBalancer");
    let balancer = inside(fields, "status").and_then(|status| inside(status, "loadBalancer"));
    let Some(balancer) = balancer.filter(|_| is_balanced) else {
        return;
    };
    for ingress in objects(balancer, "ingress") {
        if !is_empty(ingress, "ip") {
            set_absent(ingress, "ipMode", "VIP");
        }
    }
}
