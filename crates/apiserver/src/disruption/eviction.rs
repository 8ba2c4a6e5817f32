//! Decides whether an eviction is allowed by a PodDisruptionBudget.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::{is_ready, number, set_allowed};
use crate::object;
use crate::status::{Cause, Status};

const WOULD_VIOLATE: &str = "Cannot evict pod as it would violate the pod's disruption budget.";
/// Limit of `disruptedPods`, as upstream.
const MOST_DISRUPTED: usize = 2000;

/// How an eviction counts against a budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// The pod was unhealthy already: no disruption is used up.
    Free,
    /// One of `disruptionsAllowed` is used up.
    Charged,
}

/// Whether a pod can be evicted whatever its budgets are: it is finished, pending, or terminating.
pub(crate) fn may_ignore_budgets(pod: &Value) -> bool {
    let phase = object::at(pod, "status.phase")
        .and_then(Value::as_str)
        .unwrap_or_default();
    matches!(phase, "Succeeded" | "Failed" | "Pending") || object::is_deleting(pod)
}

/// How an eviction counts against a budget.
pub(crate) fn verdict(budget: &Value, pod: &Value) -> Verdict {
    if is_ready(pod) {
        return Verdict::Charged;
    }
    let always = object::at(budget, "spec.unhealthyPodEvictionPolicy") == Some(&json!("AlwaysAllow"));
    let desired = number(budget, "status.desiredHealthy");
    let undisturbed = number(budget, "status.currentHealthy") >= desired && desired > 0;
    match always || undisturbed {
        true => Verdict::Free,
        false => Verdict::Charged,
    }
}

/// The budget's status with one more disrupted pod, or a 429 if none is allowed.
pub(crate) fn charged(budget: &Value, pod: &str, now: Timestamp) -> Result<Value, Status> {
    let name = object::name(budget);
    if number(budget, "status.observedGeneration") < object::generation(budget) {
        return Err(too_many(name));
    }
    let forbidden = |why: &str| Status::forbidden("policy", "poddisruptionbudget", name, why);
    let allowed = number(budget, "status.disruptionsAllowed");
    if allowed < 0 {
        return Err(forbidden("pdb disruptions allowed is negative"));
    }
    let disrupted = object::at(budget, "status.disruptedPods").and_then(Value::as_object);
    if disrupted.is_some_and(|pods| pods.len() > MOST_DISRUPTED) {
        return Err(forbidden(
            "DisruptedPods map too big - too many evictions not confirmed by PDB controller",
        ));
    }
    if allowed == 0 {
        return Err(refusal(budget));
    }
    let mut status = budget["status"].clone();
    status["disruptionsAllowed"] = json!(allowed - 1);
    status["disruptedPods"][pod] = json!(object::timestamp(now));
    if allowed == 1 {
        set_allowed(&mut status, now);
    }
    Ok(status)
}

/// 429: the budget's status is outdated (`observedGeneration`).
pub(crate) fn too_many(budget: &str) -> Status {
    let message = format!("The disruption budget {budget} is still being processed by the server.");
    because(10, message)
}

/// 429: the budget allows no disruption.
fn refusal(budget: &Value) -> Status {
    let name = object::name(budget);
    let conditions = object::at(budget, "status.conditions").and_then(Value::as_array);
    let told = conditions
        .into_iter()
        .flatten()
        .find(|one| one["type"] == "DisruptionAllowed" && one["status"] == "False")
        .map(|one| {
            let text = |field: &str| one[field].as_str().unwrap_or_default();
            (text("reason"), text("message"))
        })
        .filter(|(_, message)| !message.is_empty());
    let (desired, healthy) = (
        number(budget, "status.desiredHealthy"),
        number(budget, "status.currentHealthy"),
    );
    let message = match told {
        Some(("SyncFailed", why)) => {
            format!(
                "The disruption budget {name} does not allow evicting pods currently because it failed sync: {why}"
            )
        }
        _ if healthy <= desired => {
            format!("The disruption budget {name} needs {desired} healthy pods and has {healthy} currently")
        }
        Some((reason, why)) => {
            format!("The disruption budget {name} does not allow evicting pods currently ({reason}): {why}")
        }
        None => format!("The disruption budget {name} does not allow evicting pods currently"),
    };
    because(0, message)
}

fn because(retry_after_seconds: u32, message: String) -> Status {
    Status::too_many_requests(WOULD_VIOLATE, retry_after_seconds).with_causes(vec![Cause {
        reason: "DisruptionBudget".to_owned(),
        message,
        field: String::new(),
    }])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn budget(allowed: i64, healthy: i64, desired: i64) -> Value {
        json!({"metadata": {"name": "b", "generation": 1}, "status": {"observedGeneration": 1,
            "disruptionsAllowed": allowed, "currentHealthy": healthy, "desiredHealthy": desired}})
    }

    fn cause(status: &Status) -> &str {
        &status.details.as_ref().unwrap().causes[0].message
    }

    #[test]
    fn each_eviction_uses_up_one_disruption() {
        let mut budget = budget(2, 4, 2);
        budget["status"] = charged(&budget, "p", Timestamp::UNIX_EPOCH).unwrap();
        assert_eq!(budget["status"]["disruptionsAllowed"], 1);
        assert_eq!(
            budget["status"]["disruptedPods"],
            json!({"p": "1970-01-01T00:00:00Z"})
        );
        budget["status"] = charged(&budget, "q", Timestamp::UNIX_EPOCH).unwrap();
        assert_eq!(budget["status"]["conditions"][0]["status"], "False");
        assert_eq!(
            charged(&budget, "r", Timestamp::UNIX_EPOCH).unwrap_err().code,
            429
        );
    }

    #[test]
    fn a_refusal_says_why() {
        assert_eq!(
            cause(&refusal(&budget(0, 1, 2))),
            "The disruption budget b needs 2 healthy pods and has 1 currently"
        );
        let mut broken = budget(0, 3, 2);
        broken["status"]["conditions"] = json!([{"type": "DisruptionAllowed", "status": "False", "reason": "SyncFailed", "message": "no"}]);
        assert_eq!(
            cause(&refusal(&broken)),
            "The disruption budget b does not allow evicting pods currently because it failed sync: no"
        );
        let mut young = budget(1, 3, 2);
        young["metadata"]["generation"] = json!(2);
        let refused = charged(&young, "p", Timestamp::UNIX_EPOCH).unwrap_err();
        assert_eq!(refused.details.unwrap().retry_after_seconds, 10);
    }

    #[test]
    fn a_pod_that_is_missing_anyway_is_free() {
        let unready = json!({"status": {"phase": "Running"}});
        let ready = json!({"status": {"conditions": [{"type": "Ready", "status": "True"}]}});
        assert_eq!(verdict(&budget(0, 2, 2), &unready), Verdict::Free);
        assert_eq!(verdict(&budget(0, 1, 2), &unready), Verdict::Charged);
        assert_eq!(verdict(&budget(0, 2, 2), &ready), Verdict::Charged);
        let mut lenient = budget(0, 0, 2);
        lenient["spec"] = json!({"unhealthyPodEvictionPolicy": "AlwaysAllow"});
        assert_eq!(verdict(&lenient, &unready), Verdict::Free);
        assert!(may_ignore_budgets(&json!({"status": {"phase": "Pending"}})));
        assert!(!may_ignore_budgets(&unready));
    }
}
