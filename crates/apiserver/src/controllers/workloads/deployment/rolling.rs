//! One step of a rolling update.

use super::{Limits, Set};

/// Scales the new ReplicaSet up, or the old ones down, within `maxSurge` and `maxUnavailable`.
pub(super) fn step(limits: &Limits, sets: &mut [Set], new: usize) {
    if sets[new].is_new() || scale_up(limits, sets, new) {
        return;
    }
    scale_down(limits, sets, new);
}

/// The size that the new ReplicaSet may be scaled up to now.
pub(super) fn room(limits: &Limits, sets: &[Set], new: i64) -> i64 {
    let total: i64 = sets.iter().map(|set| set.replicas).sum();
    match total >= limits.most() {
        true => new,
        false => new + (limits.most() - total).min(limits.replicas - new),
    }
}

fn scale_up(limits: &Limits, sets: &mut [Set], new: usize) -> bool {
    let wanted = match sets[new].replicas {
        replicas if replicas > limits.replicas => limits.replicas,
        replicas if replicas == limits.replicas => return false,
        replicas => room(limits, sets, replicas),
    };
    sets[new].scale(wanted, limits);
    sets[new].is_scaled()
}

fn scale_down(limits: &Limits, sets: &mut [Set], new: usize) {
    let total: i64 = sets.iter().map(|set| set.replicas).sum();
    let unavailable = sets[new].replicas - sets[new].available;
    let most = total - limits.fewest_available() - unavailable;
    if most <= 0 {
        return;
    }
    // Replicas that are unavailable anyway go first: they only hold the rollout up.
    let mut cleaned = 0;
    for set in old(sets, new) {
        let count = (most - cleaned).min(set.replicas - set.available).max(0);
        if count > 0 {
            set.scale(set.replicas - count, limits);
            cleaned += count;
        }
    }
    let available: i64 = sets.iter().map(|set| set.available).sum();
    let mut spare = available - limits.fewest_available();
    for set in old(sets, new) {
        let count = spare.min(set.replicas).max(0);
        if count > 0 {
            set.scale(set.replicas - count, limits);
            spare -= count;
        }
    }
}

/// The old ReplicaSets with replicas, the oldest first.
fn old(sets: &mut [Set], new: usize) -> impl Iterator<Item = &mut Set> {
    sets.iter_mut()
        .enumerate()
        .filter(move |(index, set)| *index != new && set.replicas > 0)
        .map(|(_, set)| set)
}
