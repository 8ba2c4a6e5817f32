//! Quota evaluators: the usage of an object, by resource name of a quota.

use std::borrow::Cow;

use cambium_builtin::{Amounts, Basis, Quantity, pod_limits, pod_requests};
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use super::scope::{Facts, is_terminating};
use crate::admission::Operation;
use crate::object;

const PODS: &str = "/pods";
const SERVICES: &str = "/services";
const CLAIMS: &str = "/persistentvolumeclaims";
const DEVICE_CLAIMS: &str = "resource.k8s.io/resourceclaims";
const OF_STORAGE_CLASS: &str = ".storageclass.storage.k8s.io/";
const OF_DEVICE_CLASS: &str = ".deviceclass.resource.k8s.io/devices";
/// The maximum devices of one claim, which `allocationMode: All` counts as.
const MOST_DEVICES: i64 = 32;

/// The usage of an object, and the facts that quota scopes match.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Charge {
    pub(super) facts: Facts,
    pub(super) amounts: Amounts,
}

impl Charge {
    /// The usage of an object of a bucket.
    pub(super) fn of(bucket: &str, object: &Value, now: Timestamp) -> Self {
        let amounts = match bucket {
            PODS => pod(object, now),
            SERVICES => service(object),
            CLAIMS => claim(object),
            DEVICE_CLAIMS => device_claim(object),
            _ => Amounts::default(),
        };
        let mut charge = Self {
            facts: Facts::of(bucket, object),
            amounts,
        };
        charge.one(&count_name(bucket));
        if let Some(alias) = alias(bucket) {
            charge.one(alias);
        }
        charge
    }

    fn one(&mut self, name: &str) {
        self.amounts.set(name, Quantity::of(1));
    }
}

/// The bucket whose objects use a resource that a quota names; `None` when it is unknown.
pub(crate) fn bucket_of(name: &str) -> Option<Cow<'static, str>> {
    if let Some(counted) = name.strip_prefix("count/") {
        let (plural, group) = counted.split_once('.').unwrap_or((counted, ""));
        return Some(format!("{group}/{plural}").into());
    }
    let wanted = name.strip_prefix("requests.").unwrap_or(name);
    let is_pods = matches!(
        name.strip_prefix("limits.").unwrap_or(wanted),
        "cpu" | "memory" | "ephemeral-storage"
    ) || wanted.starts_with("hugepages-")
        || name.starts_with("requests.") && is_extended(wanted);
    let of_class = |suffix: &str| name.ends_with(&format!("{OF_STORAGE_CLASS}{suffix}"));
    let bucket = match name {
        "pods" => PODS,
        "services" | "services.nodeports" | "services.loadbalancers" => SERVICES,
        "persistentvolumeclaims" | "requests.storage" => CLAIMS,
        "configmaps" => "/configmaps",
        "secrets" => "/secrets",
        "resourcequotas" => "/resourcequotas",
        "replicationcontrollers" => "/replicationcontrollers",
        _ if of_class("persistentvolumeclaims") || of_class("requests.storage") => CLAIMS,
        _ if name.ends_with(OF_DEVICE_CLASS) => DEVICE_CLAIMS,
        _ if is_pods => PODS,
        _ => return None,
    };
    Some(bucket.into())
}

/// Whether a write can increase the usage of a quota.
pub(super) fn is_charged(
    bucket: &str,
    operation: Operation,
    subresource: &str,
    new: &Value,
    old: Option<&Value>,
) -> bool {
    let is_event = matches!(bucket, "/events" | "events.k8s.io/events");
    match (operation, subresource) {
        _ if is_event => false,
        (Operation::Create, "") => true,
        (Operation::Update, "") => match bucket {
            // A pod can come into, or go out of, a scope; otherwise it wants what it wanted.
            PODS => old.is_some_and(|old| is_terminating(old) != is_terminating(new)),
            SERVICES | CLAIMS | DEVICE_CLAIMS => true,
            _ => false,
        },
        (Operation::Update, "resize") => bucket == PODS,
        (Operation::Update, "status") => bucket == CLAIMS,
        _ => false,
    }
}

/// The object count name: `count/deployments.apps`.
fn count_name(bucket: &str) -> String {
    match bucket.split_once('/') {
        Some(("", plural)) => format!("count/{plural}"),
        Some((group, plural)) => format!("count/{plural}.{group}"),
        None => format!("count/{bucket}"),
    }
}

/// The legacy object count name of some resources. Not of pods, which only count while they are not finished.
fn alias(bucket: &str) -> Option<&'static str> {
    match bucket {
        SERVICES => Some("services"),
        CLAIMS => Some("persistentvolumeclaims"),
        "/configmaps" => Some("configmaps"),
        "/secrets" => Some("secrets"),
        "/resourcequotas" => Some("resourcequotas"),
        "/replicationcontrollers" => Some("replicationcontrollers"),
        _ => None,
    }
}

/// Whether a resource name is an extended resource.
fn is_extended(name: &str) -> bool {
    name.contains('/') && !name.contains("kubernetes.io/")
        || name.starts_with("deviceclass.resource.kubernetes.io/")
}

