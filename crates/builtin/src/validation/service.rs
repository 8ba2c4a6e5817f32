//! Services.

use std::collections::BTreeSet;

use cambium_schema::FieldError;
use serde_json::Value;

use super::at::At;
use super::rule::{self, Errors};
use super::selector::json_text;

pub(super) fn check(new: &At, old: Option<&At>, errors: &mut Errors) {
    let spec = new.field("spec");
    let kind = spec.field("type");
    let is_headless = spec.field("clusterIP").text() == "None";
    if let Some(old) = old {
        update(&spec, &old.field("spec"), errors);
    }
    if spec.field("ports").is_empty() && !is_headless && kind.text() != "ExternalName" {
        rule::required(&spec.field("ports"), errors);
    }
    match kind.text() {
        "LoadBalancer" | "NodePort" if is_headless => {
            let at = At {
                value: spec.field("clusterIP").value,
                path: spec.path.child("clusterIPs").index(0),
            };
            rule::invalid(
                &at,
                format!("may not be set to 'None' for {} services", kind.text()),
                errors,
            );
        }
        "ExternalName" => external_name(&spec, errors),
        _ => {}
    }
    ports(&spec, is_headless, errors);
    rule::labels(&spec.field("selector"), errors);
    affinity(&spec, errors);
    cluster_address(&spec, errors);
    for address in spec.field("externalIPs").items() {
        if let Some(parsed) = rule::address(&address, errors) {
            rule::reachable(&address, parsed, errors);
        }
    }
    rule::one_of(
        &kind,
        &["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"],
        errors,
    );
    load_balancer(&spec, errors);
    traffic(&spec, errors);
}

fn external_name(spec: &At, errors: &mut Errors) {
    let name = spec.field("externalName");
    let trimmed = Value::from(name.text().strip_suffix('.').unwrap_or(name.text()));
    if name.is_empty() {
        return rule::required_because(&name, "", errors);
    }
    for complaint in cambium_schema::names::dns1123_subdomain(trimmed.as_str().unwrap_or_default()) {
        rule::invalid(&name, complaint, errors);
    }
    let address = spec.field("clusterIP");
    if !address.is_empty() && address.text() != "None" {
        let at = At {
            value: address.value,
            path: spec.path.child("clusterIPs"),
        };
        rule::forbidden(&at, "may not be set when `type` is 'ExternalName'", errors);
    }
}

fn ports(spec: &At, is_headless: bool, errors: &mut Errors) {
    let ports = spec.field("ports");
    let is_name_needed = ports.items().count() > 1;
    let (mut names, mut numbers, mut node_ports) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    for port in ports.items() {
        let name = port.field("name");
        if name.is_empty() && is_name_needed {
            rule::required(&name, errors);
        } else if !name.is_empty() {
            rule::label_name(&name, errors);
            if !names.insert(name.text()) {
                rule::duplicate(&name, errors);
            }
        }
        rule::port_number(&port.field("port"), errors);
        rule::one_of(&port.field("protocol"), &["SCTP", "TCP", "UDP"], errors);
        let target = port.field("targetPort");
        if !is_headless || target.is_set() && target.value != port.field("port").value {
            rule::port(&target, errors);
        }
        let protocol = port.field("appProtocol");
        if protocol.is_set() {
            rule::qualified(&protocol, errors);
        }
        let node = port.field("nodePort");
        let node_number = node.integer().filter(|number| *number != 0);
        if node_number.is_some() && matches!(spec.field("type").text(), "ClusterIP" | "ExternalName") {
            let detail = format!("may not be used when `type` is '{}'", spec.field("type").text());
            rule::forbidden(&node, detail, errors);
        }
        if let Some(number) = node_number
            && !node_ports.insert((port.field("protocol").text(), number))
        {
            rule::invalid(&node, "provided port is already allocated", errors);
        }
        let number = port.field("port").integer().unwrap_or_default();
        if !numbers.insert((port.field("protocol").text(), number)) {
            let mut error = FieldError::duplicate(port.path.clone(), &Value::Null);
            error.shown = format!(
                "{{\"Name\":\"\",\"Protocol\":{},\"AppProtocol\":null,\"Port\":{number},\"TargetPort\":0,\"NodePort\":0}}",
                json_text(port.field("protocol").value),
            );
            errors.push(error);
        }
    }
}

