//! The status of an Application whose deletion is blocked, because its identity is not allowed to delete its objects.

use crate::Refused;
use cambium_api::names::{annotation, condition, finalizer};
use cambium_api::v1beta1::{ApplicationStatus, Phase};
use cambium_objects::Conditions;
use jiff::Timestamp;
use serde_json::Value;

/// Says what is left and why, and what to do about it.
pub fn stuck_status(application: &Value, refused: &[Refused], now: Timestamp) -> ApplicationStatus {
    let before: ApplicationStatus = serde_json::from_value(application["status"].clone()).unwrap_or_default();
    let generation = application["metadata"]["generation"].as_i64();
    let mut conditions = Conditions::after(&before.conditions, generation, now);
    if let Some(first) = refused.first() {
        conditions.set(condition::READY, false, first.reason, told(refused));
    }
    ApplicationStatus {
        phase: Some(Phase::Deleting),
        conditions: conditions.done(),
        ..before
    }
}

fn told(refused: &[Refused]) -> String {
    let problems: Vec<&str> = refused.iter().map(|problem| problem.message.as_str()).collect();
    format!(
        "Not deleted:\n{}\nGive that identity the rights, or name a ServiceAccount that has them in the annotation {}, or add the finalizer {} \
         to leave its objects where they are",
        problems.join("\n"),
        annotation::SERVICE_ACCOUNT,
        finalizer::ORPHAN
    )
}
