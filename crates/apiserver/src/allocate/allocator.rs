//! Allocates cluster IPs and node ports; reservations cover Services that are not stored yet.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cambium_schema::{FieldError, FieldPath};
use serde_json::{Map, Value, json};

use super::Purpose;
use super::spec::{Spec, number};
use crate::store::Store;

/// The first two octets of the service CIDR.
const RANGE: [u8; 2] = [10, 96];
const PORTS: std::ops::RangeInclusive<u64> = 30_000..=32_767;

const TAKEN: &str = "provided port is already allocated";

/// Addresses and ports reserved by writes in flight, so that two concurrent writes never get the same.
#[derive(Default)]
pub(crate) struct Addresses {
    reserved: Arc<Mutex<Taken>>,
}

/// Addresses and ports in use.
#[derive(Debug, Default, Clone, PartialEq)]
struct Taken {
    addresses: BTreeSet<String>,
    ports: BTreeSet<u64>,
}

/// The addresses and ports reserved by one write; released on drop.
pub(crate) struct Reservation {
    reserved: Arc<Mutex<Taken>>,
    mine: Taken,
}

impl Drop for Reservation {
    fn drop(&mut self) {
        let mut reserved = lock(&self.reserved);
        reserved
            .addresses
            .retain(|address| !self.mine.addresses.contains(address));
        reserved.ports.retain(|port| !self.mine.ports.contains(port));
    }
}

/// Failure to allocate.
#[derive(Debug, PartialEq)]
pub(super) enum Refusal {
    Invalid(Box<FieldError>),
    Internal(String),
}

impl From<FieldError> for Refusal {
    fn from(error: FieldError) -> Self {
        Self::Invalid(Box::new(error))
    }
}

impl Addresses {
    /// Reserves the addresses and ports that a Service requests and does not have yet.
    pub(super) fn take(
        &self,
        store: &Store,
        new: &mut Map<String, Value>,
        old: Option<Spec<'_>>,
        seed: &str,
        purpose: Purpose,
    ) -> Result<Reservation, Refusal> {
        // Locked before the store is read: whatever has left the reservations by then is in the store.
        let mut reserved = lock(&self.reserved);
        let mut taken = reserved.clone();
        for entry in store.bucket(&"/services".into()).list("").0 {
            if let Some(spec) = entry.value().get("spec").and_then(Value::as_object) {
                taken.add(Spec::of(spec));
            }
        }
        let mut mine = assign(new, old, seed, taken, purpose)?;
        if purpose == Purpose::DryRun {
            mine = Taken::default();
        }
        reserved.addresses.extend(mine.addresses.iter().cloned());
        reserved.ports.extend(&mine.ports);
        Ok(Reservation {
            reserved: self.reserved.clone(),
            mine,
        })
    }
}

impl Taken {
    fn add(&mut self, spec: Spec<'_>) {
        let address = spec.text("clusterIP");
        if !matches!(address, "" | "None") {
            self.addresses.insert(address.to_owned());
        }
        self.ports.extend(spec.node_ports());
        self.ports.extend(spec.health_port());
    }
}

/// Writes addresses and ports into a spec; returns those that are new.
fn assign(
    new: &mut Map<String, Value>,
    old: Option<Spec<'_>>,
    seed: &str,
    mut taken: Taken,
    purpose: Purpose,
) -> Result<Taken, Refusal> {
    let mut mine = Taken::default();
    if old.is_none_or(|old| old.text("clusterIP").is_empty()) {
        mine.addresses.extend(address(new, seed, &taken, purpose)?);
    }
    node_ports(new, old, &mut taken, &mut mine, purpose)?;
    health_port(new, old, &mut taken, &mut mine, purpose)?;
    Ok(mine)
}

