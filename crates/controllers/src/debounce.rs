//! Debounces status-only changes: an object whose status changes in bursts is requeued once.

use crate::runtime::{Change, Origin, Queue, queue};
use std::time::Duration;

/// How long a status-only change waits for the next one.
pub(crate) const SETTLE: Duration = Duration::from_secs(1);

/// Requeues a key after a change, unless the change is an own write. `same` says whether the change matters to the reconciler.
pub(crate) fn requeue<K: queue::Key>(queue: &Queue<K>, key: K, change: &Change, same: bool) {
    match change.origin {
        Origin::Ourselves if same => {}
        // Only its status: ours, if the watch was faster than the answer to the write.
        _ if same && same_intent(change) => queue.add_after(key, SETTLE),
        _ => queue.add(key),
    }
}

/// Whether generation, labels, annotations, finalizers and deletion timestamp are the same.
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
