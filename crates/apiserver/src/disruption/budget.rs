//! Computes the status of a PodDisruptionBudget.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Map, Value, json};

use super::{is_ready, set_allowed, set_condition};
use crate::object;

/// A pod in `disruptedPods` counts as disrupted for this long, even if it was not deleted.
const DELETION_TIMEOUT: SignedDuration = SignedDuration::from_secs(120);

/// A budget and its pods.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Observed {
    pub(crate) budget: Value,
    /// The pods that it selects.
    pub(crate) pods: Vec<Value>,
    /// The desired replicas of the pods' controllers, or an error; only needed if [`counts_scale`].
    pub(crate) wanted: Result<i64, String>,
}

/// Whether the budget is relative to the controllers' scale (`maxUnavailable`, or a percentage).
pub(crate) fn counts_scale(budget: &Value) -> bool {
    let set = |field: &str| object::at(budget, field).filter(|value| !value.is_null());
    set("spec.maxUnavailable").is_some() || set("spec.minAvailable").is_some_and(Value::is_string)
}

/// The new status, or `None` if it is unchanged; and when to requeue.
pub(crate) fn plan(observed: &Observed, now: Timestamp) -> (Option<Value>, Option<Duration>) {
    let budget = &observed.budget;
    let before = budget.get("status").cloned().unwrap_or_else(|| json!({}));
    let (disrupted, after) = disrupted(observed, now);
    let mut status = before.clone();
    match needed(observed) {
        Ok((expected, desired)) => {
            let healthy = healthy(observed, &disrupted);
            let allowed = if expected <= 0 {
                0
            } else {
                (healthy - desired).max(0)
            };
            status = json!({
                "currentHealthy": healthy, "desiredHealthy": desired, "expectedPods": expected,
                "disruptionsAllowed": allowed, "observedGeneration": object::generation(budget),
                "conditions": before["conditions"],
            });
            if !disrupted.is_empty() {
                status["disruptedPods"] = Value::Object(disrupted);
            }
            set_allowed(&mut status, now);
        }
        // What is not known to be safe is not allowed.
        Err(why) => {
            status["disruptionsAllowed"] = json!(0);
            set_condition(&mut status, "False", "SyncFailed", &why, now);
        }
    }
    ((status != before).then_some(status), after)
}

/// `expectedPods` and `desiredHealthy`.
fn needed(observed: &Observed) -> Result<(i64, i64), String> {
    let field = |name: &str| object::at(&observed.budget, name).filter(|value| !value.is_null());
    if let Some(most) = field("spec.maxUnavailable") {
        let expected = observed.wanted.clone()?;
        return Ok((expected, (expected - scaled(most, expected)?).max(0)));
    }
    match field("spec.minAvailable") {
        Some(Value::Number(least)) => {
            let selected = i64::try_from(observed.pods.len()).unwrap_or(i64::MAX);
            Ok((selected, least.as_i64().unwrap_or_default()))
        }
        Some(least) => {
            let expected = observed.wanted.clone()?;
            Ok((expected, scaled(least, expected)?))
        }
        None => Ok((0, 0)),
    }
}

/// An IntOrString: a number, or a percentage of a total, rounded up.
fn scaled(value: &Value, whole: i64) -> Result<i64, String> {
    if let Some(number) = value.as_i64() {
        return Ok(number);
    }
    let percentage = value
        .as_str()
        .and_then(|text| text.strip_suffix('%')?.parse::<i64>().ok());
    let percentage =
        percentage.ok_or("invalid value for IntOrString: invalid type: string is not a percentage")?;
    Ok((percentage.saturating_mul(whole) + 99).div_euclid(100))
}

/// The `disruptedPods` that still count; and when the first of them expires.
fn disrupted(observed: &Observed, now: Timestamp) -> (Map<String, Value>, Option<Duration>) {
    let told = object::at(&observed.budget, "status.disruptedPods").and_then(Value::as_object);
    let mut kept = Map::new();
    let mut after = None;
    for pod in observed.pods.iter().filter(|pod| !object::is_deleting(pod)) {
        let Some(since) = told.and_then(|told| told.get(object::name(pod))) else {
            continue;
        };
        let since_when = since.as_str().and_then(|text| text.parse::<Timestamp>().ok());
        let left = since_when
            .and_then(|at| at.checked_add(DELETION_TIMEOUT).ok())
            .and_then(|end| Duration::try_from(end.duration_since(now)).ok());
        if let Some(left) = left {
            kept.insert(object::name(pod).to_owned(), since.clone());
            after = Some(after.map_or(left, |after: Duration| after.min(left)));
        }
    }
    (kept, after.map(|left| left + Duration::from_millis(1)))
}