fn pod(pod: &Value, now: Timestamp) -> Amounts {
    if has_ended(pod, now) {
        return Amounts::default();
    }
    let mut amounts = compute(
        &pod_requests(pod, Basis::WantedOrHeld),
        &pod_limits(pod, Basis::WantedOrHeld),
    );
    amounts.set("pods", Quantity::of(1));
    amounts
}

/// The usage of requests and limits, by resource name of a quota.
pub(super) fn compute(requests: &Amounts, limits: &Amounts) -> Amounts {
    let mut amounts = Amounts::default();
    for (name, amount) in requests.iter() {
        let is_standard = matches!(name, "cpu" | "memory" | "ephemeral-storage");
        let is_huge = name.starts_with("hugepages-");
        if is_standard || is_huge {
            amounts.set(name, amount.clone());
        }
        if is_standard || is_huge || is_extended(name) {
            amounts.set(format!("requests.{name}"), amount.clone());
        }
    }
    for (name, amount) in limits.iter() {
        if matches!(name, "cpu" | "memory" | "ephemeral-storage") {
            amounts.set(format!("limits.{name}"), amount.clone());
        }
    }
    amounts
}

/// Whether a pod is finished, or past its deletion grace period: it uses no quota any more.
fn has_ended(pod: &Value, now: Timestamp) -> bool {
    let phase = object::at(pod, "status.phase")
        .and_then(Value::as_str)
        .unwrap_or_default();
    if matches!(phase, "Failed" | "Succeeded") {
        return true;
    }
    let deletion = object::meta_text(pod, "deletionTimestamp").parse::<Timestamp>();
    let grace = object::metadata(pod)
        .get("deletionGracePeriodSeconds")
        .and_then(Value::as_i64);
    let (Ok(deletion), Some(grace)) = (deletion, grace) else {
        return false;
    };
    let last = deletion.checked_add(SignedDuration::from_secs(grace));
    last.is_ok_and(|last| now > last)
}

fn service(service: &Value) -> Amounts {
    let ports = object::at(service, "spec.ports").and_then(Value::as_array);
    let count = |number: usize| Quantity::of(i64::try_from(number).unwrap_or(i64::MAX));
    let all = ports.map_or(0, Vec::len);
    let given = ports
        .into_iter()
        .flatten()
        .filter(|port| port["nodePort"].as_i64().unwrap_or_default() != 0)
        .count();
    let allocates = object::at(service, "spec.allocateLoadBalancerNodePorts") != Some(&Value::Bool(false));
    let kind = object::at(service, "spec.type")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let (node_ports, balancers) = match kind {
        "NodePort" => (all, 0),
        "LoadBalancer" if allocates => (all, 1),
        "LoadBalancer" => (given, 1),
        _ => (0, 0),
    };
    let mut amounts = Amounts::default();
    amounts.set("services.nodeports", count(node_ports));
    amounts.set("services.loadbalancers", count(balancers));
    amounts
}

fn claim(claim: &Value) -> Amounts {
    let mut amounts = Amounts::default();
    let storage = |path: &str| Amounts::of(object::at(claim, path)).get("storage").cloned();
    let wanted = storage("spec.resources.requests").map(|wanted| wanted.whole_up());
    let class = object::annotation(claim, "volume.beta.kubernetes.io/storage-class")
        .or_else(|| object::at(claim, "spec.storageClassName").and_then(Value::as_str))
        .unwrap_or_default();
    let mut put = |name: &str, amount: Quantity| {
        if !class.is_empty() {
            amounts.set(format!("{class}{OF_STORAGE_CLASS}{name}"), amount.clone());
        }
        amounts.set(name, amount);
    };
    put("persistentvolumeclaims", Quantity::of(1));
    if let Some(mut amount) = wanted {
        if let Some(given) = storage("status.allocatedResources").filter(|given| *given > amount) {
            amount = given.whole_up();
        }
        put("requests.storage", amount);
    }
    amounts
}