fn address(
    new: &mut Map<String, Value>,
    seed: &str,
    taken: &Taken,
    purpose: Purpose,
) -> Result<Option<String>, Refusal> {
    let given = Spec::of(new).text("clusterIP").to_owned();
    if given == "None" {
        return Ok(None);
    }
    let refuse = |why: String| {
        let path = FieldPath::new("spec").child("clusterIPs");
        Err(FieldError::invalid(path, &json!([given]), why).into())
    };
    if given.is_empty() {
        let Some(free) = free_address(seed, taken) else {
            return Err(Refusal::Internal(
                "failed to allocate a serviceIP: range is full".to_owned(),
            ));
        };
        new.insert("clusterIP".to_owned(), json!(free));
        new.insert("clusterIPs".to_owned(), json!([free]));
        return Ok(Some(free));
    }
    // What is no address at all is refused when the object is looked at as a whole.
    let Ok(parsed) = given.parse::<Ipv4Addr>() else {
        return Ok(None);
    };
    let is_inside = parsed.octets()[..2] == RANGE && !matches!(parsed.octets()[2..], [0, 0] | [255, 255]);
    match purpose {
        Purpose::DryRun => Ok(None),
        Purpose::Store if !is_inside => refuse(format!(
            "failed to allocate IP {given}: the provided network does not match the current range"
        )),
        Purpose::Store if taken.addresses.contains(&given) => refuse(format!(
            "failed to allocate IP {given}: provided IP is already allocated"
        )),
        Purpose::Store => Ok(Some(given)),
    }
}

/// The first free address, starting at a hash of the Service's name.
fn free_address(seed: &str, taken: &Taken) -> Option<String> {
    let start = seed
        .bytes()
        .fold(5381_u32, |hash, byte| hash.wrapping_mul(33) ^ u32::from(byte))
        % 65_000;
    let address = |index: u32| {
        let number = 10 + (start + index) % 65_000;
        format!("{}.{}.{}.{}", RANGE[0], RANGE[1], number / 256, number % 256)
    };
    (0..65_000)
        .map(address)
        .find(|address| !taken.addresses.contains(address))
}

fn node_ports(
    new: &mut Map<String, Value>,
    old: Option<Spec<'_>>,
    taken: &mut Taken,
    mine: &mut Taken,
    purpose: Purpose,
) -> Result<(), Refusal> {
    let spec = Spec::of(new);
    if !spec.may_have_node_ports() {
        return Ok(());
    }
    let had = old.map(Spec::node_ports).unwrap_or_default();
    let fills_in = spec.gets_node_ports();
    // TCP and UDP of one port share a port on the node.
    let mut shared: BTreeMap<u64, u64> = spec
        .list("ports")
        .iter()
        .filter_map(|port| Some((number(port, "port")?, number(port, "nodePort")?)))
        .collect();
    let ports = new.get_mut("ports").and_then(Value::as_array_mut);
    for (index, port) in ports.into_iter().flatten().enumerate() {
        let given = number(port, "nodePort");
        if let Some(given) = given {
            if !had.contains(&given) && !mine.ports.contains(&given) && purpose == Purpose::Store {
                claim(given, taken, mine).map_err(|why| {
                    let path = FieldPath::new("spec").child("ports").index(index);
                    FieldError::invalid(path.child("nodePort"), &json!(given), why)
                })?;
            }
            continue;
        }
        let number = number(port, "port").filter(|_| fills_in);
        if let (Some(number), Some(port)) = (number, port.as_object_mut()) {
            let chosen = match shared.get(&number) {
                Some(chosen) => *chosen,
                None => free_port(taken, mine)?,
            };
            shared.insert(number, chosen);
            port.insert("nodePort".to_owned(), json!(chosen));
        }
    }
    Ok(())
}

fn health_port(
    new: &mut Map<String, Value>,
    old: Option<Spec<'_>>,
    taken: &mut Taken,
    mine: &mut Taken,
    purpose: Purpose,
) -> Result<(), Refusal> {
    let spec = Spec::of(new);
    if !spec.gets_health_port() || old.is_some_and(Spec::gets_health_port) {
        return Ok(());
    }
    match spec.health_port() {
        Some(_) if purpose == Purpose::DryRun => {}
        Some(given) => claim(given, taken, mine).map_err(|why| {
            Refusal::Internal(format!(
                "failed to allocate requested HealthCheck NodePort {given}: {why}"
            ))
        })?,
        None => {
            let chosen = free_port(taken, mine)?;
            new.insert("healthCheckNodePort".to_owned(), json!(chosen));
        }
    }
    Ok(())
}

