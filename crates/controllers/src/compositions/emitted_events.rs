//! Digests of the events that were last emitted for composite resources: functions return the same results with every reconcile.

use super::CompositeKey;
use cambium_compositions::composite::Note;
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::{Mutex, PoisonError};

/// The events that were last emitted for each composite resource, as digests.
#[derive(Default)]
pub(super) struct EmittedEvents(Mutex<HashMap<CompositeKey, u64>>);

impl EmittedEvents {
    /// Whether these events differ from those that were last emitted; they are taken for emitted from now on.
    pub(super) fn is_news(&self, key: &CompositeKey, notes: &[Note]) -> bool {
        let mut emitted = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if notes.is_empty() {
            emitted.remove(key);
            return false;
        }
        let mut hasher = DefaultHasher::new();
        notes.hash(&mut hasher);
        let digest = hasher.finish();
        emitted.insert(key.clone(), digest) != Some(digest)
    }

    /// Forgets the events of a deleted composite resource.
    pub(super) fn forget(&self, key: &CompositeKey) {
        let mut emitted = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        emitted.remove(key);
    }
}