fn device_claim(claim: &Value) -> Amounts {
    let mut amounts = Amounts::default();
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let requests = object::at(claim, "spec.devices.requests")
        .map(list)
        .unwrap_or_default();
    for request in requests {
        // Of several choices, each class is counted by the one that takes most of it.
        let mut most = Amounts::default();
        let mut choices = list(&request["firstAvailable"]);
        if choices.is_empty() && request["exactly"].is_object() {
            choices.push(request["exactly"].clone());
        }
        for choice in choices {
            let number = match choice["allocationMode"].as_str().unwrap_or("ExactCount") {
                "ExactCount" => choice["count"].as_i64().unwrap_or_default(),
                "All" => MOST_DEVICES,
                _ => 0,
            };
            let class = choice["deviceClassName"].as_str().unwrap_or_default();
            let name = format!("{class}{OF_DEVICE_CLASS}");
            most.raise(&Amounts::from_iter([(name, Quantity::of(number))]));
        }
        amounts.add(&most);
    }
    amounts
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn used(bucket: &str, object: Value) -> String {
        Charge::of(bucket, &object, Timestamp::UNIX_EPOCH)
            .amounts
            .to_string()
    }

    #[test]
    fn pods_use_what_they_want_until_they_have_ended() {
        let mut pod = json!({"metadata": {}, "spec": {"containers": [{"name": "a", "resources": {
            "requests": {"cpu": "500m", "memory": "1Gi", "example.com/dongle": "2", "hugepages-2Mi": "4Mi"},
            "limits": {"cpu": "1", "example.com/dongle": "2"}}}]}});
        assert_eq!(
            used(PODS, pod.clone()),
            "count/pods=1,cpu=500m,hugepages-2Mi=4Mi,limits.cpu=1,memory=1Gi,pods=1,requests.cpu=500m,\
             requests.example.com/dongle=2,requests.hugepages-2Mi=4Mi,requests.memory=1Gi"
        );
        let mut late = pod.clone();
        late["metadata"] =
            json!({"deletionTimestamp": "1969-12-31T23:59:00Z", "deletionGracePeriodSeconds": 30});
        assert_eq!(used(PODS, late.clone()), "count/pods=1");
        late["metadata"]["deletionGracePeriodSeconds"] = json!(60);
        assert!(used(PODS, late).contains(",pods=1"));
        pod["status"] = json!({"phase": "Succeeded"});
        assert_eq!(used(PODS, pod), "count/pods=1");
    }

    #[test]
    fn services_use_ports_and_balancers() {
        let service = |kind: &str, allocates: bool| {
            let spec = json!({"type": kind, "allocateLoadBalancerNodePorts": allocates, "ports": [{"port": 1}, {"port": 2, "nodePort": 30000}]});
            used(SERVICES, json!({"spec": spec}))
        };
        let expected = |balancers: u8, ports: u8| {
            format!(
                "count/services=1,services=1,services.loadbalancers={balancers},services.nodeports={ports}"
            )
        };
        assert_eq!(service("ClusterIP", true), expected(0, 0));
        assert_eq!(service("NodePort", true), expected(0, 2));
        assert_eq!(service("LoadBalancer", true), expected(1, 2));
        assert_eq!(service("LoadBalancer", false), expected(1, 1));
    }

    #[test]
    fn claims_use_storage_of_their_class() {
        let mut claim =
            json!({"spec": {"storageClassName": "gold", "resources": {"requests": {"storage": "1500m"}}}});
        assert_eq!(
            used(CLAIMS, claim.clone()),
            "count/persistentvolumeclaims=1,gold.storageclass.storage.k8s.io/persistentvolumeclaims=1,\
             gold.storageclass.storage.k8s.io/requests.storage=2,persistentvolumeclaims=1,requests.storage=2"
        );
        claim["spec"]["storageClassName"] = json!("");
        claim["status"] = json!({"allocatedResources": {"storage": "1Gi"}});
        assert_eq!(
            used(CLAIMS, claim),
            "count/persistentvolumeclaims=1,persistentvolumeclaims=1,requests.storage=1Gi"
        );
    }

    #[test]
    fn claims_of_devices_are_counted_by_the_worst_case() {
        let exactly = |class: &str, mode: &str, count: u8| json!({"deviceClassName": class, "allocationMode": mode, "count": count});
        let claim = json!({"spec": {"devices": {"requests": [
            {"name": "a", "exactly": exactly("gpu", "ExactCount", 2)},
            {"name": "b", "firstAvailable": [exactly("gpu", "ExactCount", 1), exactly("gpu", "ExactCount", 3), exactly("tpu", "All", 0)]},
        ]}}});
        assert_eq!(
            used(DEVICE_CLAIMS, claim),
            "count/resourceclaims.resource.k8s.io=1,gpu.deviceclass.resource.k8s.io/devices=5,tpu.deviceclass.resource.k8s.io/devices=32"
        );
    }

    #[test]
    fn everything_else_is_counted() {
        assert_eq!(used("/secrets", json!({})), "count/secrets=1,secrets=1");
        assert_eq!(used("apps/deployments", json!({})), "count/deployments.apps=1");
        assert_eq!(
            used("example.com/widgets", json!({})),
            "count/widgets.example.com=1"
        );
    }

    #[test]
    fn every_name_is_used_by_the_objects_of_one_bucket() {
        for (name, bucket) in [
            ("count/deployments.apps", "apps/deployments"),
            ("count/pods", PODS),
            ("cpu", PODS),
            ("limits.memory", PODS),
            ("requests.ephemeral-storage", PODS),
            ("requests.hugepages-2Mi", PODS),
            ("requests.example.com/dongle", PODS),
            ("services.nodeports", SERVICES),
            ("requests.storage", CLAIMS),
            ("gold.storageclass.storage.k8s.io/requests.storage", CLAIMS),
            ("gpu.deviceclass.resource.k8s.io/devices", DEVICE_CLAIMS),
        ] {
            assert_eq!(bucket_of(name).as_deref(), Some(bucket), "{name}");
        }
        for name in [
            "storage",
            "limits.example.com/dongle",
            "example.com/dongle",
            "nodes",
        ] {
            assert_eq!(bucket_of(name), None, "{name}");
        }
    }
}
