//! Checks resources against `min`, `max` and `maxLimitRequestRatio` of a LimitRange.

use cambium_builtin::{Amounts, Basis, Quantity, pod_limits, pod_requests};
use serde_json::Value;

use super::about;
use crate::object;

/// The requests and limits of an item, and its type as messages name it.
struct Asked<'a> {
    kind: &'a str,
    requests: Amounts,
    limits: Amounts,
}

/// The violations of a LimitRange by a pod.
pub(super) fn of_pod(range: &Value, pod: &Value) -> Vec<String> {
    let mut problems = Vec::new();
    for limit in about(range, "Container") {
        for list in ["spec.containers", "spec.initContainers"] {
            let containers = object::at(pod, list).and_then(Value::as_array);
            for container in containers.into_iter().flatten() {
                let list = |name: &str| Amounts::of(container.get("resources").and_then(|all| all.get(name)));
                let asked = Asked {
                    kind: "Container",
                    requests: list("requests"),
                    limits: list("limits"),
                };
                asked.check(limit, &mut problems);
            }
        }
    }
    for limit in about(range, "Pod") {
        let asked = Asked {
            kind: "Pod",
            requests: pod_requests(pod, Basis::Wanted),
            limits: pod_limits(pod, Basis::Wanted),
        };
        asked.check(limit, &mut problems);
    }
    problems
}

/// The violations of a LimitRange by a claim, which has requests only.
pub(super) fn of_claim(range: &Value, claim: &Value) -> Vec<String> {
    let mut problems = Vec::new();
    for limit in about(range, "PersistentVolumeClaim") {
        let asked = Asked {
            kind: "PersistentVolumeClaim",
            requests: Amounts::of(object::at(claim, "spec.resources.requests")),
            limits: Amounts::default(),
        };
        for (name, least) in Amounts::of(limit.get("min")).iter() {
            problems.extend(asked.too_little(name, least));
        }
        for (name, most) in Amounts::of(limit.get("max")).iter() {
            problems.extend(asked.too_much_requested(name, most));
        }
    }
    problems
}

/// Joins messages as Go's `Aggregate` prints them, without duplicates.
pub(super) fn joined(problems: Vec<String>) -> Option<String> {
    let mut told: Vec<String> = Vec::new();
    for problem in problems {
        if !told.contains(&problem) {
            told.push(problem);
        }
    }
    match told.len() {
        0 | 1 => told.pop(),
        _ => Some(format!("[{}]", told.join(", "))),
    }
}