/// Reserves a requested node port.
fn claim(port: u64, taken: &mut Taken, mine: &mut Taken) -> Result<(), String> {
    if !PORTS.contains(&port) {
        let (first, last) = (PORTS.start(), PORTS.end());
        return Err(format!(
            "provided port is not in the valid range. The range of valid ports is {first}-{last}"
        ));
    }
    match taken.ports.insert(port) {
        true => {
            mine.ports.insert(port);
            Ok(())
        }
        false => Err(TAKEN.to_owned()),
    }
}

/// Allocates a free node port.
fn free_port(taken: &mut Taken, mine: &mut Taken) -> Result<u64, Refusal> {
    let free = PORTS.into_iter().find(|port| !taken.ports.contains(port));
    let free =
        free.ok_or_else(|| Refusal::Internal("failed to allocate a nodePort: range is full".to_owned()))?;
    taken.ports.insert(free);
    mine.ports.insert(free);
    Ok(free)
}

fn lock(taken: &Mutex<Taken>) -> MutexGuard<'_, Taken> {
    taken.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn given(spec: Value, taken: &Taken) -> Result<Value, String> {
        let mut spec = spec.as_object().cloned().unwrap();
        match assign(&mut spec, None, "seed", taken.clone(), Purpose::Store) {
            Ok(_) => Ok(Value::Object(spec)),
            Err(Refusal::Invalid(error)) => Err(error.to_string()),
            Err(Refusal::Internal(why)) => Err(why),
        }
    }

    fn taken() -> Taken {
        Taken {
            addresses: BTreeSet::from(["10.96.7.7".to_owned()]),
            ports: BTreeSet::from([30_000, 31_234]),
        }
    }

    #[test]
    fn what_is_taken_or_out_of_range_is_refused() {
        let address = |address: &str| given(json!({"clusterIP": address}), &taken()).map(drop);
        let refused = |address: &str, why: &str| {
            Err(format!(
                "spec.clusterIPs: Invalid value: [{address:?}]: failed to allocate IP {address}: {why}"
            ))
        };
        assert_eq!(address("10.96.7.8"), Ok(()));
        assert_eq!(
            address("10.96.7.7"),
            refused("10.96.7.7", "provided IP is already allocated")
        );
        let outside = "the provided network does not match the current range";
        for bad in ["192.168.9.9", "10.96.0.0", "10.96.255.255"] {
            assert_eq!(address(bad), refused(bad, outside));
        }
        let port = |port: u64| {
            given(
                json!({"type": "NodePort", "ports": [{"port": 1, "nodePort": port}]}),
                &taken(),
            )
        };
        assert!(port(31_235).is_ok());
        assert!(port(31_234).unwrap_err().ends_with(TAKEN));
        assert!(port(80).unwrap_err().ends_with("30000-32767"));
    }

    #[test]
    fn free_ones_are_found_and_protocols_share() {
        let ports = json!([{"port": 80}, {"port": 80, "protocol": "UDP"}, {"port": 81}]);
        let spec = json!({"type": "LoadBalancer", "externalTrafficPolicy": "Local", "ports": ports});
        let spec = given(spec, &taken()).unwrap();
        let numbers: Vec<u64> = spec["ports"]
            .as_array()
            .unwrap()
            .iter()
            .map(|port| port["nodePort"].as_u64().unwrap())
            .collect();
        assert_eq!(numbers, [30_001, 30_001, 30_002]);
        assert_eq!(spec["healthCheckNodePort"], 30_003);
        assert_eq!(spec["clusterIPs"], json!([spec["clusterIP"]]));
    }

    #[test]
    fn two_at_once_never_get_the_same() {
        let store = Store::in_memory(crate::store::History::default());
        let addresses = Addresses::default();
        let spec = json!({"clusterIP": "10.96.3.3"}).as_object().cloned().unwrap();
        let take = || addresses.take(&store, &mut spec.clone(), None, "seed", Purpose::Store);
        let first = take();
        assert!(first.is_ok() && take().is_err());
        drop(first);
        assert!(take().is_ok());
    }
}
