//! Validation of Endpoints and EndpointSlices.

use std::collections::BTreeSet;

use super::at::At;
use super::rule::{self, Errors};

pub(super) fn endpoints(new: &At, errors: &mut Errors) {
    for subset in new.field("subsets").items() {
        let (ready, waiting) = (subset.field("addresses"), subset.field("notReadyAddresses"));
        if ready.is_empty() && waiting.is_empty() {
            rule::required_because(&subset, "must specify `addresses` or `notReadyAddresses`", errors);
        }
        for address in ready.items().chain(waiting.items()) {
            let ip = address.field("ip");
            match rule::address(&ip, errors) {
                Some(parsed) => rule::reachable(&ip, parsed, errors),
                None => rule::invalid(&ip, "must be a valid IP address", errors),
            }
            let hostname = address.field("hostname");
            if !hostname.is_empty() {
                rule::label_name(&hostname, errors);
            }
            rule::subdomain_if_set(&address.field("nodeName"), errors);
        }
        let ports = subset.field("ports");
        let is_name_needed = ports.items().count() > 1;
        for port in ports.items() {
            let name = port.field("name");
            if is_name_needed && name.is_empty() {
                rule::required(&name, errors);
            } else if !name.is_empty() {
                rule::label_name(&name, errors);
            }
            rule::port_number(&port.field("port"), errors);
            rule::one_of(&port.field("protocol"), &["SCTP", "TCP", "UDP"], errors);
        }
    }
}

pub(super) fn slice(new: &At, old: Option<&At>, errors: &mut Errors) {
    let kind = new.field("addressType");
    match kind.is_empty() {
        true => rule::required_because(&kind, "", errors),
        false => rule::one_of(&kind, &["FQDN", "IPv4", "IPv6"], errors),
    }
    for endpoint in new.field("endpoints").items() {
        slice_endpoint(&endpoint, kind.text(), errors);
    }
    let mut names = BTreeSet::new();
    for port in new.field("ports").items() {
        let name = port.field("name");
        if !name.is_empty() {
            rule::label_name(&name, errors);
        }
        if !names.insert(name.text()) {
            rule::duplicate(&name, errors);
        }
        rule::one_of(&port.field("protocol"), &["SCTP", "TCP", "UDP"], errors);
    }
    if let Some(old) = old {
        rule::immutable(&kind, &old.field("addressType"), errors);
    }
}

fn slice_endpoint(endpoint: &At, kind: &str, errors: &mut Errors) {
    let addresses = endpoint.field("addresses");
    if addresses.is_empty() {
        rule::required_because(&addresses, "must contain at least 1 address", errors);
    }
    for address in addresses.items() {
        if kind == "FQDN" {
            rule::subdomain(&address, errors);
        } else if let Some(parsed) = rule::address(&address, errors) {
            match (kind, parsed.is_ipv4()) {
                ("IPv4", false) => rule::invalid(&address, "must be an IPv4 address", errors),
                ("IPv6", true) => rule::invalid(&address, "must be an IPv6 address", errors),
                _ => rule::reachable(&address, parsed, errors),
            }
        }
    }
    let hostname = endpoint.field("hostname");
    if hostname.is_set() {
        rule::label_name(&hostname, errors);
    }
}
