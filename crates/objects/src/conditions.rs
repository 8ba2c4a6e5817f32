//! Conditions whose transition time changes only when their status does.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};

/// Conditions in the making: what they were, and when it is.
pub struct Conditions<'a> {
    before: &'a [Condition],
    generation: Option<i64>,
    now: Timestamp,
    made: Vec<Condition>,
}

impl<'a> Conditions<'a> {
    /// Begins with no condition set. A condition that is set to the status it had before keeps its transition time.
    pub fn after(before: &'a [Condition], generation: Option<i64>, now: Timestamp) -> Self {
        Self {
            before,
            generation,
            now,
            made: Vec::new(),
        }
    }

    /// The condition holds, or does not.
    pub fn set(&mut self, type_: &str, holds: bool, reason: &str, message: impl Into<String>) {
        let status = if holds { "True" } else { "False" };
        self.put(type_, status, reason, message.into());
    }

    /// Whether the condition holds is not known.
    pub fn unknown(&mut self, type_: &str, reason: &str, message: impl Into<String>) {
        self.put(type_, "Unknown", reason, message.into());
    }

    fn put(&mut self, type_: &str, status: &str, reason: &str, message: String) {
        let same = |condition: &&Condition| condition.type_ == type_ && condition.status == status;
        let since = self
            .before
            .iter()
            .find(same)
            .map_or(Time(self.now), |condition| condition.last_transition_time.clone());
        self.made.push(Condition {
            type_: type_.to_owned(),
            status: status.to_owned(),
            reason: reason.to_owned(),
            message,
            observed_generation: self.generation,
            last_transition_time: since,
        });
    }

    /// The conditions that were set, and those of other controllers, which are kept.
    pub fn done(self) -> Vec<Condition> {
        let mut all = self.made;
        let others = self
            .before
            .iter()
            .filter(|condition| all.iter().all(|made| made.type_ != condition.type_));
        let others: Vec<_> = others.cloned().collect();
        all.extend(others);
        all
    }
}
