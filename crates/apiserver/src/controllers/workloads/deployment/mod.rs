//! Deployment controller: one ReplicaSet per template, and rollouts from the old ones to the new one.
//!
//! As upstream, a reconcile makes one step (a scale up, or scales down), updates the status, and leaves the rest to
//! the reconciles that follow.

mod progress;
mod revision;
mod rolling;
mod scale;
mod set;

use jiff::Timestamp;
use serde_json::{Value, json};

pub(super) use set::Set;

use super::read::{self, Round};
use super::template;
use super::write::{Level, Plan, Write};
use crate::object;
use progress::Progress;

/// A Deployment and its ReplicaSets.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Observed {
    pub(super) deployment: Value,
    /// The ReplicaSets it controls.
    pub(super) sets: Vec<Value>,
    /// ReplicaSets in its namespace without a controller.
    pub(super) orphans: Vec<Value>,
    /// The number of unfinished pods of its ReplicaSets, terminating ones included, by UID of the ReplicaSet.
    pub(super) living_pods: Vec<(String, usize)>,
    /// The error of the last failed creation of a ReplicaSet.
    pub(super) refusal: Option<String>,
}

/// The limits of a rolling update: `maxSurge` and `maxUnavailable`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Limits {
    pub(super) replicas: i64,
    pub(super) max_surge: i64,
    pub(super) max_unavailable: i64,
}

impl Limits {
    pub(super) fn of(deployment: &Value) -> Self {
        let replicas = read::number(deployment, "spec.replicas", 1);
        if read::text(deployment, "spec.strategy.type") == "Recreate" || replicas == 0 {
            return Self {
                replicas,
                max_surge: 0,
                max_unavailable: 0,
            };
        }
        let strategy = |field: &str| object::at(deployment, &format!("spec.strategy.rollingUpdate.{field}"));
        let max_surge = read::int_or_percent(strategy("maxSurge"), replicas, "25%", Round::Up);
        let max_unavailable = read::int_or_percent(strategy("maxUnavailable"), replicas, "25%", Round::Down);
        // Both zero would never move: upstream lets one be unavailable.
        let max_unavailable = if max_surge == 0 && max_unavailable == 0 {
            1
        } else {
            max_unavailable
        };
        Self {
            replicas,
            max_surge,
            max_unavailable: max_unavailable.min(replicas),
        }
    }

    pub(super) fn most(&self) -> i64 {
        self.replicas + self.max_surge
    }

    pub(super) fn fewest_available(&self) -> i64 {
        self.replicas - self.max_unavailable
    }
}

/// Decides the next step of a rollout.
pub(super) fn plan(observed: &Observed, now: Timestamp) -> Plan {
    let deployment = &observed.deployment;
    let mut plan = Plan::default();
    let Some(selector) = super::replicas::selector(deployment) else {
        return plan;
    };
    if !object::is_deleting(deployment) {
        adopt(observed, &selector, &mut plan);
        if !plan.writes.is_empty() {
            return plan;
        }
    }
    let limits = Limits::of(deployment);
    let mut sets: Vec<Set> = observed.sets.iter().map(Set::of).collect();
    sets.sort_by(|one, other| (one.created, &one.name).cmp(&(other.created, &other.name)));
    let template = object::at(deployment, "spec.template").unwrap_or(&Value::Null);
    let new = sets
        .iter()
        .position(|set| template::same(set.template(), template));
    let mut progress = Progress::new(deployment, limits, now);
    if object::is_deleting(deployment) {
        progress.count(&sets, new);
        progress.finish(&mut plan);
        return plan;
    }
    let paused = read::is_true(deployment, "spec.paused");
    progress.pause(paused);
    if let Some(new) = new {
        revision::keep(deployment, &mut sets, new, &mut progress);
    }
    let desired_elsewhere =
        |set: &Set| set.replicas > 0 && set.desired().is_some_and(|desired| desired != limits.replicas);
    if paused || sets.iter().any(desired_elsewhere) {
        scale::scale(
            deployment,
            &limits,
            &mut sets,
            new,
            read::number(deployment, "status.replicas", 0),
        );
        if paused {
            clean_up(deployment, &mut sets, new);
        }
        progress.count(&sets, new);
        return act(deployment, &sets, progress, plan);
    }
    let recreate = read::text(deployment, "spec.strategy.type") == "Recreate";
    let new = match new {
        Some(new) => Some(new),
        None if recreate && still_runs(observed, &mut sets, None, &limits) => None,
        None => revision::create(
            deployment,
            &limits,
            &mut sets,
            &mut progress,
            observed.refusal.as_deref(),
        ),
    };
    if let Some(new) = new {
        match recreate {
            true => {
                if !still_runs(observed, &mut sets, Some(new), &limits) {
                    sets[new].scale(limits.replicas, &limits);
                }
            }
            false => rolling::step(&limits, &mut sets, new),
        }
        if !sets.iter().any(Set::is_scaled) && progress.was_complete() {
            clean_up(deployment, &mut sets, Some(new));
        }
    }
    progress.count(&sets, new);
    progress.judge(&sets, new);
    act(deployment, &sets, progress, plan)
}