impl Asked<'_> {
    fn check(&self, limit: &Value, problems: &mut Vec<String>) {
        for (name, least) in Amounts::of(limit.get("min")).iter() {
            problems.extend(self.too_little(name, least));
        }
        for (name, most) in Amounts::of(limit.get("max")).iter() {
            problems.extend(self.too_much(name, most));
        }
        for (name, ratio) in Amounts::of(limit.get("maxLimitRequestRatio")).iter() {
            problems.extend(self.too_far_apart(name, ratio));
        }
    }

    fn too_little(&self, name: &str, least: &Quantity) -> Option<String> {
        let start = format!("minimum {name} usage per {} is {least}", self.kind);
        let Some(request) = self.requests.get(name) else {
            return Some(format!("{start}.  No request is specified"));
        };
        if request < least {
            return Some(format!("{start}, but request is {request}"));
        }
        let limit = self.limits.get(name).filter(|limit| *limit < least)?;
        Some(format!("{start}, but limit is {limit}"))
    }

    fn too_much(&self, name: &str, most: &Quantity) -> Option<String> {
        let start = format!("maximum {name} usage per {} is {most}", self.kind);
        let Some(limit) = self.limits.get(name) else {
            return Some(format!("{start}.  No limit is specified"));
        };
        if limit > most {
            return Some(format!("{start}, but limit is {limit}"));
        }
        let request = self.requests.get(name).filter(|request| *request > most)?;
        Some(format!("{start}, but request is {request}"))
    }

    fn too_much_requested(&self, name: &str, most: &Quantity) -> Option<String> {
        let start = format!("maximum {name} usage per {} is {most}", self.kind);
        match self.requests.get(name) {
            None => Some(format!("{start}.  No request is specified")),
            Some(request) if request > most => Some(format!("{start}, but request is {request}")),
            Some(_) => None,
        }
    }

    #[expect(
        clippy::cast_precision_loss,
        reason = "upstream divides with this precision, and shows six digits of it"
    )]
    fn too_far_apart(&self, name: &str, most: &Quantity) -> Option<String> {
        let start = format!("{name} max limit to request ratio per {} is {most}", self.kind);
        let said = |amounts: &Amounts| {
            let amount = amounts.get(name)?.thousandths();
            (amount != 0).then_some(amount)
        };
        let Some(request) = said(&self.requests) else {
            return Some(format!("{start}, but no request is specified or request is 0"));
        };
        let Some(limit) = said(&self.limits) else {
            return Some(format!("{start}, but no limit is specified or limit is 0"));
        };
        let ratio = limit as f64 / request as f64;
        (ratio * 1000.0 > most.thousandths() as f64)
            .then(|| format!("{start}, but provided ratio is {ratio:.6}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn range(limit: Value) -> Value {
        json!({"spec": {"limits": [limit]}})
    }

    fn pod(resources: Value) -> Value {
        json!({"spec": {"containers": [{"name": "a", "resources": resources}]}})
    }

    #[test]
    fn the_least_and_the_most_are_told_with_what_was_asked_for() {
        let least = range(json!({"type": "Container", "min": {"cpu": "100m"}}));
        let most = range(json!({"type": "Container", "max": {"cpu": "1"}}));
        for (range, resources, problem) in [
            (
                &least,
                json!({}),
                "minimum cpu usage per Container is 100m.  No request is specified",
            ),
            (
                &least,
                json!({"requests": {"cpu": "50m"}}),
                "minimum cpu usage per Container is 100m, but request is 50m",
            ),
            (
                &least,
                json!({"requests": {"cpu": "1"}, "limits": {"cpu": "10m"}}),
                "minimum cpu usage per Container is 100m, but limit is 10m",
            ),
            (
                &most,
                json!({}),
                "maximum cpu usage per Container is 1.  No limit is specified",
            ),
            (
                &most,
                json!({"limits": {"cpu": "2"}}),
                "maximum cpu usage per Container is 1, but limit is 2",
            ),
            (
                &most,
                json!({"limits": {"cpu": "1"}, "requests": {"cpu": "1500m"}}),
                "maximum cpu usage per Container is 1, but request is 1500m",
            ),
        ] {
            assert_eq!(of_pod(range, &pod(resources.clone())), [problem], "{resources}");
        }
        assert!(of_pod(&least, &pod(json!({"requests": {"cpu": "100m"}}))).is_empty());
    }

    #[test]
    fn limits_stay_near_to_requests() {
        let ratio = range(json!({"type": "Container", "maxLimitRequestRatio": {"cpu": "1500m"}}));
        let with = |request: &str, limit: &str| {
            of_pod(
                &ratio,
                &pod(json!({"requests": {"cpu": request}, "limits": {"cpu": limit}})),
            )
        };
        assert!(with("1", "1500m").is_empty());
        assert_eq!(
            with("1", "2"),
            ["cpu max limit to request ratio per Container is 1500m, but provided ratio is 2.000000"]
        );
        assert_eq!(
            with("0", "2"),
            [
                "cpu max limit to request ratio per Container is 1500m, but no request is specified or request is 0"
            ]
        );
    }

    #[test]
    fn pods_are_bounded_by_their_sum_and_claims_by_their_requests() {
        let whole = range(json!({"type": "Pod", "max": {"cpu": "1"}}));
        let two = json!({"spec": {"containers": [
            {"name": "a", "resources": {"limits": {"cpu": "600m"}}}, {"name": "b", "resources": {"limits": {"cpu": "600m"}}}]}});
        assert_eq!(
            of_pod(&whole, &two),
            ["maximum cpu usage per Pod is 1, but limit is 1200m"]
        );
        let storage = range(
            json!({"type": "PersistentVolumeClaim", "min": {"storage": "1Gi"}, "max": {"storage": "2Gi"}}),
        );
        let claim = |size: &str| json!({"spec": {"resources": {"requests": {"storage": size}}}});
        assert!(of_claim(&storage, &claim("1Gi")).is_empty());
        assert_eq!(
            of_claim(&storage, &claim("3Gi")),
            ["maximum storage usage per PersistentVolumeClaim is 2Gi, but request is 3Gi"]
        );
    }

    #[test]
    fn several_problems_are_told_as_one() {
        let text = |problems: &[&str]| joined(problems.iter().map(ToString::to_string).collect());
        assert_eq!(text(&[]), None);
        assert_eq!(text(&["a", "a"]).as_deref(), Some("a"));
        assert_eq!(text(&["a", "b", "a"]).as_deref(), Some("[a, b]"));
    }
}
