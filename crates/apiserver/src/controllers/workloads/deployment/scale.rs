//! Proportional scaling: during a rollout, every ReplicaSet is scaled by its share.

use serde_json::Value;

use super::set::MOST;
use super::{Limits, Set};
use crate::controllers::workloads::read;

/// Scales the ReplicaSets to a new number of replicas.
pub(super) fn scale(
    deployment: &Value,
    limits: &Limits,
    sets: &mut [Set],
    new: Option<usize>,
    total_before: i64,
) {
    if let Some(only) = active_or_latest(sets, new) {
        sets[only].scale(limits.replicas, limits);
        return;
    }
    let saturated = |set: &Set| {
        set.replicas == limits.replicas
            && set.desired() == Some(limits.replicas)
            && set.available == limits.replicas
    };
    if new.is_some_and(|new| saturated(&sets[new])) {
        for (index, set) in sets.iter_mut().enumerate() {
            if Some(index) != new {
                set.scale(0, limits);
            }
        }
        return;
    }
    if read::text(deployment, "spec.strategy.type") != "Recreate" {
        share(limits, sets, total_before);
    }
}

/// The only ReplicaSet with replicas; if none has any, the new or latest one.
fn active_or_latest(sets: &[Set], new: Option<usize>) -> Option<usize> {
    let active: Vec<usize> = (0..sets.len())
        .filter(|index| sets[*index].replicas > 0)
        .collect();
    match active.as_slice() {
        [] => new.or_else(|| (0..sets.len()).max_by_key(|index| sets[*index].created)),
        [only] => Some(*only),
        _ => None,
    }
}

fn share(limits: &Limits, sets: &mut [Set], total_before: i64) {
    let mut active: Vec<usize> = (0..sets.len())
        .filter(|index| sets[*index].replicas > 0)
        .collect();
    let total: i64 = active.iter().map(|index| sets[*index].replicas).sum();
    let allowed = if limits.replicas > 0 { limits.most() } else { 0 };
    let add = allowed - total;
    // Of ReplicaSets of one size, the newer grows first and the older shrinks first.
    active.sort_by(|one, other| {
        let by_age = sets[*one].created.cmp(&sets[*other].created);
        sets[*other]
            .replicas
            .cmp(&sets[*one].replicas)
            .then(if add > 0 { by_age.reverse() } else { by_age })
    });
    let mut added = 0;
    let mut sizes: Vec<i64> = Vec::new();
    for index in &active {
        let share = match add {
            0 => 0,
            _ => proportion(limits, &sets[*index], add, added, total_before),
        };
        added += share;
        sizes.push(sets[*index].replicas + share);
    }
    if let Some(largest) = sizes.first_mut() {
        *largest = (*largest + add - added).max(0);
    }
    for (index, size) in active.into_iter().zip(sizes) {
        sets[index].scale_and_note(size, limits);
    }
}

fn proportion(limits: &Limits, set: &Set, add: i64, added: i64, total_before: i64) -> i64 {
    if add == added {
        return 0;
    }
    let fraction = fraction(limits, set, total_before);
    let left = add - added;
    if add > 0 {
        fraction.min(left)
    } else {
        fraction.max(left)
    }
}

fn fraction(limits: &Limits, set: &Set, total_before: i64) -> i64 {
    if limits.replicas == 0 {
        return -set.replicas;
    }
    let noted = set
        .annotation(MOST)
        .and_then(|most| most.parse::<i64>().ok())
        .filter(|most| *most > 0);
    let before = noted.unwrap_or(total_before);
    if before == 0 {
        return 0;
    }
    // Rounds half away from zero; everything here is positive.
    (2 * set.replicas * limits.most() + before).div_euclid(2 * before) - set.replicas
}