/// Adopts matching orphaned ReplicaSets, and releases those that no longer match.
fn adopt(observed: &Observed, selector: &crate::selector::LabelSelector, plan: &mut Plan) {
    let deployment = &observed.deployment;
    for set in observed
        .orphans
        .iter()
        .filter(|set| selector.matches_object(set) && !object::is_deleting(set))
    {
        let mut owners = read::list(set, "metadata.ownerReferences").to_vec();
        owners.push(template::controller_reference(deployment));
        plan.writes.push(Write::Patch(
            set.clone(),
            json!({"metadata": {"ownerReferences": owners}}),
        ));
    }
    let uid = object::meta_text(deployment, "uid");
    for set in observed
        .sets
        .iter()
        .filter(|set| !selector.matches_object(set) && !object::is_deleting(set))
    {
        let owners = read::list(set, "metadata.ownerReferences").iter();
        let kept: Vec<&Value> = owners.filter(|owner| read::text(owner, "uid") != uid).collect();
        let kept = if kept.is_empty() { Value::Null } else { json!(kept) };
        plan.writes.push(Write::Patch(
            set.clone(),
            json!({"metadata": {"ownerReferences": kept}}),
        ));
    }
}

/// Scales the old ReplicaSets to zero; returns whether pods of them still exist.
fn still_runs(observed: &Observed, sets: &mut [Set], new: Option<usize>, limits: &Limits) -> bool {
    let mut runs = false;
    for (_, set) in sets
        .iter_mut()
        .enumerate()
        .filter(|(index, _)| Some(*index) != new)
    {
        set.scale(0, limits);
        let living = observed
            .living_pods
            .iter()
            .find(|(uid, _)| *uid == set.uid)
            .map_or(0, |(_, count)| *count);
        runs |= set.is_scaled() || set.status_replicas > 0 || living > 0;
    }
    runs
}

/// Deletes old ReplicaSets beyond `revisionHistoryLimit`, the oldest revisions first.
fn clean_up(deployment: &Value, sets: &mut [Set], new: Option<usize>) {
    let limit =
        usize::try_from(read::number(deployment, "spec.revisionHistoryLimit", 10)).unwrap_or_default();
    let mut old: Vec<usize> = (0..sets.len())
        .filter(|index| Some(*index) != new && !sets[*index].deleting)
        .collect();
    old.sort_by_key(|index| (sets[*index].revision(), sets[*index].created));
    let surplus = old.len().saturating_sub(limit);
    for index in old.into_iter().take(surplus) {
        if sets[index].is_idle() {
            sets[index].delete = true;
        }
    }
}

/// Turns the changes into writes.
fn act(deployment: &Value, sets: &[Set], progress: Progress<'_>, mut plan: Plan) -> Plan {
    let mut late = Plan::default();
    for set in sets {
        if let Some(write) = set.write() {
            plan.writes.push(write);
        }
        if set.is_scaled() && !set.delete {
            let (name, from, to) = (&set.name, set.replicas_before, set.replicas);
            let direction = if from < to { "up" } else { "down" };
            let message = format!("Scaled {direction} replica set {name} from {from} to {to}");
            late.emit(deployment, Level::Normal, "ScalingReplicaSet", message);
        }
    }
    progress.finish(&mut late);
    plan.after = late.after;
    // A refusal to make a ReplicaSet must not keep the Deployment from saying so.
    let creates = plan.writes.iter().any(|write| matches!(write, Write::Create(_)));
    let told: Vec<Write> = match creates {
        true => {
            let (status, rest): (Vec<_>, Vec<_>) = late
                .writes
                .into_iter()
                .partition(|write| matches!(write, Write::Status(_)));
            plan.writes.splice(0..0, status);
            rest
        }
        false => late.writes,
    };
    plan.writes.extend(told);
    plan
}

#[cfg(test)]
mod tests;
