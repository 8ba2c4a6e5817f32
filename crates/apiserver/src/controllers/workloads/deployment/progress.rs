//! The status of a Deployment: replica counts, and the conditions Available and Progressing.

use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::super::conditions::{self, Condition};
use super::super::write::Plan;
use super::set::REVISION;
use super::{Limits, Set};
use crate::controllers::workloads::read;
use crate::object;

/// The status of a Deployment under construction.
pub(super) struct Progress<'a> {
    deployment: &'a Value,
    limits: Limits,
    now: Timestamp,
    deadline: Option<Duration>,
    conditions: Vec<Value>,
    counts: Counts,
    pub(super) revision: Option<String>,
    pub(super) collisions: i64,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Counts {
    replicas: i64,
    updated: i64,
    ready: i64,
    available: i64,
    unavailable: i64,
    terminating: i64,
}

impl<'a> Progress<'a> {
    pub(super) fn new(deployment: &'a Value, limits: Limits, now: Timestamp) -> Self {
        let seconds = read::number(deployment, "spec.progressDeadlineSeconds", 600);
        // The largest number stands for no deadline.
        let deadline = (seconds < i64::from(i32::MAX))
            .then(|| Duration::from_secs(u64::try_from(seconds).unwrap_or_default()));
        Self {
            deployment,
            limits,
            now,
            deadline,
            conditions: read::list(deployment, "status.conditions").to_vec(),
            counts: Counts::default(),
            revision: None,
            collisions: read::number(deployment, "status.collisionCount", 0),
        }
    }

    /// Sets the condition `Progressing`, if the Deployment has a `progressDeadlineSeconds`.
    pub(super) fn set_condition(&mut self, condition: &Condition) {
        if self.deadline.is_some() {
            conditions::set_deployment(&mut self.conditions, condition, self.now);
        }
    }

    pub(super) fn set_condition_if_absent(&mut self, condition: &Condition) {
        if conditions::find(&self.conditions, "Progressing").is_none() {
            self.set_condition(condition);
        }
    }

    /// Sets `DeploymentPaused` or `DeploymentResumed`: a pause suspends the progress deadline, resuming restarts it.
    pub(super) fn pause(&mut self, paused: bool) {
        let reason = conditions::find(&self.conditions, "Progressing")
            .map_or("", |one| conditions::field(one, "reason"));
        match (reason, paused) {
            ("ProgressDeadlineExceeded", _) => {}
            ("DeploymentPaused", false) => {
                self.set_condition(&Condition::new(
                    "Progressing",
                    "Unknown",
                    "DeploymentResumed",
                    "Deployment is resumed",
                ));
            }
            ("DeploymentPaused", true) | (_, false) => {}
            (_, true) => self.set_condition(&Condition::new(
                "Progressing",
                "Unknown",
                "DeploymentPaused",
                "Deployment is paused",
            )),
        }
    }

    /// Sums up the replica counts of the ReplicaSets.
    pub(super) fn count(&mut self, sets: &[Set], new: Option<usize>) {
        let sum = |of: fn(&Set) -> i64| sets.iter().map(of).sum::<i64>();
        let available = sum(|set| set.available);
        self.counts = Counts {
            replicas: sum(|set| set.status_replicas),
            updated: new.map_or(0, |new| sets[new].status_replicas),
            ready: sum(|set| set.ready),
            available,
            unavailable: (sum(|set| set.replicas) - available).max(0),
            terminating: sum(|set| set.terminating),
        };
        let condition = match available >= self.limits.fewest_available() {
            true => Condition::new(
                "Available",
                "True",
                "MinimumReplicasAvailable",
                "Deployment has minimum availability.",
            ),
            false => Condition::new(
                "Available",
                "False",
                "MinimumReplicasUnavailable",
                "Deployment does not have minimum availability.",
            ),
        };
        conditions::set_deployment(&mut self.conditions, &condition, self.now);
    }

    /// Whether the rollout was already complete.
    pub(super) fn was_complete(&self) -> bool {
        let number = |field: &str| read::number(self.deployment, &format!("status.{field}"), 0);
        let wanted = self.limits.replicas;
        number("updatedReplicas") == wanted
            && number("replicas") == wanted
            && number("availableReplicas") == wanted
            && number("observedGeneration") >= object::generation(self.deployment)
    }

    fn is_complete(&self) -> bool {
        let (counts, wanted) = (self.counts, self.limits.replicas);
        counts.updated == wanted && counts.replicas == wanted && counts.available == wanted
    }

    fn has_moved(&self) -> bool {
        let number = |field: &str| read::number(self.deployment, &format!("status.{field}"), 0);
        let counts = self.counts;
        let (updated, old) = (
            number("updatedReplicas"),
            number("replicas") - number("updatedReplicas"),
        );
        counts.updated > updated
            || counts.replicas - counts.updated < old
            || counts.ready > number("readyReplicas")
            || counts.available > number("availableReplicas")
    }