fn affinity(spec: &At, errors: &mut Errors) {
    let affinity = spec.field("sessionAffinity");
    rule::one_of(&affinity, &["ClientIP", "None"], errors);
    let seconds = spec
        .field("sessionAffinityConfig")
        .field("clientIP")
        .field("timeoutSeconds");
    if affinity.text() == "ClientIP" && !(1..=86_400).contains(&seconds.integer().unwrap_or_default()) {
        rule::invalid(&seconds, "must be greater than 0 and less than 86400", errors);
    }
}

fn cluster_address(spec: &At, errors: &mut Errors) {
    let address = spec.field("clusterIP");
    if !address.is_empty() && address.text() != "None" && spec.field("type").text() != "ExternalName" {
        let at = At {
            value: address.value,
            path: spec.path.child("clusterIPs").index(0),
        };
        rule::address(&at, errors);
    }
}

fn load_balancer(spec: &At, errors: &mut Errors) {
    let is_balanced = spec.field("type").text() == "LoadBalancer";
    let ranges = spec.field("loadBalancerSourceRanges");
    if !is_balanced && !ranges.is_empty() {
        let at = At {
            value: ranges.value,
            path: spec.path.child("LoadBalancerSourceRanges"),
        };
        rule::forbidden(&at, "may only be used when `type` is 'LoadBalancer'", errors);
    }
    for range in ranges.items().filter(|_| is_balanced) {
        let place = range
            .path
            .as_str()
            .replace("loadBalancerSourceRanges", "LoadBalancerSourceRanges");
        let at = At {
            value: range.value,
            path: cambium_schema::FieldPath::new(place),
        };
        rule::range(&at, errors);
    }
    let allocate = spec.field("allocateLoadBalancerNodePorts");
    if !is_balanced && allocate.is_set() {
        rule::forbidden(
            &allocate,
            "may only be used when `type` is 'LoadBalancer'",
            errors,
        );
    }
    let class = spec.field("loadBalancerClass");
    if class.is_set() {
        match is_balanced {
            true => rule::qualified(&class, errors),
            false => rule::forbidden(&class, "may only be used when `type` is 'LoadBalancer'", errors),
        }
    }
}

fn traffic(spec: &At, errors: &mut Errors) {
    let external = spec.field("externalTrafficPolicy");
    let kind = spec.field("type").text();
    let is_external = matches!(kind, "LoadBalancer" | "NodePort")
        || kind == "ClusterIP" && !spec.field("externalIPs").is_empty();
    match is_external {
        true => rule::one_of(&external, &["Cluster", "Local"], errors),
        false if !external.is_empty() => {
            rule::invalid(
                &external,
                "may only be set for externally-accessible services",
                errors,
            );
        }
        false => {}
    }
    let health = spec.field("healthCheckNodePort");
    let needs_health = kind == "LoadBalancer" && external.text() == "Local";
    if health.integer().is_some_and(|port| port != 0) && !needs_health {
        let detail = "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'";
        rule::invalid(&health, detail, errors);
    }
    rule::one_of_if_set(
        &spec.field("internalTrafficPolicy"),
        &["Cluster", "Local"],
        errors,
    );
    let distribution = spec.field("trafficDistribution");
    rule::one_of_if_set(
        &distribution,
        &["PreferClose", "PreferSameZone", "PreferSameNode"],
        errors,
    );
}

/// Validates an update: allocated addresses are immutable.
fn update(new: &At, old: &At, errors: &mut Errors) {
    let is_named = |spec: &At| spec.field("type").text() == "ExternalName";
    if is_named(new) || is_named(old) {
        return;
    }
    let (address, before) = (new.field("clusterIP"), old.field("clusterIP"));
    if !address.is_empty() && !before.is_empty() && address.value != before.value {
        let addresses = serde_json::json!([address.value]);
        let at = At {
            value: &addresses,
            path: new.path.child("clusterIPs").index(0),
        };
        rule::invalid(&at, "may not change once set", errors);
    }
    let is_balanced = |spec: &At| spec.field("type").text() == "LoadBalancer";
    if is_balanced(new) && is_balanced(old) {
        let (class, before) = (new.field("loadBalancerClass"), old.field("loadBalancerClass"));
        if class.value != before.value {
            rule::invalid(&class, "may not change once set", errors);
        }
    }
}
