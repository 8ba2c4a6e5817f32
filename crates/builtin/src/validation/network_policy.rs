//! Network policies.

use std::net::IpAddr;

use super::at::At;
use super::rule::{self, Errors};
use super::selector;

pub(super) fn check(new: &At, errors: &mut Errors) {
    let spec = new.field("spec");
    selector::check(&spec.field("podSelector"), errors);
    for (direction, peers) in [("ingress", "from"), ("egress", "to")] {
        for traffic in spec.field(direction).items() {
            for port in traffic.field("ports").items() {
                self::port(&port, errors);
            }
            for peer in traffic.field(peers).items() {
                self::peer(&peer, errors);
            }
        }
    }
    let types = spec.field("policyTypes");
    if types.items().count() > 2 {
        return rule::invalid(&types, "may not specify more than two policyTypes", errors);
    }
    for kind in types.items() {
        rule::one_of(&kind, &["Ingress", "Egress"], errors);
    }
}

fn port(at: &At, errors: &mut Errors) {
    rule::one_of_if_set(&at.field("protocol"), &["TCP", "UDP", "SCTP"], errors);
    let (port, end) = (at.field("port"), at.field("endPort"));
    if port.is_set() {
        rule::port(&port, errors);
    }
    match (port.integer(), end.integer()) {
        (Some(first), Some(last)) if last < first => {
            rule::invalid_as(
                &end,
                port.value,
                "must be greater than or equal to `port`",
                errors,
            );
        }
        (None, Some(_)) if port.is_set() => {
            rule::invalid(&end, "may not be specified when `port` is non-numeric", errors);
        }
        (None, Some(_)) => rule::required_because(&end, "must be specified when `port` is specified", errors),
        _ => {}
    }
}

fn peer(at: &At, errors: &mut Errors) {
    let (pods, namespaces, block) = (
        at.field("podSelector"),
        at.field("namespaceSelector"),
        at.field("ipBlock"),
    );
    selector::check(&pods, errors);
    selector::check(&namespaces, errors);
    if block.is_set() {
        self::block(&block, errors);
    }
    let selects = pods.is_set() || namespaces.is_set();
    if selects && block.is_set() {
        rule::forbidden(at, "may not specify both ipBlock and another peer", errors);
    } else if !selects && !block.is_set() {
        rule::required_because(at, "must specify a peer", errors);
    }
}

fn block(at: &At, errors: &mut Errors) {
    let range = at.field("cidr");
    if !rule::required(&range, errors) {
        return;
    }
    let Some(whole) = rule::range(&range, errors) else {
        return;
    };
    for exception in at.field("except").items() {
        let Some(part) = rule::range(&exception, errors) else {
            continue;
        };
        if part.1 <= whole.1 || first_bits(part.0, whole.1) != first_bits(whole.0, whole.1) {
            rule::invalid(&exception, "must be a strict subset of `cidr`", errors);
        }
    }
}

/// The prefix bits of an address; IPv4 and IPv6 never compare equal.
fn first_bits(address: IpAddr, length: u8) -> (bool, u128) {
    let (bits, size) = match address {
        IpAddr::V4(address) => (u128::from(u32::from(address)), 32),
        IpAddr::V6(address) => (u128::from(address), 128),
    };
    let dropped = u32::from(size) - u32::from(length.min(size));
    (address.is_ipv4(), bits.checked_shr(dropped).unwrap_or_default())
}
