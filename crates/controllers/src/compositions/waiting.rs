//! Who waits for what, and who was told what.

use super::CompositeKey;
use cambium_compositions::composite::Note;
use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::{Mutex, PoisonError};

/// Composite resources that miss something, by its name.
#[derive(Default)]
pub(super) struct Waiting(Mutex<HashMap<String, HashSet<CompositeKey>>>);

impl Waiting {
    /// A composite resource misses something.
    pub(super) fn add(&self, what: &str, key: &CompositeKey) {
        let mut waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.entry(what.to_owned()).or_default().insert(key.clone());
    }

    /// Whoever misses this. They wait no longer.
    pub(super) fn take(&self, what: &str) -> HashSet<CompositeKey> {
        let mut waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.remove(what).unwrap_or_default()
    }
}

/// What was last told about composite resources by their functions, as digests: functions repeat themselves with every look.
#[derive(Default)]
pub(super) struct Told(Mutex<HashMap<CompositeKey, u64>>);

impl Told {
    /// Whether this is something else than was told before.
    pub(super) fn is_news(&self, key: &CompositeKey, notes: &[Note]) -> bool {
        let mut told = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if notes.is_empty() {
            told.remove(key);
            return false;
        }
        let mut hasher = DefaultHasher::new();
        notes.hash(&mut hasher);
        let digest = hasher.finish();
        told.insert(key.clone(), digest) != Some(digest)
    }

    /// There is nothing left to tell about.
    pub(super) fn forget(&self, key: &CompositeKey) {
        let mut told = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        told.remove(key);
    }
}