fn healthy(observed: &Observed, disrupted: &Map<String, Value>) -> i64 {
    let healthy = observed
        .pods
        .iter()
        .filter(|pod| !object::is_deleting(pod) && !disrupted.contains_key(object::name(pod)))
        .filter(|pod| is_ready(pod))
        .count();
    i64::try_from(healthy).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pod(name: &str, ready: bool) -> Value {
        let status = if ready { "True" } else { "False" };
        json!({"metadata": {"name": name}, "status": {"conditions": [{"type": "Ready", "status": status}]}})
    }

    fn observed(spec: Value, pods: usize, wanted: i64) -> Observed {
        Observed {
            budget: json!({"metadata": {"name": "b", "generation": 2}, "spec": spec}),
            pods: (0..pods).map(|number| pod(&format!("p{number}"), true)).collect(),
            wanted: Ok(wanted),
        }
    }

    fn numbers(observed: &Observed) -> (i64, i64, i64, i64) {
        let status = plan(observed, Timestamp::UNIX_EPOCH).0.unwrap();
        let number = |field: &str| status[field].as_i64().unwrap();
        (
            number("expectedPods"),
            number("currentHealthy"),
            number("desiredHealthy"),
            number("disruptionsAllowed"),
        )
    }

    #[test]
    fn numbers_and_percentages_are_rounded_to_the_safe_side() {
        for (spec, expected) in [
            (json!({"minAvailable": 2}), (3, 3, 2, 1)),
            (json!({"minAvailable": 5}), (3, 3, 5, 0)),
            (json!({"minAvailable": "50%"}), (4, 3, 2, 1)),
            (json!({"minAvailable": "51%"}), (4, 3, 3, 0)),
            (json!({"maxUnavailable": 1}), (4, 3, 3, 0)),
            (json!({"maxUnavailable": "30%"}), (4, 3, 2, 1)),
            (json!({}), (0, 3, 0, 0)),
        ] {
            assert_eq!(numbers(&observed(spec.clone(), 3, 4)), expected, "{spec}");
        }
    }

    #[test]
    fn a_status_that_is_right_is_left_alone() {
        let mut observed = observed(json!({"minAvailable": 1}), 2, 2);
        let (status, after) = plan(&observed, Timestamp::UNIX_EPOCH);
        observed.budget["status"] = status.unwrap();
        assert_eq!(
            observed.budget["status"]["conditions"][0]["reason"],
            "SufficientPods"
        );
        assert_eq!(after, None);
        let later = Timestamp::UNIX_EPOCH + SignedDuration::from_secs(60);
        assert_eq!(plan(&observed, later), (None, None));
    }

    #[test]
    fn a_pod_that_is_about_to_go_does_not_count_until_it_should_have_gone() {
        let mut observed = observed(json!({"minAvailable": 1}), 2, 2);
        observed.budget["status"] =
            json!({"disruptedPods": {"p0": "1970-01-01T00:00:00Z", "gone": "1970-01-01T00:00:00Z"}});
        assert_eq!(numbers(&observed), (2, 1, 1, 0));
        let (status, after) = plan(&observed, Timestamp::UNIX_EPOCH);
        assert_eq!(
            status.unwrap()["disruptedPods"],
            json!({"p0": "1970-01-01T00:00:00Z"})
        );
        assert_eq!(after, Some(Duration::from_millis(120_001)));
        let later = Timestamp::UNIX_EPOCH + SignedDuration::from_secs(121);
        let status = plan(&observed, later).0.unwrap();
        assert_eq!(
            (&status["disruptionsAllowed"], status.get("disruptedPods")),
            (&json!(1), None)
        );
    }

    #[test]
    fn what_cannot_be_counted_allows_nothing() {
        let mut observed = observed(json!({"maxUnavailable": 1}), 2, 2);
        observed.wanted = Err("found no controllers for pod \"p0\"".to_owned());
        let status = plan(&observed, Timestamp::UNIX_EPOCH).0.unwrap();
        assert_eq!(status["disruptionsAllowed"], 0);
        assert_eq!(status["conditions"][0]["reason"], "SyncFailed");
        assert_eq!(
            status["conditions"][0]["message"],
            "found no controllers for pod \"p0\""
        );
        assert!(counts_scale(&observed.budget));
        assert!(!counts_scale(&json!({"spec": {"minAvailable": 1}})));
    }
}
