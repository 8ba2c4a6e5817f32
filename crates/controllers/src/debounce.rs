//! Debounces status-only changes: what changes in bursts is reconciled when it has settled.

use crate::runtime::{Change, Origin, Queue, queue};
use std::time::Duration;

/// How long a status-only change waits for the next one.
pub(crate) const SETTLE: Duration = Duration::from_secs(1);

/// Requeues what has changed, unless that was our own write. `same` says whether it means what it meant before.
pub(crate) fn requeue<K: queue::Key>(queue: &Queue<K>, key: K, change: &Change, same: bool) {
    match change.origin {
        Origin::Ourselves if same => {}
        // Only its status: ours, if the watch was faster than the answer to the write.
        _ if same && same_intent(change) => queue.add_after(key, SETTLE),
        _ => queue.add(key),
    }
}

/// Whether what people ask for is the same: generation, labels, annotations, finalizers, deletion.
pub(crate) fn same_intent(change: &Change) -> bool {
    let (Some(before), Some(after)) = (&change.before, &change.after) else {
        return false;
    };
    if before.generation() != after.generation() || before.terminating() != after.terminating() {
        return false;
    }
    let (before, after) = (before.metadata(), after.metadata());
    (&before.labels, &before.annotations, &before.finalizers)
        == (&after.labels, &after.annotations, &after.finalizers)
}
