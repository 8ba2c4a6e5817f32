//! What a cluster hands out: service addresses and node ports.

use std::collections::HashSet;

use serde_json::{Value, json};

use crate::object;
use crate::server::Server;
use crate::status::Result;

/// Gives a service the address that its type calls for, or the one it had.
pub(crate) fn cluster_ip(server: &Server, new: &mut Value, old: Option<&Value>) -> Result<()> {
    let kind = object::at(new, "spec.type")
        .and_then(Value::as_str)
        .unwrap_or("ClusterIP")
        .to_owned();
    if kind == "ExternalName" {
        return Ok(());
    }
    let current = |value: &Value| {
        object::at(value, "spec.clusterIP")
            .and_then(Value::as_str)
            .filter(|ip| !ip.is_empty())
            .map(str::to_owned)
    };
    let address = match current(new).or_else(|| old.and_then(current)) {
        Some(address) => address,
        None => free_address(server, object::meta_text(new, "uid")),
    };
    object::set_at(new, "spec.clusterIP", json!(address));
    if object::at(new, "spec.clusterIPs").is_none() {
        object::set_at(new, "spec.clusterIPs", json!([address]));
    }
    if address != "None" && object::at(new, "spec.ipFamilies").is_none() {
        object::set_at(new, "spec.ipFamilies", json!(["IPv4"]));
        object::set_at(new, "spec.ipFamilyPolicy", json!("SingleStack"));
    }
    if matches!(kind.as_str(), "NodePort" | "LoadBalancer") {
        node_ports(server, new);
    }
    Ok(())
}

/// The first free address of 10.96.0.0/16 from a place that depends on the service.
fn free_address(server: &Server, seed: &str) -> String {
    let taken: HashSet<String> = services(server)
        .filter_map(|service| Some(object::at(&service, "spec.clusterIP")?.as_str()?.to_owned()))
        .collect();
    let start = seed
        .bytes()
        .fold(5381_u32, |hash, byte| hash.wrapping_mul(33) ^ u32::from(byte))
        % 65_000;
    let address = |index: u32| {
        let number = 10 + (start + index) % 65_000;
        format!("10.96.{}.{}", number / 256, number % 256)
    };
    (0..65_000)
        .map(address)
        .find(|address| !taken.contains(address))
        .unwrap_or_else(|| address(0))
}

fn node_ports(server: &Server, new: &mut Value) {
    let port_of = |port: &Value| {
        port.get("nodePort")
            .and_then(Value::as_u64)
            .filter(|port| *port > 0)
    };
    let mut taken: HashSet<u64> = services(server)
        .filter_map(|service| {
            Some(
                object::at(&service, "spec.ports")?
                    .as_array()?
                    .iter()
                    .filter_map(port_of)
                    .collect::<Vec<_>>(),
            )
        })
        .flatten()
        .collect();
    let Some(ports) = new.pointer_mut("/spec/ports").and_then(Value::as_array_mut) else {
        return;
    };
    taken.extend(ports.iter().filter_map(port_of));
    for port in ports.iter_mut().filter(|port| port_of(port).is_none()) {
        if let Some(free) = (30_000..32_768).find(|candidate| !taken.contains(candidate)) {
            taken.insert(free);
            port["nodePort"] = json!(free);
        }
    }
}

fn services(server: &Server) -> impl Iterator<Item = Value> {
    let bucket = server.store.bucket(&"/services".into());
    bucket.list("").0.into_iter().map(|entry| entry.value())
}