    /// Decides whether the rollout is complete, progressing, or past its deadline.
    pub(super) fn judge(&mut self, sets: &[Set], new: Option<usize>) {
        self.failures(sets, new);
        if self.deadline.is_none() {
            conditions::remove(&mut self.conditions, "Progressing");
            return;
        }
        let subject = match new {
            Some(new) => format!("ReplicaSet {:?}", sets[new].name),
            None => format!("Deployment {:?}", object::name(self.deployment)),
        };
        let before = conditions::find(read::list(self.deployment, "status.conditions"), "Progressing");
        let was_done = before.is_some_and(|one| conditions::field(one, "reason") == "NewReplicaSetAvailable");
        if was_done && self.counts.replicas == self.counts.updated && !self.started_anew() {
            return;
        }
        if self.is_complete() {
            let message = format!("{subject} has successfully progressed.");
            self.set_condition(&Condition::new(
                "Progressing",
                "True",
                "NewReplicaSetAvailable",
                message,
            ));
        } else if self.has_moved() {
            let condition = Condition::new(
                "Progressing",
                "True",
                "ReplicaSetUpdated",
                format!("{subject} is progressing."),
            );
            let transition = conditions::find(&self.conditions, "Progressing")
                .filter(|one| conditions::field(one, "status") == "True")
                .map(|one| one["lastTransitionTime"].clone());
            // Unlike other conditions, this one notes every sign of progress.
            conditions::remove(&mut self.conditions, "Progressing");
            self.set_condition(&condition);
            if let (Some(transition), Some(last)) = (transition, self.conditions.last_mut()) {
                last["lastTransitionTime"] = transition;
            }
        } else if self.times_out_in().is_some_and(|left| left.is_zero()) {
            let message = format!("{subject} has timed out progressing.");
            self.set_condition(&Condition::new(
                "Progressing",
                "False",
                "ProgressDeadlineExceeded",
                message,
            ));
        }
    }

    /// Whether this reconcile has started a rollout.
    fn started_anew(&self) -> bool {
        let reason = conditions::find(&self.conditions, "Progressing")
            .map_or("", |one| conditions::field(one, "reason"));
        reason != "NewReplicaSetAvailable"
    }

    /// The time until the progress deadline; `None` when it does not apply.
    fn times_out_in(&self) -> Option<Duration> {
        let condition = conditions::find(&self.conditions, "Progressing")?;
        if matches!(
            conditions::field(condition, "reason"),
            "NewReplicaSetAvailable" | "ProgressDeadlineExceeded" | "DeploymentPaused"
        ) {
            return None;
        }
        let updated: Timestamp = conditions::field(condition, "lastUpdateTime").parse().ok()?;
        Some(read::until(read::later(updated, self.deadline?), self.now).unwrap_or_default())
    }

    /// Copies the condition `ReplicaFailure` from the ReplicaSets.
    fn failures(&mut self, sets: &[Set], new: Option<usize>) {
        let failure = |set: &Set| {
            conditions::find(read::list(&set.value, "status.conditions"), "ReplicaFailure").cloned()
        };
        let found = new
            .and_then(|new| failure(&sets[new]))
            .or_else(|| sets.iter().find_map(failure));
        let Some(mut found) = found else {
            conditions::remove(&mut self.conditions, "ReplicaFailure");
            return;
        };
        found["lastUpdateTime"] = found["lastTransitionTime"].clone();
        match self
            .conditions
            .iter_mut()
            .find(|one| conditions::field(one, "type") == "ReplicaFailure")
        {
            Some(existing) => *existing = found,
            None => self.conditions.push(found),
        }
    }

    /// Writes the status if it has changed, and requeues for the deadline.
    pub(super) fn finish(self, plan: &mut Plan) {
        let counts = self.counts;
        if !self.is_complete() && self.deadline.is_some() {
            plan.after = self.times_out_in().filter(|left| !left.is_zero());
        }
        let collisions = if self.collisions > 0 {
            json!(self.collisions)
        } else {
            Value::Null
        };
        let fields = [
            ("observedGeneration", json!(object::generation(self.deployment))),
            ("replicas", json!(counts.replicas)),
            ("updatedReplicas", json!(counts.updated)),
            ("readyReplicas", json!(counts.ready)),
            ("availableReplicas", json!(counts.available)),
            ("unavailableReplicas", json!(counts.unavailable)),
            ("terminatingReplicas", json!(counts.terminating)),
            ("collisionCount", collisions),
            ("conditions", json!(self.conditions)),
        ];
        let status = Value::Object(read::status(&fields, &["terminatingReplicas"]));
        let mut deployment = self.deployment.clone();
        if let Some(revision) = self
            .revision
            .filter(|revision| object::annotation(self.deployment, REVISION) != Some(revision))
        {
            let metadata = object::metadata_mut(&mut deployment);
            metadata.entry("annotations").or_insert_with(|| json!({}))[REVISION] = json!(revision);
            deployment["status"] = status;
            plan.writes.push(super::super::write::Write::Status(deployment));
            return;
        }
        plan.status(&deployment, status);
    }
}
