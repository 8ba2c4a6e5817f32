//! Checks whether a change fits into a quota.

use std::collections::{BTreeMap, BTreeSet};

use cambium_builtin::{Amounts, has_pod_level_resources};
use serde_json::Value;

use super::charge::{Charge, compute};
use super::limits::Limits;

/// Resources that every container must specify if a quota limits them.
const MUST_BE_SAID: [&str; 6] = [
    "cpu",
    "memory",
    "requests.cpu",
    "requests.memory",
    "limits.cpu",
    "limits.memory",
];

/// Fails if a container does not specify a resource that a quota limits.
pub(super) fn left_open(limits: &Limits, bucket: &str, object: &Value) -> Result<(), String> {
    if bucket != "/pods" || has_pod_level_resources(object) {
        return Ok(());
    }
    let required: BTreeSet<&str> = limits
        .names_in(bucket)
        .filter(|name| MUST_BE_SAID.contains(name))
        .collect();
    let mut missing: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for list in ["containers", "initContainers"] {
        for container in object["spec"][list].as_array().into_iter().flatten() {
            let resources = &container["resources"];
            let said = compute(
                &Amounts::of(resources.get("requests")),
                &Amounts::of(resources.get("limits")),
            );
            for name in required.iter().filter(|name| said.get(name).is_none()) {
                let container = container["name"].as_str().unwrap_or_default();
                missing.entry(name).or_default().insert(container);
            }
        }
    }
    if missing.is_empty() {
        return Ok(());
    }
    let parts: Vec<String> = missing
        .into_iter()
        .map(|(name, containers)| format!("{name} for: {}", Vec::from_iter(containers).join(",")))
        .collect();
    Err(format!(
        "failed quota: {}: must specify {}",
        limits.name,
        parts.join("; ")
    ))
}

/// Fails on negative usage, which would raise the room of others.
pub(super) fn is_sane(new: &Charge) -> Result<(), String> {
    let negative = new.amounts.only(|_, amount| amount.is_negative());
    match negative.is_empty() {
        true => Ok(()),
        false => {
            let names: Vec<&str> = negative.names().collect();
            Err(format!(
                "quota usage is negative for resource(s): {}",
                names.join(",")
            ))
        }
    }
}

/// The usage that a change adds to a quota.
pub(super) fn added(limits: &Limits, new: &Charge, old: Option<&Charge>) -> Amounts {
    let mut added = limits.share(new);
    if let Some(old) = old {
        added.subtract(&limits.share(old));
    }
    added.above_zero()
}

/// Fails with `exceeded quota` if the added usage does not fit.
pub(super) fn fits(limits: &Limits, used: &Amounts, added: &Amounts) -> Result<(), String> {
    let mut then = used.clone();
    then.add(added);
    let exceeded: BTreeSet<&str> = added
        .names()
        .filter(|name| match (then.get(name), limits.hard.get(name)) {
            (Some(then), Some(hard)) => then > hard,
            _ => false,
        })
        .collect();
    if exceeded.is_empty() {
        return Ok(());
    }
    let only = |amounts: &Amounts| amounts.only(|name, _| exceeded.contains(name)).to_string();
    Err(format!(
        "exceeded quota: {}, requested: {}, used: {}, limited: {}",
        limits.name,
        only(added),
        only(used),
        only(&limits.hard)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::Timestamp;
    use serde_json::json;

    fn limits(spec: Value) -> Limits {
        Limits::of(&json!({"metadata": {"name": "q"}, "spec": spec}))
    }

    fn amounts(map: Value) -> Amounts {
        Amounts::of(Some(&map))
    }

    fn charge(pod: &Value) -> Charge {
        Charge::of("/pods", pod, Timestamp::UNIX_EPOCH)
    }

    #[test]
    fn what_does_not_fit_is_told_in_full() {
        let quota = limits(json!({"hard": {"cpu": "1", "pods": "2", "memory": "1Gi"}}));
        let used = amounts(json!({"cpu": "600m", "pods": "2", "memory": "0"}));
        let more = amounts(json!({"cpu": "500m", "pods": "1", "memory": "1Gi"}));
        assert_eq!(
            fits(&quota, &used, &more),
            Err(
                "exceeded quota: q, requested: cpu=500m,pods=1, used: cpu=600m,pods=2, limited: cpu=1,pods=2"
                    .to_owned()
            )
        );
        assert_eq!(fits(&quota, &used, &amounts(json!({"cpu": "400m"}))), Ok(()));
    }

    #[test]
    fn a_quota_that_is_overdrawn_lets_through_what_adds_nothing() {
        let quota = limits(json!({"hard": {"pods": "1", "cpu": "1"}}));
        let used = amounts(json!({"pods": "5", "cpu": "0"}));
        assert_eq!(fits(&quota, &used, &amounts(json!({"cpu": "1"}))), Ok(()));
    }

    #[test]
    fn every_container_says_what_it_wants_of_what_is_limited() {
        let quota = limits(json!({"hard": {"cpu": "1", "limits.memory": "1Gi", "pods": "5"}}));
        let pod = json!({"spec": {
            "containers": [{"name": "b", "resources": {"requests": {"cpu": "1"}}}, {"name": "a"}],
            "initContainers": [{"name": "i", "resources": {"limits": {"memory": "1Gi"}}}]}});
        assert_eq!(
            left_open(&quota, "/pods", &pod),
            Err("failed quota: q: must specify cpu for: a,i; limits.memory for: a,b".to_owned())
        );
        let whole = json!({"spec": {"containers": [{"name": "a"}], "resources": {"requests": {"cpu": "1"}}}});
        assert_eq!(left_open(&quota, "/pods", &whole), Ok(()));
    }

    #[test]
    fn a_pod_that_comes_into_a_scope_is_charged_in_full() {
        let pod = |deadline: Value| json!({"spec": {"activeDeadlineSeconds": deadline, "containers": [{"name": "a", "resources": {"requests": {"cpu": "1"}}}]}});
        let quota = limits(json!({"hard": {"cpu": "1", "pods": "1"}, "scopes": ["Terminating"]}));
        let (before, after) = (charge(&pod(Value::Null)), charge(&pod(json!(5))));
        assert_eq!(added(&quota, &after, Some(&before)).to_string(), "cpu=1,pods=1");
        assert!(added(&quota, &after, Some(&after)).is_empty());
        assert!(added(&quota, &before, Some(&after)).is_empty());
    }
}
